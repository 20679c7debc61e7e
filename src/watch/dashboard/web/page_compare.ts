// Compare: two sessions, case by case: verdicts, ratios with intervals, distributions.
import {ask, exported} from "./ask";
import {base_options, chart_box, css, plugins} from "./charts";
import {a, h, link_to, text} from "./dom";
import {badge, commit_text, signed_percent, when} from "./format";
import {report_view} from "./report";
import {PairPageMetric, PairPage, PairSide, SessionsPage} from "./types";

const kOrder = ["unreliable", "worse", "different", "inconclusive", "better", "same"];

function side(name: string, of: PairSide): HTMLElement {
  return h("p", null, h("b", null, name), " ", a(link_to("session", {id: of.id}), of.id), " ", when(of.started), " on ", of.hostname, " ",
           commit_text(of.commit, of.dirty), " ", of.branch);
}

/** Each case's ratio with its interval, around "no change". */
function forest(metrics: PairPageMetric[]): HTMLElement {
  const rows = metrics.filter((metric) => metric.ratio !== undefined);
  const made = chart_box("Ratio B / A of each case with its interval", "", () => {
    const options = base_options((value) => signed_percent(value), (value) => rows[Math.round(value)]?.id.slice(0, 40) ?? "");
    options.indexAxis = "x";
    options.interaction = {mode: "nearest", intersect: false};
    options.scales.x.grace = "8%";
    options.scales.x.bounds = "ticks";
    options.scales.y.min = -0.6;
    options.scales.y.max = rows.length - 0.4;
    options.scales.y.reverse = true;
    options.scales.y.ticks.stepSize = 1;
    options.scales.y.ticks.autoSkip = false;
    options.scales.y.ticks.maxTicksLimit = 60;
    options.scales.y.ticks.callback = (value: number) => Number.isInteger(value) ? rows[value]?.id.slice(0, 32) ?? "" : "";
    options.scales.y.grid.display = false;
    options.warpmark = {lines: [{at: 0, colour: css("--quiet"), label: ""}]};
    options.plugins.tooltip.callbacks = {title: (items: {dataIndex: number}[]) => rows[items[0].dataIndex].id, label: (item: {dataIndex: number}) => ratio_text(rows[item.dataIndex])};
    const colour = (metric: PairPageMetric) => css(metric.verdict === "worse" ? "--bad" : metric.verdict === "better" ? "--good" : metric.verdict === "same" ? "--c0" : "--warning");
    const spans = rows.map((metric, i) => ({label: "", type: "line", data: metric.ci_low === undefined ? [] : [{x: metric.ci_low - 1, y: i}, {x: metric.ci_high! - 1, y: i}],
                                            borderColor: colour(metric), borderWidth: 2, pointRadius: 0, pointHitRadius: 0}));
    return {type: "scatter", plugins, options, data: {datasets: [
      {data: rows.map((metric, i) => ({x: metric.ratio! - 1, y: i})), backgroundColor: rows.map(colour), pointRadius: 4.5}, ...spans]}};
  });
  made.box.style.height = Math.max(120, 48 + rows.length * 24) + "px";
  return made.box;
}

const ratio_text = (metric: PairPageMetric): string => metric.ratio === undefined ? "" : signed_percent(metric.ratio - 1) +
    (metric.ci_low === undefined ? "" : ` (${signed_percent(metric.ci_low - 1)} to ${signed_percent(metric.ci_high! - 1)})`);

async function choose_two(main: HTMLElement, signal: AbortSignal): Promise<void> {
  const found = await ask<SessionsPage>("sessions", exported() ? {} : {limit: 100}, signal);
  const pick = (name: string, shown: string, at: number) => h("label", {class: "whole"}, shown, h("select", {name}, ...found.sessions.map((session, i) =>
      h("option", {value: session.id, selected: i === at}, `${session.started.slice(0, 16).replace("T", " ")} ${session.hostname} ${session.commit.slice(0, 8)} ${session.command.slice(0, 60)}`))));
  const form = h("form", {class: "filter"}, pick("a", "A, the baseline", Math.min(1, found.sessions.length - 1)), pick("b", "B", 0), h("button", {type: "submit"}, "Compare")) as HTMLFormElement;
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const data = new FormData(form);
    location.hash = link_to("compare", {a: String(data.get("a")), b: String(data.get("b"))});
  });
  main.replaceChildren(h("h1", {tabindex: -1}, "Compare"), text("p", "quiet", "Two sessions of one machine, case by case. A is the baseline."), form);
}

export async function page_compare(main: HTMLElement, signal: AbortSignal, query: URLSearchParams): Promise<void> {
  const [first, second] = [query.get("a") ?? "", query.get("b") ?? ""];
  if (!first || !second) return choose_two(main, signal);
  const found = await ask<PairPage>("pair", {a: first, b: second}, signal);
  const metrics = [...found.comparison.metrics].sort((x, y) => kOrder.indexOf(x.verdict) - kOrder.indexOf(y.verdict));
  const counts = kOrder.map((word) => [word, metrics.filter((metric) => metric.verdict === word).length] as const).filter(([, count]) => count);
  main.replaceChildren(
      h("h1", {tabindex: -1}, "Compare"),
      side("A", found.a), side("B", found.b),
      h("p", {class: "row"}, h("span", {class: "verdict"}, "B is "), badge(found.verdict), text("span", "quiet", counts.map(([word, count]) => `${count} ${word}`).join(", ") +
        `; effects below ${found.comparison.effect * 100} % do not matter`), a(link_to("compare", {a: second, b: first}), "swap"), a(link_to("compare"), "others")),
      forest(metrics.slice(0, 40)),
      report_view(found.report.html),
      found.not_compared.length ? h("p", {class: "quiet"}, "Not compared: " + found.not_compared.join(", ") + ".") : "");
}
