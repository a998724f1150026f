#!/usr/bin/env python3
"""Attempts in all views: each counts them alike, and says of a failure that it may be retried only
where it is."""

import json
import re
import unittest

from program import ProgramTest, wait_until

SCRIPT = ('echo "$TROUPE_ATTEMPT" >>"$TROUPE_FOLDER/numbers"; '
          '[ "$TROUPE_ATTEMPT" = 2 ] || exit 7; '
          'until [ -e "$TROUPE_FOLDER/go" ]; do sleep 0.02; done; exit 7')
FLOW = f"""
troupe: 1
tasks:
  t: {{run: [sh, -c, {json.dumps(SCRIPT)}], retries: 2}}
  e: {{inputs: {{i: int}}, run: [sh, -c, {json.dumps(SCRIPT)}], retries: 2}}
workflows:
  one: {{nodes: {{n: {{task: t}}}}}}
  many: {{nodes: {{n: {{map: e, with: {{i: [5]}}}}}}}}
"""
RETRIED = "failed, may be retried"
WAITS = "waiting to retry"

# Failures that are not tried again.
NEVER = [
    ("retries: 2, never_retry_on: [ProcessFailed]", "exit 7"),
    ("retries: 2, retry_on: [Odd]", "exit 7"),
    ("retries: 2",
     """echo '{"code": "C", "message": "m", "recoverable": false}' >"$TROUPE_ERROR"; exit 1"""),
    ("retries: 0", "exit 7"),
]


class AttemptsTest(ProgramTest):
    def begin(self, workflow):
        """Runs until the last of three attempts waits for `go`."""
        self.write("flow.yaml", FLOW)
        running = self.start("run", "flow.yaml", workflow, "--name", "it")
        numbers = self.folder / "numbers"
        wait_until(lambda: numbers.exists() and numbers.read_text() == "0\n1\n2\n",
                   "its last attempt runs")
        return running

    def changes(self, status):
        lines = [json.loads(line) for line in
                 self.troupe("watch", "it", "-o", "json", status=status)[0].splitlines()]
        return lines[:-1]

    def phases_of(self, target):
        return [(row["attempt"], row["phase"])
                for row in self.document("get", target)["attempts"]]

    def end(self, running):
        self.write("go", "")
        status, _, stderr = running.end()
        self.assertEqual(status, 1)
        return stderr

    def test_a_task(self):
        running = self.begin("one")
        last = [(0, RETRIED), (1, RETRIED), (2, "running")]
        wait_until(lambda: self.phases_of("it/n") == last, "its last attempt is known to run")
        running.wait_for("n: running, attempt 2")
        watching = self.start("watch", "it")
        watching.wait_for("n: running, attempt 2")
        self.assertEqual(self.document("get", "it")["nodes"][0]["attempts"], 3)
        self.assertRegex(self.troupe("get", "it")[0], r"\n *n .* running .* 3 attempts\n")
        text = self.troupe("get", "it/n")[0]
        self.assertRegex(text, r"\n  attempts +3\n")
        self.assertEqual(re.findall(r"\nattempt (\d)  (.*)", text),
                         [(str(number), phase) for number, phase in last])
        self.assertIn("attempt 2 is running", self.troupe("explain", "it")[0])
        waits, = [row for row in self.document("explain", "it")["waiting"] if row["node"] == "n"]
        self.assertIn("attempt 2 is running", waits["text"])
        self.assertEqual([row["attempt"] for row in self.document("get", "it/n@2")["attempts"]],
                         [2])
        self.assertIn("nothing is known of attempt 3", self.troupe("get", "it/n@3", status=2)[1])
        stderr = self.end(running) + "\n".join(watching.lines["stderr"])
        self.assertEqual(watching.end()[0], 1)
        self.assertLessEqual(set(re.findall(r"attempt (\d)", stderr)), {"1", "2"})
        self.assertNotIn(RETRIED, stderr)
        self.assertIn("of the last of 3 attempts", stderr)
        self.assertEqual(self.phases_of("it/n"), [*last[:2], (2, "failed")])

    def test_what_a_task_went_through(self):
        self.end(self.begin("one"))
        changes = self.changes(1)
        ends = [(row["attempt"], row["phase"]) for row in changes
                if row["subject"] == "attempt" and row["phase"].startswith("failed")]
        self.assertEqual(ends, [(0, RETRIED), (1, RETRIED), (2, "failed")])
        nodes = [row["phase"] for row in changes if row["subject"] == "node" and row["node"] == "n"]
        self.assertEqual((nodes.count(WAITS), nodes[-1]), (2, "failed"))
        document = self.document("get", "it/n")
        self.assertEqual([row["phase"] for row in document["phases"]].count(WAITS), 2)
        self.assertEqual(self.document("explain", "it")["causes"][-1]["attempt"], 2)
        self.assertIn("it/n@2 ", self.troupe("explain", "it")[0].replace("because n@", "it/n@"))
        result = json.loads(self.troupe("watch", "it", "-o", "json", status=1)[0].splitlines()[-1])
        self.assertEqual(result["error"]["attempt"]["attempt"], 2)

    def test_an_element(self):
        running = self.begin("many")
        last = [(0, RETRIED), (1, RETRIED), (2, "running")]
        wait_until(lambda: self.phases_of("it/n[0]") == last, "its last attempt is known to run")
        waits, = [row for row in self.document("explain", "it/n[0]")["waiting"]
                  if row["element"] == 0]
        self.assertIn("attempt 2 is running", waits["text"])
        self.assertEqual(self.document("get", "it")["nodes"][0]["array"]["retrying"], 0)
        self.end(running)
        self.assertEqual(self.phases_of("it/n[0]"), [*last[:2], (2, "failed")])
        row, = self.document("get", "it/n")["elements"]
        self.assertEqual((row["attempt"], row["phase"]), (2, "failed"))
        ends = [(row["attempt"], row["phase"]) for row in self.changes(1)
                if row["subject"] == "element" and row["phase"] in (WAITS, "failed")]
        self.assertEqual(ends, [(0, WAITS), (1, WAITS), (2, "failed")])

    def test_what_is_not_tried_again_says_so_nowhere(self):
        for number, (keys, script) in enumerate(NEVER):
            run = f"run: [sh, -c, {json.dumps(script)}], {keys}"
            self.write("flow.yaml", f"""
troupe: 1
tasks:
  t: {{{run}}}
  e: {{inputs: {{i: int}}, {run}}}
workflows:
  one: {{nodes: {{n: {{task: t}}}}}}
  many: {{nodes: {{n: {{map: e, with: {{i: [5]}}}}}}}}
""")
            for workflow, target in (("one", "n"), ("many", "n[0]")):
                with self.subTest(keys, workflow=workflow):
                    self.says_nothing(workflow, f"{workflow}-{number}", target)

    def says_nothing(self, workflow, name, target):
        said = "\n".join(self.troupe("run", "flow.yaml", workflow, "--name", name, status=1))
        for words in (("get", name), ("get", f"{name}/{target}"), ("explain", name),
                      ("explain", f"{name}/{target}")):
            said += self.troupe(*words)[0] + self.troupe(*words, "-o", "json")[0]
        said += self.troupe("watch", name, "-o", "json", status=1)[0]
        self.assertNotIn("may be retried", said)
        self.assertNotIn(WAITS, said)
        self.assertEqual(self.phases_of(f"{name}/{target}"), [(0, "failed")])


if __name__ == "__main__":
    unittest.main()
