/** Launch plans: when each begins next, what became of the last one, and pausing of its schedule. */
import { html, useEffect, useState } from "./html.js";
import { useDocument } from "./live.js";
import { newKey, post } from "./api.js";
import { readInputs } from "./input_fields.js";
import { go, Link } from "./router.js";
import { Dialog, Field, Shown } from "./parts.js";
import { Relative, Time } from "./times.js";

const EMPTY = html`<h2>No launch plan is registered</h2>
  <p>A launch plan begins executions by a schedule. Register those of a definition:</p>
  <pre class="value">troupe apply flow.yaml</pre>`;

const planPath = (plan) => `/plans/${[plan.project, plan.domain, plan.plan].map(encodeURIComponent).join("/")}`;

export function Plans() {
  const state = useDocument("/plans");
  useEffect(() => void (document.title = "Launch plans · Troupe"), []);
  return html`<h1>Launch plans</h1>
    <${Shown} state=${state} empty=${EMPTY}>
      ${(plans) => html`<div class="scroll"><table class="list">
        <thead><tr><th scope="col">Plan</th><th scope="col">Workflow</th><th scope="col">Schedule</th>
          <th scope="col">Next</th><th scope="col">Last</th><th scope="col">State</th><th scope="col"><span class="unseen">Actions</span></th></tr></thead>
        <tbody>${plans.map((plan) => html`<${Row} key=${planPath(plan)} plan=${plan} />`)}</tbody>
      </table></div>`}
    </${Shown}>`;
}

function Row({ plan }) {
  const list = `/executions?plan=${encodeURIComponent(plan.plan)}&project=${encodeURIComponent(plan.project)}&domain=${encodeURIComponent(plan.domain)}`;
  return html`<tr>
    <td class="name"><${Link} to=${list} title=${plan.plan}>${plan.plan}</${Link}></td>
    <td class="name">${plan.workflow}</td>
    <td><code>${plan.schedule || "–"}</code> <span class="faint">${plan.timezone}</span></td>
    <td>${plan.is_paused || !plan.next_at ? html`<span class="faint">–</span>` : html`<${Time} at=${plan.next_at} /> <span class="faint"><${Relative} at=${plan.next_at} /></span>`}</td>
    <td><${Time} at=${plan.last_at} /> <span class="faint">${plan.outcome}</span></td>
    <td class="why"><span title=${stateOf(plan)}>${stateOf(plan)}</span></td>
    <td class="right"><${PlanAction} plan=${plan} /></td>
  </tr>`;
}

function stateOf(plan) {
  if (plan.is_paused) {
    return `paused${plan.paused_by ? ` by ${plan.paused_by}` : ""}${plan.pause_message ? `: ${plan.pause_message}` : ""}`;
  }
  return plan.problem || `${plan.waiting}${plan.skipped ? `, ${plan.skipped} skipped` : ""}`;
}

/** Begins an execution now; whatever is filled in stands in place of what the plan says. */
function RunNow({ plan }) {
  const [key, setKey] = useState(null);
  const inputs = [{ name: "input", type: "inputs", has_default: true }];
  const send = async (form) => {
    const begun = await post(`${planPath(plan)}/trigger`, readInputs(inputs, form), key);
    const [execution] = begun.execution.split("/").reverse();
    go(`/executions/${[plan.project, plan.domain, execution].map(encodeURIComponent).join("/")}`);
  };
  return html`<button onClick=${() => setKey(newKey())} aria-label="Run now: ${plan.plan}">Run now</button>
    ${key && html`<${Dialog} title="Run ${plan.plan} now?" verb="Run" action=${send} close=${() => setKey(null)}>
      <p>It begins an execution of ${plan.workflow} with the inputs of the plan.</p>
      <${Field} label="Other inputs" note="if any, as JSON">
        <textarea name="input" rows="3" spellcheck="false" placeholder='{"name": "value"}'></textarea></${Field}>
    </${Dialog}>`}`;
}

function PlanAction({ plan }) {
  const [isAsking, ask] = useState(false);
  const verb = plan.is_paused ? "Resume" : "Pause";
  const send = (form) =>
    post(`${planPath(plan)}/${verb.toLowerCase()}`, !plan.is_paused && form.get("message") ? { message: form.get("message") } : {});
  return html`<${RunNow} plan=${plan} /> <button onClick=${() => ask(true)} aria-label="${verb} ${plan.plan}">${verb}</button>
    ${isAsking && html`<${Dialog} title="${verb} the schedule of ${plan.plan}?" verb=${verb} action=${send} close=${() => ask(false)}>
      <p>${plan.is_paused ? "It begins executions again, from the next time on." : "It begins no executions until it is resumed."}</p>
      ${!plan.is_paused && html`<${Field} label="Why" note="for the history"><input name="message" /></${Field}>`}
    </${Dialog}>`}`;
}
