#!/usr/bin/env python3
"""`troupe export` and `troupe import`: from one store to another, whole or not."""

import os
import pathlib
import re
import shutil
import signal
import unittest

import stores
from program import ProgramTest, process_folders, wait_until

MAKE = """
troupe: 1
tasks:
  make:
    inputs: {n: int}
    outputs: {f: file, d: directory, l: "[int]", n: int}
    run: [sh, -c, 'echo content >a.txt; mkdir -p d/e/empty; echo x >d/e/x; cp /bin/true d/t;
      ln -s e/x d/link; ln -s ../t d/e/up; ln -s nowhere d/dangling;
      echo "{\\"f\\": \\"a.txt\\", \\"d\\": \\"d\\", \\"l\\": [$(seq -s, 1 90000)], \\"n\\": 1}" \
      >"$TROUPE_OUTPUTS"']
  bad: {inputs: {n: int}, run: [sh, -c, 'exit 3']}
  sparse:
    outputs: {f: file, d: directory}
    run: [sh, -c, 'mkdir d; echo begin >d/x; truncate -s 8M d/x; echo middle >>d/x;
      truncate -s 16M d/x; cp --sparse=always d/x x;
      echo "{\\"f\\": \\"x\\", \\"d\\": \\"d\\"}" >"$TROUPE_OUTPUTS"']
workflows:
  holes:
    nodes: {make: {task: sparse}}
    outputs: {f: $make.f, d: $make.d}
  main:
    nodes:
      make: {task: make, with: {n: 1}}
      all: {map: make, with: {n: [1, 2, 3]}}
    outputs: {f: $make.f, d: $make.d, l: $make.l, all: $all.f}
  fails:
    nodes: {bad: {task: bad, with: {n: 1}}}
"""


