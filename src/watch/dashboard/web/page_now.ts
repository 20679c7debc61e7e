// Now: what the machine does, what is being measured, what changed lately.
import {ask, auxiliary, exported, Problem} from "./ask";
import {base_options, chart_box, ChartBox, css, plugins, with_alpha} from "./charts";
import {a, h, link_to, renew, table, text} from "./dom";
import {ago, bytes, duration, percent, quantity, signed_percent, when} from "./format";
import {sessions_table} from "./page_runs";
import {show_state} from "./state";
import {ChangeRow, ChangesPage, Gpu, LivePage, Process, SessionsPage, SessionRow} from "./types";

const kKept = 300;  // moments of the small charts

interface Trace { values: {x: number; y: number}[]; }

interface TraceChart { made: ChartBox; add: (x: number, values: (number|undefined)[]) => void; clear: () => void; }
function trace_chart(label: string, colours: string[], names: string[]): TraceChart {
  const traces: Trace[] = names.map(() => ({values: []}));
  const made = chart_box(label, "low", () => {
    const options = base_options((value) => new Date(value).toISOString().slice(11, 19), (value) => value + " %");
    options.scales.y.min = 0;
    options.scales.y.max = 100;
    options.plugins.tooltip.callbacks = {title: () => "", label: (item: {dataset: {label: string}; parsed: {y: number}}) => item.dataset.label + ": " + item.parsed.y.toFixed(1) + " %"};
    return {type: "line", plugins, options, data: {datasets: traces.map((trace, i) => {
      const colour = css(colours[i % colours.length]);
      return {label: names[i], data: trace.values, borderColor: colour, borderWidth: 2, pointRadius: 0,
              fill: names.length === 1 ? "origin" : false, backgroundColor: with_alpha(colour, "26")};
    })}};
  });
  return {made, clear: () => { for (const trace of traces) trace.values.length = 0; }, add: (x, values) => {
    values.forEach((value, i) => {
      if (value === undefined) return;
      traces[i].values.push({x, y: value * 100});
      if (traces[i].values.length > kKept) traces[i].values.shift();
    });
    made.update(() => undefined);
  }};
}

/** What the clock of the machine did: told by each live value, against a clock of the browser that nobody sets. */
function clock_watch(): {box: HTMLElement; leapt: (host: string, at: number) => boolean; lost: () => void} {
  const box = h("p", {class: "warning", id: "clock", role: "status"});
  let before: number|null = null;
  return {box, lost: () => { before = null; }, leapt: (host, at) => {
    const now = at - performance.now();
    const leap_s = before === null ? 0 : (now - before) / 1000;
    before = now;
    const apart_s = (at - Date.now()) / 1000;
    const leapt = Math.abs(leap_s) > 30;
    if (leapt) box.textContent = `The clock of ${host} was set ${leap_s > 0 ? "forward" : "back"} by ${duration(Math.abs(leap_s))}.`;
    else if (Math.abs(apart_s) > 90 && !box.textContent) box.textContent = `The clock of ${host} is ${duration(Math.abs(apart_s))} ${apart_s > 0 ? "ahead of" : "behind"} this browser's.`;
    return leapt;
  }};
}

function meter(ratio: number|undefined, label: string): HTMLElement|null {
  if (ratio === undefined) return null;
  return h("meter", {min: 0, max: 1, value: ratio.toFixed(3), "aria-label": label + " " + percent(ratio)});
}

function tile(name: string, value: Node|string, small = ""): HTMLElement {
  return h("div", {class: "tile"}, h("dt", null, name), h("dd", null, value, " ", small && h("small", null, small)));
}

