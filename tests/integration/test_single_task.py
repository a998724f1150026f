#!/usr/bin/env python3
"""`troupe run FILE TASK`: one task alone, as an execution of one node."""

import unittest

from program import ROOT, ProgramTest


class SingleTaskTest(ProgramTest):
    FLOW = """troupe: 1
tasks:
  add:
    inputs: {a: int, err: {type: int, default: 2}, when: datetime | none}
    outputs: {sum: int, when: datetime | none}
    stdout: outputs
    run: [echo, '{"sum": {{.inputs.a}}}']
  other: {type: echo, inputs: {x: "[float]"}, outputs: {x: "[float]"}}
workflows:
  main:
    inputs: {a: int}
    nodes: {add: {task: add, with: {a: $a}}}
    outputs: {sum: $add.sum}
launch_plans:
  plan: {workflow: main, inputs: {a: 5}}
"""

    def test_inputs_are_the_tasks(self):
        self.write("flow.yaml", self.FLOW)
        done = self.document("run", "flow.yaml", "add", "-i", "a=4", "--name", "it")
        self.assertEqual(done["outputs"], {"sum": 4, "when": None})
        shown = self.document("get", "it")
        self.assertEqual((shown["workflow"], shown["inputs"]), ("add", {"a": 4, "err": 2,
                                                                       "when": None}))
        self.assertEqual([row["node"] for row in shown["nodes"]], ["add"])
        done = self.document("run", "flow.yaml", "other", "-i", "x=[1, 2.5]")
        self.assertEqual(done["outputs"], {"x": [1.0, 2.5]})
        _, stderr = self.troupe("run", "flow.yaml", "add", "-i", "b=1", status=2)
        self.assertIn("there is no input 'b'", stderr)
        self.assertIn("the input 'a' (int) is missing; give it with -i a=VALUE", stderr)

    def test_it_goes_as_a_workflow_does(self):
        self.write("flow.yaml", self.FLOW)
        self.store.mkdir()
        engine = self.start("serve")
        engine.wait_for("serves")
        done = self.document("submit", "flow.yaml", "add", "-i", "a=4", "--wait", "--name", "one")
        self.assertEqual(done["outputs"]["sum"], 4)
        done = self.document("rerun", "one", "--from", "add", "-i", "a=6")
        self.assertEqual(done["outputs"]["sum"], 6)
        self.write("later.yaml", self.FLOW.replace("troupe: 1", "troupe: 1\n# changed"))
        done = self.document("rerun", "one", "--file", "later.yaml", "-i", "a=7")
        self.assertEqual(done["outputs"]["sum"], 7)
        self.write("without.yaml", "troupe: 1\ntasks: {t: {run: [date]}}\n")
        _, stderr = self.troupe("rerun", "one", "--file", "without.yaml", status=2)
        self.assertIn("without.yaml has no workflow 'add', which is what one ran", stderr)
        engine.signal(15)
        engine.end()

    def test_names_are_one_set(self):
        self.write("flow.yaml", self.FLOW)
        self.assertEqual(self.troupe("run", "flow.yaml", "plan", "-q")[0], "sum: 5\n")
        _, stderr = self.troupe("run", "flow.yaml", "ad", status=2)
        self.assertEqual(stderr, "troupe run: there is no workflow, launch plan or task 'ad'; did "
                         "you mean 'add'? flow.yaml has main, plan, add, other\n")
        _, stderr = self.troupe("run", "flow.yaml", "xyzzy", status=2)
        self.assertEqual(stderr, "troupe run: there is no workflow, launch plan or task 'xyzzy'; "
                         "flow.yaml has main, plan, add, other\n")
        self.assertEqual(self.troupe("check", "flow.yaml", "-o", "name")[0].split(),
                         ["main", "plan", "add", "other"])
        self.write("wrong.yaml", "troupe: 1\ntasks: {t: {rum: [date]}}\n")
        stdout, stderr = self.troupe("check", "wrong.yaml", "-o", "name", status=2)
        self.assertEqual(stdout, "")
        self.assertIn("'rum' is no key of a task", stderr)

    def test_what_is_run_where_nobody_names_it(self):
        one = "troupe: 1\ntasks:\n  a: {type: echo, inputs: {x: int}, outputs: {x: int}}\n"
        self.write("flow.yaml", one)
        self.assertEqual(self.troupe("run", "flow.yaml", "-i", "x=3", "-q")[0], "x: 3\n")
        self.write("flow.yaml", one + "  b: {type: echo}\n")
        self.assertEqual(self.troupe("run", "flow.yaml", "-i", "x=3", status=2)[1],
                         "troupe run: name what to run; flow.yaml has a, b\n")
        self.write("flow.yaml", "troupe: 1\n")
        self.assertEqual(self.troupe("run", "flow.yaml", status=2)[1],
                         "troupe run: name what to run; flow.yaml has nothing to run\n")

    def test_a_dynamic_task_decides(self):
        done = self.document("run", ROOT / "examples/workflows/dynamic.yaml", "halve", "-i",
                             "numbers=[1, 2, 3]", "--name", "it")
        self.assertEqual(done["outputs"], {"sum": 6})
        kinds = {row["node"]: row["kind"] for row in self.document("get", "it")["nodes"]}
        self.assertEqual((kinds["halve"], kinds["halve/both"]), ("dynamic", "task"))

    def test_a_shell_completes_the_names(self):
        self.write("flow.yaml", self.FLOW)
        for words, expected in ((["run", "flow.yaml", ""], {"main", "plan", "add", "other"}),
                                (["submit", "-q", "flow.yaml", "a"], {"add"}),
                                (["run", "flow"], {"flow.yaml"})):
            self.assertEqual(set(self.completed(*words)), expected, words)


if __name__ == "__main__":
    unittest.main()
