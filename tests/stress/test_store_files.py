#!/usr/bin/env python3
"""Each file of a store is emptied, overwritten, removed, made a folder (a folder: a file), or taken
the rights to, one by one: every command ends within seconds with words and a status, or does its
work.

Rights are taken as another user than root. By default a share of all cases is drawn
(TROUPE_TEST_SEED repeats it), with TROUPE_TEST_LONG all of them are tried."""

import os
import random
import shutil
import signal
import subprocess
import threading
import time
import unittest

from kills import IS_LONG, PROGRAM, ProgramTest, seed_of, wait_until
from program import slowness

NOBODY = 65534
WAITS_S = 4  # what may pass is waited out: who does so is told to leave
QUICKLY_S = 120
CASES = 12  # of each fault, unless all are tried

FLOW = """
troupe: 1
tasks:
  make:
    inputs: {n: int}
    outputs: {f: file, l: "[int]"}
    cache: {version: 1}
    run: [sh, -c, 'echo said; echo one >one.txt;
      echo "{\\"f\\": \\"one.txt\\", \\"l\\": [$(seq -s, 1 90000)]}" >"$TROUPE_OUTPUTS"']
  bad: {run: [sh, -c, 'exit 3']}
workflows:
  main: {inputs: {n: int}, nodes: {m: {task: make, with: {n: $n}}}, outputs: {f: $m.f}}
  fails: {nodes: {b: {task: bad}}}
  waits: {nodes: {g: {approve: true}}}
"""

COMMANDS = (
    ("list",), ("get", "done"), ("get", "done/m"), ("logs", "done/m"), ("explain", "failed"),
    ("watch", "done"), ("export", "done", "--file", "done.troupe"),
    ("rerun", "failed"), ("run", "flow.yaml", "main", "-i", "n=1"),
    ("run", "flow.yaml", "main", "-i", "n=2"), ("submit", "flow.yaml", "main", "-i", "n=3"),
    ("prune", "done", "--yes"), ("plugins",), ("serve",), ("abort", "waiting"),
)


def make_file(path):
    shutil.rmtree(path)
    path.write_text("")


def make_folder(path):
    path.unlink()
    path.mkdir()


FAULTS = {
    "emptied": lambda path: os.truncate(path, 0),
    "overwritten": lambda path: path.write_bytes(b"written by nobody of ours\n" * 40),
    "turned": lambda path: (make_file if path.is_dir() else make_folder)(path),
    "closed": lambda path: path.chmod(0),
    "removed": lambda path: shutil.rmtree(path) if path.is_dir() else path.unlink(),
}


class StoreFilesTest(ProgramTest):
    def setUp(self):
        super().setUp()
        self.user = NOBODY if os.geteuid() == 0 else None
        self.write("flow.yaml", FLOW)
        self.troupe("run", "flow.yaml", "main", "--name", "done", "-q", "-i", "n=1")
        self.troupe("run", "flow.yaml", "fails", "--name", "failed", "-q", status=1)
        waiting = self.start("run", "flow.yaml", "waits", "--name", "waiting")
        waiting.wait_for("g: ")
        waiting.signal(signal.SIGTERM)
        waiting.end()
        self.end_keeper()
        wait_until(lambda: not self.keepers(), "the keeper to leave")
        self.sound = self.folder / "sound"
        self.store.rename(self.sound)
        if self.user is not None:
            self.folder.chmod(0o755)
            for path in [self.folder, *self.folder.rglob("*")]:
                os.chown(path, NOBODY, NOBODY, follow_symlinks=False)

    def cases(self, fault):
        """Paths below the store that can be harmed so, in their kinds: one of each folder."""
        chosen = {}
        for path in sorted(self.sound.rglob("*")):
            is_fit = path.is_file() or (path.is_dir() and fault in ("turned", "closed", "removed"))
            parts = path.relative_to(self.sound).parts
            if is_fit and not path.is_symlink():
                chosen.setdefault((parts[0], len(parts), path.is_dir(), path.suffix), path)
        return [path.relative_to(self.sound) for path in chosen.values()]

    def command(self, words):
        """Its end and its words; what is to stay is told to leave when it is there."""
        end_s = time.monotonic() + QUICKLY_S
        process = subprocess.Popen([PROGRAM, *words], cwd=self.folder, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                                   env=self.environment(), user=self.user, group=self.user,
                                   extra_groups=[] if self.user else None)
        if words == ("serve",):
            while process.poll() is None and not (self.store / "engine.sock").exists() \
                    and time.monotonic() < end_s:
                threading.Event().wait(0.01)
            process.send_signal(signal.SIGTERM)
        waits_s = WAITS_S * slowness()
        for limit_s, number in ((waits_s, signal.SIGTERM), (QUICKLY_S, signal.SIGKILL)):
            try:
                words = process.communicate(timeout=limit_s)[1]
                return process.returncode, words
            except subprocess.TimeoutExpired:
                process.send_signal(number)
        return "hangs", process.communicate()[1]

    def harm(self, fault, path):
        shutil.rmtree(self.store, ignore_errors=True)
        subprocess.run(["cp", "-a", self.sound, self.store], check=True)
        FAULTS[fault](self.store / path)
        if self.user is not None and (self.store / path).exists():
            os.chown(self.store / path, NOBODY, NOBODY)

    def sweep(self, fault):
        draw = random.Random(seed_of(self))
        cases = [(path, words) for path in self.cases(fault) for words in COMMANDS]
        for path, words in cases if IS_LONG else draw.sample(cases, min(CASES, len(cases))):
            self.harm(fault, path)
            status, stderr = self.command(words)
            with self.subTest(path=str(path), words=words):
                self.assertIn(status, (0, 1, 2, 4), stderr)
                self.assertTrue(status == 0 or stderr.strip() != "", "no words")
                for word in ("Assertion", "Sanitizer", "Aborted"):
                    self.assertNotIn(word, stderr)
            (self.folder / "done.troupe").unlink(missing_ok=True)
            self.kill_keeper()

    def test_emptied(self):
        self.sweep("emptied")

    def test_overwritten(self):
        self.sweep("overwritten")

    def test_turned(self):
        self.sweep("turned")

    def test_closed(self):
        self.sweep("closed")

    def test_removed(self):
        self.sweep("removed")


if __name__ == "__main__":
    unittest.main()
