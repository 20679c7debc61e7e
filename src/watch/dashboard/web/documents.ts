// What verbs concluded about stored sessions: matrices, optimizations, acceptances, checks, bisections.
import {ask, exported} from "./ask";
import {a, h, link_to} from "./dom";
import {when} from "./format";
import {DocumentRow, DocumentsPage} from "./types";

interface Wanted { kind?: string; session?: string; host?: string; before?: string; limit?: number; }

/** Of the store; an export has the whole list, in which it is looked here. */
export async function documents(wanted: Wanted, signal?: AbortSignal): Promise<DocumentsPage> {
  if (!exported()) return ask<DocumentsPage>("documents", {...wanted}, signal);
  const all = await ask<DocumentsPage>("documents");
  return {documents: all.documents.filter((row) => (!wanted.kind || row.kind === wanted.kind) && (!wanted.session || row.session === wanted.session) &&
                                                   (!wanted.host || row.hostname === wanted.host))};
}

export const document_address = (row: {session: string; index: number}, kind = ""): string => link_to("reports", {kind, session: row.session, index: row.index});

const names: Record<string, string> = {bisect: "bisection", across: "comparison of nodes", load: "load test"};
export const name_of_kind = (kind: string): string => names[kind] ?? kind.replace(/_/g, " ");

/** Links to what was concluded about a session, as soon as they are known. */
export function documents_of(session: string, kinds: string[], signal: AbortSignal): HTMLElement {
  const box = h("span", null);
  void documents({session}, signal).then((found) => {
    for (const row of found.documents.filter((one) => !kinds.length || kinds.includes(one.kind))) {
      box.append(a(document_address(row, row.kind), `${name_of_kind(row.kind)}: ${row.title || row.kind}`), " ");
    }
  }).catch(() => undefined);  // the page says itself that the database does not answer
  return box;
}

export const documents_list = (rows: DocumentRow[]): HTMLElement => h("ul", {class: "plain"}, ...rows.map((row) =>
    h("li", null, a(document_address(row, row.kind), `${name_of_kind(row.kind)}: ${row.title || row.kind}`), " ", h("span", {class: "quiet"}, when(row.made)))));
