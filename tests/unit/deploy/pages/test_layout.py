#!/usr/bin/env python3
"""Where the nodes of graphs are put, by Node.js: each behind what it waits for, none on another
one, ten thousand soon, and circles do no harm."""

import json
import pathlib
import random
import shutil
import subprocess
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[4]
LAYOUT = ROOT / "deploy/pages/src/layout.js"
NODE = shutil.which("node")
SOON_MS = 2000

SCRIPT = f"""
import {{ layout }} from {json.dumps(LAYOUT.as_uri())};
let text = "";
for await (const piece of process.stdin) {{ text += piece; }}
const {{ count, edges }} = JSON.parse(text);
const begin = performance.now();
const {{ x, y }} = layout(count, edges);
console.log(JSON.stringify({{ x: [...x], y: [...y], ms: performance.now() - begin }}));
"""


@unittest.skipIf(NODE is None, "node is not installed")
class Layout(unittest.TestCase):
    def place(self, count, edges):
        done = subprocess.run([NODE, "--input-type=module", "-e", SCRIPT], text=True, check=True,
                              input=json.dumps({"count": count, "edges": edges}),
                              capture_output=True)
        return json.loads(done.stdout)

    def assert_apart(self, found):
        """No two boxes share a place: they are 176 wide and 36 high, with gaps."""
        places = sorted(zip(found["x"], found["y"]))
        for (x, y), (other_x, other_y) in zip(places, places[1:]):
            self.assertTrue(other_x - x >= 176 or other_y - y >= 36, (x, y, other_x, other_y))

    def test_behind_what_it_waits_for(self):
        dice = random.Random(7)
        for count in (1, 2, 17, 300):
            edges = [[a, b] for a in range(count) for b in range(a + 1, count)
                     if dice.random() < 2 / count]
            found = self.place(count, edges)
            for a, b in edges:
                self.assertLess(found["x"][a], found["x"][b])
            self.assert_apart(found)

    def test_edges_that_need_not_cross(self):
        """Two chains whose nodes alternate lie apart."""
        count = 40
        found = self.place(count, [[i, i + 2] for i in range(count - 2)])
        self.assertEqual({found["y"][i] for i in range(0, count, 2)}, {found["y"][0]})
        self.assertEqual({found["y"][i] for i in range(1, count, 2)}, {found["y"][1]})

    def test_a_circle_is_placed(self):
        self.assertEqual(len(self.place(3, [[0, 1], [1, 2], [2, 1]])["x"]), 3)

    def test_ten_thousand_soon(self):
        edges = [[i - 1000, i] for i in range(1000, 10000)]
        edges += [[i - 997, i] for i in range(1000, 10000)]
        found = self.place(10000, edges)
        self.assertLess(found["ms"], SOON_MS)
        self.assert_apart(found)


if __name__ == "__main__":
    unittest.main()
