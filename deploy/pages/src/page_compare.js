/** What differs between two executions: values, nodes with what is written of them, durations. */
import { html, useEffect } from "./html.js";
import { useDocument } from "./live.js";
import { executionPath } from "./api.js";
import { Link } from "./router.js";
import { Shown, Value } from "./parts.js";
import { Phase, shownPhase } from "./phases.js";
import { spanOf, Span, Time } from "./times.js";
import { executionLink } from "./page_executions.js";

const compareLink = (id, other) => `${executionLink(id)}/compare${other ? `/${encodeURIComponent(other)}` : ""}`;

const useTitle = (name) => useEffect(() => void (document.title = `${name} compared · Troupe`), [name]);

function Crumbs({ id }) {
  return html`<p class="crumbs faint path"><${Link} to="/executions">Executions</${Link}> / <${Link} to=${executionLink(id)}>${id.execution}</${Link}> / compare</p>`;
}

/* --------------------------------------------------------------------- choosing the other one */

const NONE = html`<h2>There is nothing to compare it with</h2>
  <p>No other execution of this workflow is in the store.</p>`;

function Candidate({ id, row }) {
  return html`<tr>
    <td class="name"><${Link} to=${compareLink(id, row.execution)} title=${row.execution}>${row.execution}</${Link}></td>
    <td><${Phase} phase=${shownPhase(row)} /></td>
    <td><${Time} at=${row.created_at} /></td>
    <td class="right"><${Span} from=${row.started_at} to=${row.ended_at} /></td>
  </tr>`;
}

function Candidates({ id, workflow }) {
  const query = new URLSearchParams({ project: id.project, domain: id.domain, workflow, all: "true" });
  const state = useDocument(`/executions?${query}`, false);
  const others = (rows) => rows.filter((row) => row.execution !== id.execution);
  return html`<${Shown} state=${{ ...state, data: state.data && others(state.data) }} empty=${NONE}>
    ${(rows) => html`<div class="scroll"><table class="list">
      <thead><tr><th scope="col">Execution</th><th scope="col">Phase</th><th scope="col">Created</th><th scope="col" class="right">Took</th></tr></thead>
      <tbody>${rows.map((row) => html`<${Candidate} key=${row.execution} id=${id} row=${row} />`)}</tbody>
    </table></div>`}
  </${Shown}>`;
}

export function Choose({ words }) {
  const id = { project: words.project, domain: words.domain, execution: words.name };
  const state = useDocument(executionPath(id), false);
  useTitle(id.execution);
  return html`<${Crumbs} id=${id} />
    <h1>Compare ${id.execution} with</h1>
    <${Shown} state=${state}>${(row) => html`<${Candidates} id=${id} workflow=${row.workflow} />`}</${Shown}>`;
}

/* ------------------------------------------------------------------------------ the difference */

const took = (ms) => (ms === null ? "–" : spanOf(ms));

/** How much longer, or less long, the second one took. */
function Longer({ a, b }) {
  const ms = b - a;
  return html`<span class="number ${ms > 0 ? "warn" : "good"}">${ms > 0 ? "+" : "−"}${spanOf(Math.abs(ms))}</span>`;
}

function Heads({ id, other, found }) {
  const side = (row) => html`<th scope="col" class="name"><${Link} to=${executionLink(row)} title=${row.execution}>${row.execution}</${Link}></th>`;
  const line = (name, cell) => html`<tr><th scope="row">${name}</th><td>${cell(found.a)}</td><td>${cell(found.b)}</td></tr>`;
  return html`<div class="scroll"><table class="list sides">
    <thead><tr><th scope="col"><${Link} to=${compareLink({ ...id, execution: other }, id.execution)}>Swap</${Link}></th>${side(found.a)}${side(found.b)}</tr></thead>
    <tbody>
      ${line("Phase", (row) => html`<${Phase} phase=${shownPhase(row)} />`)}
      ${line("Workflow", (row) => row.workflow)}
      ${line("Created", (row) => html`<${Time} at=${row.created_at} />`)}
      ${line("Took", (row) => html`<span class="number">${took(row.took_ms)}</span>`)}
      <tr><th scope="row">Definition</th><td colspan="2">${found.is_same_definition ? "the same" : "differs"}</td></tr>
    </tbody>
  </table></div>`;
}

