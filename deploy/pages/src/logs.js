/** What tasks write, as they write it; the end is kept in sight until somebody scrolls up. */
import { html, useEffect, useRef, useState } from "./html.js";
import { follow } from "./api.js";
import { rest } from "./live.js";
import { ProblemBox } from "./parts.js";

const LINES_MAX = 20000;
const RETRY_MS = 1000;

/** Until their end, from where a connection broke on; what was wrong, or null. */
async function followLogs(path, tell, signal) {
  let id = null;
  const note = (event) => {
    id = event.id ?? id;
    tell(event);
  };
  for (;;) {
    try {
      const last = await follow(path, note, signal, id);
      if (last.event === "end" || last.event === "problem") {
        return last.event === "problem" ? { message: last.data.detail } : null;
      }
    } catch (problem) {
      if (problem.name === "AbortError" || (problem.status >= 400 && problem.status < 429)) {
        throw problem;
      }
    }
    await rest(RETRY_MS, signal);
  }
}

export function Logs({ path }) {
  const [lines, setLines] = useState([]);
  const [state, setState] = useState({ isOver: false, problem: null });
  const box = useRef();
  const sticks = useRef(true);
  useEffect(() => {
    const controller = new AbortController();
    let pending = [];
    let timer = 0;
    const flush = () => {
      timer = 0;
      const more = pending;
      pending = [];
      setLines((old) => old.concat(more).slice(-LINES_MAX));
    };
    const tell = (event) => {
      if (event.event === "line" || event.event === "missed") {
        pending.push(event.event === "line" ? lineOf(event.data) : `… ${event.data.count} lines left out …`);
        timer ||= setTimeout(flush, 50);
      }
    };
    followLogs(path, tell, controller.signal).then(
      (problem) => setState({ isOver: true, problem }),
      (problem) => problem.name !== "AbortError" && setState({ isOver: true, problem }),
    );
    return () => (controller.abort(), clearTimeout(timer));
  }, [path]);
  useEffect(() => {
    if (sticks.current && box.current) {
      box.current.scrollTop = box.current.scrollHeight;
    }
  }, [lines]);
  const scrolled = ({ target }) => {
    sticks.current = target.scrollHeight - target.scrollTop - target.clientHeight < 40;
  };
  return html`<section class="logs" aria-label="Logs">
    ${state.problem && html`<${ProblemBox} problem=${state.problem} />`}
    ${lines.length === 0
      ? html`<div class="empty">${state.isOver ? "Nothing was written." : "Nothing is written yet."}</div>`
      : html`<pre ref=${box} onScroll=${scrolled} tabindex="0" role="log" aria-live="off">${lines.join("\n")}</pre>`}
    <p class="faint">${state.isOver ? `${lines.length.toLocaleString()} lines` : `${lines.length.toLocaleString()} lines, following`}</p>
  </section>`;
}

const lineOf = (data) => (typeof data === "string" ? data : JSON.stringify(data));
