// Numbers as the reports write them: SI prefixes, three to four digits.
import {h} from "./dom";

const kUp = ["", "k", "M", "G", "T", "P", "E"];
const kDown = ["", "m", "\u00b5", "n", "p"];

function digits(value: number): string {
  const size = Math.abs(value);
  if (size >= 1000 || size === 0) return value.toFixed(0);
  return value.toPrecision(size >= 100 ? 4 : 3);
}

/** 0.00123 s is "1.23 ms"; a ratio is a percentage; a unit that has a prefix's meaning of its own has none. */
export function quantity(value: number|undefined|null, unit: string): string {
  if (value === undefined || value === null || !Number.isFinite(value)) return "";
  if (unit === "ratio") return percent(value);
  if (unit === "" || unit === "1" || unit === "count") return Number.isInteger(value) ? String(value) : value.toPrecision(4);
  if (value === 0) return "0 " + unit;
  if (unit === "s" && Math.abs(value) >= 120) return duration(value);
  let step = Math.floor(Math.log10(Math.abs(value)) / 3);
  step = Math.max(-4, Math.min(6, step));
  if (Math.abs(value) >= 1 && unit === "s") step = 0;
  const prefix = step >= 0 ? kUp[step] : kDown[-step];
  return digits(value / Math.pow(1000, step)) + " " + prefix + unit;
}
export function duration(seconds: number): string {
  if (seconds < 120) return seconds.toFixed(0) + " s";
  if (seconds < 7200) return (seconds / 60).toFixed(0) + " min";
  if (seconds < 172800) return (seconds / 3600).toFixed(0) + " h";
  return (seconds / 86400).toFixed(0) + " days";
}
export function bytes(value: number|undefined): string {
  if (value === undefined) return "";
  const names = ["B", "KiB", "MiB", "GiB", "TiB"];
  let step = 0;
  while (value >= 1024 && step < 4) {
    value /= 1024;
    ++step;
  }
  return digits(value) + " " + names[step];
}
export function percent(ratio: number|undefined): string {
  if (ratio === undefined) return "";
  const value = ratio * 100;
  return (Math.abs(value) >= 100 ? value.toFixed(0) : Math.abs(value) >= 10 ? value.toFixed(1) : value.toFixed(2)) + " %";
}
export function signed_percent(ratio: number): string { return (ratio > 0 ? "+" : ratio < 0 ? "\u2212" : "") + percent(Math.abs(ratio)); }
export function p_value(p: number|undefined): string {
  if (p === undefined) return "";
  return p < 0.0001 ? "p < 0.0001" : "p = " + p.toPrecision(2);
}
export function half_width(value: number|undefined, low?: number, high?: number): string {
  if (low === undefined || high === undefined || !value) return "";
  return "\u00b1 " + percent(Math.max(value - low, high - value) / Math.abs(value));
}
export const milliseconds = (utc: string): number => Date.parse(utc);

export function ago(utc: string, now = Date.now()): string {
  const seconds = (now - milliseconds(utc)) / 1000;
  if (!Number.isFinite(seconds)) return utc;
  if (seconds < -60) return "in the future";
  return seconds < 5 ? "now" : duration(Math.max(0, seconds)) + " ago";
}
/** When, in UTC as it is stored; how long ago in its title. */
export function when(utc: string): HTMLElement {
  return h("time", {datetime: utc, title: ago(utc)}, utc.replace("T", " ").replace(/:\d\dZ$/, ""));
}
export const commit_text = (commit: string, dirty: boolean): string => commit ? commit.slice(0, 10) + (dirty ? "*" : "") : "";

/** The reports' tones. */
export function tone_of(word: string): string {
  if (["passed", "better", "pass", "normal", "kept", "accepted"].includes(word)) return "good";
  if (["failed", "worse", "error", "fail", "slow", "rejected"].includes(word)) return "bad";
  if (["unreliable", "inconclusive", "undecided", "different", "missing", "not_measurable", "not measurable"].includes(word)) return "warning";
  return "quiet";
}
export const badge = (word: string): HTMLElement => h("span", {class: "badge " + tone_of(word)}, word.replace(/_/g, " "));
