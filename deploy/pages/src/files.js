/** The files that values name, and decks: what each is, a link to its bytes, and a look at it. */
import { html, useState } from "./html.js";
import { useAnswer } from "./live.js";
import { Values, Words } from "./parts.js";
import { Preview } from "./preview.js";

/** So much of one file is looked at without being asked for. */
const SHOWN_BYTES = 1 << 20;

const UNITS = ["bytes", "KiB", "MiB", "GiB", "TiB"];

export function sizeOf(bytes) {
  const unit = bytes < 1024 ? 0 : Math.min(Math.floor(Math.log2(bytes) / 10), UNITS.length - 1);
  return `${(bytes / 1024 ** unit).toFixed(unit === 0 ? 0 : 1)} ${UNITS[unit]}`;
}

function FileOf({ file, isShown }) {
  const [isOpen, open] = useState(isShown);
  if (file.url === null) {
    return html`<div class="file-row"><strong title=${file.path}>${file.name}</strong>
      <span class="faint"><${Words} text=${file.problem ?? "it has no link here"} /></span></div>`;
  }
  return html`<div class="file-row">
      <strong title=${file.path}>${file.name}</strong>
      <span class="faint">${sizeOf(file.size_bytes)}</span>
      <button class="link" aria-expanded=${String(isOpen)} aria-label="${isOpen ? "Hide" : "Show"} ${file.name}"
        onClick=${() => open(!isOpen)}>${isOpen ? "Hide" : "Show"}</button>
      <a href=${file.url} download=${file.name} aria-label="Download ${file.name}">Download</a>
    </div>
    ${isOpen && html`<${Preview} key=${file.url} file=${file} />`}`;
}

function FileList({ files }) {
  const isOne = files.length === 1 && files[0].size_bytes !== null && files[0].size_bytes <= SHOWN_BYTES;
  return files.length > 0 && html`<div class="files">
    ${files.map((file) => html`<${FileOf} key=${file.path} file=${file} isShown=${isOne} />`)}
  </div>`;
}

/** Inputs and outputs of an execution or a node with their files; `base` is the execution's path. */
export function ValuesWithFiles({ base, query = "", inputs, outputs, Frame = Plain }) {
  const answer = useAnswer(`${base}/files${query}${query ? "&" : "?"}limit=200`, outputs);
  const files = answer.data ?? [];
  const filesOf = (of, name) => files.filter((file) => file.of === of && file.value === name);
  const lists = (of) => ({
    instead: (name, value) => (filesOf(of, name).some((file) => file.path === value) ? "" : null),
    below: (name) => html`<${FileList} files=${filesOf(of, name)} />`,
  });
  const decks = files.filter((file) => file.of === "deck");
  return html`
    <${Frame} title="Inputs"><${Values} values=${inputs} empty="It has none." ...${lists("input")} /></${Frame}>
    <${Frame} title="Outputs"><${Values} values=${outputs} empty="It gives none." ...${lists("output")} /></${Frame}>
    ${decks.length > 0 && html`<${Frame} title="Decks">
      ${decks.map((deck) => html`<p class="faint" key=${deck.attempt}>Attempt ${deck.attempt}</p>
        <${FileList} files=${[deck]} />`)}</${Frame}>`}`;
}

function Plain({ title, children }) {
  return html`<h3>${title}</h3>${children}`;
}
