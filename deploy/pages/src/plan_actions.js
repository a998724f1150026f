/** What may be done to a launch plan: an execution of it now, with other inputs; pausing. */
import { html, useState } from "./html.js";
import { useAnswer } from "./live.js";
import { newKey, post } from "./api.js";
import { go } from "./router.js";
import { Dialog, Field, ProblemBox } from "./parts.js";
import { InputFields, readInputs } from "./input_fields.js";

export const planPath = (plan) => `/plans/${[plan.project, plan.domain, plan.plan].map(encodeURIComponent).join("/")}`;

/** What was filled in that is not as the plan has it: the rest is left to the plan. */
function changed(inputs, values) {
  const others = inputs.filter((input) => input.name in values && JSON.stringify(values[input.name]) !== JSON.stringify(input.default));
  return Object.fromEntries(others.map((input) => [input.name, values[input.name]]));
}

/** A form out of the types of the plan's inputs, which begins an execution. */
function Run({ plan, close }) {
  const [key] = useState(newKey());
  const answer = useAnswer(planPath(plan));
  const inputs = answer.data?.[0]?.inputs;
  const send = async (form) => {
    const input = changed(inputs, readInputs(inputs, form));
    const body = Object.keys(input).length > 0 ? { input } : {};
    const begun = await post(`${planPath(plan)}/trigger`, body, key);
    const [execution] = begun.execution.split("/").reverse();
    go(`/executions/${[plan.project, plan.domain, execution].map(encodeURIComponent).join("/")}`);
  };
  if (answer.problem) {
    return html`<${Dialog} title="Run ${plan.plan} now?" verb="Run" action=${send} close=${close}><${ProblemBox} problem=${answer.problem} /></${Dialog}>`;
  }
  return inputs && html`<${Dialog} title="Run ${plan.plan} now?" verb="Run" action=${send} close=${close}>
    <p>It begins an execution of ${plan.workflow}. What is not changed is as the plan has it.</p>
    <${InputFields} inputs=${inputs} />
  </${Dialog}>`;
}

function Change({ plan, verb, close }) {
  const send = (form) => post(`${planPath(plan)}/${verb.toLowerCase()}`, form.get("message") ? { message: form.get("message") } : {});
  return html`<${Dialog} title="${verb} the schedule of ${plan.plan}?" verb=${verb} action=${send} close=${close}>
    <p>${plan.is_paused ? "It begins executions again, from the next time on." : "It begins no executions until it is resumed."}</p>
    ${!plan.is_paused && html`<${Field} label="Why" note="for the history"><input name="message" /></${Field}>`}
  </${Dialog}>`;
}

export function PlanActions({ plan }) {
  const [asked, ask] = useState(null);
  const verb = plan.is_paused ? "Resume" : "Pause";
  const close = () => ask(null);
  return html`<button onClick=${() => ask("run")} aria-label="Run now: ${plan.plan}">Run now</button>${" "}
    <button onClick=${() => ask("change")} aria-label="${verb} ${plan.plan}">${verb}</button>
    ${asked === "run" && html`<${Run} plan=${plan} close=${close} />`}
    ${asked === "change" && html`<${Change} plan=${plan} verb=${verb} close=${close} />`}`;
}
