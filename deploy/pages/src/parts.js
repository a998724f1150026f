/** What many pages show: states of loading, words of problems, dialogs, values. */
import { html, useEffect, useLayoutEffect, useRef, useState } from "./html.js";

/** A sentence with what stands between backticks as code. */
export function Words({ text }) {
  return text.split("`").map((part, i) => (i % 2 === 1 ? html`<code>${part}</code>` : part));
}

/** What a page says in place of its content; content is a function of the data. */
export function Shown({ state, empty, children }) {
  if (state.data === null) {
    return state.problem ? html`<${ProblemBox} problem=${state.problem} />` : html`<${Loading} />`;
  }
  const isEmpty = Array.isArray(state.data) && state.data.length === 0;
  return html`
    ${state.problem && html`<${ProblemBox} problem=${state.problem} />`}
    ${isEmpty && empty ? html`<div class="empty">${empty}</div>` : children(state.data)}
  `;
}

/** Rows of grey, a moment later: what comes at once does not flash. */
function Loading() {
  return html`<div class="loading" role="status" aria-label="Loading">
    ${[1, 2, 3, 4].map((key) => html`<div key=${key}></div>`)}
  </div>`;
}

const TITLES = {
  away: "Troupe does not answer",
  "not-found": "There is no such thing",
  unauthenticated: "A token is needed",
  forbidden: "You may not see this",
  unavailable: "No engine answers",
  busy: "Too much at once",
};

export function ProblemBox({ problem }) {
  return html`<div class="problem" role="alert">
    <strong>${TITLES[problem.code] ?? "This did not work"}</strong>
    <p><${Words} text=${problem.detail ?? problem.message ?? ""} /></p>
  </div>`;
}

/** Asks before something is done. `action` resolves, or throws a Problem, which is shown. */
export function Dialog({ title, verb, isHarsh, children, action, close }) {
  const dialog = useRef();
  const [problem, setProblem] = useState(null);
  const [isBusy, setBusy] = useState(false);
  useEffect(() => dialog.current.showModal(), []);
  const submit = async (event) => {
    event.preventDefault();
    setBusy(true);
    try {
      await action(new FormData(event.target));
      close();
    } catch (caught) {
      setProblem(caught);
      setBusy(false);
    }
  };
  return html`<dialog ref=${dialog} onClose=${close} aria-labelledby="dialog-title">
    <form onSubmit=${submit}>
      <h2 id="dialog-title">${title}</h2>
      ${children} ${problem && html`<${ProblemBox} problem=${problem} />`}
      <footer>
        <button type="button" onClick=${() => dialog.current.close()}>Cancel</button>
        <button type="submit" class=${isHarsh ? "harsh" : "first"} disabled=${isBusy}>${verb}</button>
      </footer>
    </form>
  </dialog>`;
}

export function Field({ label, note, children }) {
  return html`<label class="field"><span>${label}${note && html` <small>${note}</small>`}</span>${children}</label>`;
}

/**
 * A field of text in which somebody may be typing while the page changes: what stands there is only
 * replaced by another value.
 */
export function Typed({ tag = "input", value, ...more }) {
  const field = useRef();
  useLayoutEffect(() => void (field.current.value = value), [value]);
  return html`<${tag} ref=${field} ...${more} />`;
}

const LONG = 2000;

/** A value as text, its beginning alone while it is long. */
export function Value({ value }) {
  const [isWhole, setWhole] = useState(false);
  if (typeof value === "string" && /^data:image\/(png|jpeg|gif|webp);base64,/.test(value)) {
    return html`<img class="preview" src=${value} alt="The value, a picture" />`;
  }
  const rows = tableOf(value);
  if (rows) {
    const names = Object.keys(rows[0]);
    return html`<${Table} names=${names} rows=${rows.map((row) => names.map((name) => row[name]))} />`;
  }
  const text = typeof value === "string" ? value : JSON.stringify(value, null, 1);
  const isLong = text.length > LONG;
  return html`<pre class="value" tabindex="0">${isLong && !isWhole ? text.slice(0, LONG) + "…" : text}</pre>
    ${isLong &&
    html`<button class="link" onClick=${() => setWhole(!isWhole)}>
      ${isWhole ? "Show its beginning" : `Show all ${text.length.toLocaleString()} characters`}
    </button>`}`;
}

/** A list of like objects is a table; null: the value is none. */
function tableOf(value) {
  const isTable =
    Array.isArray(value) && value.length > 0 && value.length <= 1000 &&
    value.every((row) => row !== null && typeof row === "object" && !Array.isArray(row)) &&
    Object.keys(value[0]).length <= 20;
  return isTable ? value : null;
}

const TABLE_ROWS = 50;

/** Rows of cells below their names; `more` says in words what is not there. */
export function Table({ names, rows, more }) {
  const rest = rows.length - TABLE_ROWS;
  return html`<div class="scroll" tabindex="0">
    <table class="plain">
      <thead><tr>${names.map((name) => html`<th scope="col">${name}</th>`)}</tr></thead>
      <tbody>
        ${rows.slice(0, TABLE_ROWS).map(
          (row) => html`<tr>${names.map((_, i) => html`<td>${cellOf(row[i])}</td>`)}</tr>`,
        )}
      </tbody>
    </table>
    ${(more || rest > 0) && html`<p class="faint">${more ?? `and ${rest.toLocaleString()} more rows`}</p>`}
  </div>`;
}

const plain = (_, part) => (typeof part === "bigint" ? Number(part) : part);
const cellOf = (cell) => (typeof cell === "string" ? cell : JSON.stringify(cell, plain));

/** Names with their values; `instead` gives what stands for one, `below` what stands under it. */
export function Values({ values, empty, instead, below }) {
  const names = Object.keys(values ?? {});
  if (names.length === 0) {
    return html`<p class="faint">${values === null ? "Not there yet." : empty}</p>`;
  }
  return html`<dl class="values">
    ${names.map((name) => html`<div key=${name}><dt>${name}</dt><dd>${instead?.(name, values[name]) ?? html`<${Value} value=${values[name]} />`}${below?.(name)}</dd></div>`)}
  </dl>`;
}
