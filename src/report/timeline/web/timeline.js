// The timeline of a page: builds its parts beside the JSON block, and keeps the view, also in the page's address
// (#t=0.2-0.4, shares of the step).

const LEAST_NS = 40;  // narrowest view

function element(tag, name, text) {
  const made = document.createElement(tag);
  if (name) made.className = name;
  if (text !== undefined) made.textContent = text;
  return made;
}

function button(text, title, act) {
  const made = element("button", "", text);
  made.type = "button";
  made.title = title;
  made.setAttribute("aria-label", title);
  made.addEventListener("click", act);
  return made;
}

class TimelineView extends TimelineHands {
  constructor(section, key) {
    super();
    this.section = section;
    this.key = key;
    this.data = read_timeline(section.querySelector('script[type="application/json"]').textContent);
    this.state = {view: {from: 0, to: 1}, folded: new Set(), scroll: 0, only: null, chosen: null, layout: null};
    this.build(section.querySelector(".wm-view"));
    this.lay_out();
    this.listen();
    this.read_colours();
    if (this.read_address()) section.scrollIntoView();
  }

  // Parts

  build(box) {
    this.box = box;
    const bar = element("div", "wm-bar");
    this.out_button = button("\u2212", "Zoom out (-)", () => this.zoom(1.6));
    this.all_button = button("All", "Show the whole step (0)", () => this.show(0, 1));
    bar.append(button("+", "Zoom in (+)", () => this.zoom(1 / 1.6)), this.out_button, this.all_button);
    this.range = bar.appendChild(element("span", "wm-range"));
    this.overview = element("canvas", "wm-overview");
    this.axis = element("canvas", "wm-axis");
    this.scroller = element("div", "wm-rows");
    this.sizer = this.scroller.appendChild(element("div"));
    this.rows = this.sizer.appendChild(element("canvas"));
    this.rows.tabIndex = 0;
    this.rows.setAttribute("role", "application");
    this.rows.setAttribute(
        "aria-label",
        "Timeline. Left and right arrows move, plus and minus zoom, 0 shows all, N and P " +
            "go from event to event.");
    this.tip = element("div", "wm-tip");
    this.tip.hidden = true;
    this.said = element("div", "wm-said");
    this.said.setAttribute("aria-live", "polite");
    this.help = element(
        "p", "wm-help",
        "Drag to move. Zoom: Ctrl and wheel (after a click the wheel alone), pinch, + and -. " +
            "0 shows all. A double click fills the view with an event.");
    box.append(
        bar, this.overview, this.axis, this.scroller, this.build_legend(), this.build_findings(), this.help, this.tip,
        this.said);
  }

  build_legend() {
    const legend = element("div", "wm-legend");
    const seen = new Set();
    for (const row of this.data.rows) row.paint.forEach((paint) => seen.add(paint));
    this.swatches = [...seen].sort((a, b) => a - b).map((paint) => {
      const entry = legend.appendChild(element("span"));
      const canvas = entry.appendChild(element("canvas"));
      entry.append(this.data.paints[paint].name);
      return {canvas, paint};
    });
    return legend;
  }

  build_findings() {
    const list = element("ul", "wm-findings");
    this.data.findings.forEach((finding, f) => {
      const entry = list.appendChild(element("li"));
      const label = entry.appendChild(element("label", finding.events.length ? "" : "wm-absent"));
      const box = label.appendChild(element("input"));
      box.type = "checkbox";
      box.checked = finding.on;
      box.disabled = finding.events.length === 0;
      label.append(
          element("i", "", f + 1),
          element(
              "span", "",
              finding.title +
                  (finding.events.length ? "" :
                       finding.elsewhere ? " (marked events are in other steps or ranks)" :
                                           " (marks no event)")));
      box.addEventListener("change", () => {
        finding.on = box.checked;
        this.draw();
      });
      if (finding.events.length === 0) return;
      const next = button("Show", `Go to the next event of finding ${f + 1}`, () => this.show_next(finding));
      entry.append(next);
      const only = (value) => () => {
        this.state.only = value;
        this.draw();
      };
      for (const part of [label, next]) {
        part.addEventListener("pointerenter", (event) => {
          if (event.pointerType === "mouse") only(f)();
        });
        part.addEventListener("pointerleave", only(null));
      }
    });
    return list;
  }

  // View

