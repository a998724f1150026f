/** The nodes over time: how long each waited and ran, and what it waited for. */
import { html, useMemo } from "./html.js";
import { Link, pathWith } from "./router.js";
import { colourOf, isOver } from "./phases.js";
import { executionPath } from "./api.js";
import { useAnswer, useNow } from "./live.js";
import { msOf, spanOf } from "./times.js";

const ROWS_MAX = 500;
const TICKS = 5;

/** Nodes on the way that took longest: from the last one to end, always back to the last before. */
function criticalPath(nodes) {
  const top = nodes.filter((node) => !node.node.includes("/") && node.ended_at);
  const byName = new Map(top.map((node) => [node.node, node]));
  const latest = (list) => list.reduce((a, b) => (a && msOf(a.ended_at) >= msOf(b.ended_at) ? a : b), null);
  const path = new Set();
  for (let node = latest(top); node && !path.has(node.node); ) {
    path.add(node.node);
    node = latest(node.after.map((id) => byName.get(id)).filter(Boolean));
  }
  return path;
}

function ticksOf(total) {
  const rough = total / TICKS;
  const sizes = [1, 10, 100, 500, 1000, 2000, 5000, 10000, 30000, 60000, 120000, 300000, 600000, 1800000, 3600000, 7200000, 21600000, 86400000, 604800000];
  const step = sizes.find((size) => size >= rough) ?? rough;
  return Array.from({ length: Math.floor(total / step) + 1 }, (_, i) => i * step);
}

/** Where attempts began and ended: a bar each, so that what was tried again and waited is seen. */
function Attempts({ attempts, from, now, percent }) {
  return attempts.map((attempt) => {
    const begun = msOf(attempt.started_at) ?? msOf(attempt.created_at);
    const width = percent((msOf(attempt.ended_at) ?? now) - begun);
    return html`<rect key=${attempt.attempt} class=${colourOf(attempt.phase)} x=${percent(begun - from)}
      width=${Math.max(width, 0.25)} y="3" height="10" />`;
  });
}

function Bar({ node, attempts, from, total, now, isCritical }) {
  const created = msOf(node.created_at);
  const started = msOf(node.started_at) ?? (isOver(node.phase) ? (msOf(node.ended_at) ?? created) : now);
  const ended = msOf(node.ended_at) ?? now;
  const percent = (ms) => (Math.max(0, ms) / total) * 100;
  const colour = node.is_waiting ? "wait" : colourOf(node.phase);
  const title = `${node.node}: waited ${spanOf(started - created)}, ran ${spanOf(ended - started)}${node.attempts > 1 ? `, ${node.attempts} attempts` : ""}`;
  return html`<svg viewBox="0 0 100 16" preserveAspectRatio="none" role="img" aria-label=${title}>
    <title>${title}</title>
    <rect class="waits" x=${percent(created - from)} width=${percent(started - created)} y="7" height="2" />
    ${attempts
      ? html`<rect class="waits" x=${percent(started - from)} width=${percent(ended - started)} y="7" height="2" />
          <${Attempts} attempts=${attempts} from=${from} now=${now} percent=${percent} />`
      : html`<rect class=${colour} x=${percent(started - from)} width=${Math.max(percent(ended - started), 0.25)} y="3" height="10" />`}
    ${isCritical && html`<rect class="critical" x=${percent(started - from)} width=${Math.max(percent(ended - started), 0.25)} y="14" height="2" />`}
  </svg>`;
}

/** A node that was tried again is shown with its attempts, which its own document has. */
function Line({ node, base, place, isSelected, ...rest }) {
  const isTriedAgain = node.attempts > 1 && !node.array;
  const known = useAnswer(isTriedAgain ? `${base}/node?node=${encodeURIComponent(node.node)}` : null, `${node.attempts} ${node.phase}`);
  return html`<div class="row ${isSelected ? "selected" : ""}" role="row">
    <span role="rowheader"><${Link} to=${pathWith(place, { node: node.node })} title=${node.node}>${node.node}</${Link}></span>
    <div role="cell"><${Bar} node=${node} attempts=${known.data?.attempts} ...${rest} /></div>
  </div>`;
}

export function Timeline({ id, row, place }) {
  const isRunning = !isOver(row.phase);
  const now = useNow(1000, isRunning);
  const begun = useMemo(() => row.nodes.filter((node) => node.created_at), [row.nodes]);
  const critical = useMemo(() => criticalPath(row.nodes), [row.nodes]);
  const from = msOf(row.created_at);
  const until = msOf(row.ended_at) ?? Math.max(now, from + 1000);
  const total = Math.max(until - from, 1);
  const selected = place.query.get("node");
  if (begun.length === 0) {
    return html`<div class="empty">No node has begun.</div>`;
  }
  return html`<div class="timeline" role="table" aria-label="Nodes over time">
    <div class="row axis" role="row"><span role="columnheader">Node</span>
      <div role="columnheader">${ticksOf(total).map((ms) => html`<span key=${ms} style=${{ left: `${(ms / total) * 100}%` }}>${spanOf(ms).replace(".00", "")}</span>`)}</div>
    </div>
    ${begun.slice(0, ROWS_MAX).map(
      (node) => html`<${Line} key=${node.node} node=${node} base=${executionPath(id)} place=${place} isSelected=${node.node === selected}
        from=${from} total=${total} now=${now} isCritical=${critical.has(node.node)} />`,
    )}
    ${begun.length > ROWS_MAX && html`<p class="faint">and ${(begun.length - ROWS_MAX).toLocaleString()} more nodes</p>`}
    <p class="key"><span><i class="waits"></i>waits</span><span><i class="run"></i>runs</span><span><i class="good"></i>succeeded</span><span><i class="bad"></i>failed</span><span><i class="critical"></i>on the longest way</span></p>
  </div>`;
}
