// Reports: matrices, scaling, load tests, optimizations, acceptance, checks, bisections: the documents that the
// store has of its sessions, and those in the folder of --files.
import {ask, exported, Params} from "./ask";
import {document_address, documents, name_of_kind} from "./documents";
import {a, facts, h, link_to, table, text} from "./dom";
import {bytes, when} from "./format";
import {runs_table, sessions_table} from "./page_runs";
import {report_view, Shown} from "./report";
import {DocumentRow, FileRow, FilesPage, RunsPage, SessionsPage} from "./types";

interface Kind { id: string; name: string; kinds: string[]; verb: string; runs?: Record<string, string>; sessions?: string; }
const kKinds: Kind[] = [
  {id: "matrix", name: "Matrices", kinds: ["matrix"], verb: "warpmark matrix FILE", sessions: "warpmark matrix"},
  {id: "scaling", name: "Scaling", kinds: ["scaling"], verb: "warpmark scale", sessions: "warpmark scale"},
  {id: "load", name: "Load tests", kinds: ["load", "load_comparison"], verb: "warpmark load run", runs: {workload: "serving"}},
  {id: "optimizations", name: "Optimization", kinds: ["optimization"], verb: "warpmark optimize", runs: {workload: "optimize"}},
  {id: "acceptance", name: "Acceptance", kinds: ["acceptance", "across"], verb: "warpmark accept CRITERIA", sessions: "warpmark accept"},
  {id: "check", name: "Checks", kinds: ["check"], verb: "warpmark check"},
  {id: "bisect", name: "Bisections", kinds: ["bisect"], verb: "warpmark bisect"},
  {id: "others", name: "Others", kinds: [], verb: ""},
];
const kPage = 100;
const known = new Set(kKinds.flatMap((kind) => kind.kinds));

async function stored(kind: Kind, signal: AbortSignal): Promise<HTMLElement|null> {
  if (kind.runs) {
    const found = await ask<RunsPage>("runs", exported() ? {} : {...kind.runs, limit: 50}, signal);
    const rows = found.runs.filter((run) => run.workload === kind.runs!.workload);
    return rows.length ? runs_table(rows) : null;
  }
  if (!kind.sessions) return null;
  const found = await ask<SessionsPage>("sessions", exported() ? {} : {text: kind.sessions, limit: 50}, signal);
  const rows = found.sessions.filter((session) => session.command.includes(kind.sessions!));
  return rows.length ? sessions_table(rows) : null;
}

/** Of the kinds that are shown here, the newest first. */
async function kept(kind: Kind, before: string, signal: AbortSignal): Promise<{rows: DocumentRow[]; next?: string}> {
  if (kind.kinds.length === 1) {
    const found = await documents({kind: kind.kinds[0], before, limit: kPage}, signal);
    return {rows: found.documents, next: found.next};
  }
  if (!kind.kinds.length) return {rows: (await documents({limit: 1000}, signal)).documents.filter((row) => !known.has(row.kind))};
  const all = await Promise.all(kind.kinds.map((one) => documents({kind: one, limit: kPage}, signal)));
  return {rows: all.flatMap((found) => found.documents).sort((x, y) => x.made < y.made ? 1 : -1)};
}

function documents_table(kind: Kind, rows: DocumentRow[]): HTMLElement {
  return table(kind.name + " in the database", [
    {name: "made", cell: (row: DocumentRow) => when(row.made), kind: "nowrap", sort: (row) => row.made},
    {name: "report", cell: (row) => a(document_address(row, kind.id), row.title || row.kind), kind: "long", sort: (row) => row.title},
    {name: "kind", cell: (row) => row.kind, sort: (row) => row.kind},
    {name: "host", cell: (row) => row.hostname, sort: (row) => row.hostname},
    {name: "session", cell: (row) => a(link_to("session", {id: row.session}), row.command || row.session), kind: "long", sort: (row) => row.session},
  ], rows);
}

