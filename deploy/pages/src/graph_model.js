/** What a graph shows of the nodes: those whose workflows are not folded, and the edges between. */
import { parentOf, phaseOfRow, treeOf } from "./tree_rows.js";

/**
 * {boxes, edges}: a box for each row that is shown; what lies in an unfolded row stands in its
 * place, so that an edge to it leads to its first boxes, and one from it from its last ones.
 */
export function graphOf(nodes, isOpen) {
  const boxes = [];
  const edges = [];
  const numbers = new Map();
  const inner = (row) => (row.children.length > 0 && isOpen(row.path) ? row.children : null);
  const place = (row) => {
    if (inner(row)) {
      inner(row).forEach(place);
    } else {
      numbers.set(row.path, boxes.length);
      boxes.push({ path: row.path, label: row.label, kind: row.node?.kind ?? "element", phase: phaseOfRow(row),
        array: row.node?.array ?? null, canOpen: row.children.length > 0 });
    }
  };
  const ends = (row, isLast) => {
    if (!inner(row)) {
      return [numbers.get(row.path)];
    }
    const rows = inner(row);
    const used = new Set(rows.flatMap((one) => (isLast ? (one.node?.after ?? []).map((id) => siblingPath(one.path, id)) : [])));
    const chosen = rows.filter((one) => (isLast ? !used.has(one.path) : (one.node?.after ?? []).length === 0));
    return (chosen.length ? chosen : rows).flatMap((one) => ends(one, isLast));
  };
  const connect = (rows) => {
    const byPath = new Map(rows.map((row) => [row.path, row]));
    for (const row of rows) {
      for (const id of row.node?.after ?? []) {
        const from = byPath.get(siblingPath(row.path, id));
        if (from) {
          ends(from, true).forEach((a) => ends(row, false).forEach((b) => edges.push([a, b])));
        }
      }
      if (inner(row)) {
        connect(row.children);
      }
    }
  };
  const roots = treeOf(nodes);
  roots.forEach(place);
  connect(roots);
  return { boxes, edges };
}

function siblingPath(path, id) {
  const parent = parentOf(path);
  return parent === "" ? id : `${parent}/${id}`;
}
