/** One execution: its head with the line that says why, its nodes in three views, and one node. */
import { html, useEffect, useMemo } from "./html.js";
import { useAnswer, useDocument } from "./live.js";
import { Link, pathWith } from "./router.js";
import { executionPath } from "./api.js";
import { ValuesWithFiles } from "./files.js";
import { Shown, Words } from "./parts.js";
import { isOver, Phase, shownPhase } from "./phases.js";
import { Span, Time } from "./times.js";
import { Actions } from "./actions.js";
import { Tree } from "./tree.js";
import { Graph } from "./graph.js";
import { Timeline } from "./timeline.js";
import { Logs } from "./logs.js";
import { NodePanel } from "./node_panel.js";
import { executionLink } from "./page_executions.js";

const VIEWS = [
  ["nodes", "Nodes"],
  ["graph", "Graph"],
  ["timeline", "Timeline"],
  ["values", "Inputs and outputs"],
  ["logs", "Logs"],
];

const EXPLAIN_MS = 5000;

/** What `explain` says, in one line, with all of it below. */
function Why({ id, row, place }) {
  const isEnded = isOver(row.phase);
  const explain = useAnswer(isEnded ? null : `${executionPath(id)}/explain`, row, EXPLAIN_MS).data;
  if (row.error) {
    return html`<div class="why-line bad" tabindex="0"><strong>${row.error.code}</strong> <${Words} text=${row.error.message} />
      ${row.error.node && html` — at <${NodeLink} place=${place} node=${row.error.node} element=${row.error.element} />`}
    </div>`;
  }
  const waiting = explain?.waiting ?? [];
  if (waiting.length === 0) {
    return null;
  }
  const first = waiting.find((wait) => wait.node !== "") ?? waiting[0];
  const rest = waiting.filter((wait) => wait !== first);
  return html`<details class="why-line">
    <summary>${first.node && html`<strong>${pathOf(first)}</strong>: `}<${Words} text=${first.text} /></summary>
    <ul>${rest.map((wait) => html`<li key=${wait.node + wait.element}>
      <${NodeLink} place=${place} node=${wait.node} element=${wait.element} />: <${Words} text=${wait.text} /></li>`)}
      ${explain.hidden > 0 && html`<li class="faint">and ${explain.hidden} more</li>`}
    </ul>
  </details>`;
}

const pathOf = ({ node, element }) => (element === null || element === undefined ? node : `${node}[${element}]`);

function NodeLink({ place, node, element }) {
  const path = pathOf({ node, element });
  return html`<${Link} to=${pathWith(place, { node: path })}>${path || "the execution"}</${Link}>`;
}

function Facts({ row }) {
  const labels = Object.entries(row.labels);
  return html`<dl class="facts">
    <div><dt>Workflow</dt><dd>${row.workflow}</dd></div>
    ${row.plan && html`<div><dt>Launch plan</dt><dd>${row.plan}</dd></div>`}
    <div><dt>Created</dt><dd><${Time} at=${row.created_at} /></dd></div>
    <div><dt>Took</dt><dd><${Span} from=${row.started_at} to=${row.ended_at} /></dd></div>
    <div><dt>Begun by</dt><dd>${row.cause}</dd></div>
    ${row.parent && html`<div><dt>Parent</dt><dd>${row.parent}</dd></div>`}
    ${labels.length > 0 && html`<div><dt>Labels</dt><dd>${labels.map(([name, value]) => html`<span class="label" key=${name}>${name}=${value}</span>`)}</dd></div>`}
  </dl>`;
}

function Head({ id, row, place }) {
  return html`<header class="execution">
    <p class="crumbs"><${Link} to="/executions">Executions</${Link}> / ${row.project} / ${row.domain}</p>
    <div class="title">
      <h1 title=${row.execution}>${row.execution}</h1>
      <${Phase} phase=${row.is_dormant ? "dormant" : shownPhase(row)} />
      <${Actions} id=${id} row=${row} place=${place} />
    </div>
    <${Facts} row=${row} />
    <${Why} id=${id} row=${row} place=${place} />
  </header>`;
}

function Tabs({ place, view }) {
  return html`<nav class="tabs" aria-label="Views">
    ${VIEWS.map(([key, label]) => html`<${Link} key=${key} to=${pathWith(place, { view: key === "nodes" ? null : key })}
      aria-current=${key === view ? "true" : null}>${label}</${Link}>`)}
  </nav>`;
}

function Card({ title, children }) {
  return html`<div class="card"><h2>${title}</h2>${children}</div>`;
}

function View({ view, id, row, place }) {
  if (view === "graph") {
    return html`<${Graph} nodes=${row.nodes} place=${place} />`;
  }
  if (view === "timeline") {
    return html`<${Timeline} id=${id} row=${row} place=${place} />`;
  }
  if (view === "values") {
    return html`<section class="columns">
      <${ValuesWithFiles} base=${executionPath(id)} inputs=${row.inputs} outputs=${row.outputs} Frame=${Card} />
    </section>`;
  }
  if (view === "logs") {
    return html`<${Logs} path="${executionPath(id)}/logs" />`;
  }
  return html`<${Tree} nodes=${row.nodes} place=${place} />`;
}

export function Execution({ words, place }) {
  const id = useMemo(() => ({ project: words.project, domain: words.domain, execution: words.name }), [words.project, words.domain, words.name]);
  const state = useDocument(executionPath(id));
  const view = place.query.get("view") ?? "nodes";
  const node = place.query.get("node");
  const here = { ...place, path: executionLink(id) };
  useEffect(() => void (document.title = `${words.name} · Troupe`), [words.name]);
  return html`${state.data === null && html`<h1>${words.name}</h1>`}
    <${Shown} state=${state}>
    ${(row) => html`
      <${Head} id=${id} row=${row} place=${here} />
      <${Tabs} place=${here} view=${view} />
      <div class=${node ? "split" : ""}>
        <div class="view"><${View} view=${view} id=${id} row=${row} place=${here} /></div>
        ${node && html`<${NodePanel} key=${node} id=${id} node=${node} place=${here} execution=${row} />`}
      </div>
    `}
  </${Shown}>`;
}