const files_table = (kind: Kind, rows: FileRow[]): HTMLElement => table(kind.name + " in the folder", [
  {name: "file", cell: (row: FileRow) => a(link_to("reports", {kind: kind.id, name: row.name}), row.name), kind: "long", sort: (row) => row.name},
  {name: "kind", cell: (row) => row.kind, sort: (row) => row.kind},
  {name: "size", number: true, cell: (row) => bytes(row.bytes), sort: (row) => row.bytes},
  {name: "changed", cell: (row) => when(row.modified), kind: "nowrap", sort: (row) => row.modified},
], rows);

export async function page_reports(main: HTMLElement, signal: AbortSignal, query: URLSearchParams): Promise<void> {
  const kind = kKinds.find((one) => one.id === query.get("kind")) ?? kKinds.find((one) => one.kinds.includes(query.get("kind") ?? "")) ?? kKinds[0];
  if (query.get("name") || query.get("session")) return page_document(main, signal, kind, query);
  const [of_folder, of_store] = await Promise.all([ask<FilesPage>("files", {}, signal), kept(kind, query.get("before") ?? "", signal)]);
  const files = of_folder.files.filter((file) => file.kind !== "profile" && (kind.id === "others" ? !known.has(file.kind) : kind.kinds.includes(file.kind)));
  const results = of_store.rows.length ? null : await stored(kind, signal);
  if (signal.aborted) return;
  main.replaceChildren(
      h("h1", {tabindex: -1}, "Reports"),
      h("nav", {class: "row", "aria-label": "Kinds of reports"}, ...kKinds.map((one) => h("a", {href: link_to("reports", {kind: one.id}), "aria-current": one === kind ? "true" : undefined}, one.name))),
      h("h2", null, kind.name),
      of_store.rows.length ? documents_table(kind, of_store.rows) : h("p", {class: "empty"}, "The database has none. ", kind.verb ? "They are made by " : "", h("span", {class: "copy"}, kind.verb)),
      of_store.next ? h("p", null, a(link_to("reports", {kind: kind.id, before: of_store.next}), "Older")) : "",
      files.length ? h("section", null, h("h3", null, "In the folder"), files_table(kind, files)) : "",
      results ? h("section", null, h("h3", null, "Stored results"), results) : "");
}

/** Of a document that has no report: its top as facts, the whole as text. */
function plain_view(document: Record<string, unknown>): HTMLElement[] {
  const simple = Object.entries(document).filter(([, value]) => ["string", "number", "boolean"].includes(typeof value));
  return [facts(simple.map(([key, value]) => [key, String(value)])),
          h("details", null, h("summary", null, "The whole document"), h("pre", {class: "scroll"}, JSON.stringify(document, null, 1).slice(0, 200000)))];
}

async function page_document(main: HTMLElement, signal: AbortSignal, kind: Kind, query: URLSearchParams): Promise<void> {
  const [name, session] = [query.get("name") ?? "", query.get("session") ?? ""];
  const wanted: Params = name ? {name} : {session, index: query.get("index") ?? "0"};
  const [document, found] = await Promise.all([ask<Record<string, unknown>>("document", wanted, signal), ask<Partial<Shown>&{problem?: string}>("report", wanted, signal)]);
  const {title, subtitle, html, problem} = found;
  const schema = String(document.schema ?? "").replace(/^warpmark\.(.*)\/\d+$/, "$1");
  const [started, command] = [document.started, document.command].map((one) => typeof one === "string" ? one : "");
  main.replaceChildren(
      h("p", {class: "crumbs"}, a(link_to("reports", {kind: kind.id}), kind.name), " / ", name || a(link_to("session", {id: session}), session)),
      h("h1", {tabindex: -1}, title || String(document.name ?? (name || name_of_kind(schema)))),
      subtitle && subtitle !== started && subtitle !== command ? h("p", {class: "verdict"}, subtitle) : "",
      h("p", {class: "quiet"}, started ? when(started) : "", "  ", command),
      problem ? text("p", "warning", problem) : "",
      ...(html === undefined ? plain_view(document) : [report_view(html)]));
}
