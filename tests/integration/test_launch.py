#!/usr/bin/env python3
"""Launch nodes: executions that start others, what is left when they end or are killed."""

import json
import os
import signal
import unittest

from program import ProgramTest, wait_until

TASKS = {
    "same": {"type": "echo", "inputs": {"a": "int"}, "outputs": {"b": "int"}},
    "fail": {"type": "echo", "inputs": {"a": "int"},
             "config": {"fail": 99, "code": "Told", "message": "no luck"}},
    "slow": {"type": "echo", "inputs": {"a": "int"}, "outputs": {"b": "int"},
             "config": {"delay_ms": 60000}},
    "wait": {"inputs": {"a": "int"}, "outputs": {"b": "int"}, "grace": "5s",
             "run": ["sh", "-c", "trap 'echo x >> $TROUPE_FOLDER/stopped; exit 1' TERM; "
                     "echo $1 $$ >> $TROUPE_FOLDER/begun; "
                     "while [ ! -e $TROUPE_FOLDER/go ]; do sleep 0.02; done; "
                     "echo \"{\\\"b\\\": $1}\" > $TROUPE_OUTPUTS", "sh", "{{.inputs.a}}"]},
}


def body_of(task, outputs=True):
    """A workflow of one task."""
    workflow = {"inputs": {"a": "int"}, "nodes": {"t": {"task": task, "with": {"a": "$a"}}}}
    if outputs:
        workflow["outputs"] = {"b": "$t.b"}
    return workflow


