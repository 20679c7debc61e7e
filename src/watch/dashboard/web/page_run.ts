// One run: what it measured, how its samples lie, how it can be repeated.
import {ask} from "./ask";
import {base_options, chart_box, css, histogram, plugins} from "./charts";
import {a, facts, h, link_to, table, text} from "./dom";
import {badge, half_width, percent, quantity, when} from "./format";
import {case_link} from "./page_now";
import {RunDocument, ShownMetric} from "./types";

function samples_chart(metric: ShownMetric): HTMLElement {
  const step = metric.every ?? 1;
  return chart_box(`Samples of ${metric.id} in the order taken`, "low", () => {
    const options = base_options((value) => String(Math.round(value)), (value) => quantity(value, metric.unit));
    options.plugins.tooltip.callbacks = {title: (items: {parsed: {x: number}}[]) => "sample " + items[0].parsed.x, label: (item: {parsed: {y: number}}) => quantity(item.parsed.y, metric.unit)};
    return {type: "scatter", plugins, options, data: {datasets: [{
      data: metric.samples.map((value, i) => ({x: i * step, y: value})), backgroundColor: css("--c0"), pointRadius: metric.samples.length > 500 ? 1 : 2.2}]}};
  }).box;
}

export async function page_run(main: HTMLElement, signal: AbortSignal, query: URLSearchParams): Promise<void> {
  const session = query.get("session") ?? "";
  const found = await ask<RunDocument>("run", {session, index: query.get("index") ?? "0"}, signal);
  const {run} = found;
  const metrics = run.metrics;
  const primary = metrics[0];
  const of_case = (metric: string) => case_link({workload: run.workload, params: found.params, device: run.device, mode: run.mode, metric});
  main.replaceChildren(
      h("p", {class: "crumbs"}, a(link_to("runs"), "Sessions"), " / ", a(link_to("session", {id: session}), session), " / ", run.index),
      h("h1", {tabindex: -1}, found.label),
      h("p", null, badge(run.outcome), run.reason ? " " + run.reason : "", run.hint ? h("span", {class: "quiet"}, " " + run.hint) : ""),
      ...(run.environment?.disturbances ?? []).map((one) => h("p", {class: one.invalidates ? "warning" : "quiet"}, one.cause)),
      h("h2", null, "Metrics"),
      metrics.length ? table("Metrics", [
        {name: "metric", cell: (row: ShownMetric) => a(of_case(row.id), row.id + " over time")},
        {name: "median", number: true, cell: (row) => quantity(row.median, row.unit)},
        {name: "\u00b1", number: true, kind: "quiet", cell: (row) => half_width(row.median, row.ci_low, row.ci_high)},
        {name: "least", number: true, cell: (row) => quantity(row.min, row.unit)},
        {name: "largest", number: true, cell: (row) => quantity(row.max, row.unit)},
        {name: "spread (CV)", number: true, cell: (row) => percent(row.cv)},
        {name: "n", number: true, cell: (row) => row.n},
      ], metrics) : text("p", "empty", "It has no value."),
      primary && primary.samples.length > 1 ? h("div", {class: "columns"},
          h("figure", null, h("figcaption", null, "How the samples lie: " + primary.id),
            histogram("Distribution of " + primary.id + ": median " + quantity(primary.median, primary.unit), primary.id, primary.samples,
                      (value) => quantity(value, primary.unit)).box),
          h("figure", null, h("figcaption", null, "In the order taken" + (primary.every ? `, every ${primary.every}th` : "")), samples_chart(primary))) : "",
      h("h2", null, "How it was measured"),
      facts([
        ["started", run.started ? when(run.started) : ""], ["device", run.device], ["mode", run.mode],
        ["parameters", found.params], ["rounds", run.rounds], ["stopped because", run.stopped_because],
        ["measure again", h("span", {class: "copy"}, run.repro)],
      ]));
}
