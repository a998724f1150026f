#!/usr/bin/env python3
"""kill -9 at every change that `export` and `import` make to a disk, and then the same once more.

An execution that has not ended goes from one store to another; whatever was killed, it is in one of
them, goes on there, and comes to the end that it would have come to, and nothing is done twice.
"""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import unittest

from kills import IS_LONG, LIMIT_S, bound, wait_until
from program import ProgramTest
from stores import skip_if_of_sqlite

MORTAL = bound(os.environ.get(
    "TROUPE_MORTAL", pathlib.Path(__file__).resolve().parents[2] / "build/dev/tests/troupe_mortal"))

STEP = 1 if IS_LONG else 4

FLOW = """
troupe: 1
tasks:
  first: {outputs: {f: file, l: "[int]"}, run: [sh, -c, 'echo once >>"$TROUPE_FOLDER/firsts";
    echo x >x.txt;
    echo "{\\"f\\": \\"x.txt\\", \\"l\\": [$(seq -s, 1 90000)]}" >"$TROUPE_OUTPUTS"']}
  nap: {type: core-sleep, inputs: {d: duration}}
  say: {type: echo, inputs: {l: "[int]", f: file}, outputs: {l: "[int]", f: file}}
workflows:
  main:
    nodes:
      first: {task: first}
      nap: {task: nap, with: {d: 5s}, after: [first]}
      say: {task: say, with: {l: $first.l, f: $first.f}, after: [nap]}
    outputs: {l: $say.l}
"""


class Move(ProgramTest):
    """One folder with two stores; several, so no test by itself."""

    def setUp(self):
        place = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="troupe-moves-", dir=place))
        self.store = self.folder / "store"
        self.other = self.folder / "other"
        self.started = []

    def prepare(self):
        self.write("flow.yaml", FLOW)
        self.other.mkdir()
        engine = self.start("run", "flow.yaml", "--name", "it")
        engine.wait_for("nap: running")
        engine.signal(signal.SIGTERM)
        engine.end()

    def call(self, *words, **variables):
        done = subprocess.run([MORTAL, *words], cwd=self.folder, text=True, capture_output=True,
                              stdin=subprocess.DEVNULL, timeout=LIMIT_S,
                              env=dict(self.environment(), **variables))
        return done.returncode, done.stdout, done.stderr

    def finish(self, store):
        """Goes on to the end: what came of it, or None where it is not."""
        status, stdout, stderr = self.call("resume", "it", "-o", "json", "--store", str(store))
        return json.loads(stdout)["outputs"] if status == 0 else (status, stderr)


