// The chart of a series over time: values with their intervals, changes, the machine's changes, the expected band; also
// by keyboard.
import {base_options, Band, chart_box, ChartBox, css, plugins} from "./charts";
import {commit_text, milliseconds, quantity} from "./format";
import {Point, Series} from "./types";

/* eslint-disable @typescript-eslint/no-explicit-any */

export type Axis = "time"|"session";

const days_of_dates = 4;  // a shorter range has ticks within a day: their labels have the time
const tick_text = (ms: number, range_ms: number): string => {
  const utc = new Date(ms).toISOString();
  return range_ms < days_of_dates * 86400e3 ? utc.slice(5, 16).replace("T", " ") : utc.slice(0, 10);
};

function value_text(point: Point, unit: string): string {
  const range = point.low === undefined ? "" : " (" + quantity(point.low, unit) + " to " + quantity(point.high, unit) + ")";
  return quantity(point.value, unit) + range + (point.count ? ", of " + point.count + " sessions" : "");
}

/** `open` is called with the point that is clicked, or chosen by keys; `say` with what is under the keys. */
export function series_chart(series: Series, axis: Axis, open: (point: Point) => void, say: (text: string) => void): ChartBox {
  const x_of = (i: number) => axis === "time" ? milliseconds(series.points[i].started) : i;
  const range_ms = series.points.length > 0 ? x_of(series.points.length - 1) - x_of(0) : 0;
  const x_text = (value: number) => axis === "time" ? tick_text(value, range_ms) : (series.points[Math.round(value)]?.commit.slice(0, 7) ?? "");
  const last = series.points.length - 1;
  const make = () => {
    const options = base_options(x_text, (value) => quantity(value, series.unit));
    const changes = series.changes.map((change) => ({
      at: x_of(change.at), label: "", colour: css(change.worse === undefined ? "--quiet" : change.worse ? "--bad" : "--good")}));
    const machines = series.machines.map((mark) => ({at: x_of(mark.at), label: mark.what, colour: css("--c3"), dash: [5, 4]}));
    const bands: Band[] = series.band && last > 0 ?
        [{from: x_of(series.band.from), to: x_of(last), low: series.band.low, high: series.band.high}] : [];
    if (innerWidth < 600) options.scales.x.ticks.maxTicksLimit = 3;
    options.warpmark = {lines: [...changes, ...machines], bands};
    options.onClick = (_event: unknown, items: any[]) => { if (items.length) open(series.points[items[0].index]); };
    options.plugins.tooltip.callbacks = {
      title: (items: any[]) => value_text(series.points[items[0].dataIndex], series.unit),
      label: (item: any) => {
        const point = series.points[item.dataIndex];
        return [point.started.replace("T", " "), [commit_text(point.commit, point.dirty), point.branch].filter(Boolean).join(" ")];
      },
      footer: () => "click opens the run",
    };
    const many = series.points.length > 250;
    return {type: "line", plugins, options, data: {datasets: [{
      data: series.points.map((point, i) => ({x: x_of(i), y: point.value, low: point.low, high: point.high})),
      borderColor: css("--c0"), backgroundColor: css("--c0"), borderWidth: many ? 1 : 1.5, pointRadius: many ? 1.5 : 3,
      pointHoverRadius: 6, whiskers: true, label: series.metric,
    }]}};
  };
  const made = chart_box(label_of(series), "wide", make);
  let at = last;
  made.canvas.tabIndex = 0;
  made.canvas.addEventListener("keydown", (event) => {
    const step = {ArrowLeft: -1, ArrowRight: 1, PageUp: -10, PageDown: 10, Home: -series.points.length, End: series.points.length}[event.key];
    if (event.key === "Enter") open(series.points[at]);
    if (step === undefined) return;
    event.preventDefault();
    at = Math.max(0, Math.min(last, at + step));
    made.update((chart) => {
      chart.setActiveElements([{datasetIndex: 0, index: at}]);
      chart.tooltip.setActiveElements([{datasetIndex: 0, index: at}], {x: 0, y: 0});
    });
    const point = series.points[at];
    say(value_text(point, series.unit) + ", " + point.started + ", " + commit_text(point.commit, point.dirty));
  });
  return made;
}

function label_of(series: Series): string {
  const newest = series.points[series.points.length - 1];
  return "Chart of " + series.label + " " + series.metric + ": " + series.total + " sessions, newest " +
      quantity(newest?.value, series.unit) + ", " + series.changes.length +
      " change points. Left and right arrows go from point to point, Enter opens the run.";
}
