// Checks against a history, and the search for the commit that changed it, as pages.
import {Child, facts, h, table, text} from "./dom";
import {badge, p_value, percent, quantity, signed_percent} from "./format";

/* eslint-disable @typescript-eslint/no-explicit-any */
type Document = Record<string, any>;
const of = (list: any): any[] => Array.isArray(list) ? list : [];
const short = (commit: any): string => commit ? `${String(commit.sha ?? "").slice(0, 10)} ${commit.subject ?? ""}` : "";
const range = (one: any): string => one?.ratio === undefined ? "" : signed_percent(one.ratio - 1) + (one.ci_low === undefined ? "" : ` (${signed_percent(one.ci_low - 1)} to ${signed_percent(one.ci_high - 1)})`);

export function check_view(doc: Document): Child[] {
  const suspects = doc.suspects;
  return [
    h("p", null, badge(String(doc.verdict ?? "")), ` against ${doc.baseline ?? ""}, changes from ${percent(doc.threshold)} on`),
    doc.advice ? text("p", "", doc.advice) : "",
    table("Metrics", [
      {name: "benchmark", cell: (row: any) => row.case, kind: "long", sort: (row: any) => row.case},
      {name: "metric", cell: (row: any) => row.metric, sort: (row: any) => row.metric},
      {name: "", cell: (row: any) => badge(row.verdict), sort: (row: any) => row.verdict},
      {name: "baseline", number: true, cell: (row: any) => quantity(row.level, row.unit)},
      {name: "now", number: true, cell: (row: any) => quantity(row.value, row.unit)},
      {name: "change", number: true, cell: range, sort: (row: any) => row.ratio ?? 0},
      {name: "adjusted p", number: true, cell: (row: any) => p_value(row.adjusted_p)},
      {name: "why", cell: (row: any) => row.reason ?? "", kind: "long quiet"},
    ], of(doc.metrics)),
    of(doc.missing).length ? text("p", "warning", "Not measured any more: " + of(doc.missing).join(", ")) : "",
    ...(suspects ? [h("h2", null, "Suspects"), text("p", "", suspects.culprit ? "The culprit: " + short(suspects.culprit) : suspects.reason ?? ""),
                    table("Commits", [{name: "commit", cell: (row: any) => short(row), kind: "long"}, {name: "author", cell: (row: any) => row.author}, {name: "date", cell: (row: any) => row.date}], of(suspects.commits))] : []),
    ...(suspects?.search ? bisect_view(suspects.search) : []),
  ];
}

export function bisect_view(doc: Document): Child[] {
  const candidates = of(doc.candidates);
  return [
    h("p", {class: "verdict"}, doc.outcome === "found" ? "Found: " + short(candidates[0]) : doc.outcome === "no_difference" ? "The two revisions do not differ" : doc.outcome === "range" ? `One of ${candidates.length} commits` : "Undecided"),
    facts([
      ["metric", doc.metric?.id], ["good", short(doc.good)], ["bad", short(doc.bad)], ["bad against good", range(doc.range)],
      ["at the commit", range(doc.change)], ["probability", doc.probability ? percent(doc.probability) : ""],
      ["effort", `${doc.builds} builds, ${doc.runs} runs`], ["stopped because", doc.stopped_because],
    ]),
    candidates.length > 1 ? table("Candidates", [{name: "commit", cell: (row: any) => short(row), kind: "long"}, {name: "author", cell: (row: any) => row.author}, {name: "date", cell: (row: any) => row.date}], candidates) : "",
    h("h2", null, "Revisions that were measured"),
    table("Revisions", [
      {name: "commit", cell: (row: any) => short(row.commit), kind: "long"},
      {name: "", cell: (row: any) => h("span", {class: "badge " + ({good: "good", bad: "bad"}[row.answer as string] ?? "warning")}, row.answer)},
      {name: "against good", number: true, cell: (row: any) => row.ratio_to_good === undefined ? "" : signed_percent(row.ratio_to_good - 1)},
      {name: "bad with probability", number: true, cell: (row: any) => percent(row.bad_probability)},
      {name: "rounds", number: true, cell: (row: any) => row.rounds},
      {name: "why", cell: (row: any) => row.reason ?? "", kind: "long quiet"},
    ], of(doc.probes)),
  ];
}
