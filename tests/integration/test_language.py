#!/usr/bin/env python3
"""Keys of the language that change how a workflow runs: what each does when it is run."""

import json
import unittest

from program import ProgramTest

TASKS = {
    "same": {"type": "echo", "inputs": {"a": "int"}, "outputs": {"b": "int"}},
    "fail": {"type": "echo", "inputs": {"a": "int"}, "outputs": {"b": "int"},
             "config": {"fail": 99, "code": "Told", "message": "no luck"}},
    "flaky": {"type": "echo", "inputs": {"a": "int"}, "outputs": {"b": "int"}, "retries": 2,
              "backoff": {"first": "10ms"}, "config": {"fail": 2}},
    "slow": {"type": "echo", "inputs": {"a": "int"}, "outputs": {"b": "int"},
             "config": {"delay_ms": 60000}},
    "even": {"inputs": {"a": "int"}, "outputs": {"b": "int"},
             "run": ["sh", "-c", "test $(($1 % 2)) = 0 && echo \"{\\\"b\\\": $1}\" > "
                     "$TROUPE_OUTPUTS", "sh", "{{.inputs.a}}"]},
    "note": {"run": ["sh", "-c", "echo \"$1\" >> \"$TROUPE_FOLDER/notes\"", "sh", "{{.inputs.w}}"],
             "inputs": {"w": "string"}},
}


