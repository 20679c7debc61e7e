// Reports of other verbs as pages: matrix, scaling, load, optimization, acceptance, nodes against one another. What is absent
// in a document is left out.
import {base_options, chart_box, css, plugins} from "./charts";
import {Child, facts, h, table, text} from "./dom";
import {badge, percent, quantity, signed_percent} from "./format";
import {bisect_view, check_view} from "./verdict_views";

/* eslint-disable @typescript-eslint/no-explicit-any */
type Document = Record<string, any>;
const of = (list: any): any[] => Array.isArray(list) ? list : [];

function matrix_view(doc: Document): Child[] {
  const metrics = of(doc.metrics), variants = of(doc.variants);
  const cell = (variant: any, id: string) => of(variant.cells).find((one) => one.metric === id);
  const shown = (variant: any, metric: any) => {
    const found = cell(variant, metric.id);
    if (!found) return "";
    const against = found.against_baseline;
    return h("span", {title: against?.reason}, quantity(found.median, metric.unit), against?.ratio !== undefined ? h("span", {class: against.verdict === "better" ? "good" : against.verdict === "worse" ? "bad" : "quiet"}, " " + signed_percent(against.ratio - 1)) : "");
  };
  return [
    h("p", {class: "quiet"}, `${variants.length} variants; the front is of ${of(doc.objectives).join(" and ") || "no objective"}.`),
    table("Variants", [
      {name: "variant", kind: "long", cell: (variant: any) => h("span", null, variant.name, variant.baseline ? h("span", {class: "quiet"}, " baseline") : ""), sort: (variant: any) => variant.name},
      {name: "front", cell: (variant: any) => variant.on_front ? h("span", {class: "badge good"}, "on it") : "", sort: (variant: any) => variant.on_front ? 0 : 1},
      ...metrics.map((metric) => ({name: metric.id, number: true, cell: (variant: any) => shown(variant, metric), sort: (variant: any) => cell(variant, metric.id)?.median ?? Infinity})),
      {name: "runs", number: true, cell: (variant: any) => variant.runs},
      {name: "failed", cell: (variant: any) => variant.failures ? h("span", {class: "bad"}, `${variant.failures}: ${variant.reason ?? ""}`) : ""},
    ], variants),
    ...heat_map(doc),
    ...of(doc.notes).map((note) => text("p", "quiet", note)),
  ];
}

/** Two axes as a map of the first metric. */
function heat_map(doc: Document): Child[] {
  const axes = of(doc.axes);
  const metric = of(doc.metrics)[0];
  if (axes.length !== 2 || !metric) return [];
  const value = (row: string, column: string): number|undefined => of(of(doc.variants).find((one) => one.choice?.[axes[0].name] === row && one.choice?.[axes[1].name] === column)?.cells)
      .find((one) => one.metric === metric.id)?.median;
  const all = axes[0].labels.flatMap((row: string) => axes[1].labels.map((column: string) => value(row, column))).filter((one: any) => one !== undefined) as number[];
  const [low, high] = [Math.min(...all), Math.max(...all)];
  return [h("h2", null, `${metric.id} by ${axes[0].name} and ${axes[1].name}`),
    h("div", {class: "scroll"}, h("table", {class: "heat"}, h("thead", null, h("tr", null, h("th", null, ""), ...axes[1].labels.map((label: string) => h("th", {scope: "col"}, label)))),
      h("tbody", null, ...axes[0].labels.map((row: string) => h("tr", null, h("th", {scope: "row"}, row), ...axes[1].labels.map((column: string) => {
        const found = value(row, column);
        const made = h("td", null, quantity(found, metric.unit));
        if (found !== undefined && high > low) {
          const share = Math.round(5 + 40 * (found - low) / (high - low));
          made.style.background = `color-mix(in srgb, ${css("--c0")} ${share}%, transparent)`;
        }
        return made;
      }))))))];
}

