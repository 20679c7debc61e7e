// Profile: findings, where the time goes, and the timeline of one step, of the recordings in the folder of --files.
import {ask, auxiliary, exported, name_of} from "./ask";
import {a, h, link_to, table, text} from "./dom";
import {bytes, when} from "./format";
import {report_view, Shown} from "./report";
import {FileRow, FilesPage} from "./types";

interface Profile { name: string; timeline: boolean; report: Shown; }

/** As high as what is in it; from a disk no page may look into another. */
function fit(event: Event): void {
  const frame = event.target as HTMLIFrameElement;
  const inner = exported() ? null : frame.contentDocument;
  if (inner) frame.style.height = inner.documentElement.scrollHeight + 8 + "px";
}

async function list(main: HTMLElement, signal: AbortSignal): Promise<void> {
  const found = await ask<FilesPage>("files", {}, signal);
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
  const {report, timeline} = await ask<Profile>("profile", {name}, signal);
  const shown = report_view(report.html);
  const frame = exported() ? "data/" + exported()!.answers[name_of("timeline", {name})] + ".html" : auxiliary("timeline.html?" + new URLSearchParams({name}));
  // Behind the summary and where the time goes, as on the page of analyze.
  if (timeline) shown.children[Math.min(2, shown.children.length) - 1].after(h("iframe", {class: "timeline", title: "Timeline of one step", src: frame, onload: fit}));
  main.replaceChildren(h("p", {class: "crumbs"}, a(link_to("profile"), "Profiles"), " / ", name), h("h1", {tabindex: -1}, report.title), shown);
}
