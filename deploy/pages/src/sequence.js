/** A message sequence chart: a lane for each actor, an arrow for each message, in their order. */
import { html, useEffect } from "./html.js";
import { Link, pathWith } from "./router.js";
import { useSight } from "./tree.js";
import { took } from "./page_messages.js";

const LANE = 150;
const HEIGHT = 32;

/** The lanes in the order in which they come to have something to do. */
function lanesOf(rows) {
  const lanes = new Map();
  for (const row of rows) {
    for (const key of [row.from, row.to]) {
      if (!lanes.has(key)) {
        lanes.set(key, lanes.size);
      }
    }
  }
  return lanes;
}

/** The last names of an address: what fits, and is different. */
export function short(name) {
  const parts = name.split("/");
  return parts.length > 3 ? `…/${parts.slice(-2).join("/")}` : name;
}

const middle = (lane) => lane * LANE + LANE / 2;

/** From lane to lane; what an actor sends itself, and what happens to it, is a dot. */
function arrowOf(from, to) {
  const [begin, end] = [middle(from), middle(to)];
  if (from === to) {
    return `M${begin - 4} 22a4 4 0 1 0 8 0a4 4 0 1 0 -8 0z`;
  }
  const back = end > begin ? -7 : 7;
  return `M${begin} 22H${end}m${back} -4l${-back} 4l${back} 4`;
}

const LOOKS = { failed: "bad", dropped: "warn", handled: "run", muted: "warn" };

function Row({ row, lanes, beginMs, passed, place }) {
  const [from, to] = [lanes.get(row.from), lanes.get(row.to)];
  const center = from === to ? middle(from) + 10 : (middle(from) + middle(to)) / 2;
  const words = row.durationNs > 0 ? `${row.name} ${took(row.durationNs)}` : row.name;
  const isSelected = place.query.get("message") === row.key;
  return html`<li class=${isSelected ? "selected" : ""}>
    <${Link} to=${pathWith(place, { message: row.key })} replace=${true}>
      <span class="number faint">+${(row.atMs - beginMs).toLocaleString()} ms</span>
      <span class="unseen">${row.name} from ${passed.name(row.from)} to ${passed.name(row.to)}, ${row.point}</span>
      <svg width=${lanes.size * LANE} height=${HEIGHT} aria-hidden="true">
        <path class="lane" d=${[...lanes.values()].map((lane) => `M${middle(lane)} 0V${HEIGHT}`).join("")} />
        <path class="arrow ${LOOKS[row.point] ?? "idle"}" d=${arrowOf(from, to)} />
        <text x=${center} y="14" text-anchor=${from === to ? "start" : "middle"}>${words}</text>
      </svg>
    </${Link}>
  </li>`;
}

export function Sequence({ rows, passed, place }) {
  const lanes = lanesOf(rows);
  const [list, [first, last]] = useSight(rows.length);
  useEffect(() => scrollTo(0, 0), []); // it begins with the request
  const move = (event) => {
    const step = { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1 }[event.key];
    if (step) {
      event.preventDefault();
      const links = [...list.current.querySelectorAll("a")];
      links[links.indexOf(document.activeElement) + step]?.focus();
    }
  };
  const space = (count) => html`<li aria-hidden="true" style=${{ height: `${count * HEIGHT}px` }}></li>`;
  return html`<div class="sequence scroll" onKeyDown=${move}>
    <div class="lanes" aria-hidden="true">${[...lanes.keys()].map((key) => html`<span key=${key} title=${passed.name(key)}>${short(passed.name(key))}</span>`)}</div>
    <ol ref=${list} aria-label="Messages from the request to the effect">
      ${first > 0 && space(Math.min(first, rows.length))}
      ${rows.slice(first, last).map((row) => html`<${Row} key=${row.key} row=${row} lanes=${lanes} beginMs=${rows[0].atMs} passed=${passed} place=${place} />`)}
      ${last < rows.length && space(rows.length - last)}
    </ol>
  </div>`;
}
