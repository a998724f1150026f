#!/usr/bin/env python3
"""Which failures are tried again: by their code, by the exception of a traceback, and what is said
of those that are not."""

import json
import unittest

from program import ProgramTest

SCRIPT = """\
import json, os, sys
kind = sys.argv[1]
with open(os.path.join(os.environ["TROUPE_FOLDER"], "runs"), "a") as runs:
    runs.write(kind + "\\n")
def tell(**document):
    with open(os.environ["TROUPE_ERROR"], "w") as file:
        json.dump(document, file)
if kind == "key":
    {}["id"]
elif kind == "json":
    json.loads("{")
elif kind == "lines":
    raise ValueError("first\\nsecond\\nthird")
elif kind == "logged":
    try:
        {}["id"]
    except KeyError:
        import traceback
        traceback.print_exc()
    sys.exit(3)
elif kind == "busy":
    tell(code="Busy", message="come back")
elif kind == "final":
    tell(code="Busy", message="never", recoverable=False)
elif kind == "document":
    tell(code="Told")
    {}["id"]
elif kind == "signal":
    os.kill(os.getpid(), 9)
"""


class RetriesTest(ProgramTest):
    def setUp(self):
        super().setUp()
        self.write("script.py", SCRIPT)

    def attempt(self, kind, **keys):
        """Runs a task that fails so: how often it was run, and the error of its node."""
        (self.folder / "runs").unlink(missing_ok=True)
        self.write("flow.yaml", json.dumps({
            "troupe": 1,
            "tasks": {"t": {"run": ["python3", "./script.py", kind], "retries": 2, **keys}},
            "workflows": {"main": {"nodes": {"n": {"task": "t"}}}}}))
        error = self.document("run", "flow.yaml", status=1)["error"]
        return len((self.folder / "runs").read_text().splitlines()), error

    def test_names_of_failures(self):
        for kind, keys, runs in (
                ("key", {}, 3),
                ("key", {"never_retry_on": ["KeyError"]}, 1),
                ("key", {"never_retry_on": ["Key"]}, 3),
                ("key", {"retry_on": ["ProcessFailed"]}, 3),
                ("key", {"retry_on": ["KeyError"]}, 3),
                ("key", {"retry_on": ["ValueError"]}, 1),
                ("json", {"never_retry_on": ["JSONDecodeError"]}, 1),
                ("json", {"never_retry_on": ["json.*"]}, 1),
                ("json", {"retry_on": ["*.JSONDecodeError"]}, 3),
                ("lines", {"never_retry_on": ["ValueError"]}, 1),
                ("logged", {"never_retry_on": ["KeyError"]}, 3),
                ("logged", {"never_retry_on": ["Process*"]}, 1),
                ("busy", {"retry_on": ["Busy"]}, 3),
                ("busy", {"retry_on": ["busy"]}, 1),
                ("final", {"retry_on": ["*"]}, 1),
                ("document", {"never_retry_on": ["KeyError"]}, 3),
                ("document", {"never_retry_on": ["Told"]}, 1),
                ("signal", {"never_retry_on": ["ProcessSignalled"]}, 1),
                ("signal", {"retry_on": ["*"], "never_retry_on": ["OOM*"]}, 3)):
            with self.subTest(kind=kind, keys=keys):
                self.assertEqual(self.attempt(kind, **keys)[0], runs)

    def test_why_it_is_not_tried_again(self):
        _, error = self.attempt("key", never_retry_on=["KeyError"])
        self.assertEqual(error["code"], "ProcessFailed")
        self.assertEqual(error["message"],
                         "exit status 1: KeyError: 'id' "
                         "(not tried again: never_retry_on: KeyError)")
        self.assertIn(error["message"], self.troupe("explain", "@last")[0])
        attempt, = self.document("get", "@last/n")["attempts"]
        self.assertEqual(attempt["error"]["message"], error["message"])
        _, error = self.attempt("json", retry_on=["Busy"])
        self.assertRegex(error["message"],
                         r"\(not tried again: retry_on names neither ProcessFailed nor "
                         r"json\.decoder\.JSONDecodeError\)$")
        _, error = self.attempt("busy", retry_on=["Idle"])
        self.assertEqual(error["message"],
                         "come back (not tried again: retry_on does not name Busy)")

    def test_elements_and_nodes(self):
        self.write("flow.yaml", """\
troupe: 1
tasks:
  t:
    inputs: {kind: string}
    retries: 1
    never_retry_on: [KeyError]
    run: [python3, ./script.py, "{{.inputs.kind}}"]
workflows:
  main:
    nodes:
      each: {map: t, with: {kind: [key, busy]}, min_successes: 0}
      free: {task: t, never_retry_on: [], with: {kind: key}, optional: true}
""")
        self.document("run", "flow.yaml", "--name", "one")
        elements = self.document("get", "one/each")["elements"]
        self.assertEqual([element["attempt"] for element in elements], [0, 1])
        self.assertIn("never_retry_on: KeyError", elements[0]["error"]["message"])
        self.assertEqual(len(self.document("get", "one/free")["attempts"]), 2)
        shown, _ = self.troupe("check", "-v", "flow.yaml")
        self.assertIn("    retries: 1, never_retry_on: KeyError\n", shown)
        self.assertIn("    retries: 1\n", shown)

    def test_a_slip_is_warned_of(self):
        self.write("flow.yaml", "troupe: 1\ntasks:\n"
                                "  t: {run: [date], retries: 1, retry_on: [KeyEror, Own]}\n")
        self.assertEqual(self.troupe("check", "flow.yaml")[0],
                         "flow.yaml:3:43: warning: t: 'KeyEror' is no code that is known; "
                         "did you mean 'KeyError'?\n")


if __name__ == "__main__":
    unittest.main()
