// Colours, patterns, texts and scales that all drawings of the timeline have in common.

const FONT = '11px system-ui, -apple-system, "Segoe UI", "Liberation Sans", "DejaVu Sans", sans-serif';
const HATCHED = {
  communication: "slash",
  copy: "upright",
  wait: "backslash",
  profiler: "slash",
  memset: "upright"
};

/** The page's colours as they are now: they change with the reader's scheme. */
function read_colours(element, paints) {
  const style = getComputedStyle(element);
  const of = (name) => style.getPropertyValue(`--t-${name}`).trim() || "#888";
  const colours = {paint: paints.map((paint) => of(paint.id)), hatch: paints.map((paint) => HATCHED[paint.id])};
  for (const name of ["page", "panel", "ink", "quiet", "rule", "mark", "busy"]) colours[name] = of(name);
  colours.pattern = {};
  for (const kind of ["slash", "backslash", "upright"]) colours.pattern[kind] = hatching(kind, colours.page);
  colours.pattern.idle = hatching("slash", colours.quiet);
  return colours;
}

/** Thin parallel lines, so that kinds differ without colour. */
function hatching(kind, colour) {
  const tile = document.createElement("canvas");
  tile.width = tile.height = 6;
  const pen = tile.getContext("2d");
  pen.strokeStyle = colour;
  pen.lineWidth = 1;
  pen.globalAlpha = 0.55;
  pen.beginPath();
  for (const shift of [-6, 0, 6]) {
    if (kind === "upright") {
      pen.moveTo(3.5, 0);
      pen.lineTo(3.5, 6);
    }
    if (kind === "slash") {
      pen.moveTo(shift - 1, 7);
      pen.lineTo(shift + 7, -1);
    }
    if (kind === "backslash") {
      pen.moveTo(shift - 1, -1);
      pen.lineTo(shift + 7, 7);
    }
  }
  pen.stroke();
  return pen.createPattern(tile, "repeat");
}

/** Resizes the bitmap if needed and clears it; drawing is in CSS pixels. */
function start_drawing(canvas, width, height) {
  const ratio = window.devicePixelRatio || 1;
  const [wide, high] = [Math.round(width * ratio), Math.round(height * ratio)];
  if (canvas.width !== wide || canvas.height !== high) {
    canvas.width = wide;
    canvas.height = high;
    canvas.style.height = `${height}px`;
  }
  const pen = canvas.getContext("2d");
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.clearRect(0, 0, width, height);
  pen.font = FONT;
  pen.textBaseline = "middle";
  return pen;
}

const width_cache = new Map();
function text_width(pen, text) {
  let width = width_cache.get(text);
  if (width === undefined) {
    width = pen.measureText(text).width;
    width_cache.set(text, width);
  }
  return width;
}

/** As much of the text as fits. */
function fit_text(pen, text, room) {
  const width = text_width(pen, text);
  if (width <= room) return text;
  const letters = Math.floor(text.length * room / width) - 1;
  return letters >= 3 ? `${text.slice(0, letters)}\u2026` : "";
}

function scale_of(data, view, width) {
  const per_ns = width / (data.length * (view.to - view.from));
  const origin = data.length * view.from;
  return {per_ns, x: (ns) => (ns - origin) * per_ns, ns: (x) => origin + x / per_ns};
}

function tick_step(span, width) {
  const rough = span / Math.max(2, width / 100);
  const power = 10 ** Math.floor(Math.log10(rough));
  return Math.max(1, [1, 2, 5, 10].map((factor) => factor * power).find((step) => step >= rough));
}

function each_tick(data, view, width, visit) {
  const scale = scale_of(data, view, width);
  const span = data.length * (view.to - view.from);
  const step = tick_step(span, width);
  for (let k = Math.ceil(scale.ns(0) / step - 1e-9); k * step <= scale.ns(width); ++k)
    visit(scale.x(k * step), k * step, step);
}
