/** Times in the reader's zone, with UTC on hover; spans in few words. */
import { html } from "./html.js";
import { useNow } from "./live.js";

const sameDay = new Intl.DateTimeFormat(undefined, { timeStyle: "medium" });
const otherDay = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });

export const msOf = (text) => (text === null || text === undefined ? null : Date.parse(text));

export function Time({ at }) {
  if (!at) {
    return html`<span class="faint">–</span>`;
  }
  const date = new Date(at);
  const isToday = date.toDateString() === new Date().toDateString();
  return html`<time datetime=${at} title="${date.toISOString().replace("T", " ").replace("Z", " UTC")}"
    >${(isToday ? sameDay : otherDay).format(date)}</time
  >`;
}

const UNITS = [
  [86400000, "d", 3600000, "h"],
  [3600000, "h", 60000, "m"],
  [60000, "m", 1000, "s"],
];

/** 74000 is "1m 14s", 320 is "0.32s". */
export function spanOf(ms) {
  for (const [size, unit, smaller, smallerUnit] of UNITS) {
    if (ms >= size) {
      const rest = Math.floor((ms % size) / smaller);
      return `${Math.floor(ms / size)}${unit}${rest ? ` ${rest}${smallerUnit}` : ""}`;
    }
  }
  return `${(Math.max(ms, 0) / 1000).toFixed(ms < 10000 ? 2 : 1)}s`;
}

/** From one time to another, or until now while there is no other. */
export function Span({ from, to }) {
  const isRunning = Boolean(from) && !to;
  const now = useNow(1000, isRunning);
  if (!from) {
    return html`<span class="faint">–</span>`;
  }
  const ms = (msOf(to) ?? now) - msOf(from);
  return html`<span class="number">${isRunning && ms < 10000 ? `${Math.max(0, Math.floor(ms / 1000))}s` : spanOf(ms)}</span>`;
}

/** "in 3h 5m" or "2d ago". */
export function Relative({ at }) {
  const now = useNow(10000);
  const ms = msOf(at) - now;
  return html`<span>${ms >= 0 ? `in ${spanOf(ms)}` : `${spanOf(-ms)} ago`}</span>`;
}
