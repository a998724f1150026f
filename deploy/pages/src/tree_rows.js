/** Nodes of an execution as a tree: paths such as pages[0]/most lie below pages[0] and pages. */

/** The path that a node lies in; "" for those of the workflow itself. */
export function parentOf(path) {
  const at = path.lastIndexOf("/");
  return at < 0 ? "" : path.slice(0, at);
}

const arrayOf = (path) => path.replace(/\[\d+\]$/, "");

/** The rows in their order, each with its depth and whether others lie below it. */
export function treeOf(nodes) {
  const byPath = new Map();
  const roots = [];
  const below = (path) => {
    if (path === "") {
      return null;
    }
    const found = byPath.get(path);
    if (found) {
      return found;
    }
    const row = { path, label: labelOf(path), node: null, children: [] };
    put(row, arrayOf(path) === path ? parentOf(path) : arrayOf(path));
    return row;
  };
  const put = (row, parent) => {
    byPath.set(row.path, row);
    const above = below(parent);
    (above ? above.children : roots).push(row);
  };
  for (const node of nodes) {
    const known = byPath.get(node.node);
    if (known) {
      known.node = node;
    } else {
      put({ path: node.node, label: labelOf(node.node), node, children: [] }, parentOf(node.node));
    }
  }
  return roots;
}

const labelOf = (path) => path.slice(path.lastIndexOf("/") + 1).replace(/^.*(\[\d+\])$/, "$1");

/** All that is shown of a tree: what lies in a closed row is not. */
export function shownRows(roots, isOpen) {
  const rows = [];
  const walk = (row, depth) => {
    const open = row.children.length > 0 && isOpen(row.path, depth);
    rows.push({ ...row, depth, isOpen: open });
    if (open) {
      row.children.forEach((child) => walk(child, depth + 1));
    }
  };
  roots.forEach((row) => walk(row, 0));
  return rows;
}

/** The phase of a row that is an element, by those of its nodes. */
export function phaseOfRow(row) {
  if (row.node) {
    return row.node.is_waiting ? "waiting" : row.node.phase;
  }
  const phases = row.children.map(phaseOfRow);
  const first = ["failed", "waiting", "running", "not yet started"].find((phase) => phases.includes(phase));
  return first === "not yet started" && phases.some((phase) => phase !== first) ? "running" : (first ?? phases[0]);
}
