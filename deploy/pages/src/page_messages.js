/** Messages as they pass, by filters: as a list, or those of one cause as a sequence chart. */
import { html, useEffect, useMemo, useState } from "./html.js";
import { go, Link, pathWith } from "./router.js";
import { Field, ProblemBox, Typed, Values } from "./parts.js";
import { Time } from "./times.js";
import { KEPT, tapPath, useTap } from "./messages.js";
import { Sequence, short } from "./sequence.js";
import { useSight } from "./tree.js";

/** What may be filtered by, and an example of each. */
const FILTERS = [
  ["address", "Actor", "/default/development/**"],
  ["type", "Message", "node_ended"],
  ["point", "Point", "handled,failed"],
];

const LOOKS = {
  handled: ["good", "✓ handled"],
  failed: ["bad", "✕ failed"],
  dropped: ["warn", "– dropped"],
  receive: ["wait", "waits"],
  send: ["idle", "sent"],
  muted: ["warn", "held back"],
};

export const took = (ns) => (ns >= 1e6 ? `${(ns / 1e6).toFixed(1)} ms` : `${(ns / 1e3).toFixed(1)} µs`);

function Filters({ place }) {
  const send = (event) => {
    event.preventDefault();
    const given = new FormData(event.target);
    go(pathWith(place, Object.fromEntries([...FILTERS.map(([name]) => [name, given.get(name).trim()]), ["cause", null], ["message", null]])));
  };
  return html`<form class="filters" onSubmit=${send}><div class="words">
    ${FILTERS.map(([name, label, example]) => html`<label key=${name}><span class="unseen">${label}</span>
      <${Typed} name=${name} value=${place.query.get(name) ?? ""} placeholder="${label}, as ${example}" size="30" spellcheck=${false} /></label>`)}
    <button>Filter</button>
    ${FILTERS.some(([name]) => place.query.get(name)) && html`<${Link} to="/messages">Clear</${Link}>`}
  </div></form>`;
}

function Row({ row, passed, place }) {
  const [colour, words] = LOOKS[row.point] ?? ["idle", row.point];
  return html`<tr class=${place.query.get("message") === row.key ? "selected" : ""}>
    <td><${Time} at=${new Date(row.atMs).toISOString()} /></td>
    <td class="name"><${Link} to=${pathWith(place, { message: row.key })} title=${row.name}>${row.name}</${Link}></td>
    <td class="name faint" title=${passed.name(row.from)}>${short(passed.name(row.from))}</td>
    <td class="name" title=${passed.name(row.to)}>${short(passed.name(row.to))}</td>
    <td><span class="phase ${colour}">${words}</span></td>
    <td class="right number">${row.durationNs > 0 ? took(row.durationNs) : ""}</td>
    <td class="right">${row.trace > 0 && html`<${Link} to=${pathWith(place, { cause: row.trace, message: null })} aria-label="All of cause ${row.trace}">${row.trace}</${Link}>`}</td>
  </tr>`;
}

function List({ rows, passed, place }) {
  const [list, [first, last]] = useSight(rows.length);
  const space = (count) => html`<tr aria-hidden="true" style=${{ height: `${count * 32}px` }}><td colspan="7"></td></tr>`;
  return html`<div class="scroll"><table class="list messages">
    <thead><tr><th scope="col">At</th><th scope="col">Message</th><th scope="col">From</th><th scope="col">To</th>
      <th scope="col">State</th><th scope="col" class="right">Took</th><th scope="col" class="right">Cause</th></tr></thead>
    <tbody ref=${list}>
      ${first > 0 && space(Math.min(first, rows.length))}
      ${rows.slice(first, last).map((row) => html`<${Row} key=${row.key} row=${row} passed=${passed} place=${place} />`)}
      ${last < rows.length && space(rows.length - last)}
    </tbody>
  </table></div>`;
}

