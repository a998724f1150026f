#!/usr/bin/env python3
"""A store whose disk is full, and stores that are damaged, foreign or of a later version.

The full disk is a small file system of memory, which takes the rights of root; without them that
test says so and is skipped.
"""

import ctypes
import json
import os
import shutil
import signal
import subprocess
import unittest

from kills import LIMIT_S, PROGRAM, KillTest, wait_until

DISK_BYTES = 8 << 20
SIZE = 40

# Where SQLite keeps the version of what is in a database.
FORMAT_AT = 60
HEADER_BYTES = 100


class FullDiskTest(KillTest):
    def setUp(self):
        super().setUp()
        self.store.mkdir()
        self.libc = ctypes.CDLL(None, use_errno=True)
        options = f"size={DISK_BYTES}".encode()
        if self.libc.mount(b"troupe", os.fsencode(self.store), b"tmpfs", 0, options) != 0:
            words = os.strerror(ctypes.get_errno())
            shutil.rmtree(self.folder)
            self.skipTest(f"no small file system could be mounted: {words}")

    def tearDown(self):
        self.end_keeper()
        self.libc.umount2(os.fsencode(self.store), 2)  # MNT_DETACH: the keeper may still leave
        super().tearDown()

    def fill(self):
        """Writes until there is no room, down to the last byte."""
        with open(self.store / "filler", "ab", buffering=0) as file:
            size = 1 << 16
            while size > 0:
                try:
                    file.write(bytes(size))
                except OSError:
                    size //= 2

    def test_while_processes_run(self):
        """It says that it waits, can be looked at, and goes on when there is room."""
        # A task that itself finds no room is the task's matter: this one tries again.
        self.write_fan_out(SIZE, """
while [ ! -e "$TROUPE_FOLDER/go" ]; do /bin/sleep 0.02; done
until echo "{}" >"$TROUPE_OUTPUTS"; do /bin/sleep 0.02; done 2>/dev/null""")
        # Beside them time passes, which is to be written.
        self.write("flow.yaml", (self.folder / "flow.yaml").read_text().replace(
            "    nodes:", "    nodes:\n      tick: {task: tick, with: {time: 1s}}").replace(
            "tasks:", "tasks:\n  tick: {type: core-sleep, inputs: {time: duration}}"))
        running = self.start("run", "flow.yaml", "--inputs", "inputs.json", "--name", "it", "-o",
                             "json", "-j", "4")
        wait_until(lambda: len(self.counts()) == 4, "the first processes")
        # Who reads lets the engine write its tables: what is in them can be looked at later, too.
        self.assertEqual(self.document("list")[0]["phase"], "running")
        self.fill()
        self.write("go", "")
        self.assertIn("until there is room", running.wait_for("cannot be written now"))
        self.assertIsNone(running.process.poll())
        self.assertEqual(self.document("list")[0]["phase"], "running")
        (self.store / "filler").unlink()
        status, stdout, stderr = running.end()
        self.assertEqual(status, 0, stderr)
        self.assertIn("can be written again", stderr)
        self.assertEqual(json.loads(stdout)["outputs"], {"b": [a * a for a in range(SIZE)]})

    def takes_in(self, path):
        """Whether an import succeeds; else nothing but the full disk may be the reason."""
        done = subprocess.run([PROGRAM, "import", path], cwd=self.folder, text=True,
                              env=self.environment(), capture_output=True, timeout=LIMIT_S)
        if done.returncode != 0:
            self.assertIn("cannot be written now: the disk is full", done.stderr)
            self.assertEqual(done.returncode, 4)
        return done.returncode == 0

    def test_an_import_is_refused(self):
        """Nothing of it is there, and it comes when there is room."""
        self.write("flow.yaml", """
troupe: 1
tasks: {make: {outputs: {f: file}, run: [sh, -c, 'echo x >f; echo "{\\"f\\": \\"f\\"}"
  >"$TROUPE_OUTPUTS"']}}
workflows: {main: {nodes: {make: {task: make}}, outputs: {f: $make.f}}}
""")
        source = self.folder / "source"
        self.troupe("run", "flow.yaml", "--name", "it", "-q", "--store", source)
        path = self.troupe("export", "it", "--store", source)[0].strip()
        engine = self.start("serve")
        engine.wait_for("serves")
        self.fill()
        _, stderr = self.troupe("import", path, status=4)
        self.assertRegex(stderr, "No space left on device|cannot be written now|disk is full")
        (self.store / "filler").unlink()
        self.assertEqual(self.document("list"), [])
        # The engine tries again every 100 ms, and refuses until it has seen that there is room.
        wait_until(lambda: self.takes_in(path), "an import that comes in")
        self.assertEqual(self.document("get", "it")["phase"], "succeeded")
        engine.signal(signal.SIGTERM)
        self.assertEqual(engine.end()[0], 0)

    def test_who_asks_is_refused_and_sigterm_ends_it(self):
        """Neither a question nor a signal waits for room."""
        self.write_fan_out(SIZE, "/bin/sleep 0.2")
        engine = self.start("serve")
        engine.wait_for("serves")
        self.troupe("submit", "flow.yaml", "--inputs", "inputs.json")
        self.fill()
        engine.wait_for("cannot be written now")
        # The definition is there already: what is asked is the launcher.
        _, stderr = self.troupe("submit", "flow.yaml", "--inputs", "inputs.json", "--name", "late",
                                status=4)
        self.assertIn("cannot be written now: the disk is full; it may begin when it can", stderr)
        asking = self.start("submit", "flow.yaml", "--inputs", "inputs.json", "--name", "later")
        wait_until(lambda: asking.process.poll() is None, "somebody who asks")
        engine.signal(signal.SIGTERM)
        self.assertEqual(engine.end(limit_s=LIMIT_S / 2)[0], 0)
        self.assertEqual(asking.end()[0], 4)


