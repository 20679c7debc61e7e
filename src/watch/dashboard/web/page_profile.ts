// Profile: findings, where the time goes, and the timeline of one step, of the recordings in the folder of --files.
import {ask, auxiliary, exported, name_of} from "./ask";
import {a, h, link_to, table, text} from "./dom";
import {bytes, percent, quantity, when} from "./format";
import {FileRow, Files} from "./types";

interface Finding {
  rule: string; severity: number; level: string; title: string; lost_s: number; evidence: {text: string}[];
  recommendations: {text: string}[]; gain?: {low: number; high: number};
}
interface AnalysisTable { id: string; title: string; note?: string; columns: {id: string; title: string; unit: string}[]; rows: (string|number|null)[][]; }
interface Profile {
  name: string; timeline: boolean;
  analysis: {
    verdict: string; cautions: string[]; session: {steps: number; step_ms: number; ranks: number; gpus?: string[]};
    breakdown: Record<string, {group: string; total_ns: number; share: number}>; findings: Finding[]; tables: AnalysisTable[];
    missing: {what: string; how: string}[]; combined_gain?: {low: number; high: number};
  };
}

const gain_text = (gain?: {low: number; high: number}): string => gain && gain.high > 1.001 ? `estimated speedup if fixed: ${gain.low.toFixed(2)}x-${gain.high.toFixed(2)}x` : "";
const tone_of_level = (level: string): string => level === "critical" ? "bad" : level === "warning" ? "warning" : "quiet";

/** As high as what is in it; from a disk no page may look into another. */
function fit(event: Event): void {
  const frame = event.target as HTMLIFrameElement;
  const inner = exported() ? null : frame.contentDocument;
  if (inner) frame.style.height = inner.documentElement.scrollHeight + 8 + "px";
}

async function list(main: HTMLElement, signal: AbortSignal): Promise<void> {
  const found = await ask<Files>("files", {}, signal);
  const rows = found.files.filter((file) => file.kind === "profile");
  main.replaceChildren(
      h("h1", {tabindex: -1}, "Profiles"),
      rows.length ? table("Profiles", [
        {name: "recording", cell: (row: FileRow) => a(link_to("profile", {name: row.name}), row.name), kind: "long", sort: (row) => row.name},
        {name: "size", number: true, cell: (row) => bytes(row.bytes), sort: (row) => row.bytes},
        {name: "changed", cell: (row) => when(row.modified), kind: "nowrap", sort: (row) => row.modified},
      ], rows) :
      h("p", {class: "empty"}, found.folder ? "The folder has no recordings." : "No folder of recordings is shown: ", found.folder ? "" : h("span", {class: "copy"}, "warpmark dashboard --files DIR")));
}

export async function page_profile(main: HTMLElement, signal: AbortSignal, query: URLSearchParams): Promise<void> {
  const name = query.get("name");
  if (!name) return list(main, signal);
  main.replaceChildren(text("p", "empty", `Reading ${name}\u2026`));
  const {analysis, timeline} = await ask<Profile>("profile", {name}, signal);
  const parts = Object.entries(analysis.breakdown).sort(([, x], [, y]) => y.share - x.share);
  const frame = exported() ? "data/" + exported()!.answers[name_of("timeline", {name})] + ".html" : auxiliary("timeline.html?" + new URLSearchParams({name}));
  main.replaceChildren(
      h("p", {class: "crumbs"}, a(link_to("profile"), "Profiles"), " / ", name),
      h("h1", {tabindex: -1}, analysis.verdict || name),
      h("p", {class: "quiet"}, [analysis.session.steps ? `${analysis.session.steps} steps of ${analysis.session.step_ms.toFixed(2)} ms` : "", (analysis.session.gpus ?? []).join(", "), gain_text(analysis.combined_gain)].filter(Boolean).join("; ")),
      ...analysis.cautions.map((one) => text("p", "warning", one)),
      h("h2", null, `Findings (${analysis.findings.length})`),
      ...analysis.findings.map((finding) => h("article", {class: "finding level-" + finding.level},
          h("h3", null, finding.title, " ", h("span", {class: "badge " + tone_of_level(finding.level)}, finding.level)),
          h("p", null, finding.evidence.map((fact) => fact.text).join("; ")),
          text("p", "quiet", gain_text(finding.gain)),
          h("ul", null, ...finding.recommendations.map((one) => h("li", null, one.text))))),
      analysis.findings.length ? "" : text("p", "quiet", "No bottleneck was found."),
      parts.length ? h("div", null, h("h2", null, "Where the time goes"), table("Breakdown of a step", [
        {name: "part", cell: ([id]: typeof parts[0]) => id.replace(/_/g, " ")},
        {name: "kind", cell: ([, part]) => part.group},
        {name: "share", number: true, cell: ([, part]) => h("span", null, percent(part.share), h("meter", {min: 0, max: 1, value: part.share.toFixed(4), "aria-label": "share"}))},
        {name: "a step", number: true, cell: ([, part]) => quantity(part.total_ns * 1e-9, "s")},
      ], parts)) : "",
      timeline ? h("iframe", {class: "timeline", title: "Timeline of one step", src: frame, onload: fit}) : "",
      ...analysis.tables.filter((one) => one.rows.length).map((one) => h("details", null, h("summary", null, one.title),
          one.note ? text("p", "quiet", one.note) : "",
          table(one.title, one.columns.map((column, i) => ({
            name: column.title, number: one.rows.some((row) => typeof row[i] === "number"), kind: "long",
            cell: (row: (string|number|null)[]) => typeof row[i] === "number" ? quantity(row[i] as number, column.unit) : row[i],
            sort: (row: (string|number|null)[]) => row[i] ?? "",
          })), one.rows.slice(0, 200)))),
      analysis.missing.length ? h("details", null, h("summary", null, "What could not be seen"), h("ul", null, ...analysis.missing.map((one) => h("li", null, one.what, ": ", one.how)))) : "");
}
