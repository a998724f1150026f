/** One node beside the views: why it waits or failed, its values, attempts, logs; an array's grid. */
import { html } from "./html.js";
import { useAnswer, useDocument } from "./live.js";
import { executionPath } from "./api.js";
import { go, Link, pathWith } from "./router.js";
import { ValuesWithFiles } from "./files.js";
import { Shown, Words } from "./parts.js";
import { isOver, Phase } from "./phases.js";
import { Span, spanOf, Time } from "./times.js";
import { Logs } from "./logs.js";
import { ArrayBar } from "./array_bar.js";
import { ArrayGrid } from "./array_grid.js";
import { NodeActions } from "./actions.js";

/** The values of an array have one for each element: beyond so many they are not asked for. */
const VALUES_OF_ELEMENTS_MAX = 1000;

/** What is said of this node alone. */
function WhyLine({ base, query, row }) {
  const explain = useAnswer(isOver(row.phase) ? null : `${base}/explain${query}`, row).data;
  if (row.error) {
    return html`<div class="why-line bad" tabindex="0"><strong>${row.error.code}</strong> <${Words} text=${row.error.message} /></div>`;
  }
  const waiting = (explain?.waiting ?? []).filter((wait) => wait.node === row.node);
  return waiting.length > 0 ? html`<div class="why-line"><${Words} text=${waiting[0].text} /></div>` : null;
}

function Facts({ row }) {
  return html`<dl class="facts">
    <div><dt>Kind</dt><dd>${row.kind}</dd></div>
    ${row.target && html`<div><dt>Runs</dt><dd>${row.target}</dd></div>`}
    <div><dt>Began</dt><dd><${Time} at=${row.started_at} /></dd></div>
    <div><dt>Ended</dt><dd><${Time} at=${row.ended_at} /></dd></div>
    <div><dt>Took</dt><dd><${Span} from=${row.started_at} to=${row.ended_at} /></dd></div>
    ${row.cache !== "disabled" && html`<div><dt>Cache</dt><dd>${row.cache}</dd></div>`}
    ${row.kept_from && html`<div><dt>Kept from</dt><dd>${typeof row.kept_from === "string" ? row.kept_from : JSON.stringify(row.kept_from)}</dd></div>`}
  </dl>`;
}

function Phases({ phases }) {
  return html`<h3>Phases</h3>
    <ol class="phases">
      ${phases.map((one, i) => html`<li key=${i}><${Time} at=${one.at} />
        <span> ${one.subject === "attempt" ? `attempt ${one.attempt}: ` : ""}${one.phase}</span>
        ${one.cause && html`<span class="faint"> ${one.cause}</span>`}</li>`)}
    </ol>`;
}

function About({ row, base, query }) {
  return html`<${WhyLine} base=${base} query=${query} row=${row} />
    <${Facts} row=${row} />
    <${Phases} phases=${row.phases} />`;
}

function ValuesOf({ base, query, row }) {
  return html`<${ValuesWithFiles} base=${base} query=${query} inputs=${row.inputs} outputs=${row.outputs} />`;
}

/* ------------------------------------------------------------------------------- attempts */

function factsOf(attempt) {
  const hasEnded = attempt.ended_at !== null;
  return [
    ["Ran by", attempt.plugin],
    ["Exit status", !hasEnded ? null : attempt.signal ? `signal ${attempt.signal}` : attempt.exit_status],
    ["Processor", attempt.cpu_ms ? spanOf(attempt.cpu_ms) : null],
    ["Memory at most", attempt.memory_bytes_max ? `${(attempt.memory_bytes_max / 1048576).toFixed(1)} MiB` : null],
    ["Folder", attempt.folder],
  ].filter(([, value]) => value !== null && value !== "");
}