function gpu_table(gpus: Gpu[]): HTMLElement {
  const share = (used?: number, all?: number) => used !== undefined && all ? used / all : undefined;
  return table("GPUs", [
    {name: "GPU", cell: (gpu: Gpu) => gpu.index + " " + gpu.name, kind: "nowrap"},
    {name: "busy", number: true, cell: (gpu) => h("span", null, percent(gpu.utilization), meter(gpu.utilization, "busy"))},
    {name: "memory", number: true, cell: (gpu) => h("span", null, bytes(gpu.memory_used_bytes), meter(share(gpu.memory_used_bytes, gpu.memory_bytes), "memory"))},
    {name: "SM clock", number: true, cell: (gpu) => quantity(gpu.sm_clock_hz, "Hz")},
    {name: "power", number: true, cell: (gpu) => quantity(gpu.power_w, "W") + (gpu.power_limit_w ? " of " + quantity(gpu.power_limit_w, "W") : "")},
    {name: "temperature", number: true, cell: (gpu) => gpu.temperature_c === undefined ? "" : gpu.temperature_c + " \u00b0C"},
    {name: "PCIe out / in", number: true, cell: (gpu) => gpu.pcie_sent === undefined ? "" : quantity(gpu.pcie_sent, "B/s") + " / " + quantity(gpu.pcie_received, "B/s")},
    {name: "NVLink out / in", number: true, cell: (gpu) => gpu.nvlink_sent === undefined ? "" : quantity(gpu.nvlink_sent, "B/s") + " / " + quantity(gpu.nvlink_received, "B/s")},
    {name: "slowed by", cell: (gpu) => h("span", {class: "warning"}, (gpu.slowed_by ?? []).join(", "))},
  ], gpus);
}

export function changes_table(changes: ChangeRow[]): HTMLElement {
  return table("Change points", [
    {name: "benchmark", cell: (row: ChangeRow) => a(case_link(row), row.label), kind: "long", sort: (row) => row.label},
    {name: "metric", cell: (row) => row.metric},
    {name: "change", number: true, sort: (row) => row.after / row.before,
     cell: (row) => h("span", {class: row.worse === undefined ? "quiet" : row.worse ? "bad" : "good"}, signed_percent(row.after / row.before - 1))},
    {name: "from", number: true, cell: (row) => quantity(row.before, row.unit)},
    {name: "to", number: true, cell: (row) => quantity(row.after, row.unit)},
    {name: "since", cell: (row) => when(row.started), kind: "nowrap", sort: (row) => row.started},
    {name: "commit", cell: (row) => row.commit.slice(0, 10)},
    {name: "sessions ago", number: true, cell: (row) => row.ago, sort: (row) => row.ago},
  ], changes);
}
export const case_link = (row: {workload: string; params: string; device: string; mode: string; metric: string}): string =>
    link_to("case", {workload: row.workload, params: row.params, device: row.device, mode: row.mode, metric: row.metric});

