/** What executions share: quotas, pools and the machine, who has it and who waits; plugins. */
import { html, useEffect } from "./html.js";
import { useDocument } from "./live.js";
import { Link } from "./router.js";
import { Shown } from "./parts.js";
import { Span, Time } from "./times.js";
import { sizeOf } from "./files.js";
import { executionLink } from "./page_executions.js";

const PARTS = 100;

/** How much of a bound is in use; without a bound only the number says something. */
function Used({ used, bound, name }) {
  const part = bound ? Math.min(used / bound, 1) : 0;
  return bound
    ? html`<svg class="used" viewBox="0 0 ${PARTS} 8" preserveAspectRatio="none" role="img" aria-label="${Math.round(part * 100)} % of ${name} in use">
        <rect width=${PARTS * part} height="8" class=${part < 1 ? "run" : "warn"} /></svg>`
    : html`<span class="faint">no bound</span>`;
}

/** The machine has three amounts, each a line. */
function linesOf(place) {
  if (place.kind !== "machine") {
    return [{ kind: place.kind, name: place.name, used: place.used, bound: place.slots, perSecond: place.per_second, waiting: place.waiting, shown: String }];
  }
  const amounts = [
    ["CPU", "cpu_millis", (amount) => String(amount / 1000)],
    ["Memory", "memory_bytes", sizeOf],
    ["GPU", "gpus", String],
  ];
  return amounts
    .filter(([, key]) => place.bound[key] > 0)
    .map(([name, key, shown]) => ({ kind: "machine", name, used: place.booked[key], bound: place.bound[key], perSecond: null, waiting: place.waiting, shown }));
}

function Place({ line }) {
  return html`<tr>
    <td class="faint wide">${line.kind}</td>
    <td class="name"><span title=${line.name}>${line.name}</span></td>
    <td class="right number">${line.shown(line.used)}${line.bound ? ` of ${line.shown(line.bound)}` : ""}</td>
    <td class="wide"><${Used} used=${line.used} bound=${line.bound} name=${line.name} /></td>
    <td class="right number wide">${line.perSecond ?? "–"}</td>
    <td class="right number">${line.waiting > 0 ? html`<span class="wait">${line.waiting.toLocaleString()}</span>` : "0"}</td>
  </tr>`;
}

function Places({ places }) {
  return html`<div class="scroll"><table class="list">
    <thead><tr><th scope="col" class="wide">Kind</th><th scope="col">Name</th><th scope="col" class="right">In use</th>
      <th scope="col" class="wide"><span class="unseen">Part</span></th><th scope="col" class="right wide">Per second</th><th scope="col" class="right">Waiting</th></tr></thead>
    <tbody>${places.flatMap(linesOf).map((line) => html`<${Place} key=${line.kind + line.name} line=${line} />`)}</tbody>
  </table></div>`;
}

function idOf(execution) {
  const [, project, domain, name] = execution.split("/");
  return { project, domain, execution: name };
}

function Attempt({ attempt }) {
  const id = attempt.execution ? idOf(attempt.execution) : null;
  return html`<tr>
    <td class="name">${id ? html`<${Link} to=${executionLink(id)} title=${attempt.execution}>${id.execution}</${Link}>` : "–"}</td>
    <td class="name wide"><span title=${attempt.attempt}>${attempt.attempt}</span></td>
    <td>${attempt.is_waiting ? html`<span class="wait">waits</span>` : "has it"}${attempt.is_dormant && html` <span class="faint">dormant</span>`}</td>
    <td class="right"><${Span} from=${attempt.since} to=${null} /></td>
    <td class="wrap">${attempt.places.join(", ")}</td>
  </tr>`;
}

function Attempts({ found, next }) {
  if (found.attempts.length === 0) {
    return html`<div class="empty">Nobody has any of it, and nobody waits.</div>`;
  }
  return html`<p class="faint">Waiting: ${found.waiting.toLocaleString()}. Having some of it: ${found.held.toLocaleString()}${next ? `; these are the first ${found.attempts.length}` : ""}.</p>
    <div class="scroll"><table class="list">
      <thead><tr><th scope="col">Execution</th><th scope="col" class="wide">Attempt</th><th scope="col">State</th><th scope="col" class="right">Since</th><th scope="col">Of</th></tr></thead>
      <tbody>${found.attempts.map((attempt) => html`<${Attempt} key=${attempt.attempt} attempt=${attempt} />`)}</tbody>
    </table></div>`;
}

/* -------------------------------------------------------------------------------------- plugins */

function stateOf(plugin) {
  if (plugin.is_quarantined) {
    return html`<span class="bad">in quarantine: ${plugin.how}</span>`;
  }
  return plugin.ends > 0 ? html`<span class="warn">has ended the engine ${plugin.ends} times, last: ${plugin.how}</span>` : html`<span class="good">fine</span>`;
}

function Endpoint({ endpoint }) {
  const isOpen = endpoint.circuit !== "closed";
  return html`<li><strong>${endpoint.name}</strong> ${endpoint.url}:
    <span class=${isOpen ? "bad" : "good"}>${isOpen ? `circuit ${endpoint.circuit}${endpoint.fault ? `, ${endpoint.fault}` : ""}` : "answers"}</span>,
    ${endpoint.jobs} jobs, ${endpoint.waiting} wait, ${endpoint.failed} of ${endpoint.calls} calls failed
    ${endpoint.at && html`, as of <${Time} at=${endpoint.at} />`}</li>`;
}

function Plugin({ plugin }) {
  return html`<tr>
    <td class="name"><span title=${plugin.path || "a part of the program"}>${plugin.plugin}</span></td>
    <td class="wide">${plugin.version}</td>
    <td class="wrap">${plugin.task_types.join(", ")}</td>
    <td class="wrap">${stateOf(plugin)}
      ${plugin.endpoints.length > 0 && html`<ul class="slowest">${plugin.endpoints.map((endpoint) => html`<${Endpoint} key=${endpoint.name} endpoint=${endpoint} />`)}</ul>`}</td>
  </tr>`;
}

function Plugins({ plugins }) {
  return html`<div class="scroll"><table class="list">
    <thead><tr><th scope="col">Plugin</th><th scope="col" class="wide">Version</th><th scope="col">Runs</th><th scope="col">State</th></tr></thead>
    <tbody>${plugins.map((plugin) => html`<${Plugin} key=${plugin.plugin} plugin=${plugin} />`)}</tbody>
  </table></div>`;
}

export function Resources() {
  const shared = useDocument("/resources?limit=200");
  const plugins = useDocument("/plugins");
  useEffect(() => void (document.title = "Resources · Troupe"), []);
  return html`<h1>Resources</h1>
    <div class="compare">
      <${Shown} state=${shared}>
        ${(found) => html`<h2>Quotas, pools and the machine</h2><${Places} places=${found.places} />
          <h2>Who has it, and who waits</h2><${Attempts} found=${found} next=${shared.next} />`}
      </${Shown}>
      <h2>Plugins</h2>
      <${Shown} state=${plugins} empty="No plugin is installed.">${(rows) => html`<${Plugins} plugins=${rows} />`}</${Shown}>
    </div>`;
}