class MoveSweepTest(unittest.TestCase):
    def setUp(self):
        skip_if_of_sqlite(self)
        if not MORTAL.exists():
            self.skipTest(f"{MORTAL} is not built")
        self.template = Move()
        self.template.setUp()
        self.addCleanup(self.template.tearDown)
        self.template.prepare()

    def begin(self, before=None):
        """A copy of the two stores at the same paths, which states and files name."""
        saved = self.template.folder.with_name(self.template.folder.name + "-saved")
        if not saved.exists():
            if before is not None:
                before(self.template)
            self.template.end_keeper()
            shutil.copytree(self.template.folder, saved, symlinks=True,
                            ignore=lambda folder, names: [n for n in names if n.endswith(".sock")])
            self.addCleanup(shutil.rmtree, saved, True)
        while self.template.folder.exists():  # a keeper that leaves takes its files along
            shutil.rmtree(self.template.folder, ignore_errors=True)
        shutil.copytree(saved, self.template.folder, symlinks=True)
        return self.template

    def sweep(self, words, before, check):
        """Kills a command at each change, lets `check` go on, and counts the points."""
        at, points = 1, 0
        while True:
            move = self.begin(before)
            status, stdout, stderr = move.call(*words, TROUPE_DIE_AS="engine",
                                               TROUPE_DIE_AT=str(at))
            killed = status == -signal.SIGKILL
            if not killed:
                self.assertEqual(status, 0, stderr)
            check(move, f"{words[0]}, change {at}")
            self.assertEqual((move.folder / "firsts").read_text(), "once\n", f"change {at}")
            points += killed
            if not killed:
                return points
            at += STEP

    def end_well(self, move, where):
        outputs = move.finish(move.other)
        self.assertEqual(outputs, {"l": list(range(1, 90001))}, where)
        status, stdout, stderr = move.call("resume", "-q")
        self.assertEqual(status, 0, f"{where}: {stderr}")
        rows = json.loads(move.call("list", "-o", "json")[1])
        self.assertEqual([row["phase"] for row in rows], ["exported"], where)

    def test_export(self):
        def check(move, where):
            status, stdout, stderr = move.call("export", "it")
            self.assertEqual(status, 0, f"{where}: {stderr}")
            status, _, stderr = move.call("import", stdout.strip(), "--store", str(move.other))
            self.assertEqual(status, 0, f"{where}: {stderr}")
            self.end_well(move, where)

        points = self.sweep(("export", "it"), None, check)
        self.assertGreater(points, 3)
        print(f"export: killed at {points} points")

    def test_import(self):
        def before(move):
            status, _, stderr = move.call("export", "it")
            self.assertEqual(status, 0, stderr)

        def check(move, where):
            words = ("import", "it.troupe", "--store", str(move.other))
            status, _, stderr = move.call(*words)
            is_there = "imported already" in stderr or "already: default/development/it" in stderr
            self.assertTrue(status == 0 or is_there, f"{where}: {stderr}")
            self.end_well(move, where)

        points = self.sweep(("import", "it.troupe", "--store", str(self.template.other)), before,
                            check)
        self.assertGreater(points, 3)
        print(f"import: killed at {points} points")

    def serve(self, move, **variables):
        """A live engine of the other store, which counts its changes or dies at one."""
        engine = subprocess.Popen([MORTAL, "serve", "--store", move.other], cwd=move.folder,
                                  stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL,
                                  env=dict(move.environment(), **variables))
        self.addCleanup(lambda: (engine.kill(), engine.wait()))
        wait_until(lambda: engine.poll() is not None or
                   move.call("ping", "--store", str(move.other))[0] == 0, "the engine answers")
        return engine

    def exported(self, move):
        status, _, stderr = move.call("export", "it")
        self.assertEqual(status, 0, stderr)
        move.call("run", "flow.yaml", "--name", "before", "-q", "--store", str(move.other))
        (move.folder / "firsts").write_text("once\n")

    def import_again(self, move, where):
        """Whatever was killed, it is there as a whole, or can be imported once more."""
        status, _, stderr = move.call("import", "it.troupe", "--store", str(move.other))
        is_there = "imported already" in stderr or "already: default/development/it" in stderr
        self.assertTrue(status == 0 or is_there, f"{where}: {stderr}")

    def test_import_into_an_engine_that_dies(self):
        words = ("import", "it.troupe", "--store", str(self.template.other))
        move = self.begin(self.exported)
        count = move.folder / "changes"
        engine = self.serve(move, TROUPE_DIE_AS="engine", TROUPE_DIE_COUNT=str(count))
        first = count.stat().st_size
        self.assertEqual(move.call(*words)[0], 0)
        last = count.stat().st_size
        engine.terminate()
        engine.wait()
        self.assertGreater(last, first)
        points = 0
        for at in range(first + 1, last + 8, 1 if IS_LONG else 8):
            move = self.begin()
            where = f"the engine, change {at}"
            engine = self.serve(move, TROUPE_DIE_AS="engine", TROUPE_DIE_AT=str(at))
            move.call(*words)
            points += engine.poll() == -signal.SIGKILL
            engine.kill()
            engine.wait()
            self.import_again(move, where)
            self.end_well(move, where)
            self.assertEqual((move.folder / "firsts").read_text(), "once\n", where)
            left = move.call("list", "-o", "json", "--store", str(move.other))[1]
            self.assertEqual(sorted(row["execution"] for row in json.loads(left)), ["before", "it"])
        self.assertGreater(points, 2)
        print(f"import into an engine: that was killed at {points} points")

    def test_import_into_an_engine_whose_client_dies(self):
        def check(move, where):
            self.import_again(move, where)
            self.end_well(move, where)
            self.assertIsNone(engines[-1].poll(), where)
            engines[-1].terminate()
            engines[-1].wait()

        engines = []
        at, points, killed = 1, 0, True
        while killed:
            move = self.begin(self.exported)
            engines.append(self.serve(move))
            status, _, stderr = move.call("import", "it.troupe", "--store", str(move.other),
                                          TROUPE_DIE_AS="engine", TROUPE_DIE_AT=str(at))
            killed = status == -signal.SIGKILL
            self.assertTrue(killed or status == 0, stderr)
            check(move, f"the client, change {at}")
            points += killed
            at += STEP
        self.assertGreater(points, 3)
        print(f"import into an engine: its client was killed at {points} points")


if __name__ == "__main__":
    unittest.main()
