#!/usr/bin/env python3
"""Bounds over what runs at once: pools, resources, max_parallelism, --jobs."""

import json
import os
import time
import unittest

from program import ProgramTest, wait_until

# Writes when it began and when it ended; the test counts how many were there at once. The first
# ones wait until as many have begun as may be there together.
STAMP = ("date +%s%N | sed 's/$/ 1/' >> $TROUPE_FOLDER/stamps; "
         "until [ $(grep -c ' 1$' $TROUPE_FOLDER/stamps) -ge TOGETHER ]; do sleep 0.02; done; "
         "sleep 0.15; date +%s%N | sed 's/$/ -1/' >> $TROUPE_FOLDER/stamps")


class BoundsTest(ProgramTest):
    def write_flow(self, name="flow.yaml", nodes=None, pools=None, workflow=None, together=1,
                   **task):
        stamp = STAMP.replace("TOGETHER", str(together))
        definition = {
            "troupe": 1,
            "tasks": {"t": {"inputs": {"a": "int"}, "run": ["sh", "-c", stamp], **task}},
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
        self.write_flow(together=4)
        self.troupe("run", "flow.yaml", "--jobs", "4", "-q")
        self.assertEqual(self.at_once(), 4)
        (self.folder / "stamps").unlink()
        self.write_flow()
        self.troupe("run", "flow.yaml", "--jobs", "1", "-q")
        self.assertEqual(self.at_once(), 1)

    def test_a_pool_bounds_all_executions_together(self):
        self.write_flow(pools={"crm": {"at_once": 2}}, pool="crm", together=2)
        engine = self.start("run", "flow.yaml", "--jobs", "8")
        engine.wait_for("n: running")
        self.troupe("run", "flow.yaml", "-q")
        self.assertEqual(engine.end()[0], 0)
        self.assertEqual(len(self.stamps()), 16)
        self.assertEqual(self.at_once(), 2)

    def test_a_pool_bounds_starts_in_a_second(self):
        self.write_flow(pools={"crm": {"per_second": 5}}, pool="crm",
                        nodes={"n": {"map": "t", "with": {"a": list(range(13))}}})
        begin = time.monotonic()
        self.troupe("run", "flow.yaml", "--jobs", "8", "-q")
        # Five may begin at once; the others follow at five in a second.
        self.assertGreaterEqual(time.monotonic() - begin, 1.6)

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
        wait_until(lambda: "crm" in self.troupe("explain", "it")[0], "explain names the pool")
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
        self.write_flow(nodes=nodes, workflow={"max_parallelism": 2}, together=2)
        self.troupe("run", "flow.yaml", "--jobs", "8", "-q")
        self.assertEqual(self.at_once(), 2)

    def test_parallelism_of_a_map(self):
        self.write_flow(nodes={"n": {"map": "t", "with": {"a": [1, 2, 3, 4]}, "parallelism": 2}},
                        together=2)
        self.troupe("run", "flow.yaml", "--jobs", "8", "-q")
        self.assertEqual(self.at_once(), 2)


if __name__ == "__main__":
    unittest.main()
