/** One launch plan: what its next time waits for, what runs of it, times that were not started. */
import { html, useEffect, useState } from "./html.js";
import { useDocument } from "./live.js";
import { post } from "./api.js";
import { Link } from "./router.js";
import { Dialog, Field, ProblemBox, Shown, Words } from "./parts.js";
import { Relative, Time } from "./times.js";
import { executionLink } from "./page_executions.js";
import { planPath, PlanActions } from "./plan_actions.js";

const SECOND_MS = 1000;

/** The last time of a span whose end is the first one that is not of it. */
const lastOf = ({ from, until }) => (until ? new Date(Date.parse(until) - SECOND_MS).toISOString() : from);

function Facts({ plan, found }) {
  return html`<dl class="facts">
    <div><dt>Workflow</dt><dd>${plan.workflow}</dd></div>
    <div><dt>Schedule</dt><dd><code>${plan.schedule || "–"}</code> ${plan.timezone}</dd></div>
    <div><dt>Next</dt><dd>${found.next_at ? html`<${Time} at=${found.next_at} /> <span class="faint"><${Relative} at=${found.next_at} /></span>` : "–"}</dd></div>
    <div><dt>Last</dt><dd>${found.last_phase ? html`<${Link} to=${executionLink({ ...plan, execution: found.last })}>${found.last}</${Link}> ` : ""}<${Time} at=${found.last_at} />
      <span class="faint"> ${[found.outcome, found.last_phase].filter(Boolean).join(", ")}</span></dd></div>
    <div><dt>Started</dt><dd>${plan.started.toLocaleString()}${plan.skipped > 0 && `, ${plan.skipped.toLocaleString()} skipped`}</dd></div>
    ${found.overlap && html`<div><dt>While one runs</dt><dd>${found.overlap}</dd></div>`}
    ${found.catch_up && html`<div><dt>Catches up</dt><dd>${found.catch_up}</dd></div>`}
  </dl>`;
}

function Why({ found }) {
  if (found.problem) {
    return html`<div class="why-line bad" tabindex="0"><${Words} text=${found.problem} /></div>`;
  }
  const paused = `paused${found.paused_by ? ` by ${found.paused_by}` : ""}${found.pause_message ? `: ${found.pause_message}` : ""}`;
  const words = found.is_paused ? paused : found.waiting;
  return words && html`<div class="why-line"><${Words} text=${words} />${!found.is_live && " No engine is there to begin it."}</div>`;
}

/* ------------------------------------------------------------------------- what was not started */

const stateOf = (row) => (row.outcome === "existed" ? "was there already" : "begins");

/** Begins an execution for each time of a span; those that have one are left. */
function Backfill({ plan, span, close, done }) {
  const send = async (form) => {
    const utc = (name) => new Date(form.get(name)).toISOString();
    done(await post(`${planPath(plan)}/backfill`, span ? { from: span.from, to: lastOf(span) } : { from: utc("from"), to: utc("to") }));
  };
  return html`<${Dialog} title="Backfill ${plan.plan}?" verb="Backfill" action=${send} close=${close}>
    <p>It begins an execution for each time of the schedule in the span, all at once; pools and quotas bound how many run. Times that have an execution are left.</p>
    ${span
      ? html`<p>From <${Time} at=${span.from} /> to <${Time} at=${lastOf(span)} />.</p>`
      : html`<${Field} label="From" note="in your zone"><input type="datetime-local" name="from" step="1" required /></${Field}>
          <${Field} label="To" note="with it"><input type="datetime-local" name="to" step="1" required /></${Field}>`}
  </${Dialog}>`;
}

function Begun({ plan, rows }) {
  const link = (row) => executionLink({ ...plan, execution: row.execution });
  return html`<div class="card" role="status"><h2>${rows.length.toLocaleString()} times</h2>
    <ul class="slowest">${rows.slice(0, 20).map((row) => html`<li key=${row.execution}><${Link} to=${link(row)}>${row.execution}</${Link}> ${stateOf(row)}</li>`)}</ul>
    ${rows.length > 20 && html`<p class="faint">and ${(rows.length - 20).toLocaleString()} more</p>`}</div>`;
}

function NotStarted({ plan, spans }) {
  const [asked, ask] = useState(null);
  const [begun, setBegun] = useState(null);
  return html`<div class="title"><h2>Times that were not started</h2>
      <div class="actions"><button onClick=${() => ask({ span: null })}>Backfill</button></div></div>
    ${begun && html`<${Begun} plan=${plan} rows=${begun} />`}
    ${spans.length === 0
      ? html`<p class="faint">None, as far as is kept.</p>`
      : html`<div class="scroll"><table class="list">
          <thead><tr><th scope="col">From</th><th scope="col">To</th><th scope="col">Outcome</th><th scope="col" class="wide">Why</th><th scope="col"><span class="unseen">Actions</span></th></tr></thead>
          <tbody>${spans.map((span) => html`<tr key=${span.from}>
            <td><${Time} at=${span.from} /></td><td><${Time} at=${lastOf(span)} /></td><td>${span.outcome}</td>
            <td class="wrap wide"><${Words} text=${span.reason} /></td>
            <td class="right"><button onClick=${() => ask({ span })} aria-label="Backfill from ${span.from}">Backfill</button></td></tr>`)}</tbody>
        </table></div>`}
    ${asked && html`<${Backfill} plan=${plan} span=${asked.span} close=${() => ask(null)} done=${setBegun} />`}`;
}

function Running({ plan, names }) {
  return names.length > 0 && html`<h2>Running</h2>
    <ul class="slowest">${names.map((name) => html`<li key=${name}><${Link} to=${executionLink({ ...plan, execution: name })}>${name}</${Link}></li>`)}</ul>`;
}

const NONE = { code: "not-found", message: "No plan of this name has a schedule here. It was removed, or is another project's." };

export function Plan({ words }) {
  const plans = useDocument("/plans");
  const state = useDocument(`${planPath(words)}/explain`);
  const plan = (plans.data ?? []).find((one) => one.plan === words.plan && one.project === words.project && one.domain === words.domain);
  const list = `/executions?${new URLSearchParams({ plan: words.plan, project: words.project, domain: words.domain })}`;
  useEffect(() => void (document.title = `${words.plan} · Troupe`), [words.plan]);
  return html`<header class="execution">
      <p class="crumbs"><${Link} to="/plans">Launch plans</${Link}> / ${words.project} / ${words.domain}</p>
      <div class="title"><h1 title=${words.plan}>${words.plan}</h1>
        ${plan && html`<div class="actions"><${Link} class="button" to=${list}>Executions</${Link}><${PlanActions} plan=${plan} /></div>`}</div>
    </header>
    ${plans.problem && html`<${ProblemBox} problem=${plans.problem} />`}
    <${Shown} state=${plans.data === null ? plans : plan ? state : { data: null, problem: NONE }}>
      ${(found) => plan && html`<div class="compare">
        <${Facts} plan=${plan} found=${found} /><${Why} found=${found} />
        <${Running} plan=${plan} names=${found.running} />
        <${NotStarted} plan=${plan} spans=${found.not_started} />
      </div>`}
    </${Shown}>`;
}
