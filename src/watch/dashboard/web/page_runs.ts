// Runs: sessions and single runs, to filter, sort and choose two of for a comparison.
import {ask, exported} from "./ask";
import {documents, documents_list} from "./documents";
import {a, field, filter_form, h, link_to, select, table, text} from "./dom";
import {ago, badge, commit_text, half_width, quantity, when} from "./format";
import {RunRow, RunsPage, SessionRow, SessionsPage} from "./types";

const outcomes_of = (session: SessionRow): HTMLElement => h("span", null,
    ...Object.entries(session.outcomes).map(([name, count]) => h("span", {class: "outcome " + (name === "passed" ? "" : name === "failed" || name === "error" ? "bad" : "warning")}, `${count} ${name} `)),
    session.complete ? null : badge("interrupted"));

const sum = (session: SessionRow): number => Object.values(session.outcomes).reduce((x, y) => x + y, 0);

export function sessions_table(sessions: SessionRow[], choose?: (id: string, on: boolean) => void): HTMLElement {
  const boxes = choose ? [{name: "compare", cell: (row: SessionRow) => h("input", {type: "checkbox", "aria-label": "compare session " + row.id,
      value: row.id, onchange: (event) => choose(row.id, (event.target as HTMLInputElement).checked)})}] : [];
  return table("Sessions", [
    ...boxes,
    {name: "started", cell: (row: SessionRow) => when(row.started), kind: "nowrap", sort: (row: SessionRow) => row.started},
    {name: "command", cell: (row: SessionRow) => a(link_to("session", {id: row.id}), row.command || row.id), kind: "long", sort: (row: SessionRow) => row.command},
    {name: "results", cell: outcomes_of, sort: sum},
    {name: "host", cell: (row: SessionRow) => row.hostname, sort: (row: SessionRow) => row.hostname},
    {name: "commit", cell: (row: SessionRow) => commit_text(row.commit, row.dirty), sort: (row: SessionRow) => row.commit},
    {name: "branch", cell: (row: SessionRow) => row.branch, sort: (row: SessionRow) => row.branch},
    {name: "tags", cell: (row: SessionRow) => h("span", null, ...row.tags.map((tag) => text("span", "tag", tag)))},
  ], sessions);
}

export function runs_table(runs: RunRow[]): HTMLElement {
  return table("Runs", [
    {name: "started", cell: (row: RunRow) => when(row.started), kind: "nowrap", sort: (row) => row.started},
    {name: "outcome", cell: (row) => badge(row.outcome), sort: (row) => row.outcome},
    {name: "benchmark", cell: (row) => a(link_to("run", {session: row.session, index: row.index}), row.label), kind: "long", sort: (row) => row.label},
    {name: "metric", cell: (row) => row.metric, sort: (row) => row.metric},
    {name: "value", number: true, cell: (row) => quantity(row.value, row.unit ?? ""), sort: (row) => row.value ?? -Infinity},
    {name: "\u00b1", number: true, kind: "quiet", cell: (row) => row.value === undefined ? "" : half_width(row.value, row.low, row.high)},
    {name: "n", number: true, cell: (row) => row.n, sort: (row) => row.n ?? 0},
    {name: "host", cell: (row) => row.hostname, sort: (row) => row.hostname},
    {name: "commit", cell: (row) => commit_text(row.commit, row.dirty), sort: (row) => row.commit},
  ], runs);
}

/** An export has whole lists: what the server would look for is looked for here. */
function holds(row: object, params: Record<string, string>): boolean {
  return Object.entries(params).every(([key, wanted]) => {
    if (!wanted) return true;
    const own = (row as Record<string, unknown>)[key === "host" ? "hostname" : key === "tag" ? "tags" : key];
    if (key === "text") return wanted.toLowerCase().split(" ").every((word) => JSON.stringify(row).toLowerCase().includes(word));
    return Array.isArray(own) ? own.includes(wanted) : key === "commit" ? String(own ?? "").startsWith(wanted) : String(own ?? "") === wanted;
  });
}

interface Listed { rows: unknown[]; next?: string; }
async function fetch_list(what: "sessions"|"runs", params: Record<string, string>, before: string, signal: AbortSignal): Promise<Listed> {
  if (exported()) {
    const all = await ask<SessionsPage&RunsPage>(what);
    return {rows: (what === "sessions" ? all.sessions : all.runs as unknown[]).filter((row) => holds(row as object, params))};
  }
  const found = await ask<SessionsPage&RunsPage>(what, {...params, before, limit: 100}, signal);
  return {rows: what === "sessions" ? found.sessions : found.runs, next: found.next};
}

function search(value: string, name: string, hint: string): HTMLElement {
  return h("input", {type: "search", name, value, placeholder: hint, maxlength: 200});
}

/** More pages below one another, as far as one asks for them. */
async function paged(box: HTMLElement, what: "sessions"|"runs", params: Record<string, string>, signal: AbortSignal,
                     show: (rows: unknown[]) => HTMLElement): Promise<void> {
  const rows: unknown[] = [];
  const more = async (before: string): Promise<void> => {
    const found = await fetch_list(what, params, before, signal);
    if (signal.aborted) return;
    rows.push(...found.rows);
    const button = found.next && h("button", {type: "button", onclick: () => { void more(found.next!); }}, "Show more");
    box.replaceChildren(
        rows.length ? show(rows) : text("p", "empty", Object.values(params).some(Boolean) ? "Nothing fits these filters." : "Nothing is stored yet: warpmark run"),
        h("p", {class: "quiet"}, rows.length ? `${rows.length} shown${found.next ? ", there are more. " : "."}` : "", button));
  };
  await more("");
}

