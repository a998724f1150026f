#!/usr/bin/env python3
"""The cache, as processes see it: who runs, and who takes what another made."""

import json
import unittest

from program import ProgramTest

# Says that it ran, and gives what it got.
RUN = ["sh", "-c", "echo $1 >> $TROUPE_FOLDER/ran; sleep ${2:-0}; "
       "echo \"{\\\"b\\\": $1}\" > $TROUPE_OUTPUTS", "sh", "{{.inputs.a}}"]


class CacheTest(ProgramTest):
    def write_flow(self, cache, with_=None, nodes=None, inputs=None, **task):
        task = {"inputs": {"a": "int", **(inputs or {})}, "outputs": {"b": "int"}, "run": RUN,
                "cache": cache, **task}
        if cache is None:
            del task["cache"]
        nodes = nodes or {"n": {"task": "t", "with": with_ or {"a": 1}}}
        self.write("flow.yaml", json.dumps({
            "troupe": 1, "tasks": {"t": task}, "workflows": {"main": {"nodes": nodes}}}))

    def run_flow(self, *words):
        """Runs it; how many processes there were so far."""
        self.troupe("run", "flow.yaml", "-q", *words)
        return len((self.folder / "ran").read_text().splitlines())

    def status(self):
        return self.document("get", "@last/n")["cache"]

    def test_a_result_is_taken(self):
        self.write_flow("v1")
        self.assertEqual(self.run_flow(), 1)
        self.assertEqual(self.status(), "populated")
        self.assertEqual(self.run_flow(), 1)
        self.assertEqual(self.status(), "hit")
        self.write_flow("v1", {"a": 2})
        self.assertEqual(self.run_flow(), 2)
        self.write_flow("v2", {"a": 2})
        self.assertEqual(self.run_flow(), 3)

    def test_refresh_and_off(self):
        self.write_flow("v1")
        self.assertEqual(self.run_flow("--cache", "off"), 1)
        self.assertEqual(self.run_flow(), 2)  # nothing was put there
        self.assertEqual(self.run_flow("--cache", "refresh"), 3)
        self.assertEqual(self.run_flow(), 3)
        self.assertEqual(self.run_flow("--cache", "off"), 4)

    def test_what_is_ignored_does_not_count(self):
        cache = {"version": "v1", "ignore": ["x"]}
        for x in (1, 2):
            self.write_flow(cache, {"a": 1, "x": x}, inputs={"x": "int"})
            self.assertEqual(self.run_flow(), 1)

    def test_serialized_work_is_done_once(self):
        run = [word.replace("${2:-0}", "0.2") for word in RUN]
        nodes = {f"n{i}": {"task": "t", "with": {"a": 1}} for i in range(4)}
        self.write_flow({"version": "v1", "serialize": True}, nodes=nodes, run=run)
        self.assertEqual(self.run_flow("--jobs", "4"), 1)

    def test_elements_are_cached_one_by_one(self):
        self.write_flow("v1", nodes={"n": {"map": "t", "with": {"a": [1, 2]}}})
        self.assertEqual(self.run_flow(), 2)
        self.write_flow("v1", nodes={"n": {"map": "t", "with": {"a": [1, 2, 3]}}})
        self.assertEqual(self.run_flow(), 3)

    def test_a_file_counts_by_its_content(self):
        run = ["sh", "-c", "echo x >> $TROUPE_FOLDER/ran; cp $1 out; "
               "echo '{\"b\": \"out\"}' > $TROUPE_OUTPUTS", "sh", "{{.inputs.a}}"]
        task = {"inputs": {"a": "file"}, "outputs": {"b": "file"}, "run": run}

        def flow(name, content):
            self.write(name, content)
            self.write_flow("v1", {"a": str(self.folder / name)}, **task)
        flow("one.txt", "same")
        self.assertEqual(self.run_flow(), 1)
        flow("two.txt", "same")
        self.assertEqual(self.run_flow(), 1)
        flow("two.txt", "other")
        self.assertEqual(self.run_flow(), 2)

    def test_a_failure_is_not_kept(self):
        self.write_flow("v1", run=["sh", "-c", "echo x >> $TROUPE_FOLDER/ran; exit 1"])
        self.troupe("run", "flow.yaml", "-q", status=1)
        self.troupe("run", "flow.yaml", "-q", status=1)
        self.assertEqual((self.folder / "ran").read_text(), "x\nx\n")


if __name__ == "__main__":
    unittest.main()
