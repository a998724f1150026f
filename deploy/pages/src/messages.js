/**
 * Messages that pass in the live engine, out of a tap. A tap tells of each message where it is sent,
 * received and handled; here these are one. The latest are kept while the page is open.
 */
import { useEffect, useRef, useState } from "./html.js";
import { follow, get } from "./api.js";
import { rest } from "./live.js";

export const KEPT = 5000;
const LIMIT = 1000000; // a tap has one; then it is opened again
const RATE = 500; // of each worker in a second: what is above is counted, and costs little
const PAYLOAD = 8192;
const SHOW_MS = 100;
const RETRY_MS = 1000;

/** The parts of the engine that are no actors, by the numbers of their keys. */
const SERVICES = {
  "0/1": "the engine's door",
  "0/2": "HTTP",
  "0/3": "processes",
  "0/4": "the journal",
  "0/5": "HTTP",
  "0/6": "files",
  "0/7": "other hosts",
};

const FILTERS = ["address", "type", "point", "trace", "key"];

/** The path of a tap by the filters in a place's query. */
export function tapPath(query) {
  const words = [`limit=${LIMIT}`, `rate=${RATE}`, `payload=${PAYLOAD}`];
  FILTERS.filter((name) => query.get(name)).forEach((name) => words.push(`${name}=${query.get(name)}`));
  return `/tap?${words.map((word) => `filter=${encodeURIComponent(word)}`).join("&")}`;
}

const keyOf = (actor) => actor.split("@")[0];

function nameOf(key, addresses) {
  const worker = /^0\/(\d+)$/.exec(key);
  return addresses.get(key) ?? SERVICES[key] ?? (worker && worker[1] >= 64 ? `worker ${worker[1] - 64}` : key);
}

/** How far a message has come, the furthest last. */
const STEPS = ["muted", "send", "receive", "dropped", "failed", "handled"];
const further = (one, other) => (STEPS.indexOf(one) > STEPS.indexOf(other) ? one : other);

/** What is known of all that passed: rows by their key, the oldest first, and names of actors. */
export class Passed {
  rows = new Map();
  addresses = new Map();
  count = 0;
  lost = 0;
  forgotten = 0;

  name(key) {
    return nameOf(key, this.addresses);
  }

  learn(actors) {
    actors.forEach(({ actor, address }) => this.addresses.set(keyOf(actor), address));
  }

  add(event) {
    if (event.point === "lost") {
      this.lost += event.lost + event.skipped;
      return;
    }
    if (event.truncated) {
      this.lost += 1;
      return;
    }
    if (event.address) {
      this.addresses.set(keyOf(event.actor), event.address);
    }
    this.put(event.message ? messageOf(event) : eventOf(event, this.count));
  }

  put(row) {
    const old = this.rows.get(row.key);
    if (old) {
      this.rows.set(row.key, {
        ...old,
        point: further(old.point, row.point),
        durationNs: old.durationNs || row.durationNs,
        reason: row.reason === "ok" ? old.reason : row.reason,
        isCommitted: old.isCommitted || row.isCommitted,
        body: old.body ?? row.body,
      });
      return;
    }
    this.count += 1;
    this.rows.set(row.key, row);
    if (this.rows.size > KEPT) {
      this.rows.delete(this.rows.keys().next().value);
      this.forgotten += 1;
    }
  }
}

function messageOf({ message, ...event }) {
  const { envelope, name, body } = message;
  const from = `${envelope.from_group}/${envelope.from_serial}`;
  return {
    key: `${from}@${envelope.from_incarnation}.${envelope.sequence}`,
    name: name ?? `type ${envelope.type}`,
    from,
    to: `${envelope.to_group}/${envelope.to_serial}`,
    kind: envelope.kind_name,
    trace: envelope.trace,
    cause: `${envelope.cause_group}/${envelope.cause_serial}@${envelope.cause_incarnation}.${envelope.cause_sequence}`,
    size: envelope.body_size,
    body,
    ...partOf(event),
  };
}

function eventOf(event, number) {
  const actor = keyOf(event.actor);
  return { key: `${event.point}.${event.worker}.${number}`, name: event.point, from: actor, to: actor, trace: event.trace, ...partOf(event) };
}

const partOf = (event) => ({
  point: event.point,
  atMs: event.now_ms,
  worker: event.worker,
  durationNs: event.duration_ns,
  reason: event.reason,
  isCommitted: event.committed,
});

async function keepOpen(path, tell, signal) {
  let id = null;
  const note = (event) => {
    id = event.id ?? id;
    tell(event);
  };
  while (!signal.aborted) {
    const last = await follow(path, note, signal, id);
    if (last.event === "problem") {
      throw { message: last.data.detail, ...last.data };
    }
    await rest(RETRY_MS, signal);
  }
}

/** {passed, problem, isOpen} of a tap; `isPaused`: it is closed, and what it had stays. */
export function useTap(path, isPaused) {
  const passed = useRef(new Passed());
  const [state, set] = useState({ version: 0, problem: null, isOpen: false });
  useEffect(() => {
    passed.current = new Passed();
    set({ version: 0, problem: null, isOpen: false });
  }, [path]);
  useEffect(() => {
    if (isPaused) {
      return undefined;
    }
    const controller = new AbortController();
    let timer = 0;
    const show = () => {
      timer ||= setTimeout(() => {
        timer = 0;
        set((old) => ({ ...old, version: old.version + 1 }));
      }, SHOW_MS);
    };
    const tell = ({ event, data }) => {
      if (event === "open") {
        set((old) => ({ ...old, problem: null, isOpen: true }));
      } else if (event === "message") {
        passed.current.add(data);
      } else if (event === "missed") {
        passed.current.lost += data.count ?? 1;
      }
      show();
    };
    get("/actors", controller.signal).then(({ data }) => (passed.current.learn(data), show()), () => {});
    keepOpen(path, tell, controller.signal).catch(
      (problem) => problem.name === "AbortError" || set((old) => ({ ...old, problem, isOpen: false })),
    );
    return () => (controller.abort(), clearTimeout(timer));
  }, [path, isPaused]);
  return { passed: passed.current, ...state };
}
