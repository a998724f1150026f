/** The inbox: all gates that wait for people, with their answers. */
import { html, useEffect } from "./html.js";
import { useDocument } from "./live.js";
import { Link } from "./router.js";
import { Shown } from "./parts.js";
import { Span, Time } from "./times.js";
import { GateActions } from "./actions.js";
import { executionLink } from "./page_executions.js";

const EMPTY = html`<h2>Nobody waits for you</h2><p>Gates that wait for an approval or a value appear here.</p>`;

export function Gates() {
  const state = useDocument("/gates?limit=1000");
  useEffect(() => void (document.title = "Inbox · Troupe"), []);
  return html`<h1>Inbox</h1>
    <${Shown} state=${state} empty=${EMPTY}>
      ${(gates) => html`<ul class="cards">
        ${gates.map((gate) => html`<${Gate} key=${`${gate.project}/${gate.domain}/${gate.execution}/${gate.node}`} gate=${gate} />`)}
      </ul>`}
    </${Shown}>`;
}

function Gate({ gate }) {
  return html`<li class="card gate">
    <div class="what">
      <h2>${gate.id}</h2>
      <p><${Link} to="${executionLink(gate)}?node=${encodeURIComponent(gate.node)}">${gate.execution} / ${gate.node}</${Link}>
        <span class="faint"> of ${gate.workflow}, ${gate.project}/${gate.domain}</span></p>
      <p class="faint">waits for ${gate.kind === "approve" ? "approval" : `a value (${gate.type})`} since${" "}
        <${Time} at=${gate.waiting_since} />, <${Span} from=${gate.waiting_since} />${gate.is_paused && ", paused"}</p>
    </div>
    <${GateActions} gate=${gate} />
  </li>`;
}
