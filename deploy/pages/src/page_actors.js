/** The actors of the live engine as a tree, with what waits for each and what it takes; and one. */
import { html, useEffect, useMemo, useState } from "./html.js";
import { useDocument } from "./live.js";
import { go, Link, pathWith } from "./router.js";
import { Shown, Typed } from "./parts.js";
import { Time } from "./times.js";
import { keysOf, useSight } from "./tree.js";
import { shownRows, treeOf } from "./tree_rows.js";

const EMPTY = html`<h2>No actor is like that</h2><p>A pattern has <code>*</code> within a name and <code>**</code> for anything.</p>`;
const SHOWN = 1000; // of each worker, as the engine answers
const OPEN_BELOW = 200;

const PHASES = { idle: "idle", ready: "run", running: "run", "backing off": "warn", quarantined: "bad" };

export function sizeOf(bytes) {
  const units = ["B", "KiB", "MiB", "GiB"];
  const unit = Math.min(units.length - 1, Math.floor(Math.log2(Math.max(bytes, 1)) / 10));
  return `${(bytes / 1024 ** unit).toFixed(unit === 0 || bytes % 1024 ** unit === 0 ? 0 : 1)} ${units[unit]}`;
}

/** An address as the path of a node: the tree is that of nodes. */
const pathOf = (address) => address.replace(/^\//, "");

function Row({ row, place, fold }) {
  const actor = row.node?.actor;
  const address = `/${row.path}`;
  return html`<tr aria-level=${row.depth + 1} aria-expanded=${row.children.length ? String(row.isOpen) : null}
    class=${place.query.get("at") === address ? "selected" : ""}>
    <td class="name"><span class="indent" style=${{ paddingLeft: `${row.depth * 18}px` }}>
      ${row.children.length > 0
        ? html`<button class="fold" aria-label="${row.isOpen ? "Fold" : "Unfold"} ${address}" onClick=${() => fold(row.path, row.isOpen)}>${row.isOpen ? "▾" : "▸"}</button>`
        : html`<span class="fold"></span>`}
      ${actor
        ? html`<${Link} to=${pathWith(place, { at: address })} title=${address}>${row.label}</${Link}>`
        : html`<span class="faint" title=${address}>${row.label}</span>`}
    </span></td>
    <td>${actor && html`<span class="faint">${actor.behaviour}</span>`}</td>
    <td>${actor && html`<span class="phase ${PHASES[actor.phase] ?? "idle"}">${actor.phase}</span>`}</td>
    <td class="right number">${actor?.mailbox.toLocaleString()}</td>
    <td class="right number">${actor?.waiting.toLocaleString()}</td>
    <td class="right number">${actor && sizeOf(actor.memory_bytes)}</td>
    <td class="right number">${actor?.worker}</td>
  </tr>`;
}

function Tree({ actors, place }) {
  const [folded, setFolded] = useState({});
  const roots = useMemo(() => treeOf(actors.map((actor) => ({ node: pathOf(actor.address), actor }))
    .sort((one, other) => one.node.localeCompare(other.node, undefined, { numeric: true }))), [actors]);
  const rows = shownRows(roots, (path, depth) => folded[path] ?? (actors.length < OPEN_BELOW || depth < 2));
  const [list, [first, last]] = useSight(rows.length);
  const fold = (path, wasOpen) => setFolded({ ...folded, [path]: !wasOpen });
  const move = keysOf(list, place.query.get("at") && (() => go(pathWith(place, { at: null }))));
  const space = (count) => html`<tr aria-hidden="true" style=${{ height: `${count * 32}px` }}><td colspan="7"></td></tr>`;
  return html`<div class="scroll"><table class="list nodes" role="treegrid" aria-label="Actors" onKeyDown=${move}>
    <thead><tr><th scope="col">Actor</th><th scope="col">Behaviour</th><th scope="col">State</th><th scope="col" class="right">Mailbox</th>
      <th scope="col" class="right">Questions</th><th scope="col" class="right">Memory</th><th scope="col" class="right">Worker</th></tr></thead>
    <tbody ref=${list}>
      ${first > 0 && space(Math.min(first, rows.length))}
      ${rows.slice(first, last).map((row) => html`<${Row} key=${row.path} row=${row} place=${place} fold=${fold} />`)}
      ${last < rows.length && space(rows.length - last)}
    </tbody>
  </table></div>`;
}

function Edges({ edges }) {
  return edges.length > 0 && html`<h3>What it waits for, and what waits for it</h3>
    <ul class="edges">${edges.map((edge, at) => html`<li key=${at}>${edge.kind} ${edge.peer && html`<code>${edge.peer}</code>`}
      ${edge.due_at && html` at <${Time} at=${edge.due_at} />`}</li>`)}</ul>`;
}

const text = (value) => (typeof value === "string" ? value : JSON.stringify(value));

/** A state by its schema; those in `changed` first, with what they were. */
export function Fields({ state, changed = {} }) {
  const names = Object.keys(state).sort((one, other) => (other in changed) - (one in changed));
  const hasBefore = Object.keys(changed).length > 0;
  return html`<div class="scroll" tabindex="0"><table class="plain">
    <thead><tr><th scope="col">Field</th><th scope="col">Value</th>${hasBefore && html`<th scope="col">Before</th>`}</tr></thead>
    <tbody>${names.map((name) => html`<tr key=${name} class=${name in changed ? "changed" : ""}>
      <td>${name}</td><td>${text(state[name])}</td>
      ${hasBefore && html`<td class="faint">${name in changed ? text(changed[name][0]) : ""}</td>`}</tr>`)}
    </tbody></table></div>`;
}

/** One actor: its state by its schema, again each second while it changes. */
function Panel({ address, actor, place }) {
  const state = useDocument(`/actor?address=${encodeURIComponent(address)}`);
  const below = encodeURIComponent(`${address},${address}/**`);
  return html`<aside class="panel" aria-label="Actor">
    <header><h2 title=${address}>${address}</h2>
      <${Link} to=${pathWith(place, { at: null })} class="close" aria-label="Close"><span aria-hidden="true">✕</span></${Link}></header>
    <p class="links"><${Link} to="/messages?address=${below}">Its messages</${Link}>
      <${Link} to="/actors/inbox?address=${encodeURIComponent(address)}">Step through its inbox</${Link}></p>
    <${Shown} state=${state}>
      ${(data) => html`<dl class="facts">
          ${[["Behaviour", data.behaviour], ["Key", data.actor], ["Parent", data.parent ?? "–"], ["Has sent", data.sent.toLocaleString()],
            ["Mailbox", actor?.mailbox ?? "–"], ["Memory", actor ? sizeOf(actor.memory_bytes) : "–"]].map(
            ([name, value]) => html`<div key=${name}><dt>${name}</dt><dd>${value}</dd></div>`)}
        </dl>
        <${Edges} edges=${data.edges} />
        <h3>State</h3><${Fields} state=${data.state} />`}
    </${Shown}>
  </aside>`;
}

function Pattern({ place }) {
  const send = (event) => {
    event.preventDefault();
    go(pathWith(place, { pattern: new FormData(event.target).get("pattern").trim() }));
  };
  const pattern = place.query.get("pattern") ?? "";
  return html`<form class="filters" onSubmit=${send}><div class="words">
    <label><span class="unseen">Addresses</span><${Typed} name="pattern" value=${pattern} size="40" spellcheck=${false}
      placeholder="Addresses, as /default/development/**" /></label>
    <button>Filter</button> ${pattern && html`<${Link} to="/actors">Clear</${Link}>`}
  </div></form>`;
}

function count(actors) {
  const memory = actors.reduce((sum, actor) => sum + actor.memory_bytes, 0);
  const waiting = actors.reduce((sum, actor) => sum + actor.mailbox, 0);
  const more = actors.length >= SHOWN ? `; ${SHOWN.toLocaleString()} of each worker at most: a pattern shows others` : "";
  return `${actors.length.toLocaleString()} actors, ${waiting.toLocaleString()} messages wait, ${sizeOf(memory)}${more}`;
}

export function Actors({ place }) {
  const pattern = place.query.get("pattern") || "**";
  const state = useDocument(`/actors?pattern=${encodeURIComponent(pattern)}`);
  const at = place.query.get("at");
  useEffect(() => void (document.title = "Actors · Troupe"), []);
  return html`<div class="title"><h1>Actors</h1></div>
    <${Pattern} place=${place} />
    <${Shown} state=${state} empty=${EMPTY}>
      ${(actors) => html`<p class="faint count">${count(actors)}</p>
        <div class=${at ? "split" : ""}>
          <div class="view"><${Tree} actors=${actors} place=${place} /></div>
          ${at && html`<${Panel} key=${at} address=${at} actor=${actors.find((actor) => actor.address === at)} place=${place} />`}
        </div>`}
    </${Shown}>`;
}
