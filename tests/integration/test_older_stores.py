#!/usr/bin/env python3
"""Stores whose blobs are named by their paths, as older programs have left them (older.c): all that
they hold is read, goes on, and is kept."""

import json
import os
import pathlib
import signal
import unittest
from unittest import mock

import program
import stores
from program import ProgramTest

FLOW = """
troupe: 1
tasks:
  make:
    inputs: {n: int}
    outputs: {f: file, d: directory, l: "[int]", s: struct, all: "[file]"}
    cache: v1
    run: [sh, -c, 'echo made >>ROOT/log; echo content >a.txt; mkdir d; echo inside >d/x;
      for i in 1 2 3; do echo $i >$i.txt; done;
      echo "{\\"f\\": \\"a.txt\\", \\"d\\": \\"d\\", \\"l\\": [$(seq -s, 1 90000)],
        \\"s\\": {\\"path\\": \\"$PWD/a.txt\\"},
        \\"all\\": [\\"1.txt\\", \\"2.txt\\", \\"3.txt\\"]}" >"$TROUPE_OUTPUTS"']
  use:
    inputs: {f: file, d: directory, s: struct, l: "[int]", all: "[file]"}
    outputs: {text: string, f: file}
    run: [python3, ROOT/use.py]
workflows:
  main:
    nodes:
      make: {task: make, with: {n: 1}}
      use: {task: use, with: {f: $make.f, d: $make.d, s: $make.s, l: $make.l, all: $make.all}}
    outputs: {text: $use.text, f: $use.f, l: $make.l, all: $make.all}
"""

USE = """
import json, os, sys, time
inputs = json.load(open(os.environ["TROUPE_INPUTS"]))
open("ROOT/using", "w").write(json.dumps({name: inputs[name] for name in ("f", "d", "s", "all")}))
if os.path.exists("ROOT/bad"):
    sys.exit(1)
while os.path.exists("ROOT/wait"):
    time.sleep(0.01)
paths = [inputs["f"], inputs["d"] + "/x", inputs["s"]["path"], *inputs["all"]]
text = "".join(open(path).read() for path in paths) + str(sum(inputs["l"]))
json.dump({"text": text, "f": inputs["f"]}, open(os.environ["TROUPE_OUTPUTS"], "w"))
"""

TEXT = "content\ninside\ncontent\n1\n2\n3\n" + str(sum(range(90001)))


class OlderStoresTest(ProgramTest):
    def setUp(self):
        super().setUp()
        self.write("flow.yaml", FLOW.replace("ROOT", str(self.folder)))
        self.write("use.py", USE.replace("ROOT", str(self.folder)))

    def older(self, *words, status=0):
        with mock.patch.object(program, "PROGRAM", stores.bound(os.environ["TROUPE_OLDER"])):
            return self.troupe(*words, status=status)

    def run_older(self, name, status=0):
        self.older("run", "flow.yaml", "main", "--name", name, "-q", status=status)

    def values(self):
        """The bytes of all values of the history."""
        for name in stores.tables(self.store):
            for row in self.query(f'SELECT * FROM "{name}"'):
                yield from (cell for cell in row if isinstance(cell, bytes))

    def expect_names(self, has_paths, has_uris):
        """How blobs are named in the store."""
        cells = list(self.values())
        blobs = os.fsencode(f"{self.store.resolve()}/blobs/")
        self.assertEqual(any(blobs in cell for cell in cells), has_paths)
        self.assertEqual(any(b"blob:" in cell for cell in cells), has_uris)

    def expect_whole(self, name):
        outputs = self.document("get", name)["outputs"]
        self.assertEqual(outputs["text"], TEXT)
        self.assertEqual(pathlib.Path(outputs["f"]).read_text(), "content\n")
        self.assertEqual([pathlib.Path(path).read_text() for path in outputs["all"]],
                         ["1\n", "2\n", "3\n"])
        self.assertEqual(len(outputs["l"]), 90000)

    def made(self):
        return (self.folder / "log").read_text().count("made")

    def test_what_has_ended_is_read_and_taken_from_the_cache(self):
        self.run_older("old")
        self.expect_names(True, False)
        self.expect_whole("old")
        self.assertIn(str(self.store), self.document("get", "old")["outputs"]["f"])
        self.troupe("run", "flow.yaml", "main", "--name", "new", "-q")
        self.assertEqual(self.made(), 1)
        self.expect_whole("new")

    def test_new_stores_name_no_machine(self):
        self.troupe("run", "flow.yaml", "main", "--name", "new", "-q")
        self.expect_names(False, True)
        self.expect_whole("new")
        # A program has paths, wherever they stand.
        using = json.loads((self.folder / "using").read_text())
        for path in (using["f"], using["d"], using["s"]["path"], *using["all"]):
            self.assertTrue(path.startswith(f"{self.store.resolve()}/blobs/"), path)

    def test_what_has_failed_is_recovered(self):
        self.write("bad", "")
        self.run_older("old", status=1)
        (self.folder / "bad").unlink()
        self.troupe("recover", "old", "--name", "again", "-q")
        self.assertEqual(self.made(), 1)
        self.expect_whole("again")

    def test_what_runs_goes_on(self):
        self.write("wait", "")
        with mock.patch.object(program, "PROGRAM", stores.bound(os.environ["TROUPE_OLDER"])):
            running = self.start("run", "flow.yaml", "main", "--name", "old", "-q")
        self.await_file("using")
        running.signal(signal.SIGKILL)
        running.end()
        (self.folder / "wait").unlink()
        self.troupe("resume")
        self.assertEqual(self.made(), 1)
        self.expect_whole("old")

    def test_what_is_named_is_kept(self):
        self.run_older("old")
        before = set(os.listdir(self.store / "blobs"))
        self.troupe("prune", "--unnamed-older-than", "0s", "--yes")
        gone = before - set(os.listdir(self.store / "blobs"))
        self.assertTrue(all(name.endswith("-inputs.json") for name in gone), gone)
        self.expect_whole("old")
        self.troupe("prune", "old", "--unnamed-older-than", "0s", "--cache-older-than", "0s",
                    "--yes")
        self.troupe("prune", "--unnamed-older-than", "0s", "--yes")
        left = [name for name in os.listdir(self.store / "blobs") if not name.startswith(".")]
        self.assertEqual(left, [])

    def test_it_moves_to_another_store(self):
        self.run_older("old")
        path = self.troupe("export", "old")[0].strip()
        old = self.store
        self.store = self.folder / "other"
        self.troupe("import", path)
        (old / "blobs").rename(old / "away")
        self.expect_whole("old")
        self.assertIn(str(self.store), self.document("get", "old")["outputs"]["f"])

    def test_a_backup_is_whole(self):
        self.run_older("old")
        self.troupe("backup", "store.tar")
        old = self.store
        self.store = self.folder / "other"
        self.troupe("restore", "store.tar")
        (old / "blobs").rename(old / "away")
        self.expect_whole("old")


if __name__ == "__main__":
    unittest.main()
