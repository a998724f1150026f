/**
 * An array as a grid: a cell for each of its elements, or for a range of them, drawn from counts.
 * A click on a range shows its elements; a click on an element opens it.
 */
import { html, useEffect, useRef, useState } from "./html.js";
import { useDocument } from "./live.js";
import { go, Link, pathWith } from "./router.js";
import { Shown } from "./parts.js";
import { colourOf } from "./phases.js";
import { readColours } from "./graph_draw.js";
import { spanOf } from "./times.js";

const CELLS = 1000;
const CELL_PIXELS = 11;
const BAD_MIN = 0.3;

/** What of an array is shown, out of the link: "17000-1000" are a thousand from 17,000 on. */
function rangeOf(text) {
  const match = /^(\d+)-(\d+)$/.exec(text ?? "");
  return match ? { from: Number(match[1]), count: Number(match[2]) } : null;
}

/** The colours of a cell from the bottom, each with its part; failures are never too thin. */
function layersOf(counts, phases) {
  const total = counts.reduce((sum, count) => sum + count, 0) || 1;
  const layers = phases.map((one, i) => [colourOf(one.phase), counts[i] / total]).filter(([, part]) => part > 0);
  const bad = layers.findIndex(([colour]) => colour === "bad");
  if (bad >= 0 && layers[bad][1] < BAD_MIN) {
    const scale = (1 - BAD_MIN) / (1 - layers[bad][1]);
    layers.forEach((layer, i) => (layer[1] = i === bad ? BAD_MIN : layer[1] * scale));
  }
  return layers;
}

function draw(canvas, summary, cursor) {
  const columns = Math.max(1, Math.floor(canvas.clientWidth / CELL_PIXELS));
  const rows = Math.ceil(summary.ranges.length / columns);
  const ratio = devicePixelRatio || 1;
  canvas.style.height = `${rows * CELL_PIXELS}px`;
  canvas.width = canvas.clientWidth * ratio;
  canvas.height = rows * CELL_PIXELS * ratio;
  const pen = canvas.getContext("2d");
  const colours = readColours();
  pen.scale(ratio, ratio);
  summary.ranges.forEach((counts, i) => {
    const x = (i % columns) * CELL_PIXELS;
    let y = Math.floor(i / columns) * CELL_PIXELS + CELL_PIXELS - 1;
    for (const [colour, part] of layersOf(counts, summary.phases)) {
      pen.fillStyle = colours[`${colour}-area`];
      y -= part * (CELL_PIXELS - 1);
      pen.fillRect(x, y, CELL_PIXELS - 1, part * (CELL_PIXELS - 1));
    }
    if (i === cursor) {
      pen.strokeStyle = colours.text;
      pen.lineWidth = 2;
      pen.strokeRect(x, y, CELL_PIXELS - 1, CELL_PIXELS - 1);
    }
  });
  return columns;
}

/** What a cell is, in words. */
function wordsOf(summary, i) {
  const first = summary.first + i * summary.range_size;
  const last = Math.min(first + summary.range_size, summary.first + summary.count) - 1;
  const counts = summary.phases.map((one, k) => [summary.ranges[i][k], one.phase]).filter(([count]) => count > 0);
  const name = first === last ? `Element ${first.toLocaleString()}` : `Elements ${first.toLocaleString()} to ${last.toLocaleString()}`;
  return `${name}: ${counts.map(([count, phase]) => (first === last ? phase : `${count} ${phase}`)).join(", ")}`;
}

