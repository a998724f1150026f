/**
 * The API, /api/troupe/v1: documents, streams of events, and what acts. A token, where one is
 * needed, is kept for this tab alone and sent in a header: no cookie stands for it, so that no
 * foreign page can act in its name.
 */
const BASE = "/api/troupe/v1";
const TOKEN = "troupe-token";

export const token = {
  get: () => sessionStorage.getItem(TOKEN),
  set: (text) => sessionStorage.setItem(TOKEN, text),
  forget: () => sessionStorage.removeItem(TOKEN),
};

/** What went wrong, in the words of a problem document. */
export class Problem extends Error {
  constructor(status, code, detail) {
    super(detail);
    this.status = status;
    this.code = code;
  }
}

function headersOf(more) {
  const text = token.get();
  return text ? { authorization: `Bearer ${text}`, ...more } : more;
}

async function problemOf(response) {
  try {
    const words = await response.json();
    return new Problem(response.status, words.code, words.detail);
  } catch {
    return new Problem(response.status, "engine", `The answer was ${response.status}.`);
  }
}

async function ask(path, options) {
  let response;
  try {
    response = await fetch(BASE + path, options);
  } catch (error) {
    if (error.name === "AbortError") {
      throw error;
    }
    throw new Problem(0, "away", "Troupe does not answer. It has ended, or the network is away.");
  }
  if (!response.ok && response.status !== 304) {
    throw await problemOf(response);
  }
  return response;
}

/** The path of the next page, out of a header `link`; null: this is the last one. */
function nextOf(response) {
  const match = /<([^>]*)>; rel="next"/.exec(response.headers.get("link") ?? "");
  return match ? match[1].slice(BASE.length) : null;
}

/**
 * Numbers of the engine's actors may have more digits than a number of JavaScript keeps: such a one
 * stays text, where the browser has its digits.
 */
const exactly = (_name, value, context) =>
  Number.isInteger(value) && !Number.isSafeInteger(value) ? (context?.source ?? value) : value;

const parserOf = (path) =>
  /^\/(actor|tap)\b/.test(path) ? (text) => JSON.parse(text, exactly) : (text) => JSON.parse(text);

/** Gets a document: {data, tag, next}. */
export async function get(path, signal) {
  const response = await ask(path, { headers: headersOf({ accept: "application/json" }), signal });
  const type = response.headers.get("content-type") ?? "";
  const data = type.includes("json") ? parserOf(path)(await response.text()) : await response.text();
  return { data, tag: response.headers.get("etag"), next: nextOf(response) };
}

/** So many bytes of a file, by the URL that /files gave, which needs no token: {bytes, size}. */
export async function getBytes(url, first, end, signal) {
  const response = await fetch(url, { headers: { range: `bytes=${first}-${end - 1}` }, signal });
  if (response.status === 416) {
    return { bytes: new Uint8Array(0), size: 0 };
  }
  if (!response.ok) {
    throw await problemOf(response);
  }
  const size = /\/(\d+)$/.exec(response.headers.get("content-range") ?? "");
  const bytes = new Uint8Array(await response.arrayBuffer());
  return { bytes, size: size ? Number(size[1]) : bytes.length };
}

/** Has something done; `key` makes a request that begins something count once. */
export async function post(path, body, key) {
  const headers = headersOf({ "content-type": "application/json" });
  if (key) {
    headers["idempotency-key"] = key;
  }
  const response = await ask(path, { method: "POST", headers, body: JSON.stringify(body) });
  return response.json();
}

/** One event of a stream out of its lines: {id, event, data}. */
function eventOf(block) {
  const event = { id: null, event: "message", data: "" };
  for (const line of block.split("\n")) {
    const match = /^(id|event|data): ?(.*)$/.exec(line);
    if (match) {
      event[match[1]] = match[1] === "data" ? event.data + match[2] : match[2];
    }
  }
  return event;
}

/** Parts the text of a stream into events. Of documents that come at once only the newest counts. */
function eventReader(parse, tell) {
  let rest = "";
  return (text) => {
    const blocks = (rest + text).split("\n\n");
    rest = blocks.pop();
    const events = blocks.map(eventOf).filter((event) => event.data !== "");
    const newest = events.map((event) => event.event).lastIndexOf("document");
    for (const [i, event] of events.entries()) {
      if (event.event !== "document" || i === newest) {
        tell({ ...event, data: parse(event.data) });
      }
    }
  };
}

/**
 * Follows a path until `signal`: tells that it is open, then each event, and comes back with the last
 * id when the stream ends. Resolves where it has ended for good, with what the last event said.
 */
export async function follow(path, tell, signal, lastId = null) {
  const headers = headersOf({ accept: "text/event-stream" });
  if (lastId) {
    headers["last-event-id"] = lastId;
  }
  const response = await ask(path, { headers, signal });
  tell({ id: null, event: "open", data: null });
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let last = { event: "", id: lastId };
  const read = eventReader(parserOf(path), (event) => {
    last = { event: event.event, id: event.id ?? last.id, data: event.data };
    tell(event);
  });
  for (let piece = await reader.read(); !piece.done; piece = await reader.read()) {
    read(piece.value);
  }
  return last;
}

/** A key that makes what a form begins count once, however often it is sent. */
export const newKey = () => crypto.randomUUID?.() ?? String(Math.random());

export function executionPath({ project, domain, execution }) {
  return `/executions/${[project, domain, execution].map(encodeURIComponent).join("/")}`;
}
