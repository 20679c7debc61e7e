// Draws rows, axis and overview on canvases. A view is {from, to}: shares of the step that the width shows.

const ROW_HEADER = 18;
const ROW_GAP = 7;
const LANE = {
  gpu: 20,
  cpu: 16
};
const IDLE_HEIGHT = 22;

/** Where each row stands: the strips of the GPUs' idle time first, then the rows. `first` is the topmost lane shown. */
function lay_out(data, folded) {
  const items = [];
  let y = 4;
  const place = (item, height) => {
    items.push({...item, y, body: y + ROW_HEADER, height});
    y += ROW_HEADER + height + ROW_GAP;
  };
  data.idle.forEach((idle, index) => place({idle: index}, IDLE_HEIGHT));
  data.rows.forEach((row, index) => {
    const lane = row.gpu ? LANE.gpu : LANE.cpu;
    const lanes = folded.has(index) ? Math.min(1, row.lanes) : row.lanes;
    place({row: index, lane, lanes, first: folded.has(index) ? row.main : 0}, lane * lanes);
  });
  return {items, height: y};
}

function draw_axis(canvas, data, view, colours, width, chosen) {
  const height = 24;
  const pen = start_drawing(canvas, width, height);
  pen.fillStyle = colours.panel;
  pen.fillRect(0, 0, width, height);
  if (chosen) {
    pen.fillStyle = colours.busy;
    pen.globalAlpha = 0.35;
    pen.fillRect(Math.min(...chosen), 0, Math.abs(chosen[1] - chosen[0]), height);
    pen.globalAlpha = 1;
  }
  each_tick(data, view, width, (x, ns, step) => {
    const label = format_instant(ns, view.to * data.length, step);
    pen.fillStyle = colours.quiet;
    pen.fillRect(Math.round(x), height - 6, 1, 6);
    const half = text_width(pen, label) / 2;
    pen.fillText(label, Math.min(Math.max(x - half, 3), width - 2 * half - 3), 9);
  });
  pen.fillStyle = colours.rule;
  pen.fillRect(0, height - 1, width, 1);
}

/** Share of each pixel column in which the GPU idles. */
function idle_columns(idle, scale, width) {
  const columns = new Float32Array(Math.ceil(width));
  for (let i = 0; i < idle.start.length; ++i) {
    const from = Math.max(0, scale.x(idle.start[i]));
    const to = Math.min(width, scale.x(idle.start[i] + idle.duration[i]));
    for (let c = Math.floor(from); c < to && c < columns.length; ++c) {
      columns[c] += Math.min(to, c + 1) - Math.max(from, c);
    }
  }
  return columns;
}

/** How busy the GPU is, as heights; where it rests for more than a few pixels, hatched. */
function draw_busy(pen, idle, scale, width, y, height, colours, labelled) {
  const columns = idle_columns(idle, scale, width);
  pen.fillStyle = colours.busy;
  pen.globalAlpha = 0.8;
  for (let c = 0; c < columns.length; ++c) {
    const busy = height * (1 - Math.min(1, columns[c]));
    if (busy > 0.2) pen.fillRect(c, y + height - busy, 1, busy);
  }
  pen.globalAlpha = 1;
  for (let i = 0; i < idle.start.length; ++i) {
    const from = Math.max(0, scale.x(idle.start[i]));
    const to = Math.min(width, scale.x(idle.start[i] + idle.duration[i]));
    if (to - from < 4) continue;
    pen.fillStyle = colours.pattern.idle;
    pen.fillRect(from, y, to - from, height);
    const label = `idle ${format_time(idle.duration[i])}`;
    const wide = text_width(pen, label);
    if (labelled && wide + 14 < to - from) {
      const middle = (from + to) / 2;
      pen.fillStyle = colours.page;
      pen.fillRect(middle - wide / 2 - 3, y + 4, wide + 6, height - 8);
      pen.fillStyle = colours.ink;
      pen.fillText(label, middle - wide / 2, y + height / 2);
    }
  }
}

