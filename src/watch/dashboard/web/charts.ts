// Charts by Chart.js, which stands before this script, in the colours of the style sheet.

/* eslint-disable @typescript-eslint/no-explicit-any */
declare const Chart: any;

import {h} from "./dom";

export const css = (name: string): string => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const with_alpha = (colour: string, alpha: string): string => (/^#[0-9a-f]{6}$/i.test(colour) ? colour + alpha : colour);

interface Line { at: number; colour: string; dash?: number[]; label: string; }
export interface Band { from: number; to: number; low: number; high: number; }

/** Lines across the plot for changes, whiskers for intervals, a band for what is expected. */
const marks = {
  id: "warpmark_marks",
  beforeDatasetsDraw(chart: any) {
    const options = chart.options.warpmark ?? {};
    const {ctx, chartArea: area, scales: {x, y}} = chart;
    ctx.save();
    ctx.beginPath();
    ctx.rect(area.left, area.top, area.width, area.height);
    ctx.clip();
    for (const band of (options.bands ?? []) as Band[]) {
      const [left, right] = [x.getPixelForValue(band.from), x.getPixelForValue(band.to)];
      const [top, bottom] = [y.getPixelForValue(band.high), y.getPixelForValue(band.low)];
      ctx.fillStyle = with_alpha(css("--c2"), "26");
      ctx.fillRect(left, top, Math.max(2, right - left), bottom - top);
    }
    for (const line of (options.lines ?? []) as Line[]) {
      const at = x.getPixelForValue(line.at);
      ctx.strokeStyle = line.colour;
      ctx.lineWidth = 1.5;
      ctx.setLineDash(line.dash ?? []);
      ctx.beginPath();
      ctx.moveTo(at, area.top);
      ctx.lineTo(at, area.bottom);
      ctx.stroke();
    }
    ctx.setLineDash([]);
    chart.data.datasets.forEach((set: any, index: number) => {
      if (!set.whiskers || !chart.isDatasetVisible(index)) return;
      ctx.strokeStyle = with_alpha(set.borderColor, "70");
      ctx.lineWidth = 1.5;
      ctx.beginPath();
      for (const point of set.data) {
        if (point.low === undefined) continue;
        const at = x.getPixelForValue(point.x);
        ctx.moveTo(at, y.getPixelForValue(point.low));
        ctx.lineTo(at, y.getPixelForValue(point.high));
      }
      ctx.stroke();
    });
    ctx.restore();
  },
};

const shown = new Set<{chart: any; make: () => any; canvas: HTMLCanvasElement}>();

/** Redraws in the other scheme's colours, and forgets what has left the page. */
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
  for (const entry of shown) {
    entry.chart.destroy();
    if (!entry.canvas.isConnected) shown.delete(entry);
    else entry.chart = new Chart(entry.canvas, entry.make());
  }
});
export function forget_charts(): void {
  for (const entry of shown) entry.chart.destroy();
  shown.clear();
}

export interface ChartBox { box: HTMLElement; canvas: HTMLCanvasElement; update: (change: (chart: any) => void) => void; }

/** A chart in a box of its own; `make` gives its configuration in today's colours. */
export function chart_box(label: string, size: string, make: () => any): ChartBox {
  const canvas = h("canvas", {role: "img", "aria-label": label}) as HTMLCanvasElement;
  const box = h("div", {class: "chart " + size}, canvas);
  const entry = {chart: null as any, make, canvas};
  // When it is in the page, as its size comes from there.
  const begin = () => {
    if (!canvas.isConnected || entry.chart) return;
    entry.chart = new Chart(canvas, make());
    shown.add(entry);
    box.dataset.drawn = "yes";
  };
  queueMicrotask(begin);
  return {box, canvas, update: (change) => {
    if (!entry.chart) begin();
    if (!entry.chart) return;
    change(entry.chart);
    entry.chart.update("none");
  }};
}

/** What all charts have in common. */
export function base_options(x_text: (value: number) => string, y_text: (value: number) => string): any {
  const [ink, quiet, rule] = [css("--ink"), css("--quiet"), css("--rule")];
  const font = {family: getComputedStyle(document.body).fontFamily, size: 12};
  const ticks = (text: (value: number) => string, most: number) =>
      ({color: quiet, font, maxTicksLimit: most, maxRotation: 0, includeBounds: false, callback: (value: number) => text(value)});
  return {
    animation: false, responsive: true, maintainAspectRatio: false, parsing: false, normalized: true,
    interaction: {mode: "nearest", axis: "x", intersect: false},
    plugins: {
      legend: {display: false},
      tooltip: {backgroundColor: css("--page"), titleColor: ink, bodyColor: ink, footerColor: quiet,
                borderColor: quiet, borderWidth: 1, titleFont: font, bodyFont: font, footerFont: {...font, weight: "normal"},
                padding: 8, displayColors: false},
    },
    scales: {
      x: {type: "linear", bounds: "data", grid: {display: false, borderColor: quiet}, ticks: ticks(x_text, innerWidth < 600 ? 4 : 7)},
      y: {type: "linear", grace: "5%", grid: {color: rule, borderColor: rule}, ticks: ticks(y_text, 6)},
    },
  };
}
export const plugins = [marks];
export {with_alpha};

/** The distribution of samples, as bars. */
export function histogram(label: string, name: string, values: number[], x_text: (value: number) => string): ChartBox {
  const low = values.reduce((x, y) => Math.min(x, y), Infinity), high = values.reduce((x, y) => Math.max(x, y), -Infinity);
  const bins = Math.max(8, Math.min(60, Math.round(2 * Math.cbrt(values.length))));
  const width = (high - low) / bins || Math.abs(high) * 0.01 || 1;
  const counts = new Array(bins).fill(0);
  for (const value of values) counts[Math.min(bins - 1, Math.floor((value - low) / width))] += 1;
  return chart_box(label, "low", () => {
    const options = base_options(x_text, (value) => String(value));
    options.scales.x.suggestedMin = low - width;
    options.scales.x.suggestedMax = high + width;
    options.scales.x.bounds = "ticks";
    options.scales.y.beginAtZero = true;
    options.scales.y.title = {display: true, text: "samples", color: css("--quiet")};
    options.plugins.tooltip.callbacks = {title: (items: any[]) => x_text(items[0].parsed.x), label: (item: any) => name + ": " + item.parsed.y};
    return {type: "line", plugins, options, data: {datasets: [{
      label: name, data: counts.map((count, i) => ({x: low + width * (i + 0.5), y: count})), stepped: "middle", borderColor: css("--c0"),
      backgroundColor: with_alpha(css("--c0"), "33"), fill: "origin", pointRadius: 0, borderWidth: 1.5}]}};
  });
}
