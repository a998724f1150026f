#!/usr/bin/env python3
"""Gates, sleeps and pauses: what people answer, when, and that it outlives the engine."""

import json
import re
import shlex
import signal
import unittest

from program import ProgramTest, wait_until

TASKS = {
    "same": {"type": "echo", "inputs": {"a": "int"}, "outputs": {"b": "int"}},
    "note": {"run": ["sh", "-c", "echo \"$1\" >> \"$TROUPE_FOLDER/notes\"", "sh", "{{.inputs.w}}"],
             "inputs": {"w": "string"}},
    "hold": {"inputs": {"a": "int"}, "outputs": {"b": "int"},
             "run": ["sh", "-c", "echo $1 >> \"$TROUPE_FOLDER/begun\"; "
                     "until test -e \"$TROUPE_FOLDER/go\"; do sleep 0.02; done; "
                     "echo \"{\\\"b\\\": $1}\" > $TROUPE_OUTPUTS", "sh", "{{.inputs.a}}"]},
    "decide": {"outputs": {"b": "float"},
               "run": ["sh", "-c", "until test -e \"$TROUPE_FOLDER/go\"; do sleep 0.02; done; "
                       "cp \"$TROUPE_FOLDER/plan.json\" \"$TROUPE_OUTPUTS\""]},
}


class WaitingTest(ProgramTest):
    """An execution that waits in an engine of its own."""

    def begin(self, nodes, outputs=None, name="it", workflows=None, **keys):
        """Begins an execution in an engine of its own, and waits until it is known."""
        main = {"nodes": nodes, **keys}
        if outputs:
            main["outputs"] = outputs
        self.write("flow.yaml", json.dumps({"troupe": 1, "tasks": TASKS,
                                            "workflows": {**(workflows or {}), "main": main}}))
        running = self.start("run", "flow.yaml", "main", "--name", name, "-o", "json")
        running.wait_for("begins")
        return running

    def outcome(self, running, status=0):
        ended, stdout, stderr = running.end()
        self.assertEqual(ended, status, stderr)
        return json.loads(stdout)

    def phase_of(self, node, name="it"):
        nodes = {row["node"]: row["phase"] for row in self.document("get", name)["nodes"]}
        return nodes.get(node)

    def await_phase(self, node, phase, name="it"):
        wait_until(lambda: self.phase_of(node, name) == phase, f"{node} is {phase}")


