/** The executions of a page by when they were created: a bar for each span, parted by phase. */
import { html, useMemo } from "./html.js";
import { colourOf, shownPhase } from "./phases.js";
import { msOf } from "./times.js";

const BARS = 60;
const HEIGHT = 44;
const COLOURS = ["good", "run", "wait", "warn", "bad", "idle"];

function barsOf(rows) {
  const times = rows.map((row) => msOf(row.created_at));
  const from = Math.min(...times);
  const width = Math.max((Math.max(...times) - from) / BARS, 1000);
  const bars = Array.from({ length: BARS }, () => ({}));
  rows.forEach((row, i) => {
    const bar = bars[Math.min(Math.floor((times[i] - from) / width), BARS - 1)];
    const colour = colourOf(shownPhase(row));
    bar[colour] = (bar[colour] ?? 0) + 1;
  });
  return { from, width, bars };
}

const totalOf = (bar) => Object.values(bar).reduce((sum, count) => sum + count, 0);

function Bar({ bar, x, scale, title }) {
  let y = HEIGHT;
  return html`<g><title>${title}</title>
    <rect x=${x} y="0" width="9" height=${HEIGHT} class="nothing" />
    ${COLOURS.filter((colour) => bar[colour]).map((colour) => {
      const height = bar[colour] * scale;
      y -= height;
      return html`<rect x=${x} y=${y} width="8" height=${Math.max(height - 0.5, 0.5)} class=${colour} />`;
    })}</g>`;
}

export function PhaseBars({ rows }) {
  const { from, width, bars } = useMemo(() => barsOf(rows), [rows]);
  const highest = Math.max(...bars.map(totalOf), 1);
  const scale = Math.min(HEIGHT / highest, 8);
  const counts = COLOURS.map((colour) => [colour, bars.reduce((sum, bar) => sum + (bar[colour] ?? 0), 0)]);
  const words = counts.filter(([, count]) => count).map(([colour, count]) => `${count} ${NAMES[colour]}`).join(", ");
  return html`<figure class="bars">
    <svg viewBox="0 0 ${BARS * 10} ${HEIGHT}" preserveAspectRatio="none" role="img" aria-label="Phases over time: ${words}">
      ${bars.map((bar, i) => html`<${Bar} key=${i} bar=${bar} x=${i * 10} scale=${scale}
        title="${totalOf(bar)} from ${new Date(from + i * width).toLocaleString()}" />`)}
    </svg>
    <figcaption>${counts.filter(([, count]) => count).map(
      ([colour, count]) => html`<span key=${colour}><i class=${colour}></i>${count} ${NAMES[colour]}</span>`,
    )}</figcaption>
  </figure>`;
}

const NAMES = {
  good: "succeeded",
  run: "running",
  wait: "waiting or paused",
  warn: "aborted",
  bad: "failed",
  idle: "queued",
};
