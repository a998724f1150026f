#!/usr/bin/env python3
"""Dynamic tasks with real processes: what they decide runs, and what is wrong with it is said."""

import json
import re
import signal
import unittest

from program import ROOT, ProgramTest

# Each task copies the document of its name; squares and naps are plain tasks.
FLOW = """
troupe: 1
tasks:
  plan: &plan
    inputs: {size: int}
    outputs: {sum: int}
    run: [sh, -c, 'cp "$TROUPE_FOLDER/plan.json" "$TROUPE_OUTPUTS"']
  deep: {<<: *plan, run: [sh, -c, 'cp "$TROUPE_FOLDER/deep.json" "$TROUPE_OUTPUTS"']}
  kept: {<<: *plan, cache: v1}
  piped: {<<: *plan, run: [sh, -c, 'cat "$TROUPE_FOLDER/plan.json"'], stdout: outputs}
  named:
    outputs: {nodes: int}
    run: [sh, -c, 'echo "{\\"nodes\\": 3}" > "$TROUPE_OUTPUTS"']
  square: &square
    inputs: {a: int}
    outputs: {b: int}
    run: [sh, -c, 'cat > in; a=$(tr -dc 0-9 < in); echo "{\\"b\\": $((a * a))}"']
    stdin: inputs
    stdout: outputs
  nap:
    inputs: {a: int}
    outputs: {b: int}
    run: [sh, -c, 'sleep 2; echo "{\\"b\\": 4}" > "$TROUPE_OUTPUTS"']
  stays:
    outputs: {b: int}
    run: [sleep, "600"]
  fails:
    outputs: {b: int}
    run: [sh, -c, 'echo no >&2; exit 3']
workflows:
  main:
    inputs: {size: {type: int, default: 3}}
    nodes: {d: {dynamic: plan, with: {size: $size}}}
    outputs: {sum: $d.sum}
  twice:
    inputs: {size: {type: int, default: 3}}
    nodes: {d: {dynamic: kept, with: {size: $size}}}
    outputs: {sum: $d.sum}
  over:
    inputs: {sizes: {type: "[int]", default: [1, 2, 3]}}
    nodes: {m: {map: main, with: {size: $sizes}}}
    outputs: {sums: $m.sum}
  depth:
    nodes: {d: {dynamic: deep, with: {size: 1}}}
    outputs: {sum: $d.sum}
  pipes:
    nodes: {d: {dynamic: piped, with: {size: 5}}}
    outputs: {sum: $d.sum}
  outputs:
    nodes: {d: {dynamic: named}}
    outputs: {n: $d.nodes}
  optional:
    nodes: {d: {dynamic: plan, with: {size: 1}, optional: true}}
    outputs: {sum: $d.sum}
"""

# Where the documents of examples/README.md are written.
REFERENCE = """
troupe: 1
tasks:
  decides:
    inputs: {a: int}
    outputs: {b: int}
    run: [sh, -c, 'cp "$TROUPE_FOLDER/plan.json" "$TROUPE_OUTPUTS"']
  one: {type: echo, inputs: {a: int}, outputs: {b: int}}
workflows:
  main:
    nodes: {n: {dynamic: decides, with: {a: 3}}}
    outputs: {b: $n.b}
"""

SQUARE = {"nodes": {"s": {"task": "square", "with": {"a": "$size"}}}, "outputs": {"sum": "$s.b"}}


