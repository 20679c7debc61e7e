// The line above the page that says what is wrong now: the database is locked, the dashboard does not answer.
import {Problem} from "./ask";
import {h} from "./dom";

export function show_state(problem: Problem|null): void {
  const box = document.getElementById("state")!;
  const shown = problem ? problem.what + " " + problem.hint : "";
  if (box.textContent === shown) return;
  box.replaceChildren(...(problem ? [h("p", null, problem.what, " ", h("span", {class: "quiet"}, problem.hint))] : []));
}
