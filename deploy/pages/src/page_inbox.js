/** One actor's inbox, recorded and stepped through: each message with all that it made it do. */
import { html, useEffect, useMemo, useState } from "./html.js";
import { follow } from "./api.js";
import { go, Link, pathWith } from "./router.js";
import { ProblemBox, Values } from "./parts.js";
import { Fields } from "./page_actors.js";

const KEPT = 1000; // messages, which is where the engine ends a recording

/** {head, steps, missed, problem, isOver} of what an actor does, while it does it. */
function useEffects(address, isStopped) {
  const [state, set] = useState({ head: null, steps: [], missed: 0, problem: null, isOver: false });
  useEffect(() => {
    if (isStopped || !address) {
      return undefined;
    }
    const controller = new AbortController();
    const tell = ({ event, data }) => {
      if (event === "missed" || data?.truncated) {
        set((old) => ({ ...old, missed: old.missed + (data.count ?? 1) }));
      } else if (event === "message" && data.recording) {
        set({ head: data.recording, steps: [], missed: 0, problem: null, isOver: false });
      } else if (event === "message") {
        set((old) => ({ ...old, steps: [...old.steps, data].slice(-KEPT) }));
      }
    };
    follow(`/actor/effects?address=${encodeURIComponent(address)}`, tell, controller.signal).then(
      (last) => set((old) => ({ ...old, isOver: true, problem: last.event === "problem" ? { message: last.data.detail, ...last.data } : null })),
      (problem) => problem.name === "AbortError" || set((old) => ({ ...old, isOver: true, problem })),
    );
    return () => controller.abort();
  }, [address, isStopped]);
  return state;
}

/** The state behind each of some steps: the one at first with all changes. */
function stateAfter(head, steps) {
  const state = { ...head.state };
  for (const step of steps) {
    for (const effect of step.effects.filter((one) => one.effect === "state" && step.reason === "ok")) {
      Object.entries(effect.fields).forEach(([name, [, after]]) => (state[name] = after));
    }
  }
  return state;
}

const WORDS = {
  send: (effect) => [`sends ${effect.message.name}`, effect.message.body],
  spawn: (effect) => [`begins ${effect.behaviour} ${effect.name}`, effect.state],
  timer: (effect) => [`sets timer ${effect.id}`, null],
  timer_stop: (effect) => [`stops timer ${effect.id}`, null],
  record: (effect) => [`writes ${effect.name ?? "a row"}`, effect.row],
  record_delete: (effect) => [`deletes ${effect.name ?? "a row"}`, effect.row],
  page: (effect) => [`changes ${effect.changed} bytes of page ${effect.page}, which has ${effect.size}`, null],
  stop: () => ["ends", null],
};

function Effect({ effect }) {
  const [words, body] = WORDS[effect.effect]?.(effect) ?? [effect.effect, null];
  return body && Object.keys(body).length > 0
    ? html`<li><details><summary>${words}</summary><${Values} values=${body} /></details></li>`
    : html`<li>${words}</li>`;
}

function State({ head, steps, step }) {
  const state = useMemo(() => stateAfter(head, steps), [head, steps]);
  const changed = step.effects.find((effect) => effect.effect === "state")?.fields ?? {};
  return html`<h3>State behind it</h3><${Fields} state=${state} changed=${changed} />`;
}

function Step({ head, steps, at }) {
  const step = steps[at];
  const effects = step.effects.filter((effect) => effect.effect !== "state");
  return html`<aside class="panel" aria-label="Step">
    <header><h2 title=${step.message.name}>${step.number}. ${step.message.name}</h2></header>
    ${step.reason !== "ok" && html`<p class="bad">It failed: ${step.reason}</p>`}
    ${!step.as_recorded && html`<p class="warn">It went otherwise than in the engine.</p>`}
    <h3>What it does</h3>
    ${effects.length > 0 ? html`<ul class="effects">${effects.map((effect, index) => html`<${Effect} key=${index} effect=${effect} />`)}</ul>` : html`<p class="faint">Nothing but its state.</p>`}
    <h3>The message</h3><${Values} values=${step.message.body} empty="It says nothing more." />
    <${State} head=${head} steps=${steps.slice(0, at + 1)} step=${step} />
  </aside>`;
}

function Steps({ steps, at, place }) {
  return html`<ol class="steps" aria-label="Messages">${steps.map((step, index) => html`<li key=${step.number}>
    <${Link} to=${pathWith(place, { step: step.number })} replace=${true} aria-current=${index === at ? "step" : null}>
      <span class="number faint">${step.number}</span> <span class="what">${step.message.name}</span>
      <span class=${step.reason === "ok" ? "faint" : "bad"}>${step.reason === "ok" ? `${step.effects.length} effect${step.effects.length === 1 ? "" : "s"}` : step.reason}</span>
    </${Link}></li>`)}</ol>`;
}

export function Inbox({ place }) {
  const address = place.query.get("address") ?? "";
  const [isStopped, stop] = useState(false);
  const { head, steps, missed, problem, isOver } = useEffects(address, isStopped);
  const wanted = steps.findIndex((step) => String(step.number) === place.query.get("step"));
  const at = wanted >= 0 ? wanted : steps.length - 1;
  const toStep = (index) => steps[index] && go(pathWith(place, { step: steps[index].number }), { replace: true });
  useEffect(() => void (document.title = "Inbox of an actor · Troupe"), []);
  const move = (event) => {
    const by = { ArrowRight: 1, ArrowDown: 1, j: 1, ArrowLeft: -1, ArrowUp: -1, k: -1 }[event.key];
    if (by && !event.target.closest("details, input, .scroll")) {
      event.preventDefault();
      toStep(at + by);
    }
  };
  return html`<div class="inbox" onKeyDown=${move}>
    <p class="crumbs"><${Link} to="/actors?at=${encodeURIComponent(address)}">${address || "Actors"}</${Link}></p>
    <div class="title"><h1>Inbox, step by step</h1>
      <div class="actions">
        <button onClick=${() => toStep(at - 1)} disabled=${at <= 0}>Previous</button>
        <button onClick=${() => toStep(at + 1)} disabled=${at >= steps.length - 1}>Next</button>
        ${!isOver && html`<button onClick=${() => stop(!isStopped)}>${isStopped ? "Record again" : "Stop recording"}</button>`}
      </div></div>
    ${!address && html`<div class="empty"><h2>Whose inbox?</h2><p><${Link} to="/actors">Choose an actor</${Link}></p></div>`}
    ${problem && html`<${ProblemBox} problem=${problem} />`}
    ${head && html`<p class="faint count" role="status" aria-live="off">${head.behaviour}, ${steps.length.toLocaleString()} messages${missed > 0 ? `, ${missed} left out` : ""},
      ${isOver ? " the recording has ended" : isStopped ? " stopped" : " recording"}</p>`}
    ${head && steps.length === 0 && html`<div class="empty"><h2>No message has come yet</h2>
      <p>It is recorded from the moment on in which this page was opened.</p></div>`}
    ${steps.length > 0 && html`<div class="split"><div class="view"><${Steps} steps=${steps} at=${at} place=${place} /></div>
      <${Step} head=${head} steps=${steps} at=${at} /></div>`}
  </div>`;
}
