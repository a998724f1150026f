/** One node beside the views: why it waits or failed, its values, attempts, logs; an array's grid. */
import { html, useState } from "./html.js";
import { useAnswer, useDocument } from "./live.js";
import { executionPath } from "./api.js";
import { go, Link, pathWith } from "./router.js";
import { Shown, Values } from "./parts.js";
import { isOver, Phase } from "./phases.js";
import { Span, spanOf, Time } from "./times.js";
import { Logs } from "./logs.js";
import { ArrayBar } from "./array_bar.js";
import { NodeActions } from "./actions.js";

const TABS = ["About", "Values", "Attempts", "Logs"];

/** What is said of this node alone. */
function WhyLine({ base, query, row }) {
  const explain = useAnswer(isOver(row.phase) ? null : `${base}/explain${query}`, row).data;
  if (row.error) {
    return html`<div class="why-line bad" tabindex="0"><strong>${row.error.code}</strong> ${row.error.message}</div>`;
  }
  const waiting = (explain?.waiting ?? []).filter((wait) => wait.node === row.node);
  return waiting.length > 0 ? html`<div class="why-line">${waiting[0].text}</div>` : null;
}

function About({ row, base, query }) {
  const kept = row.kept_from;
  return html`
    <${WhyLine} base=${base} query=${query} row=${row} />
    <dl class="facts">
      <div><dt>Kind</dt><dd>${row.kind}</dd></div>
      ${row.target && html`<div><dt>Runs</dt><dd>${row.target}</dd></div>`}
      <div><dt>Began</dt><dd><${Time} at=${row.started_at} /></dd></div>
      <div><dt>Ended</dt><dd><${Time} at=${row.ended_at} /></dd></div>
      <div><dt>Took</dt><dd><${Span} from=${row.started_at} to=${row.ended_at} /></dd></div>
      ${row.cache !== "disabled" && html`<div><dt>Cache</dt><dd>${row.cache}</dd></div>`}
      ${kept && html`<div><dt>Kept from</dt><dd>${typeof kept === "string" ? kept : JSON.stringify(kept)}</dd></div>`}
    </dl>
    ${row.array && html`<${ArrayCounts} array=${row.array} />`}
    <h3>Phases</h3>
    <ol class="phases">
      ${row.phases.map((one, i) => html`<li key=${i}><${Time} at=${one.at} /> <span>${one.attempt !== null && one.subject === "attempt" ? `attempt ${one.attempt}: ` : ""}${one.phase}</span>
        ${one.cause && html`<span class="faint"> ${one.cause}</span>`}</li>`)}
    </ol>
  `;
}

function ArrayCounts({ array }) {
  return html`<h3>Elements</h3>
    <p><${ArrayBar} array=${array} /></p>
    ${array.errors.length > 0 &&
    html`<table class="plain"><caption class="unseen">Errors by their code</caption>
      <thead><tr><th scope="col">Code</th><th scope="col" class="right">Elements</th><th scope="col">First message</th></tr></thead>
      <tbody>${array.errors.map((group) => html`<tr key=${group.code}><td>${group.code}</td><td class="right">${group.count}</td><td>${group.message}</td></tr>`)}</tbody>
    </table>`}`;
}

function ValuesOf({ row }) {
  return html`<h3>Inputs</h3>
    <${Values} values=${row.inputs} empty="It has none." />
    <h3>Outputs</h3>
    <${Values} values=${row.outputs} empty="It gives none." />`;
}

function Attempt({ attempt }) {
  const facts = [
    ["Ran by", attempt.plugin],
    ["Exit status", attempt.signal ? `signal ${attempt.signal}` : isOver(attempt.phase) || attempt.error ? attempt.exit_status : null],
    ["Processor", attempt.cpu_ms ? spanOf(attempt.cpu_ms) : null],
    ["Memory at most", attempt.memory_bytes_max ? `${(attempt.memory_bytes_max / 1048576).toFixed(1)} MiB` : null],
    ["Folder", attempt.folder],
  ].filter(([, value]) => value !== null && value !== "");
  return html`<section class="attempt">
    <h3>Attempt ${attempt.attempt} <${Phase} phase=${attempt.phase} /></h3>
    <p><${Time} at=${attempt.created_at} />, <${Span} from=${attempt.started_at ?? attempt.created_at} to=${attempt.ended_at} /></p>
    ${attempt.error && html`<div class="why-line bad" tabindex="0"><strong>${attempt.error.code}</strong> ${attempt.error.message}</div>`}
    <dl class="facts">${facts.map(([name, value]) => html`<div key=${name}><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>
    ${attempt.logs.length > 0 && html`<p>${attempt.logs.map((log) => html`<a key=${log.uri} href=${log.uri} rel="noreferrer" target="_blank">${log.name}</a> `)}</p>`}
    ${attempt.stderr && html`<pre class="value" tabindex="0">${attempt.stderr}</pre>`}
  </section>`;
}

function Attempts({ row }) {
  return row.attempts.length === 0
    ? html`<div class="empty">Nothing was attempted: nothing ran outside the engine for it.</div>`
    : [...row.attempts].reverse().map((attempt) => html`<${Attempt} key=${attempt.attempt} attempt=${attempt} />`);
}

/** The attempts of an element come by its own path, as those of a node do. */
export function NodePanel({ id, node, place, execution }) {
  const base = executionPath(id);
  const query = `?node=${encodeURIComponent(node)}`;
  const state = useDocument(`${base}/node${query}`);
  const [tab, setTab] = useState("About");
  const close = pathWith(place, { node: null });
  return html`<aside class="panel" aria-label="Node ${node}" onKeyDown=${(event) => event.key === "Escape" && go(close)}>
    <header>
      <h2 title=${node}>${node}</h2>
      <${Link} to=${close} class="close" aria-label="Close ${node}">✕</${Link}>
    </header>
    <${Shown} state=${state}>
      ${(row) => html`
        <div class="title"><${Phase} phase=${row.is_waiting ? "waiting" : row.phase} />
          <${NodeActions} id=${id} row=${row} node=${node} execution=${execution} /></div>
        <div class="tabs" role="tablist" aria-label="About the node">
          ${TABS.map((one) => html`<button key=${one} role="tab" aria-selected=${String(one === tab)} onClick=${() => setTab(one)}>${one}</button>`)}
        </div>
        <div role="tabpanel" aria-label=${tab}>
          ${tab === "About" && html`<${About} row=${row} base=${base} query=${query} />`}
          ${tab === "Values" && html`<${ValuesOf} row=${row} />`}
          ${tab === "Attempts" && html`<${Attempts} row=${row} />`}
          ${tab === "Logs" && html`<${Logs} path="${base}/logs${query}" />`}
        </div>
      `}
    </${Shown}>
  </aside>`;
}
