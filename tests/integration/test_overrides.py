#!/usr/bin/env python3
"""What a node overrides of its task, alone and for each element of a map, as processes see it."""

import json
import os
import time
import unittest

from program import ProgramTest


class OverridesTest(ProgramTest):
    def write_flow(self, script, node=None, is_map=False, workflow=None, **task):
        """One task that runs a script; the node's keys go over its own."""
        body = {"map": "t", "with": {"a": [1, 2]}} if is_map else {"task": "t", "with": {"a": 1}}
        self.write("flow.yaml", json.dumps({
            "troupe": 1,
            "tasks": {"t": {"inputs": {"a": "int"}, "run": ["sh", "-c", script], **task}},
            "workflows": {"main": {"nodes": {"n": {**body, **(node or {})}}, **(workflow or {})}}}))

    def lines(self, name="out"):
        path = self.folder / name
        return path.read_text().splitlines() if path.exists() else []

    def forget(self):
        (self.folder / "out").unlink(missing_ok=True)

    def test_retries(self):
        for is_map in (False, True):
            # Of a map both elements use up their tries: one failure alone does not end it.
            node = {"retries": 2, **({"min_successes": 1} if is_map else {})}
            self.write_flow("echo $TROUPE_ATTEMPT >> $TROUPE_FOLDER/out; exit 1", node, is_map,
                            retries=0)
            self.troupe("run", "flow.yaml", "-q", "--jobs", "2", status=1)
            self.assertEqual(sorted(self.lines()), sorted("012" * (2 if is_map else 1)))
            self.forget()

    def test_backoff_grows_to_its_bound(self):
        script = "date +%s%N >> $TROUPE_FOLDER/out; exit 1"
        self.write_flow(script, {"backoff": {"first": "200ms", "factor": 100, "max": "400ms"}},
                        retries=2)
        self.troupe("run", "flow.yaml", "-q", status=1)
        first, second, third = map(int, self.lines())
        # Half to all of 200 ms, then half to all of the bound, not of 20 s.
        self.assertGreaterEqual(second - first, 0.1e9)
        self.assertGreaterEqual(third - second, 0.2e9)
        self.assertLess(third - second, 10e9)

    def test_timeout_and_grace(self):
        script = "trap '' TERM; echo x >> $TROUPE_FOLDER/out; while :; do sleep 0.05; done"
        for is_map in (False, True):
            self.write_flow(script, {"timeout": "200ms", "grace": "100ms"}, is_map,
                            timeout="60s", grace="60s")
            began = time.monotonic()
            error = self.document("run", "flow.yaml", status=1)["error"]
            self.assertLess(time.monotonic() - began, 30)
            self.assertIn("task execution timeout [200ms] expired", error["message"])

    def test_cache(self):
        for is_map, count in ((False, 1), (True, 2)):
            self.write_flow("echo x >> $TROUPE_FOLDER/out; echo '{\"b\": 1}' > $TROUPE_OUTPUTS",
                            {"cache": f"v{count}"}, is_map, outputs={"b": "int"})
            self.troupe("run", "flow.yaml", "-q")
            self.troupe("run", "flow.yaml", "-q")
            self.assertEqual(len(self.lines()), count)
            self.forget()

    def test_env_is_merged_key_by_key(self):
        for is_map in (False, True):
            self.write_flow("echo $ONE $TWO $THREE >> $TROUPE_FOLDER/out",
                            {"env": {"TWO": "node", "THREE": "node"}}, is_map,
                            env={"ONE": "task", "TWO": "task"})
            self.troupe("run", "flow.yaml", "-q")
            self.assertEqual(set(self.lines()), {"task node node"})
            self.forget()

    def test_secrets_are_merged_key_by_key(self):
        os.environ["TROUPE_SECRET_ONE_KEY"] = "first"
        os.environ["TROUPE_SECRET_TWO_KEY"] = "second"
        self.write_flow("echo $A $B $(cat $C) >> $TROUPE_FOLDER/out",
                        {"secrets": {"B": "two/key", "C": {"file": "two/key"}}},
                        secrets={"A": "one/key", "B": "one/key"})
        self.troupe("run", "flow.yaml", "-q")
        self.assertEqual(self.lines(), ["first second second"])

    def test_config_is_merged_key_by_key(self):
        self.write_flow("ulimit -n >> $TROUPE_FOLDER/out; ulimit -t >> $TROUPE_FOLDER/out",
                        {"config": {"limits": {"open_files": 41}}},
                        config={"limits": {"open_files": 37}})
        self.troupe("run", "flow.yaml", "-q")
        self.assertEqual(self.lines()[0], "41")

    def test_the_name_is_what_people_see(self):
        self.write_flow("true", {"name": "Count the words"})
        self.troupe("run", "flow.yaml", "-q", "--name", "it")
        self.assertEqual(self.document("get", "it/n")["name"], "Count the words")

    def test_a_deadline_bounds_all_attempts(self):
        for is_map in (False, True):
            self.write_flow("echo x >> $TROUPE_FOLDER/out; exit 1",
                            {"deadline": "3s", "retries": 1000,
                             "backoff": {"first": "200ms", "factor": 1}}, is_map)
            document = self.document("run", "flow.yaml", status=1)
            self.assertIn("Timeout", document["error"]["code"])
            self.assertGreater(len(self.lines()), 1)
            self.assertLess(len(self.lines()), 100)
            self.forget()

    def test_a_workflow_has_a_timeout(self):
        self.write_flow("sleep 60", workflow={"timeout": "200ms"}, grace="100ms")
        self.assertEqual(self.document("run", "flow.yaml", status=1)["phase"], "timed out")

    def test_other_nodes_have_no_such_keys(self):
        for key, value in (("retries", 1), ("backoff", {"first": "1s"}), ("timeout", "1s"),
                           ("grace", "1s"), ("cache", "v1"), ("interruptible", True),
                           ("resources", {"cpu": 1}), ("pool", "p"), ("env", {"A": "b"}),
                           ("config", {"a": 1}), ("secrets", {"A": "b/c"})):
            for body in ({"workflow": "inner"}, {"launch": "inner"}, {"sleep": "1s"},
                         {"switch": [{"when": "1 == 1", "workflow": "inner"}, {"else": "skip"}]}):
                self.write("flow.yaml", json.dumps({
                    "troupe": 1, "pools": {"p": {"at_once": 1}},
                    "tasks": {"t": {"run": ["true"]}},
                    "workflows": {"inner": {"nodes": {"n": {"task": "t"}}},
                                  "main": {"nodes": {"n": {**body, key: value}}}}}))
                stdout, _ = self.troupe("check", "flow.yaml", status=2)
                self.assertIn(f"'{key}' does not go with '{next(iter(body))}'", stdout)


if __name__ == "__main__":
    unittest.main()