class LanguageTest(ProgramTest):
    def run_nodes(self, nodes, outputs=None, status=0, **keys):
        workflow = {"nodes": nodes, **keys}
        if outputs:
            workflow["outputs"] = outputs
        self.write("flow.yaml", json.dumps({"troupe": 1, "tasks": TASKS,
                                            "workflows": {"main": workflow}}))
        return self.document("run", "flow.yaml", status=status)

    def test_retries_and_backoff(self):
        nodes = {"n": {"task": "flaky", "with": {"a": 1}}}
        self.assertEqual(self.run_nodes(nodes, {"b": "$n.b"})["outputs"], {"b": 1})
        nodes["n"]["retries"] = 1
        self.assertIn("it was told to fail", self.run_nodes(nodes, status=1)["error"]["message"])

    def test_no_success_may_be_enough(self):
        for criterion in ({"min_successes": 0}, {"min_success_ratio": 0}):
            nodes = {"m": {"map": "fail", "with": {"a": [1, 2]}, **criterion}}
            self.assertEqual(self.run_nodes(nodes, {"b": "$m.b"})["outputs"], {"b": [None, None]})

    def test_warnings_stand_in_no_way(self):
        nodes = {"n": {"task": "note", "with": {"w": "hello $name"}}}
        self.write("flow.yaml", json.dumps({
            "troupe": 1, "tasks": TASKS, "workflows": {"main": {
                "inputs": {"name": {"type": "string", "default": "Ada"}}, "nodes": nodes}}}))
        told = r"^flow.yaml:1:\d+: warning: main.n: '\$name' inside a longer text is plain text; "
        self.assertRegex(self.troupe("check", "flow.yaml")[0], told)
        problem, = self.document("check", "flow.yaml")
        self.assertEqual((problem["severity"], problem["line"]), ("warning", 1))
        self.assertRegex(self.troupe("run", "flow.yaml")[1], told)
        self.assertEqual(self.troupe("run", "flow.yaml", "-q")[1], "")

    def test_projects_and_domains(self):
        self.write("flow.yaml", json.dumps({
            "troupe": 1, "project": "shop", "domain": "production", "tasks": TASKS, "workflows": {
                "main": {"description": "for people alone", "nodes": {
                    "n": {"task": "same", "with": {"a": 1}, "interruptible": True}}}}}))
        self.troupe("run", "flow.yaml", "--name", "one", "-q")
        row = self.document("get", "shop/production/one")
        self.assertEqual((row["project"], row["domain"]), ("shop", "production"))
        self.assertEqual(self.document("list", "--project", "default"), [])
        self.assertEqual(len(self.document("list", "--domain", "production")), 1)

    def test_resources(self):
        resources = {"cpu": "100m", "memory": "1Mi", "gpu": 1, "storage": "1Gi",
                     "ephemeral_storage": "1Gi"}
        nodes = {"n": {"task": "even", "with": {"a": 2}, "resources": resources}}
        self.assertEqual(self.run_nodes(nodes, {"b": "$n.b"})["outputs"], {"b": 2})
        nodes["n"]["resources"] = {"cpu": 4000}
        error = self.run_nodes(nodes, status=1)["error"]
        self.assertIn("ResourcesExceedLimits", error["code"])
        self.assertIn("it asks for 4000000 thousandths of a CPU, and this machine has",
                      error["message"])

    def test_optional(self):
        nodes = {"n": {"task": "fail", "with": {"a": 1}, "optional": True}}
        self.assertEqual(self.run_nodes(nodes, {"b": "$n.b"})["outputs"], {"b": None})

    def test_timeouts_and_deadlines(self):
        nodes = {"n": {"task": "slow", "with": {"a": 1}, "timeout": "50ms"}}
        error = self.run_nodes(nodes, status=1)["error"]
        self.assertIn("task execution timeout [50ms] expired", error["message"])
        nodes = {"n": {"task": "slow", "with": {"a": 1}, "deadline": "50ms"}}
        self.assertIn("TimeoutExpired", self.run_nodes(nodes, status=1)["error"]["code"])
        nodes = {"n": {"task": "slow", "with": {"a": 1}}}
        self.assertEqual(self.run_nodes(nodes, status=1, timeout="50ms")["phase"], "timed out")

    def test_clean_up(self):
        nodes = {"n": {"task": "fail", "with": {"a": 1}}}
        self.run_nodes(nodes, status=1,
                       on_failure={"task": "note", "with": {"w": "$err.code"}},
                       **{"finally": {"task": "note", "with": {"w": "in any case"}}})
        notes = (self.folder / "notes").read_text().splitlines()
        self.assertEqual(len(notes), 2)
        self.assertIn("Told", notes[0])
        self.assertEqual(notes[1], "in any case")

    def test_maps_with_failures(self):
        nodes = {"n": {"map": "even", "with": {"a": [0, 1, 2]}, "min_successes": 2,
                       "errors": "errors", "parallelism": 1}}
        outputs = self.run_nodes(nodes, {"b": "$n.b", "e": "$n.errors"})["outputs"]
        self.assertEqual(outputs["b"], [0, None, 2])
        self.assertEqual([e and e["element"] for e in outputs["e"]], [None, 1, None])
        nodes["n"]["min_successes"] = 3
        self.assertEqual(self.run_nodes(nodes, status=1)["error"]["node"], "n")

    def test_switches(self):
        for size, expected in ((5, 5), (1, None)):
            nodes = {"n": {"task": "same", "with": {"a": size}},
                     "s": {"switch": [{"when": "$n.b > 3", "task": "same", "with": {"a": "$n.b"}},
                                      {"else": "skip"}]}}
            self.assertEqual(self.run_nodes(nodes, {"b": "$s.b"})["outputs"], {"b": expected})
        nodes["s"]["switch"] = [{"when": "$n.b > 3", "task": "same", "with": {"a": 1}},
                                {"fail": "too small"}]
        self.assertIn("too small", self.run_nodes(nodes, status=1)["error"]["message"])

    def test_order_and_policy(self):
        nodes = {"a": {"task": "fail", "with": {"a": 1}},
                 "b": {"task": "note", "with": {"w": "b"}},
                 "c": {"task": "note", "with": {"w": "c"}, "after": ["b"]}}
        self.run_nodes(nodes, status=1, policy="finish_runnable", max_parallelism=1)
        self.assertEqual((self.folder / "notes").read_text(), "b\nc\n")

    def test_include(self):
        """Files that include each other; each task's folder is that of its file."""
        (self.folder / "sub" / "deep").mkdir(parents=True)
        script = self.write("sub/say.sh", "#!/bin/sh\necho \"{\\\"f\\\": \\\"$TROUPE_FOLDER\\\"}\" "
                            "> $TROUPE_OUTPUTS\n")
        script.chmod(0o755)
        say = {"outputs": {"f": "string"}}
        self.write("sub/common.yaml", json.dumps({
            "troupe": 1, "include": ["deep/more.yaml"],
            "tasks": {"here": {**say, "run": ["./say.sh"]}},
            "launch_plans": {"p": {"workflow": "inner"}}}))
        self.write("sub/deep/more.yaml", json.dumps({
            "troupe": 1, "include": ["../common.yaml"],
            "tasks": {"there": {**say, "run": ["../say.sh"]}},
            "workflows": {"inner": {"nodes": {"n": {"task": "there"}}, "outputs": {"f": "$n.f"}}}}))
        self.write("flow.yaml", json.dumps({
            "troupe": 1, "include": ["sub/common.yaml"],
            "workflows": {"main": {
                "nodes": {"a": {"task": "here"}, "b": {"workflow": "inner"}, "c": {"launch": "p"}},
                "outputs": {"a": "$a.f", "b": "$b.f", "c": "$c.f"}}}}))
        sub = str(self.folder / "sub")
        self.assertEqual(self.document("run", "flow.yaml")["outputs"],
                         {"a": sub, "b": sub + "/deep", "c": sub + "/deep"})


if __name__ == "__main__":
    unittest.main()
