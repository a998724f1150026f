/** The nodes as a table that folds; only the rows that are in sight are in the page. */
import { html, useEffect, useMemo, useRef, useState } from "./html.js";
import { go, Link, pathWith } from "./router.js";
import { Phase } from "./phases.js";
import { Span } from "./times.js";
import { ArrayBar } from "./array_bar.js";
import { phaseOfRow, shownRows, treeOf } from "./tree_rows.js";

const ROW_PIXELS = 32;
const BEYOND = 20;

/** Keys of a tree: up and down through the names of its list, and Escape where one is open. */
export const keysOf = (list, close) => (event) => {
  const step = { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1 }[event.key];
  if (step) {
    event.preventDefault();
    const links = [...list.current.querySelectorAll("td.name a")];
    links[links.indexOf(document.activeElement) + step]?.focus();
  } else if (event.key === "Escape" && close) {
    close();
  }
};

/** Which rows of a long list are in sight. */
export function useSight(count) {
  const list = useRef();
  const [sight, set] = useState([0, 60]);
  useEffect(() => {
    const look = () => {
      const top = list.current?.getBoundingClientRect().top ?? 0;
      const first = Math.max(0, Math.floor(-top / ROW_PIXELS) - BEYOND);
      const last = first + Math.ceil(innerHeight / ROW_PIXELS) + 2 * BEYOND;
      set((old) => (old[0] === first && old[1] === last ? old : [first, last]));
    };
    look();
    addEventListener("scroll", look, { passive: true });
    addEventListener("resize", look);
    return () => {
      removeEventListener("scroll", look);
      removeEventListener("resize", look);
    };
  }, [count]);
  return [list, sight];
}

function noteOf(node) {
  if (!node) {
    return "";
  }
  const words = [];
  if (node.progress) {
    words.push(node.progress.percent === null ? node.progress.text : `${node.progress.percent} % ${node.progress.text}`);
  }
  if (node.attempts > 1) {
    words.push(`${node.attempts} attempts`);
  }
  if (node.cache !== "disabled") {
    words.push(`cache ${node.cache}`);
  }
  if (node.error) {
    words.push(`${node.error.code}: ${node.error.message}`);
  }
  return words.join(", ");
}

function Row({ row, place, selected, fold }) {
  const { node } = row;
  return html`<tr aria-level=${row.depth + 1} aria-expanded=${row.children.length ? String(row.isOpen) : null}
    class=${row.path === selected ? "selected" : ""}>
    <td class="name">
      <span class="indent" style=${{ paddingLeft: `${row.depth * 18}px` }}>
        ${row.children.length > 0
          ? html`<button class="fold" aria-label="${row.isOpen ? "Fold" : "Unfold"} ${row.path}"
              onClick=${() => fold(row.path, row.isOpen)}>${row.isOpen ? "▾" : "▸"}</button>`
          : html`<span class="fold"></span>`}
        <${Link} to=${pathWith(place, { node: row.path })} title=${row.path}>${row.label}</${Link}>
      </span>
    </td>
    <td><span class="faint">${node?.kind ?? "element"}</span></td>
    <td><${Phase} phase=${phaseOfRow(row)} /></td>
    <td class="right">${node && html`<${Span} from=${node.started_at} to=${node.ended_at ?? (node.phase === "not yet started" ? node.created_at : null)} />`}</td>
    <td class="why">${node?.array ? html`<${ArrayBar} array=${node.array} />` : html`<span title=${noteOf(node)}>${noteOf(node)}</span>`}</td>
  </tr>`;
}

export function Tree({ nodes, place }) {
  const roots = useMemo(() => treeOf(nodes), [nodes]);
  const [folded, setFolded] = useState({});
  const isOpen = (path, depth) => folded[path] ?? (nodes.length < 200 || depth < 1);
  const rows = shownRows(roots, isOpen);
  const [list, [first, last]] = useSight(rows.length);
  const selected = place.query.get("node");
  const fold = (path, wasOpen) => setFolded({ ...folded, [path]: !wasOpen });
  const move = keysOf(list, selected && (() => go(pathWith(place, { node: null }))));
  if (rows.length === 0) {
    return html`<div class="empty">Its nodes are not known.</div>`;
  }
  return html`<div class="scroll">
    <table class="list nodes" role="treegrid" aria-label="Nodes" onKeyDown=${move}>
      <thead><tr><th scope="col">Node</th><th scope="col">Kind</th><th scope="col">Phase</th>
        <th scope="col" class="right">Took</th><th scope="col">Note</th></tr></thead>
      <tbody ref=${list}>
        ${first > 0 && html`<tr aria-hidden="true" style=${{ height: `${Math.min(first, rows.length) * ROW_PIXELS}px` }}><td colspan="5"></td></tr>`}
        ${rows.slice(first, last).map((row) => html`<${Row} key=${row.path} row=${row} place=${place} selected=${selected} fold=${fold} />`)}
        ${last < rows.length && html`<tr aria-hidden="true" style=${{ height: `${(rows.length - last) * ROW_PIXELS}px` }}><td colspan="5"></td></tr>`}
      </tbody>
    </table>
  </div>`;
}
