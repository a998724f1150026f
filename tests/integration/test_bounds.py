#!/usr/bin/env python3
"""Bounds over what runs at once: pools, resources, max_parallelism, --jobs."""

import json
import os
import time
import unittest

from program import ProgramTest

# Writes when it began and when it ended; the test counts how many were there at once.
STAMP = ("date +%s%N | sed 's/$/ 1/' >> $TROUPE_FOLDER/stamps; sleep 0.15; "
         "date +%s%N | sed 's/$/ -1/' >> $TROUPE_FOLDER/stamps")


class BoundsTest(ProgramTest):
    def write_flow(self, name="flow.yaml", nodes=None, pools=None, workflow=None, **task):
        definition = {
            "troupe": 1,
            "tasks": {"t": {"inputs": {"a": "int"}, "run": ["sh", "-c", STAMP], **task}},
            "workflows": {"main": {"nodes": nodes or {"n": {"map": "t", "with": {
                "a": [1, 2, 3, 4]}}}, **(workflow or {})}}}
        if pools:
            definition["pools"] = pools
        self.write(name, json.dumps(definition))

    def stamps(self):
        lines = (self.folder / "stamps").read_text().splitlines()
        return sorted(tuple(map(int, line.split())) for line in lines)

    def at_once(self):
        """The most that ran at the same time."""
        live, most = 0, 0
        for _, change in self.stamps():
            live += change
            most = max(most, live)
        self.assertEqual(live, 0)
        return most

    def test_nothing_bounds_them_but_jobs(self):
        self.write_flow()
        self.troupe("run", "flow.yaml", "--jobs", "4", "-q")
        self.assertGreater(self.at_once(), 1)
        (self.folder / "stamps").unlink()
        self.troupe("run", "flow.yaml", "--jobs", "1", "-q")
        self.assertEqual(self.at_once(), 1)

    def test_a_pool_bounds_all_executions_together(self):
        self.write_flow(pools={"crm": {"at_once": 2}}, pool="crm")
        engine = self.start("run", "flow.yaml", "--jobs", "8")
        engine.wait_for("n: running")
        self.troupe("run", "flow.yaml", "-q")
        self.assertEqual(engine.end()[0], 0)
        self.assertEqual(len(self.stamps()), 16)
        self.assertEqual(self.at_once(), 2)

    def test_a_pool_bounds_starts_in_a_second(self):
        self.write_flow(pools={"crm": {"per_second": 5}}, pool="crm",
                        nodes={"n": {"map": "t", "with": {"a": list(range(8))}}})
        self.troupe("run", "flow.yaml", "--jobs", "8", "-q")
        begun = [at for at, change in self.stamps() if change == 1]
        # Five may begin at once; the others follow at five in a second.
        self.assertGreaterEqual(begun[-1] - begun[0], 0.5e9)

    def test_a_node_names_a_pool(self):
        self.write_flow(pools={"crm": {"at_once": 1}},
                        nodes={"n": {"map": "t", "with": {"a": [1, 2, 3]}, "pool": "crm"}})
        self.troupe("run", "flow.yaml", "--jobs", "8", "-q")
        self.assertEqual(self.at_once(), 1)

    def test_explain_names_the_pool(self):
        self.write_flow(pools={"crm": {"at_once": 1}}, pool="crm",
                        run=["sh", "-c", "echo x > $TROUPE_FOLDER/begun; "
                             "while [ ! -e $TROUPE_FOLDER/go ]; do sleep 0.02; done"])
        engine = self.start("run", "flow.yaml", "--name", "it", "--jobs", "8")
        self.await_file("begun")
        end = time.monotonic() + 30
        while "crm" not in self.troupe("explain", "it")[0]:
            self.assertLess(time.monotonic(), end)
        self.write("go", "")
        self.assertEqual(engine.end()[0], 0)

    def test_resources_are_booked(self):
        cores = os.cpu_count()
        self.write_flow(resources={"cpu": cores})
        self.troupe("run", "flow.yaml", "--jobs", "8", "-q")
        self.assertEqual(self.at_once(), 1)

    def test_resources_that_the_machine_has_not(self):
        self.write_flow(resources={"memory": "100000Gi"}, nodes={"n": {"task": "t", "with": {
            "a": 1}}})
        error = self.document("run", "flow.yaml", status=1)["error"]
        self.assertIn("memory", error["message"])

    def test_a_node_books_its_own(self):
        self.write_flow(nodes={"n": {"map": "t", "with": {"a": [1, 2, 3]},
                                     "resources": {"cpu": os.cpu_count()}}})
        self.troupe("run", "flow.yaml", "--jobs", "8", "-q")
        self.assertEqual(self.at_once(), 1)

    def test_max_parallelism(self):
        nodes = {f"n{i}": {"task": "t", "with": {"a": i}} for i in range(4)}
        self.write_flow(nodes=nodes, workflow={"max_parallelism": 2})
        self.troupe("run", "flow.yaml", "--jobs", "8", "-q")
        self.assertEqual(self.at_once(), 2)

    def test_parallelism_of_a_map(self):
        self.write_flow(nodes={"n": {"map": "t", "with": {"a": [1, 2, 3, 4]}, "parallelism": 2}})
        self.troupe("run", "flow.yaml", "--jobs", "8", "-q")
        self.assertEqual(self.at_once(), 2)


if __name__ == "__main__":
    unittest.main()
