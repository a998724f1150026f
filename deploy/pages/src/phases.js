/** What each phase looks like: a colour, and a sign, since colours alone tell not everybody. */
import { html } from "./html.js";

const LOOKS = {
  succeeded: ["good", "✓"],
  recovered: ["good", "✓"],
  failed: ["bad", "✕"],
  "timed out": ["bad", "✕"],
  rejected: ["bad", "✕"],
  aborted: ["warn", "■"],
  aborting: ["warn", "■"],
  failing: ["bad", "✕"],
  running: ["run", "▶"],
  succeeding: ["run", "▶"],
  waiting: ["wait", "?"],
  paused: ["wait", "‖"],
  queued: ["idle", "○"],
  dormant: ["idle", "☾"],
  skipped: ["idle", "–"],
  "not yet started": ["idle", "○"],
};

export const lookOf = (phase) =>
  LOOKS[phase] ?? (phase.startsWith("failed") ? ["warn", "↻"] : ["idle", "○"]);

export const colourOf = (phase) => lookOf(phase)[0];

/** The phase that is shown of an execution or node: it may wait, or be paused. */
export function shownPhase(row) {
  if (row.is_waiting) {
    return "waiting";
  }
  return row.is_paused && row.phase === "running" ? "paused" : row.phase;
}

export function Phase({ phase }) {
  const [colour, sign] = lookOf(phase);
  return html`<span class="phase ${colour}"><span aria-hidden="true">${sign}</span>${phase}</span>`;
}

export const isOver = (phase) =>
  ["succeeded", "failed", "aborted", "timed out", "recovered", "skipped", "rejected"].includes(phase);