class MovesTest(ProgramTest):
    def setUp(self):
        super().setUp()
        self.write("flow.yaml", MAKE)
        self.other = self.folder / "other"
        self.other.mkdir()
        self.troupe("run", "flow.yaml", "main", "--name", "it", "-q")

    def there(self, *words, status=0):
        return self.troupe(*words, "--store", self.other, status=status)

    def document_there(self, *words):
        return self.document(*words, "--store", self.other)

    def export(self, *words):
        return pathlib.Path(self.troupe("export", *words)[0].strip())

    def test_what_has_ended_is_the_same_elsewhere(self):
        path = self.export("it")
        self.assertEqual(path, self.folder / "it.troupe")
        self.assertEqual(path.stat().st_mode & 0o777, 0o600)
        self.assertEqual(self.there("import", path)[0], "it\n")
        here, there = self.document("get", "it"), self.document_there("get", "it")
        for name in ("f", "d"):
            moved = pathlib.Path(there["outputs"].pop(name))
            kept = pathlib.Path(here["outputs"].pop(name))
            self.assertEqual(moved.name, kept.name)
            self.assertEqual(moved.parent, self.other / "blobs")
        all_here, all_there = here["outputs"].pop("all"), there["outputs"].pop("all")
        self.assertEqual([os.path.basename(name) for name in all_here],
                         [os.path.basename(name) for name in all_there])
        self.assertEqual([pathlib.Path(name).read_text() for name in all_there], ["content\n"] * 3)
        self.assertTrue((moved / "e/empty").is_dir())
        self.assertTrue(os.access(moved / "t", os.X_OK))
        self.assertEqual([os.readlink(moved / name) for name in ("link", "e/up", "dangling")],
                         ["e/x", "../t", "nowhere"])
        self.assertEqual(here, there)
        self.assertEqual(len(there["outputs"]["l"]), 90000)
        # It stays where it was, goes on from there as any other, and what it names is kept.
        self.there("prune", "--unnamed-older-than", "0s", "--yes")
        self.assertEqual(self.document_there("get", "it")["phase"], "succeeded")
        self.assertTrue(moved.is_dir())
        self.there("run", "flow.yaml", "main", "--name", "more", "-q")
        self.assertEqual(len(self.document_there("list")), 2)
        self.there("explain", "it")
        self.there("get", "it/all[1]")

    def test_holes_of_files_take_no_place(self):
        self.troupe("run", "flow.yaml", "holes", "--name", "holes", "-q")
        path = self.export("holes")
        self.assertLess(path.stat().st_size, 1 << 20)
        self.there("import", path)
        for outputs in (self.document("get", "holes")["outputs"],
                        self.document_there("get", "holes")["outputs"]):
            for name in (outputs["f"], outputs["d"] + "/x"):
                status = os.stat(name)
                self.assertEqual(status.st_size, 16 << 20)
                self.assertLess(512 * status.st_blocks, 1 << 20)
                content = pathlib.Path(name).read_bytes()
                self.assertEqual(content.strip(b"\0").replace(b"\0", b""), b"begin\nmiddle\n")
                self.assertEqual(content.find(b"middle"), 8 << 20)

    def test_both_ways_and_beside_others(self):
        self.there("run", "flow.yaml", "fails", "--name", "bad", "-q", status=1)
        path = self.troupe("export", "bad", "--store", self.other)[0].strip()
        self.troupe("import", path)
        row = self.document("get", "bad")
        self.assertEqual((row["phase"], row["error"]["code"]),
                         ("failed", self.document_there("get", "bad")["error"]["code"]))
        numbers = {self.document("get", name)["number"] for name in ("it", "bad")}
        self.assertEqual(len(numbers), 2)

    def test_what_is_there_is_not_replaced(self):
        path = self.export("it", "--file", "x.troupe")
        _, stderr = self.troupe("import", path, status=2)
        self.assertIn("the store has an execution of its name already: default/development/it "
                      "(succeeded); `troupe prune` forgets it", stderr)
        self.troupe("prune", "it", "--unnamed-older-than", "0s", "--yes")
        self.assertEqual(self.document("list"), [])
        self.troupe("import", path)
        self.assertEqual(len(self.document("get", "it")["outputs"]["l"]), 90000)
        _, stderr = self.troupe("export", "it", "--file", "x.troupe", status=2)
        self.assertIn("x.troupe is there already; remove it, or name another with --file", stderr)

    def test_damage_is_refused_whole(self):
        path = self.export("it")
        whole = path.read_bytes()
        step = max(1, len(whole) // 40)
        for at in range(0, len(whole), step):
            bad = bytearray(whole)
            bad[at] ^= 0x41
            path.write_bytes(bad)
            _, stderr = self.there("import", path, status=2)
            self.assertIn("it.troupe: it ", stderr)
            path.write_bytes(whole[:at])
            _, stderr = self.there("import", path, status=2)
            self.assertIn("it.troupe: it ", stderr)
        path.write_bytes(whole + b"x")
        self.there("import", path, status=2)
        path.write_bytes(bytes(8) + whole[8:])
        _, stderr = self.there("import", path, status=2)
        self.assertIn("the export was not finished; say it again where it was begun", stderr)
        path.write_text("troupe: 1\n")
        _, stderr = self.there("import", path, status=2)
        self.assertIn("it is no export of an execution", stderr)
        self.assertEqual(stores.contents(self.other), [])
        path.write_bytes(whole)
        self.there("import", path)

    def test_mistakes(self):
        _, stderr = self.troupe("export", "nobody", status=2)
        self.assertIn("there is no execution 'nobody'", stderr)
        _, stderr = self.troupe("import", "nothing.troupe", status=2)
        self.assertIn("nothing.troupe: there is no such file", stderr)


FLOW = """
troupe: 1
tasks:
  first:
    outputs: {f: file, n: int, l: "[int]"}
    run: [sh, -c, 'echo first >>"$TROUPE_FOLDER/begun"; echo content >x.txt;
      echo "{\\"f\\": \\"x.txt\\", \\"n\\": 1, \\"l\\": [$(seq -s, 1 90000)]}"
      >"$TROUPE_OUTPUTS"']
  count:
    inputs: {l: "[int]", after: int}
    outputs: {n: int}
    run: [python3, -c, 'import json, os; e = os.environ;
      n = len(json.load(open(e["TROUPE_INPUTS"]))["l"]);
      json.dump({"n": n}, open(e["TROUPE_OUTPUTS"], "w"))']
  wait:
    inputs: {f: file, n: int}
    outputs: {n: int, g: file}
    run: [sh, -c, 'echo "wait $TROUPE_ELEMENT $TROUPE_ATTEMPT" >>"$TROUPE_FOLDER/begun";
      while [ ! -e "$TROUPE_FOLDER/go" ]; do sleep 0.02; done;
      f=$(sed "s/.*\\"f\\": *\\"//; s/\\".*//" "$TROUPE_INPUTS"); cp "$f" y.txt;
      echo "{\\"n\\": 2, \\"g\\": \\"y.txt\\"}" >"$TROUPE_OUTPUTS"']
  nap: {type: core-sleep, inputs: {d: duration}}
  add: {type: echo, inputs: {n: int}, outputs: {n: int}}
workflows:
  main:
    nodes:
      first: {task: first}
      nap: {task: nap, with: {d: 3s}}
      inner: {workflow: inner, with: {f: $first.f, n: $first.n}}
      count: {task: count, with: {l: $first.l, after: $inner.n}}
      many: {map: wait, with: {f: $first.f, n: [1, 2, 3]}}
    outputs: {n: $inner.n, g: $inner.g, many: $many.n, count: $count.n}
  inner:
    inputs: {f: file, n: int}
    outputs: {n: $end.n, g: $wait.g}
    nodes: {wait: {task: wait, with: {f: $f, n: $n}}, end: {task: add, with: {n: $wait.n}}}
  over: {nodes: {n: {task: add, with: {n: 1}}}}
"""


class UnfinishedTest(ProgramTest):
    """An execution that runs, taken from one store and going on in another."""

    def setUp(self):
        super().setUp()
        self.write("flow.yaml", FLOW)
        self.other = self.folder / "other"
        self.other.mkdir()

    def begun(self):
        return sorted((self.folder / "begun").read_text().splitlines())

    def stop_while_it_runs(self, *options):
        """Runs until four processes wait, and ends the engine."""
        engine = self.start("run", "flow.yaml", "main", "--name", "it", *options)
        wait_until(lambda: (self.folder / "begun").exists() and len(self.begun()) >= 3,
                   "three processes run")
        engine.signal(signal.SIGTERM)
        self.assertEqual(engine.end()[0], 4)

    def there(self, *words, status=0):
        return self.troupe(*words, "--store", self.other, status=status)

    def test_it_goes_on_elsewhere(self):
        self.there("run", "flow.yaml", "over", "--name", "other", "-q")
        self.stop_while_it_runs()
        path = self.troupe("export", "it")[0].strip()
        before = self.begun()
        self.assertEqual(self.document("list")[0]["phase"], "exported")
        self.assertEqual(self.there("import", path)[0], "it\n")
        # The source is never the one that goes on.
        self.write("go", "")
        self.troupe("resume", "-q")
        self.assertEqual(self.begun(), before)
        shutil.rmtree(self.store)
        self.there("resume", "it", "-q")
        document = self.document("get", "it", "--store", self.other)
        self.assertEqual((document["phase"], document["outputs"]["n"]), ("succeeded", 2))
        self.assertEqual(document["outputs"]["many"], [2, 2, 2])
        self.assertEqual(document["outputs"]["count"], 90000)
        self.assertEqual(self.begun().count("first"), 1)
        attempts = [line for line in self.begun() if line.startswith("wait")]
        self.assertEqual({line.split()[-1] for line in attempts}, {"0", "1"})
        failed = self.document("get", "it/inner/wait", "--store", self.other)["attempts"][0]
        self.assertEqual(failed["error"]["code"], "Moved")
        self.assertEqual(pathlib.Path(document["outputs"]["g"]).read_text(), "content\n")
        # Its name is free again when it is forgotten, and nothing of it is left.
        self.there("prune", "it", "other", "--unnamed-older-than", "0s", "--yes")
        self.there("run", "flow.yaml", "over", "--name", "it", "-q")

    def runs_outside(self):
        """Whether a process of the store works."""
        for path in process_folders():
            try:
                if (path / "cwd").readlink().is_relative_to(self.store / "attempts"):
                    return True
            except OSError:
                pass
        return False

    def test_what_ended_meanwhile_is_recorded_first(self):
        """A success that only the keeper knows is not done again elsewhere."""
        self.stop_while_it_runs("--durability", "process")
        self.write("go", "")
        wait_until(lambda: not self.runs_outside(), "the processes end")
        before = self.begun()
        refusal = (r"export: [34] of its attempts \(it-\S+ and others\) ended while no engine ran, "
                   r"which is not recorded yet; let an engine run")
        wait_until(lambda: re.search(refusal, self.troupe("export", "it", status=4)[1]),
                   "the keeper knows all ends")
        self.assertEqual(list(self.folder.glob("*.troupe*")), [])
        self.assertIn("running", self.document("list")[0]["phase"])
        self.troupe("resume", "it", "-q")
        self.assertEqual(self.begun(), before)
        self.there("import", self.troupe("export", "it")[0].strip())
        self.assertEqual(self.document("get", "it", "--store", self.other)["phase"], "succeeded")

    def test_it_goes_on_once(self):
        self.stop_while_it_runs()
        path = self.troupe("export", "it")[0].strip()
        self.assertEqual(self.troupe("export", "it")[0].strip(), path)
        self.there("import", path)
        third = self.folder / "third"
        third.mkdir()
        _, stderr = self.troupe("import", path, "--store", third, status=2)
        self.assertIn("it was imported already, and goes on there", stderr)

    def test_it_comes_back(self):
        self.stop_while_it_runs()
        path = self.troupe("export", "it")[0].strip()
        self.troupe("import", path)
        self.assertIn("running", self.document("list")[0]["phase"])
        self.write("go", "")
        self.assertIn("n: 2", self.troupe("resume", "it", "-q")[0])
        self.assertEqual(self.begun().count("first"), 1)
        self.troupe("run", "flow.yaml", "over", "--name", "more", "-q")

    def test_both_ways(self):
        self.stop_while_it_runs()
        path = self.troupe("export", "it", "--file", "one.troupe")[0].strip()
        self.there("import", path)
        back = self.there("export", "it", "--file", "two.troupe")[0].strip()
        self.troupe("resume", "-q")
        self.troupe("import", back)
        self.write("go", "")
        self.assertIn("n: 2", self.troupe("resume", "it", "-q")[0])

    def test_a_live_engine_is_not_robbed(self):
        engine = self.start("run", "flow.yaml", "main", "--name", "it")
        engine.wait_for("nap: running")
        _, stderr = self.troupe("export", "it", status=4)
        self.assertIn("it has not ended, and", stderr)
        self.assertIn("has an engine; end the engine first", stderr)
        self.assertEqual(list(self.folder.glob("*.troupe*")), [])
        self.write("go", "")
        self.assertEqual(engine.end()[0], 0)


if __name__ == "__main__":
    unittest.main()
