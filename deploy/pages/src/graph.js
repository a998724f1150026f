/**
 * The graph on a canvas, which ten thousand nodes do not slow down: only what is in sight is drawn.
 * Beside it stands a list of the same nodes for who uses no mouse, and the tree has all of it.
 */
import { html, useEffect, useMemo, useRef, useState } from "./html.js";
import { go, pathWith } from "./router.js";
import { graphOf } from "./graph_model.js";
import { BOX } from "./layout.js";
import { drawGraph, readColours } from "./graph_draw.js";

const ZOOM_MIN = 0.02;
const ZOOM_MAX = 2;

function useLayout(model) {
  const [places, set] = useState(null);
  const worker = useRef(null);
  const number = useRef(0);
  useEffect(() => () => worker.current?.terminate(), []);
  const shape = useMemo(() => JSON.stringify([model.boxes.length, model.edges]), [model]);
  useEffect(() => {
    worker.current ??= new Worker("/console/layout_worker.js", { type: "module" });
    const mine = ++number.current;
    worker.current.onmessage = ({ data }) => data.number === mine && set({ ...data, count: model.boxes.length });
    worker.current.postMessage({ number: mine, count: model.boxes.length, edges: model.edges });
  }, [shape]);
  return places && places.count === model.boxes.length ? places : null;
}

/** The whole graph within the canvas, no larger than it is. */
function fitted(places, width, height) {
  const min = (list) => list.reduce((a, b) => Math.min(a, b), Infinity);
  const max = (list) => list.reduce((a, b) => Math.max(a, b), -Infinity);
  const x = min(places.x);
  const y = min(places.y);
  const w = max(places.x) + BOX.width - x;
  const h = max(places.y) + BOX.height - y;
  const zoom = Math.max(ZOOM_MIN, Math.min(1, (width - 48) / w, (height - 48) / h));
  return { zoom, x: (width - w * zoom) / 2 - x * zoom, y: (height - h * zoom) / 2 - y * zoom };
}

function boxAt(places, eye, x, y) {
  const at = { x: (x - eye.x) / eye.zoom, y: (y - eye.y) / eye.zoom };
  for (let i = 0; i < places.x.length; i++) {
    const dx = at.x - places.x[i];
    const dy = at.y - places.y[i];
    if (dx >= 0 && dx <= BOX.width && dy >= 0 && dy <= BOX.height) {
      return { number: i, isFold: dx > BOX.width - 24 };
    }
  }
  return null;
}

/** What the mouse, fingers and keys do with the eye that looks at the graph. */
function useEye(canvas, places, draw, choose) {
  const eye = useRef(null);
  const isMoved = useRef(false);
  const fit = () => {
    isMoved.current = false;
    if (places && canvas.current) {
      eye.current = fitted(places, canvas.current.clientWidth, canvas.current.clientHeight);
      draw();
    }
  };
  const zoomBy = (factor, x = canvas.current.clientWidth / 2, y = canvas.current.clientHeight / 2) => {
    const old = eye.current;
    const zoom = Math.min(ZOOM_MAX, Math.max(ZOOM_MIN, old.zoom * factor));
    const scale = zoom / old.zoom;
    isMoved.current = true;
    eye.current = { zoom, x: x - (x - old.x) * scale, y: y - (y - old.y) * scale };
    draw();
  };
  const panBy = (dx, dy) => {
    isMoved.current = true;
    eye.current = { ...eye.current, x: eye.current.x + dx, y: eye.current.y + dy };
    draw();
  };
  useEffect(() => {
    const element = canvas.current;
    const gone = new AbortController();
    const on = (name, listener) => element.addEventListener(name, listener, { signal: gone.signal, passive: false });
    let last = null;
    let moved = 0;
    on("wheel", (event) => {
      event.preventDefault();
      if (event.ctrlKey || event.metaKey || Math.abs(event.deltaX) < Math.abs(event.deltaY)) {
        zoomBy(Math.exp(-event.deltaY * 0.0015), event.offsetX, event.offsetY);
      } else {
        panBy(-event.deltaX, -event.deltaY);
      }
    });
    on("pointerdown", (event) => {
      last = [event.clientX, event.clientY];
      moved = 0;
      element.setPointerCapture(event.pointerId);
    });
    on("pointermove", (event) => {
      if (last && eye.current) {
        panBy(event.clientX - last[0], event.clientY - last[1]);
        moved += Math.abs(event.clientX - last[0]) + Math.abs(event.clientY - last[1]);
        last = [event.clientX, event.clientY];
      }
    });
    on("pointerup", (event) => {
      last = null;
      if (moved < 5 && places && eye.current) {
        choose(boxAt(places, eye.current, event.offsetX, event.offsetY));
      }
    });
    return () => gone.abort();
  }, [places, choose]);
  const keys = (event) => {
    const step = { ArrowLeft: [60, 0], ArrowRight: [-60, 0], ArrowUp: [0, 60], ArrowDown: [0, -60] }[event.key];
    if (step) {
      event.preventDefault();
      panBy(...step);
    } else if (event.key === "+" || event.key === "-") {
      zoomBy(event.key === "+" ? 1.25 : 0.8);
    } else if (event.key === "0") {
      fit();
    }
  };
  const resized = () => (isMoved.current ? draw() : fit());
  return { eye, fit, zoomBy, keys, resized };
}

