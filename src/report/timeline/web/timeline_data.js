// The data of a timeline as the drawing uses it, and the words for its numbers. See report/timeline_json.h.

const UNITS = [["s", 1e9], ["ms", 1e6], ["\u00b5s", 1e3], ["ns", 1]];

/** The largest unit in which `ns` is at least `least`. */
function unit_for(ns, least) { return UNITS.find(([, size]) => ns >= size * least) || UNITS[3]; }

/** "12.34 ms": four digits, as everywhere in the report. */
function format_time(ns) {
  const [unit, size] = unit_for(Math.abs(ns), 1);
  const value = ns / size;
  if (unit === "ns") return `${Math.round(value)} ns`;
  const digits = Math.abs(value) >= 1000 ? 0 : Math.abs(value) >= 100 ? 1 : Math.abs(value) >= 10 ? 2 : 3;
  return `${value.toFixed(digits)} ${unit}`;
}

/** A point in time, in the unit of `last` and with the decimals that steps of `step` ns need. */
function format_instant(ns, last, step) {
  const [unit, size] = unit_for(last, 1);
  const decimals = Math.max(0, Math.ceil(-Math.log10(step / size) - 1e-9));
  return `${(ns / size).toFixed(decimals)} ${unit}`;
}

function format_share(ratio) { return ratio > 0 && ratio < 0.001 ? "< 0.1 %" : `${(ratio * 100).toFixed(1)} %`; }

/** Running sums: starts are stored as distances. */
function undo_distances(distances) {
  const starts = new Float64Array(distances.length);
  let at = 0;
  for (let i = 0; i < distances.length; ++i) starts[i] = at += distances[i];
  return starts;
}

/** What a bar is labelled with: a kernel's own name without its namespaces and template arguments. */
function short_name(name, gpu) {
  if (!gpu) return name;
  const bare = name.replace(/\(anonymous namespace\)::/g, "").replace(/^void /, "").replace(/[<(].*$/, "");
  const last = bare.slice(bare.lastIndexOf("::") + 1).replace(/^:/, "");
  return last || name;
}

/** The lane that a folded row shows: of a stream its work rather than the ranges above it. */
function main_lane(row) {
  const events = new Array(row.lanes).fill(0);
  if (row.gpu) row.lane.forEach((lane) => ++events[lane]);
  return events.indexOf(Math.max(...events));
}

function read_row(row, first) {
  return {
    main: main_lane(row),
    name: row.name,
    gpu: row.gpu,
    lanes: row.lanes,
    left_out: row.left_out,
    first,
    count: row.start.length,
    start: undo_distances(row.start),
    duration: Float64Array.from(row.duration),
    lane: Uint16Array.from(row.lane),
    paint: Uint8Array.from(row.paint),
    text: Uint32Array.from(row.text),
    note: Uint32Array.from(row.note),
  };
}

/** Everything of the JSON block, with numbers in typed arrays and references resolved. */
function read_timeline(text) {
  const json = JSON.parse(text);
  const data = {
    length: json.length_ns,
    paints: json.paints,
    names: json.names,
    notes: json.notes,
    rows: [],
    idle: [],
    findings: [],
    partner: new Map(),
    flags: new Map(),
  };
  let first = 0;
  for (const row of json.rows) {
    data.rows.push(read_row(row, first));
    first += row.start.length;
  }
  for (const one of json.idle) {
    data.idle.push({
      device: one.device,
      total: one.idle_ns,
      start: undo_distances(one.start),
      duration: Float64Array.from(one.duration)
    });
  }
  json.findings.forEach((finding, index) => {
    data.findings.push({...finding, on: finding.events.length > 0, next: 0});
    for (const event of finding.events) {
      if (!data.flags.has(event)) data.flags.set(event, []);
      data.flags.get(event).push(index);
    }
  });
  for (let i = 0; i + 1 < json.launches.length; i += 2) {
    const [call, work] = [json.launches[i], json.launches[i + 1]];
    if (!data.partner.has(call)) data.partner.set(call, work);
    data.partner.set(work, call);
  }
  data.short = data.names.map((name) => [short_name(name, false), short_name(name, true)]);
  return data;
}

/** Row and index in it of the event with this number. */
function place_of(data, number) {
  const row = data.rows.findIndex((one) => number < one.first + one.count);
  return {row, index: number - data.rows[row].first};
}

/** Lines about an event: its name, then what is known of it. */
function describe_event(data, number) {
  const {row: r, index} = place_of(data, number);
  const row = data.rows[r];
  const whole = data.names[row.text[index]] || "(no name)";
  const lines = [row.gpu ? data.short[row.text[index]][1] || whole : whole];
  lines.push(`${data.paints[row.paint[index]].name}, ${format_time(row.duration[index])}, at ${
      format_time(row.start[index])}`);
  if (data.notes[row.note[index]]) lines.push(data.notes[row.note[index]]);
  if (data.partner.has(number)) {
    const other = place_of(data, data.partner.get(number));
    const name = data.short[data.rows[other.row].text[other.index]][row.gpu ? 0 : 1];
    const apart = Math.abs(data.rows[other.row].start[other.index] - row.start[index]);
    lines.push(
        row.gpu ? `started by ${name} ${format_time(apart)} earlier` : `starts ${name} ${format_time(apart)} later`);
  }
  const flags = (data.flags.get(number) || []).map((f) => `${f + 1}: ${data.findings[f].title}`);
  return {lines, flags, whole: whole === lines[0] ? "" : whole};
}
