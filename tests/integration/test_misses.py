#!/usr/bin/env python3
"""Why the cache had nothing: in which input, version or interface the nearest entry differs."""

import json
import pathlib
import shutil
import unittest

from program import ProgramTest

COMPARED = 256  # entries with other inputs
KEPT = 1000  # misses of a map


class MissesTest(ProgramTest):
    def run_flow(self, name, version="v1", values=None, output="int", **keys):
        """Runs a task with cached results under a name; what `explain` says of its misses."""
        inputs = {"a": "int", "f": "file", "note": "string"}
        values = {"a": 1, "f": str(self.folder / "f.txt"), "note": "x", **(values or {})}
        task = {"inputs": inputs, "outputs": {"y": output},
                "cache": {"version": version, "ignore": ["note"]},
                "run": ["sh", "-c", "echo '{\"y\": 1}' > $TROUPE_OUTPUTS"], **keys}
        self.write("flow.yaml", json.dumps({
            "troupe": 1, "tasks": {"t": task},
            "workflows": {"main": {"nodes": {"n": {"task": "t", "with": values}}}}}))
        self.troupe("run", "flow.yaml", "-q", "--name", name,
                    status=1 if "exit" in task["run"][-1] else 0)
        return self.misses(f"{name}/n")

    def misses(self, target):
        lines = self.troupe("explain", target)[0].splitlines()
        return [line.split("cache miss: ", 1)[1] for line in lines if "cache miss: " in line]

    def setUp(self):
        super().setUp()
        self.write("f.txt", "one")

    def test_an_input_and_a_version_that_differ(self):
        self.assertEqual(self.run_flow("first"), ["no earlier result of this task is in the cache"])
        [miss] = self.run_flow("second", values={"a": 2})
        self.assertRegex(miss, r"^the nearest entry \(of first/n, \d+s ago\) differs in input 'a'$")
        [miss] = self.run_flow("third", version="v2", values={"a": 2})
        self.assertRegex(miss, r"\(of second/n, \d+s ago\) differs in the version: v1, now v2$")
        self.write("f.txt", "two")
        [miss] = self.run_flow("fourth", version="v2", values={"a": 2})
        self.assertRegex(miss, r"\(of third/n, \d+s ago\) differs in input 'f'$")
        [miss] = self.run_flow("fifth", version="v3", values={"a": 9})
        self.assertRegex(miss, r"differs in input 'a' and in the version: v2, now v3$")
        [miss] = self.run_flow("sixth", version="v3", values={"a": 9}, output="float")
        self.assertRegex(miss, r"\(of fifth/n, \d+s ago\) differs in the interface of the task$")
        # What is ignored does not count, and what was there is no miss.
        self.assertEqual(self.run_flow("seventh", version="v2", values={"a": 2, "note": "z"}), [])
        # What came into the cache later says nothing about what missed before.
        self.assertEqual(self.misses("first/n"), ["no earlier result of this task is in the cache"])

    def test_as_a_document_also_of_what_failed(self):
        self.run_flow("first")
        self.run_flow("second", values={"a": 2}, run=["sh", "-c", "exit 1"], retries=0)
        [miss] = self.document("explain", "second/n")["cache"]
        self.assertEqual((miss["node"], miss["element"], miss["version"], miss["is_cut"]),
                         ("n", None, "v1", False))
        nearest = miss["nearest"]
        self.assertEqual(nearest["made_at"][:2], "20")
        del nearest["made_at"]
        self.assertEqual(nearest, {"execution": "first", "node": "n", "element": None,
                                   "version": "v1", "differs_in_version": False,
                                   "differs_in_interface": False, "differs_in_inputs": ["a"]})
        self.assertEqual(self.document("explain", "second")["cache"], [])
        self.assertIsNone(self.document("explain", "first/n")["cache"][0]["nearest"])

    def test_a_damaged_entry_is_none(self):
        self.run_flow("first")
        for path in self.store.glob("cache/*/*"):
            path.write_bytes(b"\x9a\x01")
        shutil.copy(path, pathlib.Path(path.parent, "of-another-length"))
        [miss] = self.run_flow("second", values={"a": 2})
        self.assertEqual(miss, "no earlier result of this task is in the cache")
        shutil.rmtree(self.store / "cache")
        self.assertEqual(len(self.misses("second/n")), 1)

    def test_elements_and_limits(self):
        def run(name, version, xs):
            self.write("map.yaml", json.dumps({
                "troupe": 1,
                "tasks": {"t": {"type": "echo", "inputs": {"a": "int"}, "outputs": {"b": "int"},
                                "cache": version}},
                "workflows": {"main": {"nodes": {"m": {"map": "t", "with": {"a": list(xs)}}}}}}))
            self.troupe("run", "map.yaml", "-q", "--name", name)
        run("first", "v1", range(COMPARED + 10))
        run("second", "v1", [-1])
        run("third", "v2", range(KEPT + 2))
        # The entry of the same input is found among all.
        self.assertRegex(self.misses("third/m[170]")[0],
                         r"\(of first/m\[170\], \d+s ago\) differs in the version: v1, now v2$")
        self.assertRegex(self.misses("second/m[0]")[0],
                         r"differs in input 'a'; it has many, and some were not compared$")
        out = self.troupe("explain", "third/m")[0]
        self.assertEqual(out.count("cache miss: "), 3)
        self.assertIn("\n  and 997 more of its elements were not in the cache; -v shows all\n", out)
        self.assertEqual(self.misses("third/m[1001]"), [])
        self.assertIn("what it looked for in a cache is not kept: that is of the first 1000 "
                      "elements (TR_CACHE_MISSES_MAX)", self.troupe("explain", "third/m[1001]")[0])


if __name__ == "__main__":
    unittest.main()
