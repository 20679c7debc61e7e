// History: every benchmark over time, its change points, and from there to runs, checks and bisections.
import {ask, exported} from "./ask";
import {Axis, series_chart} from "./chart_series";
import {documents_of} from "./documents";
import {a, Child, field, filter_form, h, link_to, select, sparkline, table, text} from "./dom";
import {commit_text, p_value, quantity, signed_percent, when} from "./format";
import {case_link, changes_table} from "./page_now";
import {CaseRow, CasesPage, Change, ChangesPage, Point, Series, SeriesPage} from "./types";

const kPage = 100;
const kDays: [string, string][] = [["", "all time"], ["7", "7 days"], ["30", "30 days"], ["90", "90 days"], ["365", "a year"]];

const newest_of = (row: CaseRow): number|undefined => row.values[row.values.length - 1];
const shape_of = (row: CaseRow): Child => sparkline(row.values, `${row.metric} of ${row.label}, ${row.values.length} values`);

const cases_table = (rows: CaseRow[]): HTMLElement => table("Benchmarks", [
  {name: "benchmark", cell: (row: CaseRow) => a(case_link(row), row.label), kind: "long", sort: (row) => row.label},
  {name: "metric", cell: (row) => row.metric, sort: (row) => row.metric},
  {name: "newest", number: true, cell: (row) => quantity(newest_of(row), row.unit), sort: (row) => newest_of(row) ?? 0},
  {name: "shape", cell: shape_of},
  {name: "device", cell: (row) => row.device, sort: (row) => row.device},
  {name: "last measured", cell: (row) => when(row.newest), kind: "nowrap", sort: (row) => row.newest},
], rows);

const wall_of = (rows: CaseRow[]): HTMLElement => h("div", {class: "wall"}, ...rows.map((row) => h("a", {href: case_link(row)},
    h("strong", null, row.label), h("span", {class: "quiet"}, `${row.metric} ${quantity(newest_of(row), row.unit)}`), shape_of(row))));

export async function page_history(main: HTMLElement, signal: AbortSignal, query: URLSearchParams): Promise<void> {
  const words = query.get("text") ?? "", days = query.get("days") ?? "", charts = query.get("show") === "charts";
  const offset = Number(query.get("offset") ?? "0");
  const list = h("div", {id: "list"}, text("p", "empty", "Loading\u2026"));
  const changed = h("div", null);
  main.replaceChildren(
      h("h1", {tabindex: -1}, "History"),
      h("p", {class: "row"}, ...[["", "list"], ["charts", "charts"]].map(([show, name]) =>
          h("a", {href: link_to("history", {text: words, days, show}), "aria-current": charts === (show !== "") ? "true" : undefined}, name))),
      filter_form("history", {show: charts ? "charts" : ""}, ...(exported() ? [] : [field("measured within", select("days", kDays, days))]), field("words of benchmark or metric", h("input", {type: "search", name: "text", value: words, placeholder: "gemm time", maxlength: 200}))),
      changed, list);
  const found = await ask<CasesPage>("cases", exported() ? {} : {text: words, days, offset: offset || undefined, limit: kPage}, signal);
  const rows = exported() ? found.cases.filter((row) => words.toLowerCase().split(" ").every((word) => (row.label + " " + row.metric).toLowerCase().includes(word))) : found.cases;
  const turn = (to: number, name: string) => a(link_to("history", {text: words, days, show: charts ? "charts" : "", offset: to || undefined}), name);
  list.replaceChildren(
      h("h2", null, `Benchmarks (${exported() ? rows.length : found.total})`),
      rows.length ? (charts ? wall_of : cases_table)(rows) : text("p", "empty", words || days ? "No benchmark fits these filters." : "Nothing is stored yet: warpmark run"),
      h("p", {class: "row"}, offset > 0 ? turn(Math.max(0, offset - kPage), "Newer") : "", !exported() && offset + rows.length < found.total ? turn(offset + kPage, "Older") : ""));
  if (words) return;
  const changes = await ask<ChangesPage>("changes", {}, signal);
  const worse = changes.changes.filter((change) => change.worse !== undefined).slice(0, 8);
  if (worse.length && !signal.aborted) changed.replaceChildren(h("h2", null, "Changed last"), changes_table(worse));
}

function changes_of(series: Series, signal: AbortSignal): HTMLElement {
  if (!series.changes.length) return text("p", "quiet", "No change point of 5 % or more.");
  const bisect = (change: Change) => change.good_commit && change.commit && change.good_commit !== change.commit ?
      h("span", {class: "copy"}, `warpmark bisect --good ${change.good_commit.slice(0, 10)} --bad ${change.commit.slice(0, 10)}`) : "";
  return table("Change points", [
    {name: "since", cell: (row: Change) => a(link_to("session", {id: row.session}), when(row.started)), kind: "nowrap"},
    {name: "change", number: true, cell: (row) => h("span", {class: row.worse === undefined ? "quiet" : row.worse ? "bad" : "good"}, signed_percent(row.after / row.before - 1))},
    {name: "from", number: true, cell: (row) => quantity(row.before, series.unit)},
    {name: "to", number: true, cell: (row) => quantity(row.after, series.unit)},
    {name: "", cell: (row) => p_value(row.p), kind: "quiet nowrap"},
    {name: "commits", cell: (row) => row.good_commit.slice(0, 10) + (row.commit ? " \u2026 " + row.commit.slice(0, 10) : ""), kind: "nowrap"},
    {name: "compare", cell: (row) => row.at > 0 ? a(link_to("compare", {a: series.points[row.at - 1].session, b: row.session}), "before / after") : ""},
    {name: "find the commit", cell: bisect},
    {name: "checks, bisections", cell: (row) => documents_of(row.session, ["check", "bisect"], signal), kind: "long"},
  ], [...series.changes].reverse());
}