class GatesTest(WaitingTest):
    def test_a_value_may_come_early_and_the_last_one_counts(self):
        running = self.begin({"hold": {"task": "hold", "with": {"a": 1}},
                              "n": {"signal": "limit", "type": "int", "after": ["hold"]}},
                             {"n": "$n.value"})
        self.assertEqual(self.document("signal", "it", "limit", "3")["gates"], 0)
        _, stderr = self.troupe("signal", "it", "limit", "4")
        self.assertIn("no gate waits for 'limit' yet", stderr)
        self.write("go", "")
        self.assertEqual(self.outcome(running)["outputs"], {"n": 4})

    def test_a_value_may_come_before_the_graph_that_has_its_gate(self):
        self.write("plan.json", json.dumps({
            "nodes": {"n": {"signal": "limit", "type": "float"},
                      "ok": {"approve": "ship", "after": ["n"]}},
            "outputs": {"b": "$n.value"}}))
        running = self.begin({"d": {"dynamic": "decide"}, "z": {"sleep": "1ms"}},
                             {"b": "$d.b"})
        self.assertEqual(self.document("signal", "it", "limit", "3")["gates"], 0)
        _, stderr = self.troupe("signal", "it", "limit", "4")
        self.assertIn("no gate waits for 'limit' yet; the value is kept", stderr)
        self.troupe("approve", "it", "ship", "--node", "d/ok")
        self.troupe("signal", "it", "limit", "4", "--node", "z/n", status=2)
        self.troupe("signal", "it", "limit", "[", status=2)
        self.write("go", "")
        self.assertEqual(self.outcome(running)["outputs"], {"b": 4.0})

    def test_a_value_that_does_not_suit_the_gate_that_comes(self):
        self.write("plan.json", json.dumps({
            "nodes": {"n": {"signal": "limit", "type": "float"}}, "outputs": {"b": "$n.value"}}))
        running = self.begin({"d": {"dynamic": "decide"}}, {"b": "$d.b"})
        self.troupe("signal", "it", "limit", "many")
        self.write("go", "")
        self.assertEqual(self.outcome(running, 1)["error"]["code"], "MismatchingTypes")

    def test_what_suits_no_gate_is_refused(self):
        running = self.begin({"ok": {"approve": "ship"},
                              "n": {"signal": "limit", "type": "int"},
                              "a": {"signal": "both", "type": "int"},
                              "b": {"signal": "both", "type": "string"}})
        _, stderr = self.troupe("approve", "it", "shop", status=2)
        self.assertIn("it has no gate for 'shop'; it has 'ship' (approve), "
                      "'limit' (signal of int), 'both' (signal of int), 'both' (signal of string)",
                      stderr)
        _, stderr = self.troupe("signal", "it", "limit", "many", status=2)
        self.assertIn("'many' is no value of type int", stderr)
        _, stderr = self.troupe("approve", "it", "limit", status=2)
        self.assertIn("send it with `troupe signal`", stderr)
        _, stderr = self.troupe("signal", "it", "both", "1", status=2)
        self.assertIn("name one of them with --node", stderr)
        _, stderr = self.troupe("signal", "it", "limit", "1", "--node", "ok", status=2)
        self.assertIn("it has no gate 'ok' that waits for 'limit'", stderr)
        self.troupe("signal", "it", "both", "text", "--node", "b")
        self.troupe("signal", "it", "both", "1", "--node", "a")
        self.write("seven.txt", "7")
        self.troupe("signal", "it", "limit", "@seven.txt")
        self.troupe("approve", "it", "ship")
        self.outcome(running)
        _, stderr = self.troupe("approve", "it", "ship", status=2)
        self.assertIn("it has ended already: succeeded", stderr)

    def test_a_rejection_lets_on_failure_run(self):
        running = self.begin({"ok": {"approve": "ship", "with": {"n": {"value": 4, "type": "int"}}},
                              "late": {"task": "same", "with": {"a": "$ok.n"}}},
                             on_failure={"task": "note", "with": {"w": "$err.code"}})
        shown = self.document("get", "it/ok")
        self.assertEqual((shown["kind"], shown["target"], shown["inputs"]),
                         ("approve", "ship", {"n": 4}))
        self.troupe("reject", "it", "ship", "-m", "too soon")
        error = self.outcome(running, status=1)["error"]
        self.assertEqual((error["code"], error["node"]), ("ReceivedRejectSignal", "ok"))
        self.assertRegex(error["message"], "rejected by .*@.*: too soon")
        self.assertEqual((self.folder / "notes").read_text(), "ReceivedRejectSignal\n")

    def test_gates_inside_hear_of_it(self):
        inner = {"low": {"inputs": {"x": "int"}, "outputs": {"y": "$g.value"},
                         "nodes": {"g": {"signal": "n", "type": "int"}}}}
        running = self.begin({"w": {"workflow": "low", "with": {"x": 1}},
                              "m": {"map": "low", "with": {"x": [1, 2, 3]}}},
                             {"w": "$w.y", "m": "$m.y"}, workflows=inner)
        self.await_phase("m[1]/g", "running")
        self.troupe("signal", "it", "n", "5", "--node", "m[1]/g")
        self.troupe("signal", "it", "n", "6")
        self.assertEqual(self.outcome(running)["outputs"], {"w": 6, "m": [6, 5, 6]})

    def test_optional_gates_and_deadlines(self):
        running = self.begin({"a": {"approve": "x", "optional": True, "deadline": "100ms",
                                    "with": {"n": {"value": 1, "type": "int"}}}}, {"n": "$a.n"})
        self.assertEqual(self.outcome(running)["outputs"], {"n": None})
        self.assertEqual(self.phase_of("a"), "timed out")
        running = self.begin({"a": {"signal": "x", "type": "int", "deadline": "100ms"}}, name="two")
        error = self.outcome(running, status=1)["error"]
        self.assertEqual((error["code"], error["message"]),
                         ("TimeoutExpired", "nobody answered before its deadline"))

    def test_explain_names_the_command_that_answers(self):
        running = self.begin({"ok": {"approve": "ship"}, "nap": {"sleep": "1h"},
                              "n": {"signal": "limit", "type": "int"},
                              "t": {"task": "same", "with": {"a": "$n.value"}}})
        explained = {row["node"]: row for row in self.document("explain", "it")["waiting"]}
        self.assertFalse(any(row["is_stuck"] for row in explained.values()))
        self.assertIn("`troupe approve it ship`", explained["ok"]["text"])
        self.assertIn("`troupe signal it limit VALUE`", explained["n"]["text"])
        self.assertIn("it sleeps until", explained["nap"]["text"])
        self.troupe("abort", "it")
        self.outcome(running, status=3)

    def test_a_gate_that_waits_is_no_running_node(self):
        running = self.begin({"ok": {"approve": "ship"}, "nap": {"sleep": "1h"}})
        words = "waits for approval: troupe approve it ship"
        self.assertRegex(running.wait_for("ok: waits"), rf"^\d\.\d\ds +ok: {words}$")
        self.assertRegex(self.troupe("get", "it")[0],
                         rf"ok +approve +waiting +\d\.\d\ds +{words}\n")
        self.assertRegex(self.troupe("get", "it/ok")[0], r"^it/ok  waits for approval since \d+s: "
                                                         r"troupe approve it ship\n")
        self.assertRegex(self.troupe("explain", "it")[0],
                         r"ok: it waits for approval since \d+s: `troupe approve it ship`, or rej")
        rows = {row["node"]: row for row in self.document("get", "it")["nodes"]}
        self.assertEqual([rows[node]["is_waiting"] for node in ("ok", "nap")], [True, False])
        self.assertTrue(self.document("get", "it/ok")["is_waiting"])
        # What is shown can be pasted, with the store that was named.
        shown = self.troupe("get", "it/ok", "--store", self.store)[0].split("troupe ", 1)[1]
        self.assertIn(f"--store {self.store}", shown)
        self.troupe(*shlex.split(shown.splitlines()[0]))
        self.await_phase("ok", "succeeded")
        self.assertFalse(self.document("get", "it/ok")["is_waiting"])
        self.troupe("abort", "it")
        self.outcome(running, status=3)

    def test_the_one_gate_that_waits_needs_no_id(self):
        running = self.begin({"ok": {"approve": "ship"}, "n": {"signal": "limit", "type": "int"},
                              "m": {"map": "low", "with": {"x": [1, 2]}, "after": ["n"]}},
                             {"n": "$n.value", "m": "$m.y"}, workflows={
                                 "low": {"inputs": {"x": "int"}, "outputs": {"y": "$g.value"},
                                         "nodes": {"g": {"signal": "k", "type": "int"}}}})
        running.wait_for("n: waits")
        self.assertEqual(self.document("approve", "it"),
                         {"execution": "it", "id": "ship", "node": "ok", "gates": 1})
        self.await_phase("ok", "succeeded")
        _, stderr = self.troupe("reject", "it", status=2)
        self.assertIn("no gate of it waits for an approval now; with an ID the answer is kept for "
                      "when one does", stderr)
        _, stderr = self.troupe("signal", "it", "many", status=2)
        self.assertIn("'many' is no value of type int", stderr)
        self.troupe("signal", "it", "7")
        running.wait_for("m[1]/g: waits")
        _, stderr = self.troupe("signal", "it", "8", status=2)
        self.assertIn("2 gates of it wait for a value: 'k' (m[0]/g), 'k' (m[1]/g); give the ID for "
                      "all of an ID, or name one with --node", stderr)
        _, stderr = self.troupe("signal", "it", "8", "--node", "m[3]/g", status=2)
        self.assertIn("no gate 'm[3]/g' of it waits for a value now", stderr)
        self.troupe("signal", "it", "8", "--node", "m[1]/g")
        self.await_phase("m[1]/g", "succeeded")
        self.troupe("signal", "it", "9")
        self.assertEqual(self.outcome(running)["outputs"], {"n": 7, "m": [9, 8]})

    def test_the_inbox_has_all_gates_that_wait(self):
        self.assertEqual(self.troupe("gates", status=2)[0], "")
        first = self.begin({"ok": {"approve": "ship"}}, name="one")
        second = self.begin({"n": {"signal": "limit", "type": "[int]"}}, name="two")
        for running in (first, second):
            running.wait_for(": waits")
        shown = self.troupe("gates")[0].splitlines()
        self.assertEqual(re.split(" {2,}", shown[0]),
                         ["NAME", "GATE", "WAITS FOR", "SINCE", "ANSWER"])
        self.assertRegex(shown[1], r"^two +n +a value of type \[int\] +\d+s +"
                                   r"troupe signal two limit VALUE$")
        self.assertRegex(shown[2], r"^one +ok +approval +\d+s +troupe approve one ship$")
        self.assertEqual([row["node"] for row in self.document("list", "--waiting")], ["n", "ok"])
        self.assertEqual(self.troupe("list", "--waiting", "--limit", "1", "-o", "name")[0],
                         "two/n\n")
        self.assertEqual(self.document("list", "--waiting", "--workflow", "other"), [])
        _, stderr = self.troupe("gates", "--limit", "few", status=2)
        self.assertIn("--limit: 'few' is no number", stderr)
        self.troupe("approve", "one")
        self.await_phase("ok", "succeeded", "one")
        self.assertEqual(self.troupe("gates", "-o", "name")[0], "two/n\n")
        self.troupe("abort", "two")
        self.outcome(second, status=3)
        self.outcome(first)
        self.assertEqual(self.document("gates"), [])

    def test_what_waits_outlives_the_engine(self):
        running = self.begin({"nap": {"sleep": "300ms"}, "ok": {"approve": "ship"},
                              "n": {"signal": "limit", "type": "int", "after": ["ok"]}},
                             {"n": "$n.value"})
        self.await_phase("ok", "running")
        self.troupe("signal", "it", "limit", "9")
        running.signal(signal.SIGKILL)
        running.end()
        _, stderr = self.troupe("approve", "it", "ship", status=4)
        self.assertIn("`troupe serve`", stderr)
        running = self.start("resume", "it", "-o", "json")
        running.wait_for("ok: waits for approval")
        self.await_phase("nap", "succeeded")
        self.troupe("approve", "it", "ship")
        self.assertEqual(self.outcome(running)["outputs"], {"n": 9})


