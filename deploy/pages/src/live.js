/**
 * Documents that stay true while they are shown. A document is got once, which paints the page, and
 * then followed by events from its etag on. A tab that nobody sees follows nothing.
 */
import { useEffect, useState } from "./html.js";
import { follow, get, token } from "./api.js";

const RETRY_MS = [500, 1000, 2000, 5000];

export function rest(ms, signal) {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener("abort", () => (clearTimeout(timer), resolve()), { once: true });
  });
}

function untilSeen(signal) {
  return new Promise((resolve) => {
    const look = () => document.visibilityState === "visible" && resolve();
    document.addEventListener("visibilitychange", look, { signal });
    signal.addEventListener("abort", resolve, { once: true });
    look();
  });
}

/** Ends a controller's requests while the tab is hidden. */
function whileSeen(signal) {
  const inner = new AbortController();
  signal.addEventListener("abort", () => inner.abort(), { once: true, signal: inner.signal });
  document.addEventListener(
    "visibilitychange",
    () => document.visibilityState === "hidden" && inner.abort(),
    { signal: inner.signal },
  );
  return inner;
}

async function keepTrue(path, isLive, set, signal) {
  let tag = null;
  let failures = 0;
  const tell = (event) => {
    failures = 0;
    if (event.event === "document") {
      tag = event.id;
      set((old) => ({ ...old, data: event.data, problem: null }));
    }
  };
  while (!signal.aborted) {
    await untilSeen(signal);
    const seen = whileSeen(signal);
    try {
      if (tag === null) {
        const first = await get(path, seen.signal);
        tag = first.tag;
        set({ data: first.data, next: first.next, problem: null, isLoading: false });
      }
      if (!isLive) {
        return;
      }
      const last = await follow(path, tell, seen.signal, tag);
      if (last.event === "problem") {
        set((old) => ({ ...old, problem: { message: last.data.detail, ...last.data } }));
        return;
      }
      await rest(RETRY_MS[0], seen.signal);
    } catch (problem) {
      if (problem.name !== "AbortError") {
        set((old) => ({ ...old, problem, isLoading: false }));
        if (problem.status >= 400 && problem.status < 429) {
          return;
        }
        await rest(RETRY_MS[Math.min(failures++, RETRY_MS.length - 1)], signal);
      }
    } finally {
      seen.abort();
    }
  }
}

const NOTHING = { data: null, next: null, problem: null, isLoading: true };

/** {data, next, problem, isLoading} of a path; null: of nothing. */
export function useDocument(path, isLive = true) {
  const [state, set] = useState(NOTHING);
  useEffect(() => {
    const controller = new AbortController();
    set(NOTHING);
    if (path !== null) {
      keepTrue(path, isLive, (next) => controller.signal.aborted || set(next), controller.signal);
    }
    return () => controller.abort();
  }, [path, isLive, token.get()]);
  return state;
}

/**
 * A document that is asked for again with each new version of something that is followed, and as
 * often as `everyMs` says: a browser has six connections to a host, so few things have their own.
 */
export function useAnswer(path, version = null, everyMs = 0) {
  const [data, set] = useState({ path: null, data: null, problem: null });
  const [round, again] = useState(0);
  useEffect(() => {
    const controller = new AbortController();
    if (path !== null) {
      get(path, controller.signal).then(
        (answer) => set({ path, data: answer.data, problem: null }),
        (problem) => problem.name !== "AbortError" && set((old) => ({ ...old, path, problem })),
      );
    }
    return () => controller.abort();
  }, [path, version, round]);
  useEffect(() => {
    const look = () => document.visibilityState === "visible" && again((number) => number + 1);
    const timer = everyMs > 0 ? setInterval(look, everyMs) : 0;
    return () => clearInterval(timer);
  }, [everyMs]);
  return data.path === path ? data : { data: null, problem: null };
}

/** The time now, as often as it is worth while; ms of the epoch. */
export function useNow(everyMs = 1000, isRunning = true) {
  const [now, set] = useState(Date.now());
  useEffect(() => {
    if (!isRunning) {
      return undefined;
    }
    const timer = setInterval(() => set(Date.now()), everyMs);
    return () => clearInterval(timer);
  }, [everyMs, isRunning]);
  return now;
}