/** Asks until all cases were looked at. */
async function fill_changes(box: HTMLElement, signal: AbortSignal): Promise<void> {
  for (;;) {
    const found = await ask<ChangesPage>("changes", {}, signal);
    if (signal.aborted) return;
    const rows = found.changes.slice(0, 30);
    const done = found.seen >= found.cases;
    renew(box,
        rows.length ? changes_table(rows) : text("p", "empty", done ? "No benchmark has a change point of 5 % or more." : "Loading\u2026"),
        done ? "" : text("p", "quiet", `${found.seen} of ${found.cases} benchmarks probed at.`));
    if (done || exported()) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

function machine_box(live: LivePage, box: HTMLElement): void {
  const {host, gpus, processes, gpu_problem} = live.machine;
  renew(box,
      h("dl", {class: "tiles"},
        tile("CPU", percent(host.utilization) || "\u2026", host.cpus + " threads"),
        tile("Memory", bytes(host.memory_used_bytes), "of " + bytes(host.memory_bytes)),
        tile("Load, 1 min", host.load_average === undefined ? "" : host.load_average.toFixed(2)),
        tile("GPUs", String(gpus.length), gpu_problem && !gpus.length ? "none found" : "")),
      gpus.length ? gpu_table(gpus) : text("p", "quiet", gpu_problem ?? "No GPU."),
      h("details", null, h("summary", null, "Processes"),
        table("Processes", [
          {name: "process", number: true, cell: (row: Process) => row.id},
          {name: "cores", number: true, cell: (row) => row.cores === undefined ? "" : row.cores.toFixed(2)},
          {name: "memory", number: true, cell: (row) => bytes(row.memory_bytes)},
          {name: "GPUs", cell: (row) => (row.gpus ?? []).map((use) => use.gpu).join(", ")},
          {name: "command", cell: (row) => row.command ?? "", kind: "long"},
        ], processes)));
}

function progress_of(sessions: (SessionRow&{rounds_pending?: number})[]): HTMLElement {
  const under_way = sessions.filter((session) => !session.complete && Date.now() - Date.parse(session.started) < 86400000);
  if (!under_way.length) return text("p", "quiet", "No session is under way.");
  return h("ul", null, ...under_way.map((session) => h("li", null,
      h("span", {class: "dot live"}), a(link_to("session", {id: session.id}), session.command || session.id), ` on ${session.hostname}, begun ${ago(session.started)}: `,
      Object.entries(session.outcomes).map(([name, count]) => `${count} ${name}`).join(", ") || "no result yet",
      session.rounds_pending ? `; ${session.rounds_pending} rounds measured of cases that are not complete` : "")));
}

export async function page_now(main: HTMLElement, signal: AbortSignal): Promise<void> {
  const changes = h("div", null, text("p", "empty", "Loading\u2026"));
  const newest = h("div", {id: "newest"});
  const machine = h("div", {id: "machine"}, text("p", "empty", exported() ? "An export has no live values." : "Waiting for the first values\u2026"));
  const cpu = trace_chart("CPU use over the last minutes, in percent", ["--c0"], ["CPU"]);
  let gpu: TraceChart|null = null;
  const clock = clock_watch();
  const gpu_box = h("div", null);
  const progress = h("div", {id: "progress"});
  const light = h("span", {class: "dot wait"});
  const said = h("span", {class: "quiet", id: "live-time"}, exported() ? "export of " + exported()!.made : "connecting");
  main.replaceChildren(
      h("h1", {tabindex: -1}, "Now"),
      h("p", null, light, said), clock.box,
      h("section", {"aria-labelledby": "machine-head"}, h("h2", {id: "machine-head"}, "This machine"), machine,
        exported() ? null : h("div", {class: "columns"}, h("div", null, text("p", "crumbs", "CPU use"), cpu.made.box), gpu_box)),
      h("section", {"aria-labelledby": "progress-head"}, h("h2", {id: "progress-head"}, "Being measured"), progress),
      h("section", {"aria-labelledby": "changes-head"}, h("h2", {id: "changes-head"}, "What changed"), changes),
      h("section", {"aria-labelledby": "newest-head"}, h("h2", {id: "newest-head"}, "Newest sessions"), newest));
  const fill_newest = async () => {
    const found = await ask<SessionsPage>("sessions", exported() ? {} : {limit: 8}, signal);
    const rows = found.sessions.slice(0, 8);
    renew(newest, rows.length ? sessions_table(rows) : text("p", "empty", "Nothing is stored yet: warpmark run"));
    renew(progress, progress_of(found.sessions));
  };
  const quietly = (work: Promise<void>) => work.catch((error) => {
    if (!signal.aborted) show_state(error instanceof Problem ? error : new Problem(String(error), ""));
  });
  quietly(fill_newest());
  quietly(fill_changes(changes, signal));
  if (exported()) {
    light.remove();
    return;
  }
  const events = new EventSource(auxiliary("events"));
  signal.addEventListener("abort", () => events.close());
  let newest_seen = "";
  events.onmessage = (event) => {
    const live = JSON.parse(event.data) as LivePage;
    light.className = "dot live";
    said.textContent = `${live.machine.host.name || "this host"}, ${live.time.replace("T", " ").replace("Z", " UTC")}`;
    machine_box(live, machine);
    const at = Date.parse(live.time);
    if (clock.leapt(live.machine.host.name || "this host", at)) {
      cpu.clear();
      gpu?.clear();
    }
    cpu.add(at, [live.machine.host.utilization]);
    const gpus = live.machine.gpus;
    if (gpus.length && !gpu) {
      gpu = trace_chart("Use of each GPU over the last minutes, in percent", ["--c0", "--c1", "--c2", "--c3", "--c4", "--c5", "--c6", "--c7"], gpus.map((one) => "GPU " + one.index));
      gpu_box.replaceChildren(text("p", "crumbs", "GPU use"), gpu.made.box);
    }
    gpu?.add(at, gpus.map((one) => one.utilization));
    if (!live.store) return;
    if (!live.store.up) {
      show_state(new Problem(live.store.problem ?? "The database cannot be read.", live.store.hint ?? "", true));
      newest_seen = "";
      return;
    }
    show_state(null);
    renew(progress, progress_of(live.store.sessions));
    const seen = live.store.sessions.map((session) => session.id + session.complete + JSON.stringify(session.outcomes)).join();
    if (seen !== newest_seen) {
      newest_seen = seen;
      quietly(fill_newest());
    }
  };
  events.onerror = () => {
    clock.lost();
    light.className = "dot off";
    said.textContent = "connection lost; trying again";
  };
}