class DamageTest(KillTest):
    """Every command answers with words and 4, and leaves the store as it is."""

    COMMANDS = (("list",), ("get", "it"), ("get", "it/squares"), ("logs", "it/squares"),
                ("watch", "it"), ("resume", "it"), ("resume",),
                ("run", "flow.yaml", "--inputs", "inputs.json"),
                ("run", "flow.yaml", "--inputs", "inputs.json", "--detach"))

    # Those need a live engine, and a store like this has none.
    LIVE = (("abort", "it"), ("actors",), ("tap",), ("metrics",))

    def setUp(self):
        super().setUp()
        self.write_fan_out(SIZE)
        self.troupe("run", "flow.yaml", "--inputs", "inputs.json", "--name", "it", "-q")
        self.database = self.store / "troupe.db"
        self.sound = self.database.read_bytes()
        self.assertEqual(list(self.store.glob("troupe.db-*")), [])

    def answers(self, commands):
        """(words, status, stderr) of each command."""
        for words in commands:
            done = subprocess.run([PROGRAM, *words], cwd=self.folder, text=True,
                                  stdin=subprocess.DEVNULL, env=self.environment(),
                                  capture_output=True, timeout=LIMIT_S)
            yield words, done.returncode, done.stderr

    def assert_refused(self, bytes_now, *parts):
        self.database.write_bytes(bytes_now)
        for words, status, stderr in self.answers(self.COMMANDS):
            with self.subTest(words):
                self.assertEqual(status, 4, stderr)
                for part in ("troupe.db", *parts):
                    self.assertIn(part, stderr)
        for words, status, stderr in self.answers(self.LIVE):
            with self.subTest(words):
                self.assertEqual(status, 4, stderr)
                self.assertNotEqual(stderr, "")
        self.assertEqual(self.database.read_bytes(), bytes_now)

    def test_foreign_files(self):
        self.assert_refused(b"this was written by nobody of ours\n" * 20, "another kind")

    def test_a_later_version(self):
        later = bytearray(self.sound)
        later[FORMAT_AT:FORMAT_AT + 4] = (99).to_bytes(4, "big")
        self.assert_refused(bytes(later), "99", "use the version that wrote it")

    def test_a_truncated_file(self):
        self.assert_refused(self.sound[:HEADER_BYTES // 2], "damaged")

    def test_bytes_in_the_middle(self):
        """What of it a command does not need may be harmed unseen; nothing may crash or hang."""
        size = len(self.sound)
        for at, length in ((HEADER_BYTES, 4000), (size // 2, 8192), (4096, size - 4096)):
            harmed = self.sound[:at] + b"\xa5" * length + self.sound[at + length:]
            refused = 0
            for command in self.COMMANDS:
                for left in self.store.glob("troupe.db-*"):
                    left.unlink()
                self.database.write_bytes(harmed[:size])
                (words, status, stderr), = self.answers([command])
                with self.subTest((at, length, words)):
                    self.assertIn(status, (0, 4), stderr)
                    self.assertEqual(status == 4, "damaged" in stderr, stderr)
                    refused += status == 4
            if at < 4096 or length > 8192:
                self.assertEqual(refused, len(self.COMMANDS))

    def test_half_a_file(self):
        self.database.write_bytes(self.sound[:len(self.sound) // 2 // 4096 * 4096])
        statuses = [status for _, status, _ in self.answers(self.COMMANDS)]
        self.assertIn(4, statuses)
        self.assertLessEqual(set(statuses), {0, 4})


if __name__ == "__main__":
    unittest.main()
