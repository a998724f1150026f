/** Launch plans: when each begins next, what became of the last one, and pausing of its schedule. */
import { html, useEffect } from "./html.js";
import { useDocument } from "./live.js";
import { Link } from "./router.js";
import { Shown } from "./parts.js";
import { planPath, PlanActions } from "./plan_actions.js";
import { Relative, Time } from "./times.js";

const EMPTY = html`<h2>No launch plan is registered</h2>
  <p>A launch plan begins executions by a schedule. Register those of a definition:</p>
  <pre class="value">troupe apply flow.yaml</pre>`;

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
  return html`<tr>
    <td class="name"><${Link} to=${planPath(plan)} title=${plan.plan}>${plan.plan}</${Link}></td>
    <td class="name">${plan.workflow}</td>
    <td><code>${plan.schedule || "–"}</code> <span class="faint">${plan.timezone}</span></td>
    <td>${plan.is_paused || !plan.next_at ? html`<span class="faint">–</span>` : html`<${Time} at=${plan.next_at} /> <span class="faint"><${Relative} at=${plan.next_at} /></span>`}</td>
    <td><${Time} at=${plan.last_at} /> <span class="faint">${plan.outcome}</span></td>
    <td class="why"><span title=${stateOf(plan)}>${stateOf(plan)}</span></td>
    <td class="right"><${PlanActions} plan=${plan} /></td>
  </tr>`;
}

function stateOf(plan) {
  if (plan.is_paused) {
    return `paused${plan.paused_by ? ` by ${plan.paused_by}` : ""}${plan.pause_message ? `: ${plan.pause_message}` : ""}`;
  }
  return plan.problem || `${plan.waiting}${plan.skipped ? `, ${plan.skipped} skipped` : ""}`;
}
