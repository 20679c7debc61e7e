// Reports: matrices, scaling, load tests, journeys of optimization, acceptance: the documents in the folder of --files,
// and what the store has of the same kind.
import {ask, exported} from "./ask";
import {a, append, h, link_to, table, text} from "./dom";
import {bytes, when} from "./format";
import {runs_table, sessions_table} from "./page_runs";
import {document_view} from "./report_views";
import {FileRow, Files, Runs, Sessions} from "./types";

interface Kind { id: string; name: string; kinds: string[]; verb: string; runs?: Record<string, string>; sessions?: string; }
const kKinds: Kind[] = [
  {id: "matrix", name: "Matrices", kinds: ["matrix"], verb: "warpmark matrix FILE --out DIR", sessions: "warpmark matrix"},
  {id: "scaling", name: "Scaling", kinds: ["scaling"], verb: "warpmark scale --out DIR", sessions: "warpmark scale"},
  {id: "load", name: "Load tests", kinds: ["load", "load_comparison"], verb: "warpmark load run --json FILE", runs: {workload: "serving"}},
  {id: "journeys", name: "Optimization", kinds: ["journey"], verb: "warpmark optimize --json FILE", runs: {workload: "optimize"}},
  {id: "acceptance", name: "Acceptance", kinds: ["acceptance", "across"], verb: "warpmark accept CRITERIA --out DIR", sessions: "warpmark accept"},
  {id: "others", name: "Others", kinds: [], verb: "--json FILE of any verb"},
];
const known = new Set(kKinds.flatMap((kind) => kind.kinds));

async function stored(kind: Kind, signal: AbortSignal): Promise<HTMLElement|null> {
  if (kind.runs) {
    const found = await ask<Runs>("runs", exported() ? {} : {...kind.runs, limit: 50}, signal);
    const rows = found.runs.filter((run) => run.workload === kind.runs!.workload);
    return rows.length ? runs_table(rows) : null;
  }
  if (!kind.sessions) return null;
  const found = await ask<Sessions>("sessions", exported() ? {} : {text: kind.sessions, limit: 50}, signal);
  const rows = found.sessions.filter((session) => session.command.includes(kind.sessions!));
  return rows.length ? sessions_table(rows) : null;
}

export async function page_reports(main: HTMLElement, signal: AbortSignal, query: URLSearchParams): Promise<void> {
  const kind = kKinds.find((one) => one.id === query.get("kind")) ?? kKinds[0];
  const name = query.get("name");
  if (name) return page_document(main, signal, kind, name);
  const found = await ask<Files>("files", {}, signal);
  const rows = found.files.filter((file) => file.kind !== "profile" && (kind.id === "others" ? !known.has(file.kind) : kind.kinds.includes(file.kind)));
  const of_store = await stored(kind, signal);
  if (signal.aborted) return;
  main.replaceChildren(
      h("h1", {tabindex: -1}, "Reports"),
      h("nav", {class: "row", "aria-label": "Kinds of reports"}, ...kKinds.map((one) => h("a", {href: link_to("reports", {kind: one.id}), "aria-current": one === kind ? "true" : undefined}, one.name))),
      h("h2", null, kind.name),
      rows.length ? table(kind.name, [
        {name: "file", cell: (row: FileRow) => a(link_to("reports", {kind: kind.id, name: row.name}), row.name), kind: "long", sort: (row) => row.name},
        {name: "kind", cell: (row) => row.kind, sort: (row) => row.kind},
        {name: "size", number: true, cell: (row) => bytes(row.bytes), sort: (row) => row.bytes},
        {name: "changed", cell: (row) => when(row.modified), kind: "nowrap", sort: (row) => row.modified},
      ], rows) : h("p", {class: "empty"}, found.folder ? "The folder has none. " : "No folder of reports is shown (--files DIR). ", "They are written by ", h("span", {class: "copy"}, kind.verb)),
      of_store ? h("section", null, h("h2", null, "Stored results"), of_store) : "");
}

async function page_document(main: HTMLElement, signal: AbortSignal, kind: Kind, name: string): Promise<void> {
  const found = await ask<Record<string, unknown>>("document", {name}, signal);
  const schema = String(found.schema ?? "").replace(/^warpmark\.(.*)\/\d+$/, "$1");
  main.replaceChildren(h("p", {class: "crumbs"}, a(link_to("reports", {kind: kind.id}), kind.name), " / ", name),
                       h("h1", {tabindex: -1}, String(found.name ?? name)), text("p", "quiet", [found.started, found.command].filter(Boolean).join("  ")));
  append(main, document_view(schema, found));
}