function Attempt({ attempt }) {
  return html`<section class="attempt">
    <h3>Attempt ${attempt.attempt} <${Phase} phase=${attempt.phase} /></h3>
    <p><${Time} at=${attempt.created_at} />, <${Span} from=${attempt.started_at ?? attempt.created_at} to=${attempt.ended_at} /></p>
    ${attempt.error && html`<div class="why-line bad" tabindex="0"><strong>${attempt.error.code}</strong> ${attempt.error.message}</div>`}
    <dl class="facts">${factsOf(attempt).map(([name, value]) => html`<div key=${name}><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>
    ${attempt.logs.length > 0 && html`<p>${attempt.logs.map((log) => html`<a key=${log.uri} href=${log.uri} rel="noreferrer" target="_blank">${log.name}</a> `)}</p>`}
    ${attempt.stderr && html`<pre class="value" tabindex="0">${attempt.stderr}</pre>`}
  </section>`;
}

function Attempts({ row }) {
  return row.attempts.length === 0
    ? html`<div class="empty">Nothing ran outside the engine for it.</div>`
    : [...row.attempts].reverse().map((attempt) => html`<${Attempt} key=${attempt.attempt} attempt=${attempt} />`);
}

/* ---------------------------------------------------------------------------------- panels */

const NODE_TABS = ["About", "Values", "Attempts", "Logs"];
const ARRAY_TABS = ["Elements", "About", "Values"];

/** Which tab is open is a part of the link; one that a node does not have is its first. */
function tabOf(place, names) {
  const tab = place.query.get("tab");
  return names.includes(tab) ? tab : names[0];
}

function Tabs({ names, tab, place }) {
  const choose = (one) => go(pathWith(place, { tab: one === names[0] ? null : one }), { replace: true });
  return html`<div class="tabs" role="tablist" aria-label="About the node">
    ${names.map((one) => html`<button key=${one} role="tab" aria-selected=${String(one === tab)} onClick=${() => choose(one)}>${one}</button>`)}
  </div>`;
}

/** A node, an element or an attempt, with all that is known of it. */
function OneNode({ id, base, node, place, execution }) {
  const query = `?node=${encodeURIComponent(node)}`;
  const state = useDocument(`${base}/node${query}`);
  const tab = tabOf(place, NODE_TABS);
  return html`<${Shown} state=${state}>
    ${(row) => html`
      <div class="title"><${Phase} phase=${row.is_waiting ? "waiting" : row.phase} />
        <${NodeActions} id=${id} row=${row} node=${node} execution=${execution} /></div>
      <${Tabs} names=${NODE_TABS} tab=${tab} place=${place} />
      <div role="tabpanel" aria-label=${tab}>
        ${tab === "About" && html`<${About} row=${row} base=${base} query=${query} />`}
        ${tab === "Values" && html`<${ValuesOf} base=${base} query=${query} row=${row} />`}
        ${tab === "Attempts" && html`<${Attempts} row=${row} />`}
        ${tab === "Logs" && html`<${Logs} path="${base}/logs${query}" />`}
      </div>
    `}
  </${Shown}>`;
}

function ValuesOfArray({ base, node, total }) {
  const isMany = total > VALUES_OF_ELEMENTS_MAX;
  const query = `?node=${encodeURIComponent(node)}`;
  const state = useDocument(isMany ? null : `${base}/node${query}`, false);
  return isMany
    ? html`<p class="faint">The values of ${total.toLocaleString()} elements are not shown at once; open an element.</p>`
    : html`<${Shown} state=${state}>${(row) => html`<${ValuesOf} base=${base} query=${query} row=${row} />`}</${Shown}>`;
}

/** An array is as large as it likes: only counts of its elements are asked for. */
function ArrayNode({ id, base, row, place, execution }) {
  const tab = tabOf(place, ARRAY_TABS);
  return html`
    <div class="title"><${Phase} phase=${row.phase} />
      <${NodeActions} id=${id} row=${row} node=${row.node} execution=${execution} /></div>
    <${Tabs} names=${ARRAY_TABS} tab=${tab} place=${place} />
    <div role="tabpanel" aria-label=${tab}>
      ${tab === "Elements" && html`<p><${ArrayBar} array=${row.array} /></p><${ArrayGrid} base=${base} node=${row.node} place=${place} />`}
      ${tab === "About" && html`<${WhyLine} base=${base} query="?node=${encodeURIComponent(row.node)}" row=${row} /><${Facts} row=${row} />`}
      ${tab === "Values" && html`<${ValuesOfArray} base=${base} node=${row.node} total=${row.array.total} />`}
    </div>`;
}

export function NodePanel({ id, node, place, execution }) {
  const base = executionPath(id);
  const close = pathWith(place, { node: null, cells: null, tab: null });
  const row = execution.nodes.find((one) => one.node === node);
  return html`<aside class="panel" aria-label="Node ${node}" onKeyDown=${(event) => event.key === "Escape" && go(close)}>
    <header>
      <h2 title=${node}>${node}</h2>
      <${Link} to=${close} class="close" aria-label="Close ${node}">✕</${Link}>
    </header>
    ${row?.array
      ? html`<${ArrayNode} id=${id} base=${base} row=${row} place=${place} execution=${execution} />`
      : html`<${OneNode} id=${id} base=${base} node=${node} place=${place} execution=${execution} />`}
  </aside>`;
}
