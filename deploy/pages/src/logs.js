/** What tasks write, as they write it; the end is kept in sight until somebody scrolls up. */
import { html, useEffect, useRef, useState } from "./html.js";
import { follow } from "./api.js";
import { ProblemBox } from "./parts.js";

const LINES_MAX = 20000;

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
    follow(path, tell, controller.signal).then(
      (last) => setState({ isOver: true, problem: last.event === "problem" ? { message: last.data.detail } : null }),
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
