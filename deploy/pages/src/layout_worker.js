/** Places graphs beside the page, which goes on meanwhile. */
import { layout } from "./layout.js";

onmessage = ({ data }) => postMessage({ number: data.number, ...layout(data.count, data.edges) });
