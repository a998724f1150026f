/** Each view is a path below /console, with its filters in the query: so each is a link. */
import { html, useEffect, useState } from "./html.js";

const BASE = "/console";
const listeners = new Set();

function here() {
  return { path: location.pathname.slice(BASE.length) || "/", query: new URLSearchParams(location.search) };
}

export function go(path, { replace = false } = {}) {
  history[replace ? "replaceState" : "pushState"](null, "", BASE + path);
  listeners.forEach((listener) => listener());
}

export function useLocation() {
  const [place, set] = useState(here());
  useEffect(() => {
    const listener = () => set(here());
    listeners.add(listener);
    addEventListener("popstate", listener);
    return () => {
      listeners.delete(listener);
      removeEventListener("popstate", listener);
    };
  }, []);
  return place;
}

/** A path with changed words of the query; null or "" takes one out. */
export function pathWith(place, changes) {
  const query = new URLSearchParams(place.query);
  for (const [name, value] of Object.entries(changes)) {
    query.delete(name);
    for (const one of [value ?? []].flat().filter((word) => word !== "")) {
      query.append(name, one);
    }
  }
  const text = query.toString();
  return place.path + (text ? `?${text}` : "");
}

const isPlain = (event) =>
  event.button === 0 && !event.metaKey && !event.ctrlKey && !event.shiftKey && !event.altKey;

export function Link({ to, children, replace, ...rest }) {
  const follow = (event) => {
    if (isPlain(event)) {
      event.preventDefault();
      go(to, { replace });
    }
  };
  return html`<a href=${BASE + to} onClick=${follow} ...${rest}>${children}</a>`;
}

/** The words of a path by a pattern such as /plans/:plan; null: it is another one. */
export function match(pattern, path) {
  const wanted = pattern.split("/");
  const given = path.replace(/\/$/, "").split("/");
  if (wanted.length !== given.length) {
    return null;
  }
  const words = {};
  for (let i = 0; i < wanted.length; i++) {
    if (wanted[i].startsWith(":")) {
      words[wanted[i].slice(1)] = decodeURIComponent(given[i]);
    } else if (wanted[i] !== given[i]) {
      return null;
    }
  }
  return words;
}