function scaling_view(doc: Document): Child[] {
  const points = of(doc.points);
  const chart = chart_box("Speedup by number of " + doc.worker + "s: " + points.map((point) => `${point.workers}: ${point.speed_up?.value?.toFixed(2)}`).join(", "), "", () => {
    const options = base_options((value) => String(value), (value) => value.toFixed(1));
    options.scales.x.title = {display: true, text: doc.worker + "s", color: css("--quiet")};
    options.scales.y.title = {display: true, text: "speedup", color: css("--quiet")};
    options.scales.y.beginAtZero = true;
    options.scales.x.afterBuildTicks = (scale: any) => { scale.ticks = points.map((point) => ({value: point.workers})); };
    const most = Math.max(...points.map((point) => point.workers));
    const first = points[0]?.workers ?? 1;
    return {type: "line", plugins, options, data: {datasets: [
      {label: "measured", whiskers: true, borderColor: css("--c0"), backgroundColor: css("--c0"), pointRadius: 4,
       data: points.map((point) => ({x: point.workers, y: point.speed_up?.value, low: point.speed_up?.interval?.low ?? point.speed_up?.low, high: point.speed_up?.interval?.high ?? point.speed_up?.high}))},
      {label: "ideal", borderColor: css("--quiet"), borderDash: [5, 4], pointRadius: 0, data: [{x: first, y: first}, {x: most, y: most}]},
    ]}};
  });
  return [
    h("p", {class: "quiet"}, `${doc.mode} scaling, work in ${doc.unit}`), chart.box,
    h("p", {class: "legend"}, h("span", {class: "s0"}, "measured"), h("span", {class: "s7"}, "ideal")),
    table("Points", [
      {name: doc.worker + "s", number: true, cell: (point: any) => point.workers},
      {name: "throughput", number: true, cell: (point: any) => quantity(point.median, doc.unit + "/s")},
      {name: "speedup", number: true, cell: (point: any) => point.speed_up?.value?.toFixed(2)},
      {name: "efficiency", number: true, cell: (point: any) => percent(point.efficiency?.value)},
      {name: "", cell: (point: any) => point.grade},
      {name: "failed", number: true, cell: (point: any) => point.failures || ""},
    ], points),
    ...of(doc.causes).map((cause) => text("p", "", cause)),
    ...laws(doc),
  ];
}

const ranged = (one: any, digits: number): string => one?.value === undefined ? "" :
    one.value.toFixed(digits) + (one.low === undefined ? "" : ` (${one.low.toFixed(digits)} to ${one.high.toFixed(digits)})`);

/** The laws that were fitted, and what they predict. */
function laws(doc: Document): Child[] {
  const [fits, forecasts] = [of(doc.fits), of(doc.forecasts)];
  return [
    ...(fits.length ? [h("h2", null, "Laws"), facts(fits.flatMap((fit) => fit.reason ? [[fit.law, fit.reason] as [string, Child]] :
        Object.entries(fit.parameters ?? {}).map(([name, value]) => [`${fit.law}: ${name}`, ranged(value, 4)] as [string, Child]))),
      doc.peak_workers ? h("p", null, `Most throughput is predicted at ${Math.round(doc.peak_workers)} ${doc.worker}s.`) : ""] : []),
    ...(forecasts.length ? [h("h2", null, "Predicted"), table("Predicted", [
      {name: doc.worker + "s", number: true, cell: (row: any) => row.workers},
      {name: "law", cell: (row: any) => row.law},
      {name: "speedup", number: true, cell: (row: any) => ranged(row.speed_up, 1)},
      {name: "efficiency", number: true, cell: (row: any) => percent(row.efficiency)},
    ], forecasts)] : []),
  ];
}