function draw_overview(canvas, data, view, colours, width) {
  const height = 46;
  const pen = start_drawing(canvas, width, height);
  const scale = scale_of(data, {from: 0, to: 1}, width);
  pen.fillStyle = colours.panel;
  pen.fillRect(0, 0, width, height);
  const shown = data.findings.filter((finding) => finding.on).slice(0, 5);
  const top = 3 + 3 * shown.length;
  const each = data.idle.length ? (height - 1 - top) / data.idle.length : 0;
  data.idle.forEach((idle, i) => draw_busy(pen, idle, scale, width, top + i * each, each - 1, colours, false));
  pen.fillStyle = colours.mark;
  shown.forEach((finding, line) => {
    for (const number of finding.events) {
      const {row, index} = place_of(data, number);
      const x = scale.x(data.rows[row].start[index]);
      pen.fillRect(x, 2 + 3 * line, Math.max(1.5, data.rows[row].duration[index] * scale.per_ns), 2);
    }
  });
  const [from, to] = [view.from * width, view.to * width];
  if (view.to - view.from < 0.99999) {
    pen.fillStyle = colours.page;
    pen.globalAlpha = 0.65;
    pen.fillRect(0, 0, from, height);
    pen.fillRect(to, 0, width - to, height);
    pen.globalAlpha = 1;
    pen.strokeStyle = colours.ink;
    pen.lineWidth = 1.5;
    pen.strokeRect(from + 0.75, 0.75, Math.max(2, to - from - 1.5), height - 1.5);
  }
  pen.fillStyle = colours.rule;
  pen.fillRect(0, height - 1, width, 1);
}

function fill_bar(pen, x, y, width, height, colours, paint) {
  pen.fillStyle = colours.paint[paint];
  pen.fillRect(x, y, width, height);
  if (width >= 4 && colours.hatch[paint]) {
    pen.fillStyle = colours.pattern[colours.hatch[paint]];
    pen.fillRect(x, y, width, height);
  }
}

/** Rectangle of an event, cut to the drawing; null if it is not in the view or folded away. */
function box_of(row, item, index, scale, width) {
  const x0 = scale.x(row.start[index]);
  const x1 = x0 + row.duration[index] * scale.per_ns;
  const lane = row.lane[index] - item.first;
  if (x1 < -1 || x0 > width || lane < 0 || lane >= item.lanes) return null;
  const x = Math.max(-2, x0);
  return {
    x,
    lane,
    width: Math.max(1, Math.min(width + 2, x1) - x),
    y: item.body + lane * item.lane,
    height: item.lane - 2
  };
}

/** Events narrower than a pixel share it: the more of it they cover, the stronger its colour. */
class FinePixels {
  constructor(pen, item, colours) {
    Object.assign(this, {
      pen,
      item,
      colours,
      pixel: new Float64Array(item.lanes).fill(-10),
      covered: new Float64Array(item.lanes),
      paint: new Uint8Array(item.lanes),
      alpha: new Float64Array(item.lanes)
    });
  }
  add(lane, x, share, paint, alpha) {
    const pixel = Math.floor(x);
    if (pixel !== this.pixel[lane]) {
      this.flush(lane);
      this.pixel[lane] = pixel;
      this.covered[lane] = 0;
      this.paint[lane] = paint;
      this.alpha[lane] = alpha;
    }
    this.covered[lane] += share;
    this.alpha[lane] = Math.max(this.alpha[lane], alpha);
  }
  flush(lane) {
    if (this.pixel[lane] < -5) return;
    this.pen.globalAlpha = this.alpha[lane] * Math.min(1, 0.3 + 0.7 * this.covered[lane]);
    this.pen.fillStyle = this.colours.paint[this.paint[lane]];
    this.pen.fillRect(this.pixel[lane], this.item.body + lane * this.item.lane, 1, this.item.lane - 2);
    this.pen.globalAlpha = 1;
  }
  finish() {
    for (let lane = 0; lane < this.item.lanes; ++lane) this.flush(lane);
  }
}

function draw_label(pen, text, box, width, colours, paint) {
  const left = Math.max(box.x, 0);
  const room = Math.min(box.x + box.width, width) - left - 7;
  const label = room < 22 ? "" : fit_text(pen, text, room);
  if (!label) return;
  if (colours.hatch[paint]) {
    pen.fillStyle = colours.paint[paint];
    pen.fillRect(left + 2, box.y + 2, text_width(pen, label) + 4, box.height - 4);
  }
  pen.fillStyle = colours.page;
  pen.fillText(label, left + 4, box.y + box.height / 2 + 0.5);
}

function draw_events(pen, data, item, scale, width, colours, only) {
  const row = data.rows[item.row];
  const fine = new FinePixels(pen, item, colours);
  for (let i = 0; i < row.count; ++i) {
    const box = box_of(row, item, i, scale, width);
    if (!box) continue;
    const alpha = only === null || (data.flags.get(row.first + i) || []).includes(only) ? 1 : 0.22;
    const true_width = row.duration[i] * scale.per_ns;
    if (true_width < 1) {
      fine.add(box.lane, box.x, true_width, row.paint[i], alpha);
      continue;
    }
    pen.globalAlpha = alpha;
    fill_bar(pen, box.x, box.y, box.width > 3 ? box.width - 0.7 : box.width, box.height, colours, row.paint[i]);
    if (alpha === 1) draw_label(pen, data.short[row.text[i]][row.gpu ? 1 : 0], box, width, colours, row.paint[i]);
    pen.globalAlpha = 1;
  }
  fine.finish();
}