export async function page_runs(main: HTMLElement, signal: AbortSignal, query: URLSearchParams): Promise<void> {
  const of_runs = query.get("show") === "runs";
  const keys = of_runs ? ["text", "outcome", "host", "commit", "session"] : ["text", "host", "commit", "branch", "tag"];
  const params: Record<string, string> = {};
  for (const key of keys) params[key] = query.get(key) ?? "";
  const list = h("div", {id: "list"}, text("p", "empty", "Loading\u2026"));
  const way = (name: string, shown: string, on: boolean) => h("a", {href: link_to("runs", {show: name}), "aria-current": on ? "true" : undefined}, shown);
  const fields = of_runs ? [
    field("words of the benchmark", search(params.text, "text", "gemm f32")),
    field("outcome", select("outcome", [["", "any"], ...["passed", "failed", "unreliable", "unsupported", "skipped", "error"].map((one) => [one, one] as [string, string])], params.outcome)),
    field("host", search(params.host, "host", "")),
    field("commit", search(params.commit, "commit", "")),
  ] : [
    field("text of command, host or id", search(params.text, "text", "")),
    field("host", search(params.host, "host", "")),
    field("commit", search(params.commit, "commit", "")),
    field("branch", search(params.branch, "branch", "")),
    field("tag", search(params.tag, "tag", "")),
  ];
  const chosen: string[] = [];
  const compare = h("button", {type: "button", disabled: true, id: "compare", onclick: () => {
    const [b, other] = chosen;  // the list is newest first: the older one is the baseline
    location.hash = link_to("compare", {a: other, b});
  }}, "Compare two sessions") as HTMLButtonElement;
  const order: string[] = [];
  const choose = (id: string, on: boolean) => {
    if (on) chosen.push(id);
    else chosen.splice(chosen.indexOf(id), 1);
    chosen.sort((x, y) => order.indexOf(x) - order.indexOf(y));
    compare.disabled = chosen.length !== 2;
    compare.textContent = chosen.length === 2 ? "Compare these two" : chosen.length === 1 ? "Choose one more to compare" : "Compare two sessions";
  };
  main.replaceChildren(
      h("h1", {tabindex: -1}, of_runs ? "Runs" : "Sessions"),
      h("p", {class: "row"}, way("sessions", "sessions", !of_runs), way("runs", "single runs", of_runs)),
      filter_form("runs", of_runs ? {show: "runs", session: params.session} : {}, ...fields),
      of_runs ? "" : h("p", {class: "row"}, compare, text("span", "quiet", "Name a session with: warpmark history tag ID NAME")),
      list);
  await paged(list, of_runs ? "runs" : "sessions", params, signal, (rows) => {
    if (of_runs) return runs_table(rows as RunRow[]);
    order.splice(0, order.length, ...(rows as SessionRow[]).map((row) => row.id));
    return sessions_table(rows as SessionRow[], choose);
  });
}

/** One session: what it was and its runs. */
export async function page_session(main: HTMLElement, signal: AbortSignal, query: URLSearchParams): Promise<void> {
  const id = query.get("id") ?? "";
  const list = await fetch_list("sessions", {text: id}, "", signal);
  const session = (list.rows as SessionRow[]).find((row) => row.id === id || row.tags.includes(id));
  const box = h("div", {id: "list"}, text("p", "empty", "Loading\u2026"));
  const before = h("span", null);
  const concluded = h("div", null);
  main.replaceChildren(
      h("p", {class: "crumbs"}, a(link_to("runs"), "Sessions"), " / ", id),
      h("h1", {tabindex: -1}, session?.command || id),
      session ? h("dl", {class: "tiles"}, ...([
        ["started", when(session.started), ago(session.started)], ["host", session.hostname, ""],
        ["commit", commit_text(session.commit, session.dirty) || "none", session.branch],
        ["results", outcomes_of(session), ""],
      ] as [string, Node|string, string][]).map(([name, value, small]) => h("div", {class: "tile"}, h("dt", null, name), h("dd", null, value, " ", small && h("small", null, small))))) : "",
      session?.tags.length ? h("p", null, "Tags: ", ...session.tags.map((tag) => text("span", "tag", tag))) : "",
      h("p", null, before, " ", h("span", {class: "copy"}, `warpmark report ${id} --html report.html`)),
      concluded, h("h2", null, "Runs"), box);
  await paged(box, "runs", {session: session?.id ?? id}, signal, (rows) => runs_table(rows as RunRow[]));
  if (!session) return;
  const of_session = await documents({session: session.id}, signal);
  if (of_session.documents.length && !signal.aborted) concluded.replaceChildren(h("h2", null, "Reports"), documents_list(of_session.documents));
  const earlier = await fetch_list("sessions", {host: session.hostname}, "", signal);
  const older = (earlier.rows as SessionRow[]).filter((row) => row.started < session.started && row.fingerprint === session.fingerprint)[0];
  if (older && !signal.aborted) before.replaceChildren(a(link_to("compare", {a: older.id, b: session.id}), "Compare with the session before"));
}