function points_of(series: Series): HTMLElement {
  return h("details", null, h("summary", null, `Values (${series.points.length})`), table("Values", [
    {name: "started", cell: (row: Point) => a(link_to("run", {session: row.session, index: row.index}), when(row.started)), kind: "nowrap", sort: (row) => row.started},
    {name: series.metric, number: true, cell: (row) => quantity(row.value, series.unit), sort: (row) => row.value},
    {name: "from", number: true, cell: (row) => quantity(row.low, series.unit)},
    {name: "to", number: true, cell: (row) => quantity(row.high, series.unit)},
    {name: "sessions", number: true, cell: (row) => row.count ?? 1},
    {name: "commit", cell: (row) => commit_text(row.commit, row.dirty)},
    {name: "branch", cell: (row) => row.branch},
  ], [...series.points].reverse()));
}

function series_section(series: Series, axis: Axis, signal: AbortSignal): HTMLElement {
  const said = h("p", {class: "quiet", "aria-live": "polite"});
  const open = (point: Point) => { location.hash = link_to("run", {session: point.session, index: point.index}); };
  const chart = series_chart(series, axis, open, (spoken) => { said.textContent = spoken; });
  const newest = series.points[series.points.length - 1];
  return h("section", null,
      h("h2", null, series.label + " ", h("span", {class: "quiet"}, series.metric)),
      h("p", null, `Newest ${quantity(newest.value, series.unit)}`, series.level === undefined ? "" : `, baseline ${quantity(series.level, series.unit)}`,
        series.band ? `; the next session is expected from ${quantity(series.band.low, series.unit)} to ${quantity(series.band.high, series.unit)}` : "",
        `. ${series.total} sessions`, series.better === "neither" ? "." : `; ${series.better} is better.`),
      series.drift && series.drift.p < 0.01 ? h("p", {class: "warning"}, `It drifts by ${signed_percent(series.drift.per_session)} a session (${p_value(series.drift.p)}).`) : "",
      chart.box,
      h("p", {class: "legend"}, h("span", {class: "s0"}, "median with interval"), h("span", {class: "s2"}, "expected"), series.changes.length ? h("span", {class: "mark-change"}, "change point") : "", series.machines.length ? h("span", {class: "s3"}, "change of the machine") : ""),
      said,
      ...series.machines.map((mark) => h("p", {class: "quiet"}, when(mark.started), ": ", mark.what)),
      h("h3", null, "Change points"), changes_of(series, signal), points_of(series));
}

/** One benchmark over time. */
export async function page_case(main: HTMLElement, signal: AbortSignal, query: URLSearchParams): Promise<void> {
  const of_case = {workload: query.get("workload") ?? "", params: query.get("params") ?? "", device: query.get("device") ?? "",
                   mode: query.get("mode") ?? "", metric: query.get("metric") ?? ""};
  const last = query.get("last") ?? "";
  const axis: Axis = query.get("axis") === "session" ? "session" : "time";
  const found = await ask<SeriesPage>("series", {...of_case, last}, signal);
  const go = (changed: Record<string, string>) => { location.hash = link_to("case", {...of_case, last, axis: axis === "session" ? axis : "", ...changed}); };
  const choose = (name: string, options: [string, string][], chosen: string) => {
    const made = select(name, options, chosen);
    made.addEventListener("change", () => go({[name]: made.value}));
    return made;
  };
  const total = found.series.reduce((x, y) => x + y.total, 0);
  main.replaceChildren(
      h("p", {class: "crumbs"}, a(link_to("history"), "History"), " / ", of_case.workload),
      h("h1", {tabindex: -1}, found.label),
      h("div", {class: "filter row"},
        field("metric", choose("metric", found.metrics.map((one) => [one, one] as [string, string]), found.metric)),
        exported() ? "" : field("newest", choose("last", [["", "200 sessions"], ["1000", "1000 sessions"], ["20000", "all (20 000 at most)"]], last)),
        field("along", choose("axis", [["time", "time"], ["session", "sessions"]], axis)),
        a(link_to("runs", {show: "runs", text: of_case.workload}), "Runs of this benchmark")),
      total < 2 ? text("p", "quiet", "One session alone shows no trend.") : "",
      ...found.series.map((series) => series_section(series, axis, signal)),
      h("p", {class: "quiet"}, "Is the newest result worse than this history? ", h("span", {class: "copy"}, "warpmark check"), " decides it with its error rates. ",
        ...found.series.slice(0, 1).map((series) => documents_of(series.points[series.points.length - 1].session, ["check"], signal))));
}
