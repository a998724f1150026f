#!/usr/bin/env python3
"""Looking at a store where nothing may be written: on a read-only mount, and in a folder that is
somebody else's."""

import os
import signal
import subprocess
import unittest

from program import LIMIT_S, PROGRAM, ProgramTest, Running, wait_until

FLOW = """
troupe: 1
tasks:
  say: {inputs: {s: string}, outputs: {s: string}, run: [sh, ./say.sh]}
workflows:
  main: {inputs: {s: string}, nodes: {a: {task: say, with: {s: $s}}}, outputs: {s: $a.s}}
  gate: {nodes: {g: {approve: go}}}
"""
NOBODY = 65534
LOOKS = (("list",), ("get", "it"), ("get", "it/a"), ("explain", "it"), ("logs", "it"),
         ("watch", "it"))


class StillTest(ProgramTest):
    def setUp(self):
        super().setUp()
        self.place = self.store  # how the store is called by those who look
        self.write("flow.yaml", FLOW)
        self.write("say.sh", "echo said; cp $TROUPE_INPUTS $TROUPE_OUTPUTS")
        large = self.write("large.json", '{"s": "' + "x" * 300000 + '"}')
        self.troupe("run", "flow.yaml", "main", "--inputs", large, "--name", "it", "-q")
        self.end_keeper()
        wait_until(lambda: not any((self.store / name).exists()
                                   for name in ("keeper.sock", "keeper.cgroup")),
                   "the keeper leaves")

    def tearDown(self):
        if self.place != self.store:
            # Lazily: whoever still looks is ended by the others' tear-down.
            subprocess.run(["umount", "--lazy", self.place], check=True)
        super().tearDown()

    def mount_read_only(self):
        place = self.folder / "mount"
        place.mkdir()
        if os.geteuid() != 0:
            self.skipTest("mounting wants root")
        if subprocess.run(["mount", "--bind", self.store, place], capture_output=True).returncode:
            self.skipTest("nothing can be mounted here")
        self.place = place
        subprocess.run(["mount", "-o", "remount,ro,bind", place], check=True)

    def open_to_others(self):
        """Lets others read all, and nobody write to the store's folder."""
        for path in (self.folder, *self.folder.rglob("*")):
            path.chmod(0o755 if path.is_dir() else 0o644)
        if os.geteuid() != 0:
            self.store.chmod(0o555)
            self.addCleanup(self.store.chmod, 0o755)
        elif subprocess.run([PROGRAM, "version"], user=NOBODY, capture_output=True).returncode:
            self.skipTest("the program cannot be run by another user here")

    def look(self, *words, status=0):
        user = NOBODY if os.geteuid() == 0 and self.place == self.store else None
        done = subprocess.run([PROGRAM, *words, "--store", self.place], cwd=self.folder, text=True,
                              env=self.environment(), capture_output=True, timeout=LIMIT_S,
                              user=user)
        self.assertEqual(done.returncode, status, (words, done.stdout, done.stderr))
        return done.stdout, done.stderr

    def names(self):
        return sorted(path.name for path in self.store.iterdir())

    def assert_all_can_be_seen(self):
        before = self.names()
        for words in LOOKS:
            with self.subTest(words):
                stdout, _ = self.look(*words)
                self.assertIn("said" if words[0] == "logs" else
                              "x" * 300000 if words[0] == "watch" else "succeeded", stdout)
        self.look("run", "flow.yaml", "gate", status=4)
        self.assertEqual(self.names(), before)

    def test_a_read_only_mount(self):
        self.mount_read_only()
        self.assert_all_can_be_seen()
        self.look("export", "it", "--file", str(self.folder / "it.troupe"))
        other = self.folder / "other"
        other.mkdir()
        self.troupe("import", "it.troupe", "--store", other)
        self.assertIn("x" * 300000, self.troupe("get", "it", "-v", "--store", other)[0])

    def test_a_folder_of_somebody_else(self):
        self.open_to_others()
        self.assert_all_can_be_seen()
        if os.geteuid() != 0:
            self.store.chmod(0o755)
        engine = self.start("serve")
        engine.wait_for("serves")
        self.troupe("submit", "flow.yaml", "gate", "--name", "late")
        self.assertIn("late", self.look("list")[0], "beside an engine")
        engine.signal(signal.SIGKILL)
        engine.end()
        self.assertIn("late", self.look("list")[0], "what is in the log is seen")

    def test_a_name_with_a_meaning(self):
        """A path is no URI, whatever stands in it."""
        odd = self.folder / "a?b#c%41"
        self.store.rename(odd)
        self.store = self.place = odd
        self.open_to_others()
        self.assertIn("succeeded", self.look("list")[0])

    def test_a_store_that_was_not_closed(self):
        engine = self.start("serve")
        engine.wait_for("serves")
        self.troupe("submit", "flow.yaml", "gate", "--name", "late")
        self.mount_read_only()
        self.assertIn("late", self.look("list")[0], "beside an engine")
        engine.signal(signal.SIGKILL)
        engine.end()
        self.assertGreater((self.store / "troupe.db-wal").stat().st_size, 0)
        self.assertIn("late", self.look("list")[0], "what is in the log is seen")
        (self.store / "troupe.db-shm").unlink()
        _, stderr = self.look("list", status=4)
        self.assertIn(f"{self.place}/troupe.db: was not closed properly, and its log cannot be "
                      "read where nothing may be written; copy the folder to where you may write",
                      stderr)

    def test_an_engine_that_begins_meanwhile(self):
        engine = self.start("serve")
        engine.wait_for("serves")
        self.troupe("submit", "flow.yaml", "gate", "--name", "late")
        engine.signal(signal.SIGTERM)
        engine.end()
        self.mount_read_only()
        watching = Running(subprocess.Popen(
            [PROGRAM, "watch", "late", "--store", self.place], cwd=self.folder, text=True,
            env=self.environment(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE))
        self.started.append(watching)
        watching.wait_for("no engine runs")
        engine = self.start("serve")
        engine.wait_for("serves")
        self.troupe("approve", "late", "go")
        status, _, stderr = watching.end()
        self.assertEqual(status, 0, stderr)
        self.assertIn("g: succeeded", stderr)


if __name__ == "__main__":
    unittest.main()