function load_view(doc: Document): Child[] {
  const shown = ["p50", "p90", "p95", "p99"];
  return of(doc.scenarios).flatMap((scenario) => [
    h("h2", null, scenario.scenario + " ", h("span", {class: "quiet"}, scenario.rate_per_s ? quantity(scenario.rate_per_s, "requests/s") : scenario.concurrency ? scenario.concurrency + " at a time" : scenario.arrivals)),
    h("p", null, `${scenario.requests?.completed ?? 0} of ${scenario.requests?.sent ?? 0} requests completed`, scenario.requests?.failed ? h("span", {class: "bad"}, `, ${scenario.requests.failed} failed (${scenario.first_error ?? ""})`) : "",
      scenario.client?.verdict && scenario.client.verdict !== "reliable" ? h("span", {class: "warning"}, "; " + scenario.client.verdict) : ""),
    h("p", null, ...of(scenario.slo).flatMap((one) => [h("span", {class: one.verdict === "met" ? "good" : one.verdict === "missed" ? "bad" : "warning"}, `${one.objective}: ${one.verdict}`), "  "])),
    table("Metrics of " + scenario.scenario, [
      {name: "metric", cell: ([id]: [string, any]) => id, sort: ([id]: [string, any]) => id},
      {name: "mean", number: true, cell: ([, metric]: [string, any]) => quantity(metric.mean, metric.unit)},
      {name: "sd", number: true, cell: ([, metric]: [string, any]) => metric.n > 1 ? quantity(metric.stdev, metric.unit) : ""},
      ...shown.map((name) => ({name, number: true, cell: ([, metric]: [string, any]) => h("span", {title: metric.percentiles?.[name]?.reason}, quantity(metric.percentiles?.[name]?.value, metric.unit))})),
      {name: "largest", number: true, cell: ([, metric]: [string, any]) => quantity(metric.max, metric.unit)},
      {name: "n", number: true, cell: ([, metric]: [string, any]) => metric.n},
    ], Object.entries(scenario.metrics ?? {})),
  ]);
}

function optimization_view(doc: Document): Child[] {
  const steps = of(doc.steps);
  const kept = steps.filter((step) => step.cumulative?.ratio !== undefined);
  const chart = kept.length ? chart_box("Speedup after each step that was kept: " + kept.map((step) => `${step.knob} ${step.cumulative.ratio.toFixed(2)}`).join(", "), "low", () => {
    const options = base_options((value) => kept[Math.round(value) - 1]?.knob.slice(0, 18) ?? (value === 0 ? "begin" : ""), (value) => value.toFixed(2));
    options.scales.x.ticks.stepSize = 1;
    return {type: "line", plugins, options, data: {datasets: [{label: "speedup", stepped: true, borderColor: css("--c2"), backgroundColor: css("--c2"), pointRadius: 4, whiskers: true,
      data: [{x: 0, y: 1}, ...kept.map((step, i) => ({x: i + 1, y: step.cumulative.ratio, low: step.cumulative.low, high: step.cumulative.high}))]}]}};
  }).box : "";
  const factor = (one: any) => one ? `${one.ratio?.toFixed(3) ?? ""} (${one.low?.toFixed(2)} to ${one.high?.toFixed(2)})` : "";
  return [
    h("p", {class: "verdict"}, doc.verdict), h("p", null, h("span", {class: "copy"}, doc.program ?? "")), chart,
    table("Steps", [
      {name: "setting", cell: (step: any) => `${step.knob} ${step.value}`, kind: "long"},
      {name: "what", cell: (step: any) => step.title, kind: "long"},
      {name: "", cell: (step: any) => h("span", {class: "badge " + ({kept: "good", rejected: "bad", failed: "bad", no_gain: "quiet", slower: "quiet", replaced: "quiet"}[step.outcome as string] ?? "warning")}, (step.outcome as string).replace("_", " "))},
      {name: "predicted", number: true, cell: (step: any) => step.predicted ? `${step.predicted.low?.toFixed(2)} to ${step.predicted.high?.toFixed(2)}` : ""},
      {name: "measured", number: true, cell: (step: any) => factor(step.measured ?? step.found)},
      {name: "why", cell: (step: any) => step.reason, kind: "long quiet"},
    ], steps),
  ];
}

