// Reports as the terminal, Markdown and HTML have them: sections that the server made. Tables sort by their columns.
import {h, sorts_by} from "./dom";

export interface Shown { title: string; subtitle: string; html: string; }

const kFactors: Record<string, number> = {p: 1e-12, n: 1e-9, "\u00b5": 1e-6, m: 1e-3, k: 1e3, K: 1e3, M: 1e6, G: 1e9, T: 1e12, P: 1e15, min: 60, h: 3600, days: 86400};

/** "1.23 ms" is 0.00123; what has no number is last. */
function number_in(shown: string): number {
  const found = /(-?)([\d,]*\.?\d+(?:e[+-]\d+)?)x?(?: (min|h|days)\b| ([pn\u00b5mkKMGTP])(?=[A-Za-z ]|$))?/.exec(shown.replace("\u2212", "-"));
  return found ? Number(found[1] + found[2].replace(/,/g, "")) * (kFactors[found[3] ?? found[4]] ?? 1) : Infinity;
}

function make_sortable(table: HTMLTableElement): void {
  const rows = [...table.tBodies[0].rows];
  // In groups each row is about those around it.
  if (!table.tHead || rows.length < 2 || rows.some((row) => /^(- |$)/.test(row.cells[0].textContent!))) return;
  [...table.tHead.rows[0].cells].forEach((head, i) => {
    const shown = (row: HTMLTableRowElement) => row.cells[i].textContent!;
    if (head.textContent) sorts_by(head, head.textContent, rows, head.classList.contains("number") ? (row) => number_in(shown(row)) : shown);
  });
}

/** The server escaped every text, and the pages' policy lets no script or style within them be. */
export function report_view(html: string): HTMLElement {
  const made = h("div", {class: "report"});
  made.append(...new DOMParser().parseFromString(html, "text/html").body.childNodes);
  made.querySelectorAll<HTMLElement>(".scroll").forEach((box) => { box.tabIndex = 0; });
  made.querySelectorAll("table").forEach(make_sortable);
  return made;
}