  /** Shows shares from..to of the step, kept inside it. */
  show(from, to, quiet) {
    const width = Math.min(1, Math.max(to - from, Math.min(1, LEAST_NS / this.data.length)));
    const start = Math.min(Math.max(0, (from + to - width) / 2), 1 - width);
    this.state.view = {from: start, to: start + width};
    if (!quiet) this.write_address();
    this.draw();
  }
  zoom(factor, at = 0.5) {
    const {from, to} = this.state.view;
    const width = Math.min(1, (to - from) * factor);
    const fixed = from + (to - from) * at;
    this.show(fixed - width * at, fixed + width * (1 - at));
  }
  move(share) {
    const {from, to} = this.state.view;
    const by = Math.min(Math.max(share * (to - from), -from), 1 - to);
    this.show(from + by, to + by);
  }
  show_event(number, fill) {
    const {row: r, index} = place_of(this.data, number);
    const row = this.data.rows[r];
    const [start, end] = [row.start[index], row.start[index] + row.duration[index]];
    const margin = Math.max(row.duration[index], 200) * (fill ? 0.15 : 2);
    this.state.chosen = number;
    this.show((start - margin) / this.data.length, (end + margin) / this.data.length);
    const item = this.state.layout.items.find((one) => one.row === r);
    const y = item.body + (row.lane[index] - item.first) * item.lane;
    if (y < this.scroller.scrollTop + ROW_HEADER ||
        y + item.lane > this.scroller.scrollTop + this.scroller.clientHeight) {
      this.scroller.scrollTop = y - this.scroller.clientHeight / 2;
    }
    this.say(number);
  }
  show_next(finding) {
    this.show_event(finding.events[finding.next % finding.events.length], false);
    ++finding.next;
  }
  /** From event to event of a lane, for those who use no pointer. */
  step_to(direction) {
    const at = this.state.chosen === null ? {row: 0, index: -1} : place_of(this.data, this.state.chosen);
    const row = this.data.rows[at.row];
    const lane = at.index < 0 ? null : row.lane[at.index];
    for (let i = at.index + direction; i >= 0 && i < row.count; i += direction) {
      if (lane === null || row.lane[i] === lane) return this.show_event(row.first + i, false);
    }
  }

  // Address

  read_address() {
    const found = new RegExp(`[#&]${this.key}=([0-9.]+)-([0-9.]+)`).exec(location.hash);
    const [from, to] = found ? [Number(found[1]), Number(found[2])] : [0, 1];
    const sound = from >= 0 && from < to && to <= 1;
    this.show(sound ? from : 0, sound ? to : 1, true);
    return Boolean(found) && sound;
  }
  write_address() {
    clearTimeout(this.writing);
    this.writing = setTimeout(() => {
      const {from, to} = this.state.view;
      const digits = Math.min(9, Math.max(3, 3 - Math.floor(Math.log10(to - from))));
      const whole = to - from > 0.99999;
      const others =
          location.hash.slice(1).split("&").filter((part) => part.includes("=") && !part.startsWith(`${this.key}=`));
      const parts =
          whole ? others : [`${this.key}=${Number(from.toFixed(digits))}-${Number(to.toFixed(digits))}`, ...others];
      try {
        history.replaceState(null, "", parts.length ? `#${parts.join("&")}` : location.pathname + location.search);
      } catch (refused) {
        this.key_refused = String(refused);  // a page without an address of its own, such as a preview
      }
    }, 250);
  }

  // Drawing

  lay_out() {
    this.state.layout = lay_out(this.data, this.state.folded);
    this.sizer.style.height = `${this.state.layout.height}px`;
  }
  read_colours() {
    this.colours = read_colours(this.section, this.data.paints);
    for (const {canvas, paint} of this.swatches) {
      const pen = start_drawing(canvas, 16, 12);
      fill_bar(pen, 0, 0, 16, 12, this.colours, paint);
    }
    this.draw();
  }
  draw() {
    if (this.asked) return;
    this.asked = requestAnimationFrame(() => {
      this.asked = 0;
      this.draw_now();
    });
  }
  draw_now() {
    const width = this.scroller.clientWidth;
    if (width < 20 || !this.colours) return;
    this.width = width;
    const {view} = this.state;
    this.state.scroll = this.scroller.scrollTop;
    const height = Math.min(this.state.layout.height, this.scroller.clientHeight || this.state.layout.height);
    draw_overview(this.overview, this.data, view, this.colours, this.overview.clientWidth);
    draw_axis(this.axis, this.data, view, this.colours, width, this.picked);
    this.axis.style.width = `${width}px`;
    draw_rows(this.rows, this.data, this.state, this.colours, width, height);
    const span = (view.to - view.from) * this.data.length;
    const at = (share) => format_instant(share * this.data.length, view.to * this.data.length, span / 100);
    this.range.textContent = span > 0.99999 * this.data.length ?
        format_time(this.data.length) :
        `${at(view.from)} to ${at(view.to)}: ${format_time(span)} of ${format_time(this.data.length)}`;
    this.all_button.disabled = this.out_button.disabled = view.to - view.from > 0.99999;
  }

