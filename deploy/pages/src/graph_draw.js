/** Draws a graph: edges first, then the boxes that are in sight. */
import { lookOf } from "./phases.js";
import { BOX } from "./layout.js";

const PHASES = ["good", "bad", "warn", "run", "wait", "idle"];
const NAMES = [...PHASES, ...PHASES.map((name) => `${name}-area`), "text", "faint", "line", "edge", "surface", "accent"];

/** From how near edges and texts are worth drawing. */
const ZOOM_OF_EDGES = 0.08;
const ZOOM_OF_TEXTS = 0.25;

/** The colours of the page's style as they are now, dark or light: only an element has them so. */
export function readColours() {
  const probe = document.documentElement.appendChild(document.createElement("i"));
  const colours = Object.fromEntries(NAMES.map((name) => {
    probe.style.color = `var(--${name})`;
    return [name, getComputedStyle(probe).color];
  }));
  probe.remove();
  return colours;
}

function prepare(canvas) {
  const ratio = devicePixelRatio || 1;
  const width = canvas.clientWidth;
  const height = canvas.clientHeight;
  if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
  }
  const pen = canvas.getContext("2d");
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.clearRect(0, 0, width, height);
  return { pen, width, height };
}

function drawEdges(pen, { edges }, places, view, colours, zoom) {
  pen.strokeStyle = colours.edge;
  pen.lineWidth = 1.2 / Math.max(zoom, 0.35);
  pen.beginPath();
  for (const [from, to] of edges) {
    const x1 = places.x[from] + BOX.width;
    const y1 = places.y[from] + BOX.height / 2;
    const x2 = places.x[to];
    const y2 = places.y[to] + BOX.height / 2;
    if (x2 < view.left || x1 > view.right || Math.max(y1, y2) < view.top || Math.min(y1, y2) > view.bottom) {
      continue;
    }
    const bend = Math.max(BOX.gapX / 2, Math.min((x2 - x1) / 2, 120));
    pen.moveTo(x1, y1);
    if (zoom < 0.15) {
      pen.lineTo(x2, y2);
    } else {
      pen.bezierCurveTo(x1 + bend, y1, x2 - bend, y2, x2, y2);
    }
  }
  pen.stroke();
}

/** As much of a text as has room. */
function fitText(pen, text, width) {
  if (pen.measureText(text).width <= width) {
    return text;
  }
  let end = Math.max(1, Math.floor((text.length * width) / pen.measureText(text).width) - 1);
  while (end > 1 && pen.measureText(text.slice(0, end) + "…").width > width) {
    end--;
  }
  return text.slice(0, end) + "…";
}

function drawBox(pen, box, x, y, isSelected, colours) {
  const [colour, sign] = lookOf(box.phase);
  pen.fillStyle = colours.surface;
  pen.strokeStyle = isSelected ? colours.accent : colours.line;
  pen.lineWidth = isSelected ? 2.5 : 1;
  pen.beginPath();
  pen.roundRect(x, y, BOX.width, BOX.height, 7);
  pen.fill();
  pen.stroke();
  pen.fillStyle = colours[`${colour}-area`];
  pen.beginPath();
  pen.roundRect(x, y, 5, BOX.height, [7, 0, 0, 7]);
  pen.fill();
  pen.font = "13px system-ui, sans-serif";
  pen.fillStyle = colours[colour];
  pen.fillText(sign, x + 13, y + 22);
  pen.fillStyle = colours.text;
  const note = [box.array && `${box.array.succeeded}/${box.array.total}`, box.canOpen && "▸"].filter(Boolean).join(" ");
  pen.fillText(fitText(pen, box.label.slice(0, 200), BOX.width - 48 - note.length * 7), x + 32, y + 22);
  pen.fillStyle = colours.faint;
  pen.textAlign = "right";
  pen.fillText(note, x + BOX.width - 9, y + 22);
  pen.textAlign = "left";
}

function isInSight(places, i, view) {
  const x = places.x[i];
  const y = places.y[i];
  return x <= view.right && x + BOX.width >= view.left && y <= view.bottom && y + BOX.height >= view.top;
}

/** Boxes from afar, all of a colour at once. */
function drawSmall(pen, model, places, view, colours) {
  const areas = new Map();
  model.boxes.forEach((box, i) => {
    if (isInSight(places, i, view)) {
      const colour = lookOf(box.phase)[0];
      areas.set(colour, areas.get(colour) ?? new Path2D());
      areas.get(colour).rect(places.x[i], places.y[i], BOX.width, BOX.height);
    }
  });
  for (const [colour, area] of areas) {
    pen.fillStyle = colours[`${colour}-area`];
    pen.fill(area);
  }
}

export function drawGraph(canvas, { model, places, selected }, eye, colours) {
  if (!eye || canvas.clientWidth === 0) {
    return;
  }
  const { pen, width, height } = prepare(canvas);
  pen.translate(eye.x, eye.y);
  pen.scale(eye.zoom, eye.zoom);
  const view = {
    left: -eye.x / eye.zoom,
    top: -eye.y / eye.zoom,
    right: (width - eye.x) / eye.zoom,
    bottom: (height - eye.y) / eye.zoom,
  };
  if (eye.zoom >= ZOOM_OF_EDGES) {
    drawEdges(pen, model, places, view, colours, eye.zoom);
  }
  if (eye.zoom < ZOOM_OF_TEXTS) {
    drawSmall(pen, model, places, view, colours);
    return;
  }
  for (let i = 0; i < model.boxes.length; i++) {
    if (isInSight(places, i, view)) {
      drawBox(pen, model.boxes[i], places.x[i], places.y[i], model.boxes[i].path === selected, colours);
    }
  }
}
