#!/usr/bin/env python3
"""Executions that keep what succeeded in an earlier one: recover and rerun. Tasks note each run."""

import collections
import json
import signal
import unittest

from program import ProgramTest

WORK = r"""
a=$(sed 's/[^0-9]*\([0-9]*\).*/\1/' "$TROUPE_INPUTS")
echo "$TROUPE_NODE $TROUPE_ELEMENT" >> "$TROUPE_FOLDER/log"
if grep -qxF "$TROUPE_NODE-$a" "$TROUPE_FOLDER/bad" 2>/dev/null; then
    echo '{"code": "Bad", "message": "it is bad", "recoverable": false}' > "$TROUPE_ERROR"
    exit 1
fi
if grep -qxF "$TROUPE_NODE-$a" "$TROUPE_FOLDER/slow" 2>/dev/null; then
    echo $$ > "$TROUPE_FOLDER/pid"
    while [ ! -e "$TROUPE_FOLDER/go" ]; do sleep 0.02; done
fi
echo "{\"b\": $((a + 1))}" > "$TROUPE_OUTPUTS"
"""

# An output of 1,060,000 bytes.
LARGE = r"""
echo "$TROUPE_NODE $TROUPE_ELEMENT" >> "$TROUPE_FOLDER/log"
{ printf '{"b": "'; head -c 1060000 /dev/zero | tr '\0' x; printf '"}'; } > "$TROUPE_OUTPUTS"
"""

TASKS = """
troupe: 1
tasks:
  work: {inputs: {a: int}, outputs: {b: int}, run: [sh, ./work.sh]}
  both: {inputs: {a: int, k: int}, outputs: {b: int}, run: [sh, ./work.sh]}
  many: {inputs: {a: [int]}, outputs: {b: int}, run: [sh, ./work.sh]}
  some: {inputs: {a: [int | none]}, outputs: {b: int}, run: [sh, ./work.sh]}
  maybe: {inputs: {a: int | none}, outputs: {b: int}, run: [sh, ./work.sh]}
  note: {run: [sh, ./work.sh]}
"""

WIDE = TASKS + """
workflows:
  main:
    nodes:
      sq: {map: work, with: {a: %s}, parallelism: 1, min_success_ratio: 0.95}
      sum: {task: some, with: {a: $sq.b}}
    outputs: {b: $sq.b}
"""

STEPS = TASKS + """
workflows:
  inner:
    inputs: {x: int, k: int}
    nodes:
      one: {task: work, with: {a: $x}}
      two: {task: both, with: {a: $one.b, k: $k}}
    outputs: {y: $two.b}
  main:
    inputs: {x: {type: int, default: 1}, k: {type: int, default: 5}}
    nodes:
      first: {task: work, with: {a: $x}}
      w: {workflow: inner, with: {x: $first.b, k: $k}}
      side: {task: work, with: {a: 40}}
      last: {task: work, with: {a: $w.y}}
    outputs: {b: $last.b, s: $side.b}
"""

MAPPED = TASKS + """
workflows:
  inner:
    inputs: {x: int}
    nodes:
      one: {task: work, with: {a: $x}}
      two: {task: work, with: {a: $one.b}}
    outputs: {y: $two.b}
  main:
    nodes:
      sq: {map: inner, with: {x: [10, 20, 30]}}
      sum: {task: many, with: {a: $sq.y}}
    outputs: {y: $sq.y}
"""