class PauseTest(WaitingTest):
    def test_a_pause_outlives_the_engine(self):
        running = self.begin({"one": {"task": "hold", "with": {"a": 1}},
                              "two": {"task": "hold", "with": {"a": "$one.b"}}}, {"b": "$two.b"})
        self.await_file("begun")
        _, stderr = self.troupe("pause", "it", "-m", "for lunch")
        self.assertIn("it is paused; `troupe resume it` goes on", stderr)
        self.assertIn("running, paused", self.troupe("list")[0])
        running.signal(signal.SIGKILL)
        running.end()
        self.write("go", "")
        serving = self.start("serve")
        serving.wait_for("serve")
        self.troupe("pause", "it")  # wakes it, and changes nothing else
        self.await_phase("one", "succeeded")
        self.assertEqual(self.phase_of("two"), "not yet started")
        explained = self.document("explain", "it")
        self.assertTrue(explained["is_paused"])
        self.assertFalse(any(row["is_stuck"] for row in explained["waiting"]))
        self.assertEqual(self.document("resume", "it")["outputs"], {"b": 1})
        self.assertEqual((self.folder / "begun").read_text(), "1\n1\n")
        causes = [row["cause"] for row in self.changes() if "by" in row["cause"]]
        self.assertRegex(causes[0], "paused by .*@.*: for lunch")
        self.assertRegex(causes[1], "resumed by .*@.*")

    def changes(self):
        stdout, _ = self.troupe("watch", "it", "-o", "json")
        rows = [json.loads(line) for line in stdout.splitlines()]
        return [row for row in rows if row.get("subject") == "execution"]

    def test_several_are_asked_about(self):
        first = self.begin({"ok": {"approve": "ship"}}, name="one")
        second = self.begin({"ok": {"approve": "ship"}}, name="two")
        _, stderr = self.troupe("pause", "*", status=2)
        self.assertIn("these are 2 executions; give --yes if you mean all of them", stderr)
        paused = self.document("pause", "*", "--yes")
        self.assertEqual([row["execution"] for row in paused], ["one", "two"])
        _, stderr = self.troupe("pause", "x*", status=2)
        self.assertIn("matches no unfinished execution", stderr)
        self.troupe("abort", "one", "two", "--yes")
        self.outcome(second, status=3)
        self.outcome(first, status=3)


if __name__ == "__main__":
    unittest.main()