/** A frame around each event of the findings that are switched on, with the finding's number where it fits. */
function draw_flags(pen, data, layout, scale, width, colours, only) {
  data.findings.forEach((finding, f) => {
    if (only === null ? !finding.on : only !== f) return;
    for (const number of finding.events) {
      const {row, index} = place_of(data, number);
      const item = layout.items.find((one) => one.row === row);
      const box = box_of(data.rows[row], item, index, scale, width);
      if (!box) continue;
      pen.fillStyle = pen.strokeStyle = colours.mark;
      pen.lineWidth = 2;
      if (box.width >= 6)
        pen.strokeRect(box.x, box.y, box.width - 0.7, box.height);
      else
        pen.fillRect(box.x, box.y + box.height - 4, Math.max(2, box.width), 5);
      const label = String(f + 1);
      const badge = text_width(pen, label) + 7;
      if (box.width < badge + 6) continue;
      const right = Math.min(box.x + box.width, width);
      pen.fillRect(right - badge - 1, box.y, badge, box.height);
      pen.fillStyle = colours.page;
      pen.fillText(label, right - badge + 2.5, box.y + box.height / 2 + 0.5);
    }
  });
}

/** The chosen event, and a line to the call that started it or the work it started. */
function draw_chosen(pen, data, layout, scale, width, colours, number) {
  const boxes = [number, data.partner.get(number)].filter((one) => one !== undefined).map((one) => {
    const {row, index} = place_of(data, one);
    const box = box_of(data.rows[row], layout.items.find((item) => item.row === row), index, scale, width);
    if (box) {
      pen.strokeStyle = colours.ink;
      pen.lineWidth = 2;
      pen.strokeRect(box.x - 1, box.y - 1, box.width + 2, box.height + 2);
    }
    return box;
  });
  if (boxes.length < 2 || !boxes[0] || !boxes[1]) return;
  const [top, bottom] = boxes[0].y < boxes[1].y ? boxes : [boxes[1], boxes[0]];
  const [x0, y0, x1, y1] = [Math.max(top.x, 0), top.y + top.height, Math.max(bottom.x, 0), bottom.y];
  pen.lineWidth = 1.5;
  pen.beginPath();
  pen.moveTo(x0, y0);
  pen.bezierCurveTo(x0, y0 + 24, x1, y1 - 24, x1, y1);
  pen.stroke();
}

function draw_header(pen, data, item, folded, colours, width) {
  const idle = item.idle === undefined ? null : data.idle[item.idle];
  const row = idle ? null : data.rows[item.row];
  const gpu = idle && (data.idle.length > 1 ? `GPU ${idle.device}` : "GPU");
  let text =
      idle ? `${gpu} busy: idle ${format_time(idle.total)} (${format_share(idle.total / data.length)})` : row.name;
  if (row && row.lanes > 1) text = `${folded.has(item.row) ? "\u25b8" : "\u25be"} ${text}`;
  if (row && row.left_out > 0) text += ` (${row.left_out} events left out)`;
  pen.fillStyle = colours.quiet;
  pen.fillText(fit_text(pen, text, width - 12), 6, item.y + ROW_HEADER / 2 + 1);
}

/**
 * Rows that can be seen. `state`: view, layout, folded, scroll, only (a finding, or null), chosen (an event, or null).
 */
function draw_rows(canvas, data, state, colours, width, height) {
  const pen = start_drawing(canvas, width, height);
  const scale = scale_of(data, state.view, width);
  pen.fillStyle = colours.rule;
  pen.globalAlpha = 0.6;
  each_tick(data, state.view, width, (x) => pen.fillRect(Math.round(x), 0, 1, height));
  pen.globalAlpha = 1;
  pen.translate(0, -state.scroll);
  for (const item of state.layout.items) {
    if (item.body + item.height < state.scroll || item.y > state.scroll + height) continue;
    draw_header(pen, data, item, state.folded, colours, width);
    if (item.idle !== undefined)
      draw_busy(pen, data.idle[item.idle], scale, width, item.body, item.height, colours, true);
    else
      draw_events(pen, data, item, scale, width, colours, state.only);
  }
  draw_flags(pen, data, state.layout, scale, width, colours, state.only);
  if (state.chosen !== null) draw_chosen(pen, data, state.layout, scale, width, colours, state.chosen);
}
