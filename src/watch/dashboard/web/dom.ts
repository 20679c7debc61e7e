// Elements. Texts are set as text and never as markup, so that whatever the store holds stays text.

export type Child = Node|string|number|null|undefined|false;
type Attributes = Record<string, string|number|boolean|undefined|((event: Event) => void)>;

/** An element; attributes that begin with "on" are listeners, `true` sets an attribute without value. */
export function h(tag: string, attributes: Attributes|null, ...children: Child[]): HTMLElement {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === undefined || value === false) continue;
    if (typeof value === "function") made.addEventListener(name.slice(2), value);
    else made.setAttribute(name, value === true ? "" : String(value));
  }
  append(made, children);
  return made;
}
export function append(parent: Element, children: Child[]): void {
  for (const child of children) {
    if (child === null || child === undefined || child === false) continue;
    parent.append(child instanceof Node ? child : String(child));
  }
}
/** New content for a box that is renewed while somebody uses it: what had the focus, by its place, has it again, and what
 *  was unfolded stays so. */
export function renew(box: Element, ...children: Child[]): void {
  const stops = () => [...box.querySelectorAll<HTMLElement>("a, button, input, select, summary, [tabindex]")];
  const focused = stops().indexOf(document.activeElement as HTMLElement);
  const unfolded = [...box.querySelectorAll("details")].map((one) => one.open);
  box.replaceChildren();
  append(box, children);
  box.querySelectorAll("details").forEach((one, place) => { one.open = unfolded[place] ?? one.open; });
  if (focused >= 0) stops()[focused]?.focus({preventScroll: true});
}
export const text = (tag: string, name: string, content: string): HTMLElement => h(tag, {class: name || undefined}, content);

/** "#/runs?text=a": parameters without value are left out. */
export function link_to(page: string, params: Record<string, string|number|undefined> = {}): string {
  const query = new URLSearchParams();
  for (const [key, value] of Object.entries(params)) {
    if (value !== undefined && value !== "") query.set(key, String(value));
  }
  const all = query.toString();
  return "#/" + page + (all ? "?" + all : "");
}
export const a = (href: string, ...children: Child[]): HTMLElement => h("a", {href}, ...children);

export interface Column<Row> {
  name: string;
  cell: (row: Row) => Child;
  number?: boolean;
  kind?: string;                          // class of the cell
  sort?: (row: Row) => string|number;     // the column can be sorted by it
}

/** Values over time as a line without axes; nothing for fewer than two. */
export function sparkline(values: number[], label: string): Child {
  if (values.length < 2) return "";
  const [width, height, edge] = [120, 28, 2];
  const low = Math.min(...values), range = Math.max(...values) - low;
  const points = values.map((value, i) => [
    edge + (width - 2 * edge) * i / (values.length - 1),
    range > 0 ? height - edge - (height - 2 * edge) * (value - low) / range : height / 2].map((at) => at.toFixed(1)).join(","));
  const make = (name: string, of: Record<string, string>) => {
    const made = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(of)) made.setAttribute(key, value);
    return made;
  };
  const drawn = make("svg", {class: "spark", viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: "none", role: "img", "aria-label": label});
  drawn.append(make("polyline", {points: points.join(" ")}));
  return drawn;
}

const kStackedRows = 20, kStackedColumns = 5;

/** The heading sorts the rows of its table when it is pressed; again, the other way round. */
export function sorts_by<Row extends Element>(head: HTMLElement, name: string, rows: Row[], key: (row: Row) => string|number): void {
  head.replaceChildren(h("button", {type: "button", title: "Sort by " + name, onclick: () => {
    const down = head.getAttribute("aria-sort") === "ascending";
    for (const other of head.parentElement!.children) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    const order = rows.map((row) => ({row, by: key(row)})).sort((x, y) => x.by < y.by ? -1 : x.by > y.by ? 1 : 0).map((one) => one.row);
    rows[0]?.parentElement!.append(...(down ? order.reverse() : order));
  }}, name));
}

/** A table that scrolls within its box; headings that sort are buttons. On phones a table of many columns shows each value
 *  on a line of its own, as those of reports do, and a long one each row on as few lines as it needs. */
export function table<Row>(caption: string, columns: Column<Row>[], rows: Row[], mark?: (row: Row) => string): HTMLElement {
  const folded = columns.length < kStackedColumns ? undefined : rows.length <= kStackedRows ? "stacks" : "lines";
  const made = new Map(rows.map((row) => [h("tr", {class: mark?.(row) || undefined},
      ...columns.map((column) => h("td", {
        class: (column.number ? "number " : "text ") + (column.kind ?? ""), "data-name": folded && column.name}, column.cell(row)))), row]));
  const heads = columns.map((column) => {
    const head = h("th", {scope: "col", class: column.number ? "number" : "text"}, column.name);
    if (column.sort) sorts_by(head, column.name, [...made.keys()], (one) => column.sort!(made.get(one)!));
    return head;
  });
  return h("section", {class: "scroll", tabindex: 0, "aria-label": caption},
           h("table", {"aria-label": caption, class: folded}, h("thead", null, h("tr", null, ...heads)), h("tbody", null, ...made.keys())));
}

/** Facts as a table of two columns; those without value are left out. */
export function facts(rows: [string, Child][]): HTMLElement {
  return h("div", {class: "scroll"}, h("table", {class: "facts"}, h("tbody", null,
      ...rows.filter(([, value]) => value !== undefined && value !== null && value !== "")
          .map(([name, value]) => h("tr", null, h("td", {class: "text"}, name), h("td", {class: "text"}, value))))));
}

export function field(label: string, control: HTMLElement): HTMLElement { return h("label", null, label, control); }

export function select(name: string, options: [string, string][], chosen: string): HTMLSelectElement {
  return h("select", {name}, ...options.map(([value, shown]) => h("option", {value, selected: value === chosen}, shown))) as HTMLSelectElement;
}

/** A form whose fields are the address' parameters. */
export function filter_form(page: string, keep: Record<string, string>, ...fields: HTMLElement[]): HTMLElement {
  const form = h("form", {class: "filter", role: "search"}, ...fields, h("button", {type: "submit"}, "Show")) as HTMLFormElement;
  const go = () => {
    const params: Record<string, string> = {...keep};
    for (const [key, value] of new FormData(form)) params[key] = String(value).trim();
    location.hash = link_to(page, params);
  };
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    go();
  });
  for (const control of form.querySelectorAll("select")) control.addEventListener("change", go);
  return form;
}
