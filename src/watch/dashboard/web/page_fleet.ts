// Fleet: the nodes that write into this store: what each did last, whether it was accepted, which one is sick.
import {ask} from "./ask";
import {a, h, link_to, table, text} from "./dom";
import {document_address} from "./documents";
import {ago, badge, commit_text, when} from "./format";
import {report_view, Shown} from "./report";
import {SessionRow} from "./types";

interface Acceptance { criteria?: string; session?: string; index?: number; started?: string; state?: string; problem?: string; report?: Shown; }
interface Host {
  hostname: string; fingerprint: string; sessions: number; newest?: SessionRow; acceptance?: Acceptance|null;
  machine?: {cpu: string; kernel: string; gpus: string[]; software: Record<string, string>};
}
interface Fleet { total: number; hosts: Host[]; across: {problem?: string; hint?: string; units?: {node: string; state: string}[]}; report?: Shown; }

export async function page_fleet(main: HTMLElement, signal: AbortSignal): Promise<void> {
  const fleet = await ask<Fleet>("fleet", {}, signal);
  const state_of = (host: Host): string => (fleet.across.units ?? []).filter((unit) => unit.node === host.hostname && unit.state !== "normal").map((unit) => unit.state)[0] ??
      ((fleet.across.units ?? []).some((unit) => unit.node === host.hostname) ? "normal" : "");
  const trouble = (host: Host) => Object.entries(host.newest?.outcomes ?? {}).filter(([name]) => name === "failed" || name === "unreliable" || name === "error");
  main.replaceChildren(
      h("h1", {tabindex: -1}, "Fleet"),
      text("p", "quiet", `${fleet.total} machines have written into this database.` + (fleet.total > fleet.hosts.length ? ` The first ${fleet.hosts.length} are shown.` : "")),
      fleet.hosts.length ? table("Nodes", [
        {name: "node", cell: (host: Host) => a(link_to("runs", {host: host.hostname}), host.hostname), sort: (host: Host) => host.hostname},
        {name: "against the others", cell: (host) => state_of(host) ? badge(state_of(host)) : "", sort: state_of},
        {name: "last acceptance", sort: (host) => host.acceptance?.state ?? "", cell: (host) => !host.acceptance ? text("span", "quiet", "none") : h("span", {title: host.acceptance.problem},
            host.acceptance.state ? badge(host.acceptance.state) : text("span", "quiet", host.acceptance.problem ?? ""), " ", host.acceptance.index === undefined ? host.acceptance.criteria : a(document_address({session: host.acceptance.session!, index: host.acceptance.index}, "acceptance"), host.acceptance.criteria), " ", host.acceptance.started ? ago(host.acceptance.started) : "")},
        {name: "newest session", kind: "nowrap", sort: (host) => host.newest?.started ?? "", cell: (host) => host.newest ? a(link_to("session", {id: host.newest.id}), when(host.newest.started)) : ""},
        {name: "of it", cell: (host) => h("span", {class: "bad"}, trouble(host).map(([name, count]) => `${count} ${name}`).join(", "))},
        {name: "commit", cell: (host) => host.newest ? commit_text(host.newest.commit, host.newest.dirty) : ""},
        {name: "machine", kind: "long", cell: (host) => host.machine ? [host.machine.cpu, ...host.machine.gpus].join(", ") : ""},
        {name: "kernel", cell: (host) => host.machine?.kernel ?? "", sort: (host) => host.machine?.kernel ?? ""},
        {name: "sessions", number: true, cell: (host) => host.sessions, sort: (host) => host.sessions},
      ], fleet.hosts) : text("p", "empty", "Nothing is stored yet: warpmark run"),
      h("h2", null, "Outliers"),
      fleet.report ? report_view(fleet.report.html) : text("p", "quiet", `${fleet.across.problem}. ${fleet.across.hint ?? ""}`),
      ...fleet.hosts.filter((host) => host.acceptance?.report).map((host) => h("details", null,
          h("summary", null, `Acceptance of ${host.hostname} by ${host.acceptance!.criteria}: `, badge(host.acceptance!.state ?? "")),
          report_view(host.acceptance!.report!.html))),
      h("p", {class: "quiet"}, "A node joins by writing into the same database: ", h("span", {class: "copy"}, "WARPMARK_DB=postgresql://\u2026 warpmark run")));
}