class GoingTest(ProgramTest):
    def setUp(self):
        super().setUp()
        self.write("work.sh", WORK)

    def runs(self):
        """How often each node ran since the last time: its path and element."""
        path = self.folder / "log"
        lines = path.read_text().splitlines() if path.exists() else []
        path.write_text("")
        return collections.Counter(line.strip() for line in lines)

    def bad(self, *names):
        self.write("bad", "".join(f"{name}\n" for name in names))

    def run_first(self, definition, *words, status=0):
        self.write("flow.yaml", definition)
        self.troupe("run", "flow.yaml", "--name", "first", *words, status=status)
        return self.runs()

    def phases(self, name):
        return {node["node"]: node["phase"] for node in self.document("get", name)["nodes"]}

    # ------------------------------------------------------------------ recover

    def test_only_what_failed_of_a_map_runs_again(self):
        self.bad("sq-10", "sq-100", "sq-199")
        wide = WIDE.replace("0.95", "0.99") % list(range(200))
        self.assertEqual(sum(self.run_first(wide, status=1).values()), 200)
        self.bad()
        document = self.document("recover", "first", "--name", "second")
        self.assertEqual(document["outputs"], {"b": list(range(1, 201))})
        self.assertEqual(self.runs(), {"sq 10": 1, "sq 100": 1, "sq 199": 1, "sum": 1})
        elements = self.document("get", "second/sq")["elements"]
        self.assertEqual(collections.Counter(row["phase"] for row in elements),
                         {"recovered": 197, "succeeded": 3})
        self.assertEqual(self.document("get", "second")["cause"], "recovers first")
        self.assertEqual(self.document("list")[0]["cause"], "recovers first")

    def test_nodes_and_inner_workflows_are_kept(self):
        self.bad("last-4")
        self.assertEqual(sum(self.run_first(STEPS, status=1).values()), 5)
        self.bad()
        document = self.document("recover", "first", "--name", "second")
        self.assertEqual(document["outputs"], {"b": 5, "s": 41})
        self.assertEqual(self.runs(), {"last": 1})
        self.assertEqual(self.phases("second"), {"first": "recovered", "w": "recovered",
                                                 "side": "recovered", "last": "succeeded"})
        node = self.document("get", "second/first")
        self.assertEqual((node["inputs"], node["outputs"]), ({"a": 1}, {"b": 2}))
        self.assertEqual(node["phases"][-1]["cause"], "kept from first")

    def test_what_is_inside_a_failed_workflow_is_kept(self):
        self.bad("w/two-3")
        self.run_first(STEPS, status=1)
        self.bad()
        self.assertEqual(self.document("recover", "first")["outputs"], {"b": 5, "s": 41})
        runs = self.runs()
        runs.pop("side", None)  # it may have been aborted
        self.assertEqual(runs, {"w/two": 1, "last": 1})

    def test_what_a_launched_execution_gave_is_kept(self):
        launching = STEPS.replace("{workflow: inner,", "{launch: inner,")
        self.bad("two-3")
        self.run_first(launching, "-j", "1", status=1)
        self.bad()
        self.assertEqual(self.document("recover", "first", "--name", "second")["outputs"],
                         {"b": 5, "s": 41})
        runs = self.runs()
        runs.pop("side", None)  # it may have been aborted
        self.assertEqual(runs, {"two": 1, "last": 1})
        self.troupe("rerun", "second", "--from", "w")
        self.assertEqual(self.runs(), {"one": 1, "two": 1, "last": 1})
        self.troupe("rerun", "second", "--from", "last")
        self.assertEqual(self.runs(), {"last": 1})

    def test_what_is_inside_elements_is_kept(self):
        self.bad("sq[2]/two-31")
        self.run_first(MAPPED, "-j", "1", status=1)
        self.bad()
        self.assertEqual(self.document("recover", "first")["outputs"], {"y": [12, 22, 32]})
        runs = self.runs()
        self.assertNotIn("sq[2]/one", runs)
        self.assertEqual((runs["sq[2]/two"], runs["sum"]), (1, 1))

    def test_what_elements_have_launched_is_kept(self):
        launching = MAPPED.replace("{map: inner,", "{map: each,") + (
            "launch_plans:\n  each: {workflow: inner}\n")
        self.bad("two-31")
        self.run_first(launching, "-j", "1", status=1)
        self.troupe("recover", "first", "--name", "second", status=1)
        self.assertEqual(self.runs(), {"two": 1})
        self.bad()
        self.assertEqual(self.document("recover", "second", "--name", "third")["outputs"],
                         {"y": [12, 22, 32]})
        self.assertEqual(self.runs(), {"two": 1, "sum": 1})
        phases = {row["execution"]: row["cause"]
                  for row in self.document("list", "--all", "--limit", "0")}
        launched = [name for name, cause in phases.items() if cause == "launched by third/sq[2]"]
        self.assertEqual(self.phases(launched[0]), {"one": "recovered", "two": "succeeded"})
        self.troupe("rerun", "third", "--from", "sq[2]")
        self.assertEqual(self.runs(), {"one": 1, "two": 1, "sum": 1})

    def test_a_launched_execution_of_an_element_is_recovered_by_itself(self):
        launching = MAPPED.replace("{map: inner,", "{map: each,") + (
            "launch_plans:\n  each: {workflow: inner}\n")
        self.bad("two-31")
        self.run_first(launching, status=1)
        self.troupe("recover", "first", "--name", "second", status=1)
        self.bad()
        self.runs()
        last = [row["execution"] for row in self.document("list", "--all", "--limit", "0")
                if row["cause"] == "launched by second/sq[2]"][0]
        self.assertEqual(self.document("recover", last)["outputs"], {"y": 32})
        self.assertEqual(self.runs(), {"two": 1})

    def test_a_recovery_of_a_recovery(self):
        self.bad("last-4")
        self.run_first(STEPS, status=1)
        self.troupe("recover", "first", "--name", "second", status=1)
        self.assertEqual(self.runs(), {"last": 1})
        self.bad()
        self.troupe("recover", "second", "--name", "third")
        self.assertEqual(self.runs(), {"last": 1})
        # What was kept as a whole has its insides in the execution that ran it.
        _, stderr = self.troupe("rerun", "third", "--from", "w/two")
        self.assertEqual(self.runs(), {"w/two": 1, "last": 1})
        self.assertIn("again: w/two (as asked for)", stderr)
        self.assertIn("again: last (behind w)", stderr)

    def test_what_was_kept_is_found_where_it_ran(self):
        """Over two recoveries, the second of an execution that had kept the map itself."""
        self.write("work.sh", WORK + 'echo "this is $TROUPE_NODE $a"\n')
        self.bad("m-20", "last-9")
        self.run_first(TASKS + """
workflows:
  main:
    nodes:
      m: {map: work, with: {a: [10, 20, 30]}, min_successes: 2}
      last: {task: work, with: {a: 9}, after: [m]}
    outputs: {b: $m.b}
""", status=1)
        self.troupe("recover", "first", "--name", "second", status=1)
        self.bad()
        self.troupe("recover", "second", "--name", "third")
        self.assertEqual(self.runs(), {"last": 2})
        whole = self.document("get", "third/m")
        self.assertEqual((whole["phase"], whole["kept_from"]), ("recovered", "first"))
        self.assertEqual([row["phase"] for row in whole["elements"]],
                         ["recovered", "failed", "recovered"])
        self.assertEqual(whole["array"]["errors"][0]["elements"], [1])
        element = self.document("get", "third/m[2]")
        self.assertEqual((element["phase"], element["kept_from"]), ("recovered", "first"))
        self.assertEqual((element["inputs"], element["outputs"]), ({"a": 30}, {"b": 31}))
        self.assertEqual([row["phase"] for row in element["attempts"]], ["succeeded"])
        self.assertIsNone(self.document("get", "first/m[2]")["kept_from"])
        self.assertIn("kept from  first", self.troupe("get", "third/m[2]")[0])
        self.assertEqual(self.troupe("logs", "third/m[2]")[0], "this is m 30\n")
        self.assertEqual(self.troupe("logs", "third/m[2]@0")[0], "this is m 30\n")
        self.assertIn("it is bad", self.troupe("explain", "third/m[1]")[0])
        for command in ("get", "logs", "explain"):
            _, err = self.troupe(command, "third/m[3]", status=2)
            self.assertIn("m has 3 elements", err)
        document = self.document("rerun", "third", "--from", "m", "--failed", "--name", "fourth")
        self.assertEqual(document["outputs"], {"b": [11, 21, 31]})
        self.assertEqual(self.runs(), {"m 1": 1, "last": 1})
        self.assertEqual(self.troupe("logs", "fourth/m[2]")[0], "this is m 30\n")
        self.assertEqual(self.document("get", "fourth/m[1]")["kept_from"], None)

    def test_what_is_behind_something_new_runs_again(self):
        definition = TASKS + """
workflows:
  main:
    nodes:
      may: {task: work, with: {a: 1}, optional: true}
      uses: {task: maybe, with: {a: $may.b}}
      apart: {task: work, with: {a: 5}}
      way: {switch: [{when: "$apart.b > 3", task: work, with: {a: 6}}, {else: skip}]}
      end: {task: work, with: {a: 7}, after: [uses, way]}
    finally: {task: note}
"""
        self.bad("may-1", "end-7")
        self.run_first(definition, status=1)
        self.bad()
        self.troupe("recover", "first", "--name", "second")
        runs = self.runs()
        self.assertEqual({name for name in runs if "finally" not in name}, {"may", "uses", "end"})
        self.assertEqual(sum(runs.values()), 4, runs)  # finally belongs to each execution

    def test_a_kill_in_the_middle_loses_and_repeats_nothing(self):
        self.bad("sq-3", "sq-7")
        wide = (WIDE % list(range(40))).replace("0.95", "1.0")
        self.run_first(wide, status=1)
        before = self.document("get", "first/sq")["elements"]
        kept = [row["element"] for row in before if row["phase"] == "succeeded"]
        self.assertGreaterEqual(len(kept), 1)
        self.bad()
        self.write("slow", "sq-7\n")
        running = self.start("recover", "first", "--name", "second")
        self.await_file("pid")
        running.signal(signal.SIGKILL)
        running.end()
        self.write("go", "")
        stdout, _ = self.troupe("resume", "second", "-o", "json")
        self.assertEqual(json.loads(stdout)["outputs"], {"b": list(range(1, 41))})
        runs = self.runs()
        for element in range(40):
            self.assertEqual(runs[f"sq {element}"], 0 if element in kept else 1, element)

    def test_recover_with_edited_inputs(self):
        """The plan is that of a rerun with the same edits: what uses them runs again, too."""
        self.bad("last-4")
        self.run_first(STEPS, status=1)
        self.bad()
        stdout, stderr = self.troupe("recover", "first", "--name", "second", "-i", "k=6")
        self.assertIn("again: w/two (uses the input k, which is edited)", stderr)
        self.assertEqual(self.runs(), {"w/two": 1, "last": 1})
        self.assertEqual(self.document("get", "second")["inputs"], {"x": 1, "k": 6})
        self.assertEqual(self.phases("second")["first"], "recovered")
        self.write("inputs.json", '{"x": 1}')
        self.troupe("recover", "first", "--name", "third", "--inputs", "inputs.json")
        self.assertEqual(self.runs(), {"last": 1})
        _, stderr = self.troupe("recover", "first", "-i", "nothing=6", status=2)
        self.assertIn("nothing", stderr)

    def test_recover_refuses(self):
        self.run_first(STEPS)
        _, stderr = self.troupe("recover", "first", status=2)
        self.assertIn("first succeeded, so that there is nothing to recover; `troupe rerun first "
                      "--from NODE` runs parts of it again", stderr)
        _, stderr = self.troupe("recover", "first/last", status=2)
        self.assertIn("name the execution alone: all that failed in it runs again", stderr)
        _, stderr = self.troupe("recover", "nobody", status=2)
        self.assertIn("nobody", stderr)
        self.write("slow", "first-1\n")
        running = self.start("run", "flow.yaml", "--name", "slow")
        self.await_file("pid")
        for command in (["recover"], ["rerun", "--from", "last"]):
            _, stderr = self.troupe(*command, "slow", status=2)
            self.assertIn("slow has not ended (running)", stderr)
        self.write("go", "")
        self.assertEqual(running.end()[0], 0)

    # -------------------------------------------------------------------- rerun

    def test_rerun_from_a_node(self):
        self.run_first(STEPS)
        _, stderr = self.troupe("rerun", "first", "--from", "w/two", "--name", "second")
        self.assertEqual(self.runs(), {"w/two": 1, "last": 1})
        self.assertIn("again: w/two (as asked for)", stderr)
        self.assertIn("again: last (behind w)", stderr)
        self.assertEqual(self.document("get", "second")["cause"], "reruns first from w/two")

    def test_rerun_from_inside_a_map(self):
        self.run_first(MAPPED)
        self.troupe("rerun", "first", "--from", "sq[1]/two")
        self.assertEqual(self.runs(), {"sq[1]/two": 1, "sum": 1})
        document = self.document("rerun", "first", "--from", "sq[1]")
        self.assertEqual(self.runs(), {"sq[1]/one": 1, "sq[1]/two": 1, "sum": 1})
        self.assertEqual(document["outputs"], {"y": [12, 22, 32]})

    def test_failed_elements_of_a_map_that_succeeded(self):
        self.bad("sq-4", "sq-9")
        self.run_first(WIDE % list(range(40)))
        self.bad()
        document = self.document("rerun", "first", "--from", "sq", "--failed", "--name", "second")
        self.assertEqual(document["outputs"], {"b": list(range(1, 41))})
        self.assertEqual(self.runs(), {"sq 4": 1, "sq 9": 1, "sum": 1})
        _, stderr = self.troupe("rerun", "second", "--from", "sq", "--failed", status=2)
        self.assertIn("no element of 'sq' failed; leave --failed out to run all of them again",
                      stderr)

    def test_edited_inputs(self):
        self.run_first(STEPS)
        stdout, stderr = self.troupe("rerun", "first", "-i", "k=6")
        self.assertEqual(self.runs(), {"w/two": 1, "last": 1})
        self.assertIn("again: w/two (uses the input k, which is edited)", stderr)
        self.assertIn("again: last (behind w)", stderr)
        self.troupe("rerun", "first", "-i", "k=5")
        self.assertEqual(self.runs(), {})
        document = self.document("rerun", "first", "--set", "last.a=8")
        self.assertEqual(document["outputs"], {"b": 9, "s": 41})
        self.assertEqual(self.runs(), {"last": 1})
        self.write("inputs.json", '{"x": 11}')
        document = self.document("rerun", "first", "--inputs", "inputs.json")
        self.assertEqual(document["outputs"], {"b": 15, "s": 41})
        self.assertEqual(self.runs(), {"first": 1, "w/one": 1, "w/two": 1, "last": 1})

    def test_an_edited_input_inside_what_runs_again(self):
        self.run_first(STEPS)
        document = self.document("rerun", "first", "--from", "first", "--set", "w/two.a=20")
        self.assertEqual(document["outputs"], {"b": 22, "s": 41})
        self.assertEqual(self.runs(), {"first": 1, "w/one": 1, "w/two": 1, "last": 1})
        self.run_first_map()
        document = self.document("rerun", "mapped", "--from", "sq", "--set", "sq[1]/two.a=70")
        self.assertEqual(document["outputs"], {"y": [12, 71, 32]})
        self.assertEqual(sum(self.runs().values()), 7)

    def run_first_map(self):
        self.write("flow.yaml", MAPPED)
        self.troupe("run", "flow.yaml", "--name", "mapped")
        self.runs()

    def test_an_edited_input_holds_until_it_is_edited_anew(self):
        self.run_first(STEPS)
        self.bad("w/two-21")
        self.troupe("rerun", "first", "--set", "w.x=20", "--name", "second", status=1)
        self.bad()
        self.assertEqual(self.runs(), {"w/one": 1, "w/two": 1})
        document = self.document("recover", "second", "--name", "third")
        self.assertEqual(document["outputs"], {"b": 23, "s": 41})
        self.assertEqual(self.runs(), {"w/two": 1, "last": 1})
        document = self.document("rerun", "third", "--set", "w.x=30", "--set", "w.x=31")
        self.assertEqual(document["outputs"], {"b": 34, "s": 41})
        self.runs()
        self.write("flow.yaml", STEPS.replace("{x: $first.b, k: $k}", "{x: 50, k: $k}"))
        document = self.document("rerun", "third", "--file", "flow.yaml")
        self.assertEqual(document["outputs"], {"b": 53, "s": 41})

    def test_what_is_kept_shows_what_it_got_then(self):
        self.run_first(STEPS)
        self.troupe("rerun", "first", "--set", "first.a=7", "--name", "second")
        self.troupe("rerun", "second", "--from", "last", "--name", "third")
        node = self.document("get", "third/first")
        self.assertEqual((node["inputs"], node["outputs"]), ({"a": 7}, {"b": 8}))
        self.assertEqual(node["phase"], "recovered")

    def test_another_definition(self):
        self.run_first(STEPS)
        self.write("other.yaml", STEPS.replace("{task: work, with: {a: $w.y}}",
                                               "{task: both, with: {a: $w.y, k: 1}, retries: 2}")
                   .replace("{a: 40}}", "{a: 40}, retries: 3, timeout: 1h}"))
        _, stderr = self.troupe("rerun", "first", "--file", "other.yaml")
        self.assertEqual(self.runs(), {"last": 1})
        self.assertIn("again: last (its definition has changed)", stderr)
        self.bad("last-4")
        self.troupe("run", "flow.yaml", "--name", "failed", status=1)
        self.runs()
        self.bad()
        self.write("other.yaml", STEPS.replace("{task: work, with: {a: $x}}\n      two",
                                               "{task: work, with: {a: 7}}\n      two"))
        _, stderr = self.troupe("recover", "failed", "--file", "other.yaml")
        self.assertEqual(self.runs(), {"w/one": 1, "w/two": 1, "last": 1})
        self.assertIn("again: w/one (its definition has changed)", stderr)

    def test_rerun_refuses(self):
        self.run_first(STEPS)
        for words, expected in (
                ([], "say what is to run again: --from NODE, or what is to be different: -i, "
                     "--inputs, --set, --file"),
                (["--from", "lst"],
                 "--from: there is no node 'lst'; `troupe get first` shows them"),
                (["--from", "last[1]"], "'last[1]' names an element of a node that is no map"),
                (["--from", "last", "--failed"], "--failed is for maps, and 'last' is none"),
                (["-i", "k=1", "--failed"], "--failed says which elements of a map"),
                (["--set", "last"], "'last' is no edit; write --set NODE.INPUT=VALUE"),
                (["--set", "last.z=1"], "the node 'last' has no input 'z'"),
                (["--set", "last.a=x"], "'x' is no value of type int"),
                (["-i", "z=1"], "there is no input 'z'"),
                (["--from", "last", "--name", "first"], "there is an execution first already")):
            with self.subTest(words=words):
                _, stderr = self.troupe("rerun", "first", *words, status=2)
                self.assertIn(expected, stderr)
        self.assertEqual(self.runs(), {})

    def test_lists_that_lie_elsewhere(self):
        count = 60000
        self.write("echo.yaml", """
troupe: 1
tasks: {say: {type: echo, inputs: {a: int}, outputs: {a: int}}}
workflows:
  main:
    inputs: {n: [int]}
    nodes: {sq: {map: say, with: {a: $n}}}
    outputs: {n: $sq.a}
""")
        numbers = list(range(1000000, 1000000 + count))
        self.write("inputs.json", json.dumps({"n": numbers}))
        self.troupe("run", "echo.yaml", "--inputs", "inputs.json", "--name", "first", "-o", "name")
        document = self.document("rerun", "first", "--from", "sq[50001]", "--name", "second")
        self.assertEqual(document["outputs"], {"n": numbers})
        phases = collections.Counter(
            row["phase"] for row in self.document("get", "second/sq")["elements"])
        self.assertEqual(phases, {"recovered": count - 1, "succeeded": 1})

    def test_elements_larger_than_a_message(self):
        """An element alone gives more than a message holds; with min_successes the items of the
        list are unions around what elements give."""
        self.write("large.sh", LARGE)
        for sure, text in (("", "string"), ("", "string | int"), (", min_successes: 2", "string"),
                           (", min_successes: 2", "string | int")):
            with self.subTest(sure=sure, text=text):
                name = f"x{len(sure)}{len(text)}"
                self.write("flow.yaml", f"""
troupe: 1
tasks:
  work: {{inputs: {{a: int}}, outputs: {{b: {text}}}, run: [sh, ./large.sh]}}
workflows:
  main:
    nodes: {{m: {{map: work, with: {{a: [1, 2, 3]}}{sure}}}}}
    outputs: {{b: $m.b}}
""")
                whole = self.document("run", "flow.yaml", "--name", name)["outputs"]["b"]
                self.assertEqual([len(text) for text in whole], [1_060_000] * 3)
                self.runs()
                again = self.document("rerun", name, "--from", "m[1]", "--name", f"{name}-again")
                self.assertEqual(again["outputs"]["b"], whole)
                self.assertEqual(self.runs(), {"m 1": 1})

    def test_a_live_engine_does_the_work(self):
        self.run_first(STEPS)
        self.write("slow", "first-2\n")
        running = self.start("run", "flow.yaml", "-i", "x=2", "--name", "slow")
        self.await_file("pid")
        self.runs()
        document = self.document("rerun", "first", "--from", "last")
        self.assertEqual(document["outputs"], {"b": 5, "s": 41})
        self.assertEqual(self.runs()["last"], 1)
        stdout, _ = self.troupe("rerun", "first", "--from", "last", "--detach", "--name", "third")
        self.assertEqual(stdout, "third\n")
        self.troupe("watch", "third")
        self.write("go", "")
        self.assertEqual(running.end()[0], 0)


if __name__ == "__main__":
    unittest.main()
