/** An array in one line: how many of its elements are in which phase. */
import { html } from "./html.js";

const PARTS = [
  ["succeeded", "good"],
  ["running", "run"],
  ["retrying", "warn"],
  ["failed", "bad"],
  ["queued", "idle"],
];

export function ArrayBar({ array }) {
  const parts = PARTS.map(([key, colour]) => [key, colour, array[key]]).filter(([, , count]) => count > 0);
  const words = parts.map(([key, , count]) => `${count.toLocaleString()} ${key}`).join(", ");
  return html`<span class="array" title=${words}>
    <svg viewBox="0 0 100 8" preserveAspectRatio="none" role="img" aria-label=${words}>
      ${stripes(parts, array.total).map(({ x, width, colour }) => html`<rect key=${colour} x=${x} width=${width} y="0" height="8" class=${colour} />`)}
    </svg>
    <span class="number">${(array.succeeded + array.failed).toLocaleString()}/${array.total.toLocaleString()}</span>
  </span>`;
}

function stripes(parts, total) {
  let x = 0;
  return parts.map(([, colour, count]) => {
    const width = (count / Math.max(total, 1)) * 100;
    x += width;
    return { x: x - width, width, colour };
  });
}