/** One message; its cause and its body, without what is secret. */
function Panel({ row, passed, place }) {
  const [, words] = LOOKS[row.point] ?? ["", row.point];
  const facts = [
    ["From", passed.name(row.from)], ["To", passed.name(row.to)], ["Kind", row.kind ?? "–"], ["State", words],
    ["At", html`<${Time} at=${new Date(row.atMs).toISOString()} />`], ["Took", row.durationNs > 0 ? took(row.durationNs) : "–"],
    ["Worker", row.worker], ["On disk", row.isCommitted ? "yes" : "not yet"],
  ];
  const body = row.body === undefined ? {} : row.body;
  return html`<aside class="panel" aria-label="Message">
    <header><h2 title=${row.name}>${row.name}</h2>
      <${Link} to=${pathWith(place, { message: null })} class="close" aria-label="Close"><span aria-hidden="true">✕</span></${Link}></header>
    <dl class="facts">${facts.map(([name, value]) => html`<div key=${name}><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>
    ${row.reason !== "ok" && html`<p class="bad">${row.reason}</p>`}
    ${row.trace > 0 && html`<p><${Link} to=${pathWith(place, { cause: row.trace })}>All of its cause, ${row.trace}</${Link}>
      ${passed.rows.has(row.cause) && html`, <${Link} to=${pathWith(place, { message: row.cause })}>sent while ${passed.rows.get(row.cause).name} was handled</${Link}>`}</p>`}
    <${Values} values=${body} empty=${row.size > 0 ? `${row.size} bytes, which are not shown.` : "It says nothing more."} />
  </aside>`;
}

function Count({ passed, rows, isPaused, isOpen }) {
  const words = [`${rows.toLocaleString()} shown`];
  if (passed.forgotten > 0) {
    words.push(`the latest ${KEPT.toLocaleString()} are kept`);
  }
  if (passed.lost > 0) {
    words.push(`${passed.lost.toLocaleString()} left out, since there were too many at once`);
  }
  words.push(isPaused ? "paused" : isOpen ? "following" : "not yet following");
  return html`<p class="faint count" role="status" aria-live="off">${words.join(", ")}</p>`;
}

export function Messages({ place }) {
  const [isPaused, pause] = useState(false);
  const path = tapPath(place.query);
  const { passed, problem, version, isOpen } = useTap(path, isPaused);
  const cause = place.query.get("cause");
  useEffect(() => void (document.title = "Messages · Troupe"), []);
  const rows = useMemo(() => {
    const all = [...passed.rows.values()];
    return cause ? all.filter((row) => String(row.trace) === cause) : all.reverse();
  }, [passed, version, cause]);
  const selected = passed.rows.get(place.query.get("message"));
  const close = (event) => event.key === "Escape" && selected && go(pathWith(place, { message: null }));
  return html`<div onKeyDown=${close}>
    <div class="title"><h1>${cause ? `Messages of cause ${cause}` : "Messages"}</h1>
      <div class="actions">
        ${cause && html`<${Link} to=${pathWith(place, { cause: null })}>All messages</${Link}>`}
        <button onClick=${() => pause(!isPaused)} aria-pressed=${isPaused}>${isPaused ? "Continue" : "Pause"}</button>
      </div></div>
    <${Filters} key=${path} place=${place} />
    ${problem && html`<${ProblemBox} problem=${problem} />`}
    <${Count} passed=${passed} rows=${rows.length} isPaused=${isPaused} isOpen=${isOpen} />
    ${rows.length === 0
      ? !problem && html`<div class="empty"><h2>${cause ? "Nothing of this cause has passed" : "Nothing has passed yet"}</h2>
          <p>Messages are shown from the moment on in which this page was opened.</p></div>`
      : html`<div class=${selected ? "split" : ""}>
          <div class="view">${cause
            ? html`<${Sequence} rows=${rows} passed=${passed} place=${place} />`
            : html`<${List} rows=${rows} passed=${passed} place=${place} />`}</div>
          ${selected && html`<${Panel} row=${selected} passed=${passed} place=${place} />`}
        </div>`}
  </div>`;
}
