#!/usr/bin/env python3
"""What the machine lacks is no failure of the user's: it is waited out, and explain says so."""

import pathlib
import resource
import subprocess
import unittest

from program import PROGRAM, ProgramTest, wait_until

FLOW = """
troupe: 1
tasks:
  first: {run: [sh, -c, 'touch $TROUPE_FOLDER/begun;
    until [ -e $TROUPE_FOLDER/go ]; do sleep 0.02; done']}
  second: {inputs: {}, outputs: {n: int}, run: [sh, -c, 'echo "{\\"n\\": 1}" >$TROUPE_OUTPUTS']}
workflows:
  main:
    nodes:
      first: {task: first}
      second: {task: second, after: [first]}
    outputs: {n: $second.n}
  one: {nodes: {second: {task: second}}, outputs: {n: $second.n}}
"""


class ShortagesTest(ProgramTest):
    def setUp(self):
        super().setUp()
        self.write("flow.yaml", FLOW)

    def explained(self, words):
        """Waits until explain says so of the waiting node."""
        def explain():
            return subprocess.run([PROGRAM, "explain", "it/second"], cwd=self.folder, text=True,
                                  env=self.environment(), capture_output=True).stdout
        wait_until(lambda: words in explain(), words)

    def ends_well(self, running):
        """It goes on by itself, and no attempt was lost by the waiting."""
        status, _, stderr = running.end()
        self.assertEqual(status, 0, stderr)
        self.assertEqual(len(self.document("get", "it/second")["attempts"]), 1)

    def test_a_folder_that_cannot_be_made(self):
        self.troupe("run", "flow.yaml", "one", "-q")
        for path in sorted((self.store / "attempts").rglob("*"), reverse=True):
            path.rmdir() if path.is_dir() else path.unlink()
        (self.store / "attempts").rmdir()
        (self.store / "attempts").write_text("a file")
        running = self.start("run", "flow.yaml", "one", "--name", "it", "-q")
        self.explained("Not a directory; tried again in ")
        (self.store / "attempts").unlink()
        self.ends_well(running)

    def test_a_keeper_without_descriptors(self):
        """The limit is the keeper's own; a sync of what the first has written needs none."""
        running = self.start("run", "flow.yaml", "main", "--name", "it", "-q")
        self.await_file("begun")
        keeper, = self.keepers()
        before = resource.prlimit(keeper, resource.RLIMIT_NOFILE)
        used = max(int(path.name) for path in pathlib.Path(f"/proc/{keeper}/fd").iterdir())
        resource.prlimit(keeper, resource.RLIMIT_NOFILE, (used + 1, before[1]))
        self.write("go", "")
        self.explained("Too many open files; tried again in ")
        resource.prlimit(keeper, resource.RLIMIT_NOFILE, before)
        self.ends_well(running)


if __name__ == "__main__":
    unittest.main()