function Cells({ summary, node, place }) {
  const canvas = useRef();
  const columns = useRef(1);
  const [cursor, setCursor] = useState(-1);
  useEffect(() => {
    const again = () => {
      if (canvas.current) {
        columns.current = draw(canvas.current, summary, cursor);
      }
    };
    again();
    const observer = new ResizeObserver(again);
    observer.observe(canvas.current.parentElement);
    return () => observer.disconnect();
  }, [summary, cursor]);
  const open = (i) => {
    const first = summary.first + i * summary.range_size;
    const changes = summary.range_size === 1 ? { node: `${node}[${first}]` } : { cells: `${first}-${summary.range_size}` };
    go(pathWith(place, changes));
    setCursor(-1);
  };
  const at = (event) => {
    const i = Math.floor(event.offsetY / CELL_PIXELS) * columns.current + Math.floor(event.offsetX / CELL_PIXELS);
    return i < summary.ranges.length && event.offsetX < columns.current * CELL_PIXELS ? i : -1;
  };
  const keys = (event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -columns.current, ArrowDown: columns.current }[event.key];
    if (step) {
      event.preventDefault();
      setCursor(Math.min(Math.max(cursor + step, 0), summary.ranges.length - 1));
    } else if (event.key === "Enter" && cursor >= 0) {
      open(cursor);
    }
  };
  return html`<div class="cells">
    <canvas ref=${canvas} tabindex="0" role="img" onKeyDown=${keys} data-cells=${summary.ranges.length}
      aria-label="A grid of ${summary.ranges.length} cells; the arrows go through them, Enter opens one"
      onClick=${(event) => at(event) >= 0 && open(at(event))}
      onMouseMove=${(event) => setCursor(at(event))} onMouseLeave=${() => setCursor(-1)}></canvas>
    <p class="faint" aria-live="polite">${cursor >= 0 && summary.ranges[cursor] ? wordsOf(summary, cursor) : legendOf(summary)}</p>
  </div>`;
}

function legendOf(summary) {
  const each = summary.range_size === 1 ? "a cell each" : `${summary.range_size.toLocaleString()} in a cell`;
  return `${summary.count.toLocaleString()} elements, ${each}`;
}

function Durations({ durations }) {
  if (durations.count === 0) {
    return null;
  }
  const highest = Math.max(...durations.buckets.map((bucket) => bucket.count));
  const nameOf = (bucket) => (bucket.up_to_ms === null ? "longer" : `≤ ${spanOf(bucket.up_to_ms).replace(".00", "")}`);
  return html`<h3>Durations</h3>
    <dl class="histogram">
      ${durations.buckets.map((bucket) => html`<div key=${bucket.up_to_ms}><dt>${nameOf(bucket)}</dt>
        <dd><svg viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true"><rect class="run" width=${(bucket.count / highest) * 100} height="10" /></svg>
          <span class="number">${bucket.count.toLocaleString()}</span></dd></div>`)}
    </dl>
    <p class="faint">from ${spanOf(durations.min_ms)} to ${spanOf(durations.max_ms)}, ${spanOf(durations.sum_ms / durations.count)} on average</p>`;
}

function ElementLink({ node, element, place }) {
  return html`<${Link} to=${pathWith(place, { node: `${node}[${element}]` })}>[${element}]</${Link}> `;
}

function Errors({ errors, node, place }) {
  return errors.length > 0 && html`<h3>Failures</h3>
    <ul class="failures">${errors.map((group, i) => html`<li key=${i}>
      <strong>${group.code}</strong> <span class="faint">${group.count.toLocaleString()} ×</span>
      <p>${group.message}</p>
      <p>${(group.elements ?? []).map((element) => html`<${ElementLink} key=${element} node=${node} element=${element} place=${place} />`)}</p>
    </li>`)}</ul>`;
}

function Slowest({ slowest, node, place }) {
  const tookOf = (one) => (one.ended_at ? Date.parse(one.ended_at) : Date.now()) - Date.parse(one.started_at);
  return slowest.length > 0 && html`<h3>Slowest</h3>
    <ol class="slowest">${slowest.map((one) => html`<li key=${one.element}>
      <${ElementLink} node=${node} element=${one.element} place=${place} />
      <span class="number">${spanOf(tookOf(one))}</span> <span class="faint">${one.phase}</span></li>`)}</ol>`;
}

/** All of it: the grid, failures by their code, how long elements took. */
export function ArrayGrid({ base, node, place }) {
  const range = rangeOf(place.query.get("cells"));
  const part = range ? `&from=${range.from}&count=${range.count}` : "";
  const state = useDocument(`${base}/elements/summary?node=${encodeURIComponent(node)}&ranges=${CELLS}${part}`);
  return html`<h3>Elements ${range && html`<${Link} to=${pathWith(place, { cells: null })}>Show all</${Link}>`}</h3>
    <${Shown} state=${state}>
      ${(summary) => html`
        <${Cells} summary=${summary} node=${node} place=${place} />
        <${Errors} errors=${summary.errors} node=${node} place=${place} />
        <${Durations} durations=${summary.durations} />
        <${Slowest} slowest=${summary.slowest} node=${node} place=${place} />
      `}
    </${Shown}>`;
}