class LaunchTest(ProgramTest):
    def write_flow(self, nodes, outputs=None, **workflows):
        main = {"nodes": nodes, **({"outputs": outputs} if outputs else {})}
        plans = {"p_" + name: {"workflow": name} for name in workflows}
        self.write("flow.yaml", json.dumps({
            "troupe": 1, "tasks": TASKS, "workflows": {"main": main, **workflows},
            "launch_plans": plans}))

    def executions(self):
        return {row["execution"]: row for row in self.document("list", "--all", "--limit", "5000")}

    def begun(self, count):
        """The processes of the waiting tasks, when there are so many."""
        path = self.folder / "begun"

        def lines():
            return path.read_text().splitlines() if path.exists() else []
        wait_until(lambda: len(lines()) >= count, f"{count} tasks begin")
        return [int(line.split()[1]) for line in lines()]

    def test_they_are_executions_of_their_own(self):
        self.write_flow({"one": {"launch": "p_body", "with": {"a": 3}},
                         "two": {"launch": "body", "with": {"a": 4}},
                         "all": {"map": "p_body", "with": {"a": [5, 6]}}},
                        {"one": "$one.b", "two": "$two.b", "all": "$all.b"}, body=body_of("same"))
        document = self.document("run", "flow.yaml", "--name", "it")
        self.assertEqual(document["outputs"], {"one": 3, "two": 4, "all": [5, 6]})
        rows = self.executions()
        self.assertEqual(len(rows), 5)
        parents = sorted(row["parent"] for row in rows.values())
        self.assertEqual(parents, ["", "/default/development/it/all[0]",
                                   "/default/development/it/all[1]",
                                   "/default/development/it/one", "/default/development/it/two"])
        for node in ("it/one", "it/all[1]"):
            target = self.document("get", node)["target"]
            name = target.rsplit("/", 1)[1]
            self.assertTrue(name.startswith("p-body-"), name)
            self.assertEqual(rows[name]["plan"], "p_body")
            launched = self.document("get", name)
            self.assertEqual(launched["parent"], "/default/development/" + node)
            self.assertEqual(launched["cause"], "launched by " + node)

    def test_a_failure_comes_through(self):
        self.write_flow({"one": {"launch": "bad", "with": {"a": 3}}}, bad=body_of("fail", False))
        error = self.document("run", "flow.yaml", status=1)["error"]
        self.assertEqual(error["node"], "one")
        self.assertEqual(error["code"], "RetriesExhausted|Told")
        self.assertRegex(error["message"], r"^the launched execution bad-\w+ failed at t: ")
        self.assertIn("no luck", error["message"])

    def test_one_that_is_aborted_by_itself(self):
        self.write_flow({"one": {"launch": "body", "with": {"a": 3}}}, body=body_of("wait"))
        running = self.start("run", "flow.yaml", "--name", "it")
        self.begun(1)
        name = next(name for name in self.executions() if name != "it")
        text, _ = self.troupe("explain", "it")
        self.assertIn(f"one: it waits for the execution {name}", text)
        self.troupe("abort", name)
        self.assertEqual(running.end()[0], 1)
        error = self.document("get", "it")["error"]
        self.assertEqual(error["code"], "RemoteChildWorkflowExecutionFailed")
        self.assertIn(f"the launched execution {name} was aborted", error["message"])

    def test_an_abort_leaves_nothing(self):
        self.write_flow({"one": {"launch": "p_middle", "with": {"a": 3}},
                         "all": {"map": "p_body", "with": {"a": [5, 6]}}},
                        middle={"inputs": {"a": "int"},
                                "nodes": {"in": {"launch": "body", "with": {"a": "$a"}}}},
                        body=body_of("wait"))
        running = self.start("run", "flow.yaml", "--name", "it", "--jobs", "4")
        pids = self.begun(3)
        running.signal(signal.SIGINT)
        self.assertEqual(running.end()[0], 3)
        self.assertEqual({row["phase"] for row in self.executions().values()}, {"aborted"})
        self.assertEqual(len((self.folder / "stopped").read_text().splitlines()), 3)
        for pid in pids:
            self.assertFalse(os.path.exists(f"/proc/{pid}"))

    def test_a_deadline_ends_it(self):
        self.write_flow({"one": {"launch": "body", "with": {"a": 3}, "deadline": "2s"}},
                        body=body_of("slow"))
        error = self.document("run", "flow.yaml", status=1)["error"]
        self.assertEqual((error["code"], error["message"]),
                         ("TimeoutExpired", "the node ran longer than its deadline"))
        self.assertEqual(sorted(row["phase"] for row in self.executions().values()),
                         ["aborted", "failed"])

    def test_a_killed_engine_goes_on(self):
        self.write_flow({"one": {"launch": "body", "with": {"a": 3}},
                         "all": {"map": "p_body", "with": {"a": [5, 6]}}},
                        {"one": "$one.b", "all": "$all.b"}, body=body_of("wait"))
        running = self.start("run", "flow.yaml", "--name", "it", "--jobs", "4")
        self.begun(3)
        running.signal(signal.SIGKILL)
        running.end()
        self.write("go", "")
        document = self.document("resume", "it")
        self.assertEqual(document["outputs"], {"one": 3, "all": [5, 6]})
        self.assertEqual(len((self.folder / "begun").read_text().splitlines()), 3)
        self.assertEqual(len(self.executions()), 4)

    def test_a_thousand(self):
        self.write_flow({"all": {"map": "p_body", "with": {"a": list(range(1000))}}},
                        {"all": "$all.b"}, body=body_of("same"))
        document = self.document("run", "flow.yaml")
        self.assertEqual(document["outputs"]["all"], list(range(1000)))
        self.assertEqual(len(self.executions()), 1001)

    def test_how_deep_they_launch_each_other_is_bounded(self):
        decide = {"outputs": {"r": "int"}, "run": [
            "sh", "-c", "echo '{\"nodes\": {\"n\": {\"launch\": \"again\"}}, "
            "\"outputs\": {\"r\": \"$n.r\"}}' > $TROUPE_OUTPUTS"]}
        self.write("flow.yaml", json.dumps({
            "troupe": 1, "tasks": {"decide": decide}, "workflows": {
                "again": {"nodes": {"d": {"dynamic": "decide"}}, "outputs": {"r": "$d.r"}}}}))
        error = self.document("run", "flow.yaml", status=1)["error"]
        self.assertEqual(error["code"], "LaunchRefused")
        self.assertRegex(error["message"], r"^the launched execution again-\w+ failed at d/n: "
                         r"again-\w+ could not be launched: .* TR_LAUNCH_DEPTH_MAX \(32\) deep$")
        self.assertEqual(len(self.executions()), 33)

    def test_what_launches_itself_is_refused(self):
        self.write_flow({"one": {"launch": "p_again"}},
                        again={"nodes": {"n": {"launch": "p_again"}}})
        stdout, _ = self.troupe("check", "flow.yaml", status=2)
        self.assertIn("the workflow 'again' holds itself through this node", stdout)


if __name__ == "__main__":
    unittest.main()
