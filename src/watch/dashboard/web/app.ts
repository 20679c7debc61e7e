// The pages by their address: "#/case?workload=gemm..." is a link that can be sent.
import {ask, exported, Problem} from "./ask";
import {forget_charts} from "./charts";
import {h, text} from "./dom";
import {page_compare} from "./page_compare";
import {page_fleet} from "./page_fleet";
import {page_case, page_history} from "./page_history";
import {page_now} from "./page_now";
import {page_profile} from "./page_profile";
import {page_reports} from "./page_reports";
import {page_run} from "./page_run";
import {page_runs, page_session} from "./page_runs";
import {show_state} from "./state";

type Page = (main: HTMLElement, signal: AbortSignal, query: URLSearchParams) => Promise<void>;
const pages: Record<string, {show: Page; nav: string; title: string}> = {
  now: {show: page_now, nav: "now", title: "Now"},
  runs: {show: page_runs, nav: "runs", title: "Runs"},
  session: {show: page_session, nav: "runs", title: "Session"},
  run: {show: page_run, nav: "runs", title: "Run"},
  history: {show: page_history, nav: "history", title: "History"},
  case: {show: page_case, nav: "history", title: "History"},
  compare: {show: page_compare, nav: "compare", title: "Compare"},
  fleet: {show: page_fleet, nav: "fleet", title: "Fleet"},
  profile: {show: page_profile, nav: "profile", title: "Profiles"},
  reports: {show: page_reports, nav: "reports", title: "Reports"},
};
const shown_in_nav = ["now", "runs", "history", "compare", "fleet", "profile", "reports"];

const main = document.getElementById("main")!;
let leaving = new AbortController();
let first = true;

function mark_nav(of: string): void {
  document.getElementById("nav")!.replaceChildren(...shown_in_nav.map((name) =>
      h("a", {href: "#/" + name, "aria-current": name === of ? "page" : undefined}, pages[name].title)));
}

function show_problem(error: unknown, again: () => void): void {
  const problem = error instanceof Problem ? error : new Problem("The page failed: " + String(error), "Reload it.");
  show_state(problem);
  main.replaceChildren(h("h1", {tabindex: -1}, "This cannot be shown"), text("p", "bad", problem.what), text("p", "", problem.hint),
                       problem.passing ? text("p", "quiet", "Trying again every 2 s.") : "");
  if (problem.passing) {
    const signal = leaving.signal;
    setTimeout(() => { if (!signal.aborted) again(); }, 2000);
  }
}

async function route(): Promise<void> {
  leaving.abort();
  leaving = new AbortController();
  const signal = leaving.signal;
  const [path, query] = location.hash.replace(/^#\/?/, "").split("?", 2);
  const page = pages[path || "now"];
  mark_nav(page?.nav ?? "");
  document.title = (page?.title ?? "Nothing here") + " - warpmark";
  forget_charts();
  main.setAttribute("aria-busy", "true");
  if (first) main.replaceChildren(text("p", "empty", "Loading\u2026"));
  try {
    if (!page) throw new Problem("There is no page '" + path + "'.", "The pages are named above.");
    await page.show(main, signal, new URLSearchParams(query ?? ""));
    if (!signal.aborted) show_state(null);
  } catch (error) {
    if (!signal.aborted) show_problem(error, () => { void route(); });
  }
  if (signal.aborted) return;
  main.removeAttribute("aria-busy");
  // The heading takes the focus, so that a screen reader tells where one is; not when the page is first opened.
  const head = main.querySelector("h1");
  if (head && path !== "now") document.title = head.textContent!.slice(0, 80) + " - warpmark";
  if (!first) {
    window.scrollTo(0, 0);
    head?.focus({preventScroll: true});
  }
  first = false;
}

document.querySelector(".skip")!.addEventListener("click", (event) => {
  event.preventDefault();  // the address is the page's
  main.focus();
});
addEventListener("hashchange", () => { void route(); });
void route();
void ask<{about: string}>("about").then((found) => {
  const text_of_export = exported() ? `, export of ${exported()!.made}` : "";
  document.getElementById("foot")!.textContent = found.about + text_of_export;
}).catch(() => undefined);