export function Graph({ nodes, place }) {
  const [opened, setOpened] = useState({});
  const canvas = useRef();
  const frame = useRef(0);
  const selected = place.query.get("node");
  const model = useMemo(() => graphOf(nodes, (path) => opened[path] ?? false), [nodes, opened]);
  const places = useLayout(model);
  const latest = useRef();
  latest.current = { model, places, selected };
  const draw = useRef(() => {
    cancelAnimationFrame(frame.current);
    frame.current = requestAnimationFrame(() => {
      if (canvas.current && latest.current.places && sight.current) {
        drawGraph(canvas.current, latest.current, sight.current(), readColours());
      }
    });
  }).current;
  const choose = useMemo(
    () => (found) => {
      const box = found && latest.current.model.boxes[found.number];
      if (box && found.isFold && box.canOpen) {
        setOpened((old) => ({ ...old, [box.path]: true }));
      } else if (box) {
        go(pathWith(place, { node: box.path }));
      }
    },
    [place],
  );
  const { eye, fit, zoomBy, keys, resized } = useEye(canvas, places, draw, choose);
  const sight = useRef();
  sight.current = () => eye.current;
  useEffect(fit, [places]);
  useEffect(draw, [model, selected]);
  useEffect(() => {
    const observer = new ResizeObserver(resized);
    observer.observe(canvas.current);
    const scheme = matchMedia("(prefers-color-scheme: dark)");
    scheme.addEventListener("change", draw);
    return () => (observer.disconnect(), scheme.removeEventListener("change", draw));
  }, [places]);
  const folds = model.boxes.filter((box) => box.canOpen);
  return html`<div class="graph">
    <div class="tools" role="toolbar" aria-label="Graph">
      <button onClick=${() => zoomBy(1.25)} aria-label="Larger">+</button>
      <button onClick=${() => zoomBy(0.8)} aria-label="Smaller">−</button>
      <button onClick=${fit}>Fit</button>
      ${folds.length > 0 && html`<button onClick=${() => setOpened(Object.fromEntries(folds.slice(0, 500).map((box) => [box.path, true])))}>Unfold</button>`}
      ${Object.keys(opened).length > 0 && html`<button onClick=${() => setOpened({})}>Fold</button>`}
      <span class="faint">${model.boxes.length.toLocaleString()} nodes</span>
    </div>
    <canvas ref=${canvas} tabindex="0" onKeyDown=${keys} role="img" data-ready=${places ? "true" : null}
      aria-label="The graph: ${model.boxes.length} nodes, ${model.edges.length} edges. Arrows move it, plus and minus size it. The view Nodes has the same as a table."></canvas>
  </div>`;
}