  // What is under the pointer

  find(x, y, slack) {
    const scale = scale_of(this.data, this.state.view, this.width);
    const at_y = y + this.scroller.scrollTop;
    const item = this.state.layout.items.find((one) => at_y >= one.y && at_y < one.body + one.height);
    if (!item) return null;
    if (at_y < item.body) return {header: item};
    if (item.idle !== undefined) {
      const idle = this.data.idle[item.idle];
      const ns = scale.ns(x);
      const gap = idle.start.findIndex((start, i) => start <= ns && ns < start + idle.duration[i]);
      return gap < 0 ? null : {
        lines: [
          `${this.data.idle.length > 1 ? `GPU ${idle.device}` : "GPU"} idle`,
          `${format_time(idle.duration[gap])}, at ${format_time(idle.start[gap])}`
        ],
        flags: []
      };
    }
    const row = this.data.rows[item.row];
    const lane = item.first + Math.floor((at_y - item.body) / item.lane);
    let [best, nearest] = [-1, slack];
    for (let i = 0; i < row.count; ++i) {
      if (row.lane[i] !== lane) continue;
      const [x0, x1] = [scale.x(row.start[i]), scale.x(row.start[i] + row.duration[i])];
      const away = x < x0 ? x0 - x : x > x1 ? x - x1 : 0;
      if (away < nearest || (away === nearest && away === 0)) [best, nearest] = [i, away];
    }
    return best < 0 ? null : {number: row.first + best, ...describe_event(this.data, row.first + best)};
  }
  point_at(event) {
    const frame = this.rows.getBoundingClientRect();
    return this.find(event.clientX - frame.left, event.clientY - frame.top, event.pointerType === "touch" ? 14 : 4);
  }
  show_tip(found, event) {
    const chosen = found && found.number !== undefined ? found.number : null;
    if (chosen !== this.state.chosen) {
      this.state.chosen = chosen;
      this.draw();
    }
    this.tip.hidden = !found || !found.lines;
    if (this.tip.hidden) return;
    this.tip.replaceChildren(
        element("b", "", found.lines[0]), ...found.lines.slice(1).map((line) => element("span", "", line)),
        ...found.flags.map((flag) => element("span", "wm-flag", flag)));
    if (found.whole) this.tip.append(element("span", "wm-whole", found.whole));
    const frame = this.box.getBoundingClientRect();
    const [x, y] = [event.clientX - frame.left, event.clientY - frame.top];
    const [wide, high] = [this.tip.offsetWidth, this.tip.offsetHeight];
    const below = y + 18 + high <= frame.height || y - 14 - high < 0;
    this.tip.style.left = `${Math.max(8, Math.min(x + 12, frame.width - wide - 8))}px`;
    this.tip.style.top = `${below ? y + 18 : y - 14 - high}px`;
  }
  say(number) {
    const {lines, flags} = describe_event(this.data, number);
    this.said.textContent = [...lines, ...flags].join(". ");
  }
  fold(item) {
    if (item.row === undefined || this.data.rows[item.row].lanes < 2) return;
    if (!this.state.folded.delete(item.row)) this.state.folded.add(item.row);
    this.lay_out();
    this.draw();
  }
}

function start_all() {
  document.querySelectorAll(".wm-timeline").forEach((section, index) => {
    if (section.querySelector(".wm-view:empty")) new TimelineView(section, index ? `t${index + 1}` : "t");
  });
}
if (document.readyState === "loading")
  addEventListener("DOMContentLoaded", start_all);
else
  start_all();
