/** What may be done to an execution or a node, each asked for first, as the commands ask. */
import { html, useState } from "./html.js";
import { executionPath, newKey, post } from "./api.js";
import { go, Link } from "./router.js";
import { Dialog, Field } from "./parts.js";
import { isOver } from "./phases.js";
import { executionLink } from "./page_executions.js";
import { InputFields, readInputs } from "./input_fields.js";

const MESSAGE = html`<${Field} label="Why" note="for the history"><input name="message" /></${Field}>`;

const messageOf = (form) => (form.get("message") ? { message: form.get("message") } : {});

function toNew(id, answer) {
  const [execution, domain, project] = answer.execution.split("/").reverse();
  go(executionLink({ project: project ?? id.project, domain: domain ?? id.domain, execution }));
}

/** Which actions there are: when, how they are called, what is asked, and what is sent. */
const ACTIONS = [
  {
    verb: "Pause",
    when: (row) => !isOver(row.phase) && !row.is_paused,
    about: "What runs goes on to its end; nothing new begins until it is resumed.",
    fields: () => MESSAGE,
    send: (id, form) => post(`${executionPath(id)}/pause`, messageOf(form)),
  },
  {
    verb: "Resume",
    when: (row) => !isOver(row.phase) && (row.is_paused || row.is_dormant),
    about: "It goes on where it was.",
    send: (id) => post(`${executionPath(id)}/resume`, {}),
  },
  {
    verb: "Abort",
    isHarsh: true,
    when: (row) => !isOver(row.phase) && row.phase !== "aborting",
    about: "It ends, and so does all that runs for it. What has succeeded can be kept by recovering it later.",
    fields: () => html`${MESSAGE}<label class="check"><input type="checkbox" name="now" /> Kill what runs, without its grace</label>`,
    send: (id, form) => post(`${executionPath(id)}/abort`, { ...messageOf(form), ...(form.get("now") ? { now: true } : {}) }),
  },
  {
    verb: "Recover",
    when: (row) => ["failed", "aborted", "timed out"].includes(row.phase),
    about: "A new execution runs what failed again, and keeps what succeeded.",
    send: async (id, _form, key) => toNew(id, await post(`${executionPath(id)}/recover`, {}, key)),
  },
  {
    verb: "Rerun",
    when: (row) => isOver(row.phase),
    about: "A new execution runs all of it again, with these inputs.",
    fields: (row) => html`<${InputFields} inputs=${fieldsOf(row)} />`,
    send: async (id, form, key, row) =>
      toNew(id, await post(`${executionPath(id)}/rerun`, { from: firstNodes(row), ...changed(readInputs(fieldsOf(row), form), row) }, key)),
  },
];

/** The inputs as they were; their types are those of their values. */
function fieldsOf(row) {
  return Object.entries(row.inputs ?? {}).map(([name, value]) => ({
    name,
    type: typeof value === "number" ? "number" : typeof value === "string" ? "string" : typeof value === "boolean" ? "bool" : "json",
    has_default: true,
    default: value,
  }));
}

const firstNodes = (row) => row.nodes.filter((node) => !node.node.includes("/") && node.after.length === 0).map((node) => node.node);

function changed(inputs, row) {
  const other = Object.entries(inputs).filter(([name, value]) => JSON.stringify(value) !== JSON.stringify(row.inputs[name]));
  return other.length > 0 ? { input: Object.fromEntries(other) } : {};
}

/** A button that asks, and then does. */
function Action({ action, id, row, title }) {
  const [key, setKey] = useState(null);
  return html`<button class=${action.isHarsh ? "harsh" : ""} onClick=${() => setKey(newKey())}>${action.verb}</button>
    ${key &&
    html`<${Dialog} title=${title ?? `${action.verb} ${row.execution}?`} verb=${action.verb} isHarsh=${action.isHarsh}
      close=${() => setKey(null)} action=${(form) => action.send(id, form, key, row)}>
      ${action.about && html`<p>${action.about}</p>`} ${action.fields?.(row)}
    </${Dialog}>`}`;
}

export function Actions({ id, row }) {
  return html`<div class="actions">
    <${Link} class="button" to="${executionLink(id)}/compare">Compare</${Link}>
    ${ACTIONS.filter((action) => action.when(row)).map((action) => html`<${Action} key=${action.verb} action=${action} id=${id} row=${row} />`)}
  </div>`;
}

/* ------------------------------------------------------------------------------------ gates */

const APPROVE = {
  verb: "Approve",
  fields: () => MESSAGE,
  send: (id, form, _key, gate) => post(`${executionPath(id)}/approve`, { id: gate.id, node: gate.node, ...messageOf(form) }),
};
const REJECT = { ...APPROVE, verb: "Reject", isHarsh: true,
  send: (id, form, _key, gate) => post(`${executionPath(id)}/reject`, { id: gate.id, node: gate.node, ...messageOf(form) }) };
const SIGNAL = {
  verb: "Answer",
  fields: (gate) => html`<${InputFields} inputs=${[{ name: "value", type: gate.type, has_default: false }]} />${MESSAGE}`,
  send: (id, form, _key, gate) =>
    post(`${executionPath(id)}/signal`, { id: gate.id, node: gate.node, ...readInputs([{ name: "value", type: gate.type }], form), ...messageOf(form) }),
};

/** The answers that a gate takes; `gate` is a row of /gates. */
export function GateActions({ gate }) {
  const id = { project: gate.project, domain: gate.domain, execution: gate.execution };
  const actions = gate.kind === "approve" ? [APPROVE, REJECT] : [SIGNAL];
  return html`<div class="actions">
    ${actions.map((action) => html`<${Action} key=${action.verb} action=${action} id=${id} row=${gate} title="${action.verb} ${gate.id} of ${gate.execution}?" />`)}
  </div>`;
}

/** What may be done from a node on. */
const RERUN_FROM = {
  verb: "Rerun from here",
  about: "A new execution runs this node and all behind it again, and keeps the rest.",
  send: async (id, _form, key, row) => toNew(id, await post(`${executionPath(id)}/rerun`, { from: [row.node] }, key)),
};

export function NodeActions({ id, row, node, execution }) {
  if (row.is_waiting) {
    const gate = { ...id, node, id: row.target, kind: row.kind, type: row.signal_type ?? "string" };
    return row.kind === "approve" ? html`<${GateActions} gate=${gate} />` : null;
  }
  if (!isOver(execution.phase)) {
    return null;
  }
  return html`<div class="actions"><${Action} action=${RERUN_FROM} id=${id} row=${{ ...row, node }} title="Rerun ${execution.execution} from ${node}?" /></div>`;
}