function Changed({ title, values }) {
  return html`<section class="card"><h2>${title}</h2>
    ${values.length === 0
      ? html`<p class="faint">They are the same.</p>`
      : html`<dl class="values">${values.map((value) => html`<div key=${value.name}>
          <dt>${value.name} <span class="faint">${value.change}</span></dt>
          ${value.change !== "added" && html`<dd class="was"><${Value} value=${value.a} /></dd>`}
          ${value.change !== "removed" && html`<dd class="is"><${Value} value=${value.b} /></dd>`}
        </div>`)}</dl>`}
  </section>`;
}

/** In words what differs: from one to the other where that is a word. */
function differenceOf(row) {
  if (row.change !== "changed") {
    const side = row.a ?? row.b;
    return `${row.change}: ${side.kind} ${side.target}`;
  }
  return row.differs
    .map((aspect) => {
      if (aspect === "inputs" || aspect === "outputs") {
        return `${aspect} (${row[aspect].join(", ")})`;
      }
      const from = aspect === "error" ? row.a.error?.code : row.a[aspect];
      const to = aspect === "error" ? row.b.error?.code : row.b[aspect];
      return from === undefined && to === undefined ? aspect : `${aspect} ${from ?? "none"} → ${to ?? "none"}`;
    })
    .join("; ");
}

/** The heads of two columns of durations. */
function Sides({ found }) {
  return [found.a, found.b].map((row) => html`<th key=${row.execution} scope="col" class="right took" title=${row.execution}>${row.execution}</th>`);
}

function NodeRow({ row, found }) {
  const link = (side) => row[side] && html`<${Link} to="${executionLink(found[side])}?node=${encodeURIComponent(row.node)}"
    ><span class="unseen">${row.node} of ${found[side].execution}: </span>${took(row[side].took_ms)}</${Link}>`;
  return html`<tr>
    <td class="name"><span title=${row.node}>${row.node}</span></td>
    <td class="wrap">${differenceOf(row)}</td>
    <td class="right">${link("a")}</td>
    <td class="right">${link("b")}</td>
  </tr>`;
}

function Nodes({ found, next }) {
  const { counts } = found;
  const parts = [[counts.changed, "changed"], [counts.added, "added"], [counts.removed, "removed"], [counts.same, "the same"]]
    .filter(([count]) => count > 0)
    .map(([count, word]) => `${count.toLocaleString()} ${word}`);
  return html`<h2>Nodes</h2>
    <p class="faint">${parts.join(", ") || "There are none."}${counts.without_values > 0 && `. Of ${counts.without_values.toLocaleString()} the values were not compared.`}</p>
    ${found.nodes.length > 0 && html`<div class="scroll"><table class="list">
      <thead><tr><th scope="col">Node</th><th scope="col">Differs in</th><${Sides} found=${found} /></tr></thead>
      <tbody>${found.nodes.map((row) => html`<${NodeRow} key=${row.node} row=${row} found=${found} />`)}</tbody>
    </table></div>`}
    ${next && html`<p class="faint">And more: <code>troupe compare ${found.a.execution} ${found.b.execution} --limit 0</code></p>`}`;
}

function Durations({ found }) {
  const { durations } = found;
  return durations.length > 0 && html`<h2>Durations that differ the most</h2>
    <div class="scroll"><table class="list">
      <thead><tr><th scope="col">Node</th><${Sides} found=${found} /><th scope="col" class="right">Difference</th></tr></thead>
      <tbody>${durations.map((row) => html`<tr key=${row.node}><td class="name"><span title=${row.node}>${row.node}</span></td>
        <td class="right number">${spanOf(row.a_ms)}</td><td class="right number">${spanOf(row.b_ms)}</td>
        <td class="right"><${Longer} a=${row.a_ms} b=${row.b_ms} /></td></tr>`)}</tbody>
    </table></div>`;
}

export function Compare({ words }) {
  const id = { project: words.project, domain: words.domain, execution: words.name };
  const state = useDocument(`${executionPath(id)}/compare/${encodeURIComponent(words.other)}?limit=1000`);
  useTitle(`${words.name} and ${words.other}`);
  return html`<${Crumbs} id=${id} />
    <h1 class="unseen">${words.name} compared with ${words.other}</h1>
    <${Shown} state=${state}>
      ${(found) => html`<div class="compare">
        <${Heads} id=${id} other=${words.other} found=${found} />
        <div class="columns"><${Changed} title="Inputs" values=${found.inputs} /><${Changed} title="Outputs" values=${found.outputs} /></div>
        <${Nodes} found=${found} next=${state.next} />
        <${Durations} found=${found} />
      </div>`}
    </${Shown}>`;
}
