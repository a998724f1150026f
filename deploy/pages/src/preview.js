/**
 * A look at a file: text, JSON, tables out of the beginning of CSV and Parquet, pictures, and pages
 * of HTML in a frame that is no part of this page. Whatever a file is called, its bytes decide.
 */
import { html, useEffect, useState } from "./html.js";
import { getBytes } from "./api.js";
import { ProblemBox, Table, Value } from "./parts.js";

/** So much is read of a text or a table, of JSON, and of a picture. */
const HEAD_BYTES = 64 << 10;
const JSON_BYTES = 1 << 20;
const PICTURE_BYTES = 16 << 20;
const TABLE_ROWS = 50;

const isMarked = (bytes, mark) => mark.every((byte, i) => bytes[i] === byte);
const PARQUET = [0x50, 0x41, 0x52, 0x31];

/** The beginning as text, without a character that the cut has halved; null: it is none. */
function textOf(bytes, isWhole) {
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes, { stream: !isWhole });
    return text.includes("\0") ? null : text;
  } catch {
    return null;
  }
}

/** Rows of what RFC 4180 calls CSV; a row that the cut has halved is left out. */
export function rowsOf(text, comma, isWhole) {
  const rows = [[]];
  let cell = "";
  let isQuoted = false;
  const endCell = () => (rows.at(-1).push(cell), (cell = ""));
  for (let i = 0; i < text.length && rows.length <= TABLE_ROWS + 2; i++) {
    const letter = text[i];
    if (isQuoted) {
      if (letter !== '"') {
        cell += letter;
      } else if (text[i + 1] === '"') {
        cell += text[++i];
      } else {
        isQuoted = false;
      }
    } else if (letter === '"' && cell === "") {
      isQuoted = true;
    } else if (letter === comma) {
      endCell();
    } else if (letter === "\n") {
      endCell();
      rows.push([]);
    } else if (letter !== "\r") {
      cell += letter;
    }
  }
  if (isWhole && (cell !== "" || rows.at(-1).length > 0)) {
    endCell();
  } else {
    rows.pop();
  }
  return rows;
}

function CutNote({ size, shown }) {
  return size > shown && html`<p class="faint">The first ${shown.toLocaleString()} of ${size.toLocaleString()} bytes.</p>`;
}

function CsvTable({ text, comma, size, shown }) {
  const [names = [], ...rows] = rowsOf(text, comma, size <= shown);
  if (names.length === 0) {
    return html`<p class="faint">It is empty.</p>`;
  }
  const more = size > shown || rows.length > TABLE_ROWS ? "The first rows; the file has more." : null;
  return html`<${Table} names=${names} rows=${rows.slice(0, TABLE_ROWS)} more=${more} />`;
}

function Lines({ text, isWhole }) {
  const lines = (isWhole ? text : text.slice(0, text.lastIndexOf("\n"))).split("\n").filter((line) => line.trim() !== "");
  try {
    return html`<${Value} value=${lines.slice(0, TABLE_ROWS).map((line) => JSON.parse(line))} />`;
  } catch {
    return html`<pre class="value" tabindex="0">${text}</pre>`;
  }
}

function Text({ file, bytes, size }) {
  const text = textOf(bytes, size <= bytes.length);
  const rest = { size, shown: bytes.length };
  if (size === 0) {
    return html`<p class="faint">It is empty.</p>`;
  }
  if (text === null) {
    return html`<p class="faint">Its bytes are no text that could be shown.</p>`;
  }
  if (file.media_type === "text/csv" || file.media_type === "text/tab-separated-values") {
    return html`<${CsvTable} text=${text} comma=${file.media_type === "text/csv" ? "," : "\t"} ...${rest} />`;
  }
  if (file.media_type === "application/jsonl") {
    return html`<${Lines} text=${text} isWhole=${size <= bytes.length} /><${CutNote} ...${rest} />`;
  }
  if (file.media_type === "application/json" && size <= bytes.length) {
    try {
      return html`<${Value} value=${JSON.parse(text)} />`;
    } catch {
      return html`<p class="faint">It is no JSON, in spite of its name.</p><pre class="value" tabindex="0">${text}</pre>`;
    }
  }
  return html`<pre class="value" tabindex="0">${text}</pre><${CutNote} ...${rest} />`;
}

/** Parquet is read by a library that is got only now: its last bytes, and the first rows. */
async function readParquet(file, signal) {
  const { readHead } = await import("/console/parquet.js");
  const slice = async (first, end = file.size_bytes) => (await getBytes(file.url, first, end, signal)).bytes.buffer;
  return readHead({ byteLength: file.size_bytes, slice }, TABLE_ROWS);
}

/** What is to be shown, as far as it takes reading. */
async function look(file, signal) {
  if (file.size_bytes === 0) {
    return { bytes: new Uint8Array(0), size: 0 };
  }
  const isPicture = file.media_type.startsWith("image/");
  if (isPicture && file.size_bytes <= PICTURE_BYTES) {
    const { bytes } = await getBytes(file.url, 0, PICTURE_BYTES, signal);
    return { picture: URL.createObjectURL(new Blob([bytes], { type: file.media_type })) };
  }
  const most = file.media_type === "application/json" ? JSON_BYTES : HEAD_BYTES;
  const { bytes, size } = await getBytes(file.url, 0, most, signal);
  if (isMarked(bytes, PARQUET)) {
    return { table: await readParquet({ ...file, size_bytes: size }, signal) };
  }
  return { bytes, size };
}

/** An origin of its own: scripts of the page run, and reach neither this page nor the API. */
function Page({ file }) {
  return html`<iframe class="deck" sandbox="allow-scripts" referrerpolicy="no-referrer" src=${file.url} title=${file.name}></iframe>`;
}

export function Preview({ file }) {
  const [seen, set] = useState(null);
  const isPage = file.media_type === "text/html";
  useEffect(() => {
    const controller = new AbortController();
    let made = null;
    if (!isPage) {
      look(file, controller.signal).then(
        (found) => (set(found), (made = found.picture)),
        (problem) => problem.name !== "AbortError" && set({ problem }),
      );
    }
    return () => (controller.abort(), made && URL.revokeObjectURL(made));
  }, [file.url]);
  if (isPage) {
    return html`<${Page} file=${file} />`;
  }
  if (seen === null) {
    return html`<p class="faint" role="status">Reading it …</p>`;
  }
  if (seen.problem) {
    return html`<${ProblemBox} problem=${seen.problem} />`;
  }
  if (seen.picture) {
    return html`<img class="preview" src=${seen.picture} alt=${file.name} />`;
  }
  return seen.table
    ? html`<${Table} names=${seen.table.names} rows=${seen.table.rows} more=${seen.table.more} />`
    : html`<${Text} file=${file} bytes=${seen.bytes} size=${seen.size} />`;
}