class DynamicTest(ProgramTest):
    def setUp(self):
        super().setUp()
        self.write("flow.yaml", FLOW)

    def decide(self, document, name="plan.json"):
        self.write(name, document if isinstance(document, str) else json.dumps(document))

    def run_flow(self, workflow="main", *words, status=0):
        return self.document("run", "flow.yaml", workflow, *words, status=status)

    def nodes(self, execution="@last"):
        rows = self.document("get", execution)["nodes"]
        return {row["node"]: (row["kind"], row["phase"]) for row in rows}

    def test_what_is_decided_runs(self):
        self.decide({
            "tasks": {"double": {"inputs": {"a": "int"}, "outputs": {"b": "int"}, "stdin": "inputs",
                                "run": ["sh", "-c", "cat > in; a=$(tr -dc 0-9 < in); "
                                        "echo \"{\\\"b\\\": $((a * 2))}\" > $TROUPE_OUTPUTS"]}},
            "workflows": {"both": {
                "inputs": {"a": "int"},
                "nodes": {"s": {"task": "square", "with": {"a": "$a"}},
                          "t": {"task": "double", "with": {"a": "$s.b"}}},
                "outputs": {"b": "$t.b"}}},
            "nodes": {
                "m": {"map": "square", "with": {"a": [1, 2, "$size"]}},
                "w": {"workflow": "both", "with": {"a": "$m.b[2]"}},
                "c": {"switch": [{"when": "$size > 2", "task": "square", "with": {"a": "$w.b"}},
                                 {"else": {"task": "square", "with": {"a": 0}}}]}},
            "outputs": {"sum": "$c.b"}})
        self.assertEqual(self.run_flow()["outputs"], {"sum": 162 * 162})
        nodes = self.nodes()
        self.assertEqual(nodes["d"], ("dynamic", "succeeded"))
        self.assertEqual(nodes["d/m"], ("map", "succeeded"))
        self.assertEqual(nodes["d/w/t"], ("task", "succeeded"))
        self.assertEqual(nodes["d/c-n0"], ("task", "succeeded"))
        self.assertEqual(nodes["d/c-n1"], ("task", "skipped"))
        shown = self.document("get", "@last/d/w/s")
        self.assertEqual((shown["inputs"], shown["outputs"]), ({"a": 9}, {"b": 81}))
        self.assertEqual(self.document("get", "@last/d")["outputs"], {"sum": 162 * 162})
        self.assertEqual(self.document("get", "@last/d/m[1]")["outputs"], {"b": 4})
        self.assertIn("has no node 'd/w/x'", self.troupe("get", "@last/d/w/x", status=2)[1])
        self.assertIn("dynamic running", json.dumps(self.document("get", "@last/d")))

    def test_from_a_pipe(self):
        self.decide(SQUARE)
        self.assertEqual(self.run_flow("pipes")["outputs"], {"sum": 25})

    def test_plain_outputs(self):
        self.decide({"sum": 17})
        self.assertEqual(self.run_flow()["outputs"], {"sum": 17})
        self.assertEqual(self.nodes(), {"d": ("dynamic", "succeeded")})

    def test_no_nodes(self):
        self.decide({"nodes": {}, "outputs": {"sum": "$size"}})
        self.assertEqual(self.run_flow()["outputs"], {"sum": 3})

    def test_an_output_called_nodes(self):
        self.assertEqual(self.run_flow("outputs")["outputs"], {"n": 3})

    def test_in_a_map(self):
        self.decide(SQUARE)
        self.assertEqual(self.run_flow("over")["outputs"], {"sums": [1, 4, 9]})
        self.assertEqual(self.nodes()["m[2]/d/s"], ("task", "succeeded"))
        self.assertEqual(self.document("get", "@last/m[1]/d/s")["outputs"], {"b": 4})

    def test_in_itself(self):
        inner = {"nodes": {"d": {"dynamic": "plan", "with": {"size": 6}}},
                 "outputs": {"sum": "$d.sum"}}
        self.decide(inner, "deep.json")
        self.decide(SQUARE)
        self.assertEqual(self.run_flow("depth")["outputs"], {"sum": 36})
        self.assertEqual(self.nodes()["d/d/s"], ("task", "succeeded"))

    def test_nesting_ends(self):
        self.decide({"nodes": {"d": {"dynamic": "deep", "with": {"size": 1}}},
                     "outputs": {"sum": "$d.sum"}}, "deep.json")
        error = self.run_flow("depth", status=1)["error"]
        self.assertEqual(error["code"], "DynamicWorkflowBuildFailed")
        self.assertIn("workflows nest deeper than 64, counted through", error["message"])
        self.assertEqual(error["node"], "/".join(["d"] * 64))

    def test_all_errors_are_told(self):
        self.decide('{"nodes": {\n  "x": {"task": "sqare", "with": {"a": 1}},\n'
                    '  "y": {"task": "square", "with": {"a": "one"}}},\n "outputs": {}}')
        error = self.run_flow(status=1)["error"]
        self.assertEqual((error["code"], error["node"]), ("DynamicWorkflowBuildFailed", "d"))
        self.assertEqual(
            error["message"],
            "outputs:1:1: plan: the task declares the output 'sum', and the document does not give "
            "it; give it under outputs: {sum: a int} [ParameterNotBound]\n"
            "outputs:2:17: plan.x: there is no task 'sqare'; did you mean 'square'? "
            "[TaskReferenceNotFound]\n"
            "outputs:3:41: plan.y: 'one' is no value of type int; write a whole number of at most "
            "64 bits [MismatchingTypes]")
        self.assertEqual(self.run_flow("optional")["outputs"], {"sum": None})

    def test_the_documents_of_the_reference(self):
        text = (ROOT / "examples/README.md").read_text()
        blocks = re.findall(r"```json document\n(.*?)```\n(?:```text\n(.*?)```\n)?", text, re.S)
        self.assertGreater(len(blocks), 4)
        for document, errors in blocks:
            self.write("reference.yaml", REFERENCE)
            self.decide(document)
            done = self.document("run", "reference.yaml", status=1 if errors else 0)
            if errors:
                self.assertEqual(done["error"]["message"], errors.strip())
            else:
                self.assertIn("b", done["outputs"])

    def test_what_cannot_run_is_told(self):
        self.decide({"tasks": {"odd": {"type": "nobody"}}, "nodes": {"o": {"task": "odd"}},
                     "outputs": {"sum": 1}})
        self.assertIn("no plugin here runs tasks of type 'nobody'",
                      self.run_flow(status=1)["error"]["message"])

    def test_a_failure_inside(self):
        self.decide({"nodes": {"f": {"task": "fails"}}, "outputs": {"sum": "$f.b"}})
        error = self.run_flow(status=1)["error"]
        self.assertEqual(error["node"], "d/f")
        self.assertEqual(self.nodes(), {"d": ("dynamic", "failed"), "d/f": ("task", "failed")})
        self.assertEqual(self.troupe("logs", "@last/d/f")[0], "no\n")

    def test_what_it_gave_is_cached(self):
        self.decide(SQUARE)
        self.assertEqual(self.run_flow("twice")["outputs"], {"sum": 9})
        self.decide({"nodes": {}, "outputs": {"sum": 0}})
        self.assertEqual(self.run_flow("twice")["outputs"], {"sum": 9})
        self.assertEqual(self.document("get", "@last/d")["cache"], "hit")
        self.assertEqual(self.nodes(), {"d": ("dynamic", "succeeded")})

    def test_a_large_document(self):
        """It is larger than a message, and so comes from a file."""
        count = 5000
        nodes = {f"n{i}": {"switch": [{"when": "$size < 0", "task": "nap", "with": {"a": i}},
                                      {"else": "skip"}], "name": "x" * 100} for i in range(count)}
        nodes["s"] = {"task": "square", "with": {"a": "$size"}, "after": [f"n{count - 1}"]}
        self.decide({"nodes": nodes, "outputs": {"sum": "$s.b"}})
        self.assertEqual(self.run_flow("main", "-i", "size=7")["outputs"], {"sum": 49})

    def test_it_goes_on_after_a_kill(self):
        self.decide({"nodes": {"n": {"task": "nap", "with": {"a": "$size"}},
                               "s": {"task": "square", "with": {"a": "$n.b"}}},
                     "outputs": {"sum": "$s.b"}})
        running = self.start("run", "flow.yaml", "--name", "killed")
        running.wait_for("d/n: running")
        running.signal(signal.SIGKILL)
        running.end()
        told = self.troupe("explain", "killed")[0]
        self.assertIn("d: it runs the graph it has decided", told)
        self.assertIn("d/s: it waits for n", told)
        self.troupe("resume", "killed")
        shown = self.document("get", "killed")
        self.assertEqual((shown["phase"], shown["outputs"]), ("succeeded", {"sum": 16}))

    def test_gates_inside(self):
        """An answer is read by the type of a gate that no definition has."""
        self.decide({"nodes": {
            "ok": {"approve": "ready"},
            "n": {"signal": "count", "type": "int", "after": ["ok"]},
            "s": {"task": "square", "with": {"a": "$n.value"}}},
            "outputs": {"sum": "$s.b"}})
        running = self.start("run", "flow.yaml", "--name", "gated")
        running.wait_for("d/ok: ")
        self.troupe("approve", "gated", "ready")
        running.wait_for("d/n: ")
        self.assertIn("d/n", self.troupe("explain", "gated")[0])
        self.troupe("signal", "gated", "count", "many", status=2)
        self.troupe("signal", "gated", "count", "12", "--node", "d/n")
        self.assertEqual(running.end()[:2], (0, "sum: 144"))

    def test_a_launch_inside(self):
        self.decide({"nodes": {"l": {"launch": "other", "with": {"a": "$size"}}},
                     "outputs": {"sum": "$l.b"}})
        self.write("flow.yaml", FLOW + """
  other:
    inputs: {a: int}
    nodes: {s: {task: square, with: {a: $a}}}
    outputs: {b: $s.b}
""")
        self.assertEqual(self.run_flow("main", "-i", "size=8")["outputs"], {"sum": 64})

    def test_a_recovery_keeps_what_is_decided_again(self):
        """Only the nodes of the same graph are the ones that gave something before."""
        def document(a):
            return {"nodes": {"s": {"task": "square", "with": {"a": a}},
                              "g": {"task": "gone", "with": {"a": "$s.b"}}},
                    "outputs": {"sum": "$g.b"}}
        self.write("flow.yaml", FLOW.replace("workflows:\n", """
  gone:
    inputs: {a: int}
    outputs: {b: int}
    run: [sh, -c, 'test -e "$TROUPE_FOLDER/go" && echo "{\\"b\\": 5}" > "$TROUPE_OUTPUTS"']
workflows:
""", 1))
        for name, again, phase in (("same", 2, "recovered"), ("other", 3, "succeeded")):
            self.decide(document(2))
            (self.folder / "go").unlink(missing_ok=True)
            self.run_flow("main", "--name", name, status=1)
            self.write("go", "")
            self.decide(document(again))
            done = self.document("recover", name)
            self.assertEqual(done["outputs"], {"sum": 5})
            self.assertEqual(self.nodes(done["execution"])["d/s"], ("task", phase))

    def test_another_store_goes_on_with_it(self):
        self.decide({"nodes": {"n": {"task": "nap", "with": {"a": "$size"}}},
                     "outputs": {"sum": "$n.b"}})
        running = self.start("run", "flow.yaml", "--name", "moved")
        running.wait_for("d/n: running")
        running.signal(signal.SIGTERM)
        running.end()
        self.troupe("export", "moved", "--file", "moved.troupe")
        other = self.folder / "other"
        self.troupe("import", "moved.troupe", "--store", other)
        self.troupe("resume", "moved", "--store", other)
        self.assertEqual(self.document("get", "moved", "--store", other)["outputs"], {"sum": 4})

    def test_an_abort_reaches_it(self):
        self.decide({"nodes": {"n": {"task": "stays"}},
                     "outputs": {"sum": "$n.b"}})
        running = self.start("run", "flow.yaml", "--name", "over")
        running.wait_for("d/n: running")
        self.troupe("abort", "over")
        self.assertEqual(running.end()[0], 3)
        self.assertEqual(self.nodes("over"),
                         {"d": ("dynamic", "aborted"), "d/n": ("task", "aborted")})


if __name__ == "__main__":
    unittest.main()
