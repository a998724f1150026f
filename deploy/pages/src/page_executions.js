/** All executions: filters that are links, a bar of phases over time, a table that is live. */
import { html, useEffect } from "./html.js";
import { useDocument } from "./live.js";
import { go, Link, pathWith } from "./router.js";
import { Shown, Typed } from "./parts.js";
import { Phase, shownPhase } from "./phases.js";
import { Span, Time } from "./times.js";
import { PhaseBars } from "./phase_bars.js";

const FILTERS = ["project", "domain", "workflow", "plan", "phase", "label", "since", "until", "parent", "all", "sort", "reverse", "cursor"];

const PHASES = [
  ["", "All"],
  ["running", "Running"],
  ["succeeded", "Succeeded"],
  ["failed", "Failed"],
  ["aborted", "Aborted"],
  ["timed-out", "Timed out"],
];

const SPANS = [
  ["", "at any time"],
  ["1h", "in the last hour"],
  ["24h", "in the last day"],
  ["7d", "in the last week"],
];

const SORTS = ["created", "started", "ended", "duration", "name", "workflow", "phase"];

function apiPath(place) {
  const query = new URLSearchParams();
  for (const name of FILTERS) {
    place.query.getAll(name).forEach((value) => query.append(name, value));
  }
  const text = query.toString();
  return `/executions${text ? `?${text}` : ""}`;
}

export const executionLink = (row) =>
  `/executions/${[row.project, row.domain, row.execution].map(encodeURIComponent).join("/")}`;

/** A field that becomes part of the link when it is left, or by Enter. */
function Word({ place, name, label, hint }) {
  const change = (event) =>
    go(pathWith(place, { [name]: event.target.value.trim(), cursor: null }), { replace: true });
  return html`<label><span class="unseen">${label}</span>
    <${Typed} name=${name} value=${place.query.get(name) ?? ""} placeholder=${hint} onChange=${change} /></label>`;
}

function Choice({ place, name, label, choices }) {
  const change = (event) => go(pathWith(place, { [name]: event.target.value, cursor: null }));
  return html`<label><span class="unseen">${label}</span>
    <select name=${name} value=${place.query.get(name) ?? ""} onChange=${change}>
      ${choices.map(([value, words]) => html`<option value=${value}>${words}</option>`)}
    </select></label>`;
}

function Filters({ place }) {
  const phase = place.query.get("phase") ?? "";
  const isFiltered = FILTERS.some((name) => place.query.has(name));
  return html`<div class="filters">
    <nav class="tabs" aria-label="Phases">
      ${PHASES.map(
        ([value, label]) => html`<${Link} key=${value} to=${pathWith(place, { phase: value, cursor: null })}
          aria-current=${value === phase ? "true" : null}>${label}</${Link}>`,
      )}
    </nav>
    <div class="words" role="search">
      <${Word} place=${place} name="workflow" label="Workflow" hint="workflow, * for anything" />
      <${Word} place=${place} name="label" label="Labels" hint="team=data,!scratch" />
      <${Word} place=${place} name="project" label="Project" hint="project" />
      <${Word} place=${place} name="domain" label="Domain" hint="domain" />
      <${Choice} place=${place} name="since" label="Created" choices=${SPANS} />
      <${Choice} place=${place} name="sort" label="Sorted by"
        choices=${SORTS.map((key) => [key === "created" ? "" : key, `by ${key}`])} />
      ${isFiltered && html`<${Link} to="/executions">Clear</${Link}>`}
    </div>
  </div>`;
}

function why(row) {
  if (row.error) {
    return `${row.error.code}: ${row.error.message}`;
  }
  return row.is_dormant ? "dormant: no engine has gone on with it" : row.cause;
}

function Row({ row }) {
  return html`<tr>
    <td class="name"><${Link} to=${executionLink(row)} title=${row.execution}>${row.execution}</${Link}></td>
    <td><${Phase} phase=${row.is_dormant ? "dormant" : shownPhase(row)} /></td>
    <td class="name"><span title=${row.workflow}>${row.workflow}</span></td>
    <td class="wide"><span class="faint">${row.project}/${row.domain}</span></td>
    <td><${Time} at=${row.created_at} /></td>
    <td class="right"><${Span} from=${row.started_at} to=${row.ended_at} /></td>
    <td class="why wide"><span title=${why(row)}>${why(row)}</span></td>
  </tr>`;
}

const EMPTY_STORE = html`<h2>Nothing has run yet</h2>
  <p>Submit a workflow, and it appears here while it runs:</p>
  <pre class="value">troupe submit flow.yaml -i size=10</pre>
  <p>or <${Link} to="/launch">launch one from here</${Link}>.</p>`;

const EMPTY_FILTER = html`<h2>No execution is like that</h2>
  <p><${Link} to="/executions">Show all executions</${Link}></p>`;

export function Executions({ place }) {
  const state = useDocument(apiPath(place), !place.query.has("cursor"));
  const isFiltered = FILTERS.some((name) => place.query.has(name));
  useEffect(() => void (document.title = "Executions · Troupe"), []);
  return html`
    <h1 class="unseen">Executions</h1>
    <${Filters} place=${place} />
    <${Shown} state=${state} empty=${isFiltered ? EMPTY_FILTER : EMPTY_STORE}>
      ${(rows) => html`
        <${PhaseBars} rows=${rows} />
        <div class="scroll">
          <table class="list">
            <thead>
              <tr>
                <th scope="col">Execution</th>
                <th scope="col">Phase</th>
                <th scope="col">Workflow</th>
                <th scope="col" class="wide">Project</th>
                <th scope="col">Created</th>
                <th scope="col" class="right">Took</th>
                <th scope="col" class="wide">Why</th>
              </tr>
            </thead>
            <tbody>${rows.map((row) => html`<${Row} key=${executionLink(row)} row=${row} />`)}</tbody>
          </table>
        </div>
        <${Pages} place=${place} next=${state.next} />
      `}
    </${Shown}>
  `;
}

function Pages({ place, next }) {
  const cursor = next && new URLSearchParams(next.split("?")[1]).get("cursor");
  return html`<nav class="pages" aria-label="More executions">
    ${place.query.has("cursor") && html`<${Link} to=${pathWith(place, { cursor: null })}>The newest</${Link}>`}
    ${cursor && html`<${Link} to=${pathWith(place, { cursor })}>Older ones</${Link}>`}
  </nav>`;
}
