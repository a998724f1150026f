#!/usr/bin/env python3
"""Interrupting and killing an engine: what is left outside, and how it goes on."""

import os
import signal
import unittest

from program import ProgramTest, wait_until

# A task that says that it runs, and goes on when it is told to.
WAITING = """
troupe: 1
tasks:
  first: {outputs: {n: int}, run: [sh, -c, 'echo once >> "$TROUPE_FOLDER/firsts";
    echo "{\\"n\\": 1}" > "$TROUPE_OUTPUTS"']}
  wait:
    inputs: {n: int}
    outputs: {n: int}
    grace: 5s
    run: [sh, -c, 'trap "echo stopped >> \\"$TROUPE_FOLDER/stopped\\"; exit 1" TERM;
      echo $$ > "$TROUPE_FOLDER/pid.new"; mv "$TROUPE_FOLDER/pid.new" "$TROUPE_FOLDER/pid";
      while [ ! -e "$TROUPE_FOLDER/go" ]; do sleep 0.02; done;
      echo "{\\"n\\": 2}" > "$TROUPE_OUTPUTS"']
workflows:
  main:
    nodes:
      first: {task: first}
      wait: {task: wait, with: {n: $first.n}}
    outputs: {n: $wait.n}
"""


class SignalsTest(ProgramTest):
    def begin(self, *words):
        """A run whose second task waits; gives it and that task's process."""
        self.write("flow.yaml", WAITING)
        running = self.start("run", "flow.yaml", "--name", "it", *words)
        return running, int(self.await_file("pid").read_text())

    def assert_gone(self, pid):
        self.assertFalse(os.path.exists(f"/proc/{pid}"), f"the task's process {pid} lives")

    def test_interrupt_aborts_and_cleans_up(self):
        running, pid = self.begin()
        running.signal(signal.SIGINT)
        status, stdout, stderr = running.end()
        self.assertEqual(status, 3, stderr)
        self.assertEqual(stdout, "")
        self.assertIn("it aborted", stderr)
        self.assertEqual((self.folder / "stopped").read_text(), "stopped\n")
        self.assert_gone(pid)

    def test_a_second_interrupt_kills(self):
        self.write("flow.yaml", WAITING.replace("exit 1", "").replace("grace: 5s", "grace: 1h"))
        running = self.start("run", "flow.yaml", "--name", "it")
        pid = int(self.await_file("pid").read_text())
        running.signal(signal.SIGINT)
        running.wait_for("aborting")
        self.await_file("stopped")
        running.signal(signal.SIGINT)
        status, _, stderr = running.end()
        self.assertEqual(status, 3, stderr)
        wait_until(lambda: not os.path.exists(f"/proc/{pid}"), "the task's process ends")
        # Whatever it left, the next engine finishes it.
        self.troupe("resume", "it", status=3)

    def test_term_leaves_and_resume_goes_on(self):
        for number in (signal.SIGTERM, signal.SIGHUP):
            with self.subTest(number=number):
                self.write("flow.yaml", WAITING)
                name = f"it-{int(number)}"
                running = self.start("run", "flow.yaml", "--name", name)
                self.await_file("pid")
                running.signal(number)
                status, stdout, stderr = running.end()
                self.assertEqual(status, 4, stderr)
                self.assertEqual(stdout, "")
                self.assertIn("troupe resume", stderr)
                self.write("go", "")
                stdout, _ = self.troupe("resume", "@last", "-q")
                self.assertEqual(stdout, "n: 2\n")
                self.assertEqual((self.folder / "firsts").read_text(), "once\n")
                for left in ("go", "pid", "firsts"):
                    (self.folder / left).unlink()

    def test_a_killed_engine_goes_on(self):
        running, _ = self.begin()
        running.signal(signal.SIGKILL)
        running.end()
        resumed = self.start("resume", "it", "-o", "json")
        self.write("go", "")
        status, stdout, stderr = resumed.end()
        self.assertEqual(status, 0, stderr)
        self.assertIn('"outputs":{"n":2}', stdout)
        self.assertEqual((self.folder / "firsts").read_text(), "once\n")

    def test_resume_of_everything(self):
        running, _ = self.begin()
        running.signal(signal.SIGTERM)
        running.end()
        self.write("go", "")
        _, stderr = self.troupe("resume")
        self.assertIn("1 unfinished", stderr)
        stdout, _ = self.troupe("resume", "it", "-q")
        self.assertEqual(stdout, "n: 2\n")
        _, stderr = self.troupe("resume", "nobody", status=2)
        self.assertIn("there is no execution 'nobody'", stderr)


if __name__ == "__main__":
    unittest.main()