function acceptance_view(doc: Document): Child[] {
  return [
    h("p", null, badge(String(doc.result ?? doc.state ?? "")), " ", doc.summary ?? ""),
    facts([["machine", doc.machine?.hostname], ["criteria", doc.criteria?.file ?? doc.name], ["judged", doc.started], ["results of", doc.session]]),
    table("Criteria", [
      {name: "criterion", cell: (row: any) => row.title, kind: "long"},
      {name: "", cell: (row: any) => badge(row.state)},
      {name: "value", number: true, cell: (row: any) => row.value_text ?? quantity(row.value, row.unit ?? "")},
      {name: "limit", number: true, cell: (row: any) => row.limit_text ?? of(row.limits).map((limit) => quantity(limit, row.unit ?? "")).join(" to ")},
      {name: "why", cell: (row: any) => row.reason ?? "", kind: "long quiet"},
    ], of(doc.rows)),
  ];
}

export function across_view(doc: Document): HTMLElement {
  const units = of(doc.units);
  const rows = of(doc.metrics).flatMap((metric) => of(metric.values).filter((value) => value.state !== "normal").map((value) => ({metric, value})));
  return h("div", null,
    h("p", null, `${units.length} devices were compared in ${of(doc.metrics).length} ${of(doc.metrics).length === 1 ? "metric" : "metrics"}; a slow-down below ${percent(doc.effect)} does not matter. `,
      rows.length ? "" : h("span", {class: "good"}, "None stands out.")),
    rows.length ? table("Values that stand out", [
      {name: "node", cell: (row: any) => units[row.value.unit]?.node + " " + units[row.value.unit]?.device, sort: (row: any) => units[row.value.unit]?.node ?? ""},
      {name: "", cell: (row: any) => badge(row.value.state)},
      {name: "benchmark", cell: (row: any) => row.metric.what, kind: "long"},
      {name: "metric", cell: (row: any) => row.metric.metric},
      {name: "value", number: true, cell: (row: any) => quantity(row.value.value, row.metric.unit)},
      {name: "median of all", number: true, cell: (row: any) => quantity(row.metric.median, row.metric.unit)},
      {name: "slower by", number: true, cell: (row: any) => row.value.slowdown === undefined ? "" : percent(row.value.slowdown)},
      {name: "why", cell: (row: any) => row.value.reason ?? "", kind: "long quiet"},
    ], rows) : "",
    of(doc.differences).length ? h("section", null, h("h2", null, "What differs between the machines"), table("What differs between the machines", [
      {name: "node", cell: (row: any) => row.node}, {name: "fact", cell: (row: any) => row.fact},
      {name: "it has", cell: (row: any) => row.value}, {name: "most have", cell: (row: any) => row.most},
    ], of(doc.differences))) : "");
}

/** Any other document: its top as facts, the whole as text. */
function plain_view(doc: Document): Child[] {
  const simple = Object.entries(doc).filter(([, value]) => ["string", "number", "boolean"].includes(typeof value));
  return [facts(simple.map(([key, value]) => [key, String(value)])),
          h("details", null, h("summary", null, "The whole document"), h("pre", {class: "scroll"}, JSON.stringify(doc, null, 1).slice(0, 200000)))];
}

export function document_view(kind: string, doc: Document): Child[] {
  switch (kind) {
    case "matrix": return matrix_view(doc);
    case "scaling": return scaling_view(doc);
    case "load": return load_view(doc);
    case "optimization": return optimization_view(doc);
    case "acceptance": return acceptance_view(doc);
    case "across": return [across_view(doc)];
    case "check": return check_view(doc);
    case "bisect": return bisect_view(doc);
    default: return plain_view(doc);
  }
}
