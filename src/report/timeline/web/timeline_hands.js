// What mouse, wheel, touch and keys do to a timeline: the part of TimelineView (timeline.js) that listens.

const TOUCH_SLACK = 4;  // px a pointer moves before it drags

class TimelineHands {
  listen() {
    new ResizeObserver(() => this.draw()).observe(this.box);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.read_colours());
    addEventListener("hashchange", () => this.read_address());
    addEventListener("beforeprint", () => this.draw_now());
    this.scroller.addEventListener("scroll", () => {
      this.tip.hidden = true;
      this.draw();
    }, {passive: true});
    for (const part of [this.scroller, this.axis]) {
      part.addEventListener("wheel", (event) => this.on_wheel(event), {passive: false});
    }
    this.rows.addEventListener("keydown", (event) => this.on_key(event));
    this.rows.addEventListener("dblclick", (event) => {
      const found = this.point_at(event);
      if (found && found.number !== undefined) this.show_event(found.number, true);
    });
    this.listen_to_pointers();
    this.listen_to_overview();
    this.listen_to_axis();
  }

  on_wheel(event) {
    const sideways = Math.abs(event.deltaX) > Math.abs(event.deltaY) || event.shiftKey;
    const {from, to} = this.state.view;
    const lines = event.deltaMode === 1 ? 16 : event.deltaMode === 2 ? 400 : 1;
    if (sideways) {
      event.preventDefault();
      return this.move((event.deltaX || event.deltaY) * lines / this.width);
    }
    const nothing_left = event.deltaY > 0 && to - from > 0.99999;
    if (!(event.ctrlKey || event.metaKey || this.wheel_zooms) || (nothing_left && !event.ctrlKey)) return;
    event.preventDefault();
    this.tip.hidden = true;
    const frame = this.rows.getBoundingClientRect();
    const by = Math.max(-120, Math.min(120, event.deltaY * lines));
    this.zoom(
        Math.exp(by * (event.ctrlKey && Math.abs(by) < 40 ? 0.01 : 0.0025)),
        (event.clientX - frame.left) / frame.width);
  }

  on_key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const act = {
      ArrowLeft: () => this.move(-0.15),
      ArrowRight: () => this.move(0.15),
      "+": () => this.zoom(1 / 1.6),
      "=": () => this.zoom(1 / 1.6),
      "-": () => this.zoom(1.6),
      "_": () => this.zoom(1.6),
      "0": () => this.show(0, 1),
      Home: () => this.move(-1e9),
      End: () => this.move(1e9),
      n: () => this.step_to(1),
      p: () => this.step_to(-1),
      ArrowUp: () => {
        this.scroller.scrollTop -= 48;
      },
      ArrowDown: () => {
        this.scroller.scrollTop += 48;
      },
      Escape: () => {
        this.wheel_zooms = false;
        this.state.chosen = null;
        this.tip.hidden = true;
        this.draw();
      },
    }[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  }

  /** One pointer moves the view, two zoom it. A press without a move is a tap. */
  listen_to_pointers() {
    const down = new Map();
    let dragged = false;
    this.rows.addEventListener("pointerdown", (event) => {
      if (event.pointerType === "mouse" && event.button !== 0) return;
      down.set(event.pointerId, {x: event.clientX, start: event.clientX});
      dragged = down.size > 1;
      this.wheel_zooms = true;
      this.rows.setPointerCapture(event.pointerId);
    });
    this.rows.addEventListener("pointermove", (event) => {
      const own = down.get(event.pointerId);
      if (!own) {
        if (event.pointerType === "mouse") this.show_tip(this.point_at(event), event);
        return;
      }
      if (!dragged && Math.abs(event.clientX - own.start) <= TOUCH_SLACK) return;
      if (!dragged) own.x = own.start;
      dragged = true;
      this.tip.hidden = true;
      this.rows.classList.add("wm-dragged");
      const other = [...down].find(([id]) => id !== event.pointerId);
      if (other)
        this.pinch(own.x, event.clientX, other[1].x);
      else
        this.move((own.x - event.clientX) / this.width);
      own.x = event.clientX;
    });
    const up = (event) => {
      if (!down.delete(event.pointerId)) return;
      this.rows.classList.remove("wm-dragged");
      if (dragged || event.type !== "pointerup") return;
      const found = this.point_at(event);
      if (found && found.header)
        this.fold(found.header);
      else
        this.show_tip(found, event);
    };
    this.rows.addEventListener("pointerup", up);
    this.rows.addEventListener("pointercancel", up);
    this.rows.addEventListener("pointerleave", (event) => {
      if (event.pointerType !== "mouse" || down.size) return;
      this.wheel_zooms = false;
      this.show_tip(null);
    });
  }
  /** One finger goes from `before` to `after`, the other rests at `still` (all px of the page). */
  pinch(before, after, still) {
    const frame = this.rows.getBoundingClientRect();
    const [was, is] = [Math.abs(before - still), Math.abs(after - still)];
    if (was > 8 && is > 8) this.zoom(was / is, (still - frame.left) / frame.width);
  }

  listen_to_overview() {
    const go = (event) => {
      if (!(event.buttons & 1)) return;
      const frame = this.overview.getBoundingClientRect();
      const middle = (event.clientX - frame.left) / frame.width;
      const width = this.state.view.to - this.state.view.from;
      const half = (width > 0.99999 ? 0.2 : width) / 2;
      const from = Math.min(Math.max(0, middle - half), 1 - 2 * half);
      this.show(from, from + 2 * half);
    };
    this.overview.addEventListener("pointerdown", (event) => {
      this.overview.setPointerCapture(event.pointerId);
      go(event);
    });
    this.overview.addEventListener("pointermove", go);
  }

  /** A drag along the axis chooses the view. */
  listen_to_axis() {
    const at = (event) => event.clientX - this.axis.getBoundingClientRect().left;
    this.axis.addEventListener("pointerdown", (event) => {
      this.axis.setPointerCapture(event.pointerId);
      this.picked = [at(event), at(event)];
    });
    this.axis.addEventListener("pointermove", (event) => {
      if (this.picked) {
        this.picked[1] = at(event);
        this.draw();
      }
    });
    this.axis.addEventListener("pointerup", () => {
      const [a, b] = [Math.min(...this.picked), Math.max(...this.picked)];
      const {from, to} = this.state.view;
      this.picked = null;
      if (b - a > TOUCH_SLACK)
        this.show(from + a / this.width * (to - from), from + b / this.width * (to - from));
      else
        this.draw();
    });
    this.axis.addEventListener("pointercancel", () => {
      this.picked = null;
      this.draw();
    });
  }
}
