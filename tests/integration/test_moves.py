#!/usr/bin/env python3
"""`troupe export` and `troupe import`: from one store to another, whole or not."""

import fcntl
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


# The own group of a host that is no engine: the bit of hosts (schemas/codec/base.h).
HOST = 1 << 62


class Unfinished(ProgramTest):
    """Two stores, and an execution that is stopped while it runs in the first one."""

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


class UnfinishedTest(Unfinished):
    """An execution that runs, taken from one store and going on in another."""

    def expect_said_by_the_import(self):
        """No host's word has a name of the other store, or none of a host."""
        said = stores.rows(self.other, "SELECT DISTINCT key_group, incarnation FROM messages")
        hosts = {tuple(row) for row in said if row[0] == 0 or row[0] >= HOST}
        self.assertEqual([group for group, _ in hosts], [HOST])

    def test_it_goes_on_elsewhere(self):
        self.there("run", "flow.yaml", "over", "--name", "other", "-q")
        self.stop_while_it_runs()
        path = self.troupe("export", "it")[0].strip()
        before = self.begun()
        self.assertEqual(self.document("list")[0]["phase"], "exported")
        self.assertEqual(self.there("import", path)[0], "it\n")
        self.expect_said_by_the_import()
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
        # One of the four may not have begun before; none begins twice, or as another attempt.
        begun = self.begun()
        self.assertEqual(sorted(set(begun)), begun)
        self.assertLessEqual(set(before), set(begun))
        self.assertEqual([line for line in begun if line != "first" and not line.endswith(" 0")],
                         [])
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


BESIDE = """
troupe: 1
tasks:
  step: {inputs: {n: int}, outputs: {n: int},
    run: [sh, -c, 'echo "step $TROUPE_ELEMENT" >>"$TROUPE_FOLDER/steps"; sleep 0.05;
      echo "{\\"n\\": 1}" >"$TROUPE_OUTPUTS"']}
workflows:
  main:
    nodes: {all: {map: step, with: {n: NUMBERS}, parallelism: 2}}
    outputs: {n: $all.n}
"""


WIDE = """
troupe: 1
tasks:
  nap: {type: core-sleep, inputs: {d: duration}}
workflows:
  main: {nodes: {all: {map: each, with: {n: ITEMS}}}}
  each: {inputs: {n: int}, nodes: {a: {task: nap, with: {d: 1h}}, b: {task: nap, with: {d: 1h}}}}
""".replace("ITEMS", str(list(range(1000))))


class LiveImportTest(Unfinished):
    """The same into a store whose engine lives, and goes on with its own work meanwhile."""

    def setUp(self):
        super().setUp()
        self.engine = None

    def begin_engine(self, *options):
        self.engine = self.start("serve", "--store", self.other, *options)
        self.engine.wait_for("serves")

    def end_engine(self):
        self.engine.signal(signal.SIGTERM)
        self.assertEqual(self.engine.end()[0], 0)

    def phase_there(self, name):
        return self.document("get", name, "--store", self.other)["phase"]

    def names_there(self):
        return sorted(row["execution"] for row in self.document("list", "--store", self.other))

    def test_it_goes_on_elsewhere(self):
        """It is dormant, and goes on when it is resumed; what ran beside it did each step once."""
        numbers = list(range(40))
        self.write("beside.yaml", BESIDE.replace("NUMBERS", str(numbers)))
        self.begin_engine("--jobs", "8")
        self.there("submit", "beside.yaml", "--name", "beside")
        self.await_file("steps")
        self.stop_while_it_runs()
        path = self.troupe("export", "it")[0].strip()
        before = self.begun()
        stdout, stderr = self.there("import", path)
        self.assertEqual(stdout, "it\n")
        self.assertIn("it goes on with `troupe resume`\n", stderr)
        self.assertIn("dormant", self.there("list")[0])
        _, stderr = self.there("run", "flow.yaml", "over", "--name", "it", status=2)
        self.assertIn("it", stderr)  # its name is taken
        self.assertEqual(self.begun(), before)
        self.write("go", "")
        shutil.rmtree(self.store)
        self.there("resume", "it", "-q")
        document = self.document("get", "it", "--store", self.other)
        self.assertEqual((document["phase"], document["outputs"]["n"]), ("succeeded", 2))
        self.assertEqual(document["outputs"]["count"], 90000)
        self.assertEqual(self.begun().count("first"), 1)
        attempts = [line for line in self.begun() if line.startswith("wait")]
        self.assertEqual(len(attempts), len(set(attempts)))
        self.assertEqual(pathlib.Path(document["outputs"]["g"]).read_text(), "content\n")
        wait_until(lambda: self.phase_there("beside") == "succeeded", "the other ends")
        steps = sorted((self.folder / "steps").read_text().split("\n")[:-1])
        self.assertEqual(steps, sorted(f"step {number}" for number in numbers))
        self.there("prune", "it", "--unnamed-older-than", "0s", "--yes")
        self.there("run", "flow.yaml", "over", "--name", "it", "-q")
        self.end_engine()

    def test_what_has_ended_comes_too(self):
        self.troupe("run", "flow.yaml", "over", "--name", "over", "-q")
        path = self.troupe("export", "over")[0].strip()
        self.begin_engine()
        stdout, stderr = self.there("import", path)
        self.assertEqual((stdout, stderr), ("over\n", ""))
        here = self.document("get", "over")
        self.assertEqual(here, self.document("get", "over", "--store", self.other))
        _, stderr = self.there("import", path, status=2)
        self.assertIn("the store has an execution of its name already: default/development/over "
                      "(succeeded); `troupe prune` forgets it", stderr)
        self.end_engine()

    def test_the_next_engine_goes_on_with_it(self):
        self.stop_while_it_runs()
        path = self.troupe("export", "it")[0].strip()
        self.begin_engine()
        self.there("import", path)
        self.write("go", "")
        self.engine.process.kill()
        self.engine.end()
        self.begin_engine()  # which activates all that is unfinished
        wait_until(lambda: self.phase_there("it") == "succeeded", "it ends")
        self.assertEqual(self.begun().count("first"), 1)
        self.end_engine()

    def test_it_goes_on_once(self):
        self.stop_while_it_runs()
        path = self.troupe("export", "it")[0].strip()
        copy = self.folder / "copy.troupe"
        shutil.copy(path, copy)
        self.begin_engine()
        self.there("import", path)
        _, stderr = self.there("import", path, status=2)
        self.assertIn("it was imported already, and goes on there", stderr)
        _, stderr = self.there("import", copy, status=2)
        self.assertIn("copy.troupe: the store has an execution of its name already: "
                      "default/development/it (running)", stderr)
        self.end_engine()

    def test_it_comes_back(self):
        self.stop_while_it_runs()
        path = self.troupe("export", "it")[0].strip()
        self.other = self.store
        self.begin_engine()
        self.there("import", path)
        self.assertIn("running", self.document("list")[0]["phase"])
        self.write("go", "")
        self.assertIn("n: 2", self.troupe("resume", "it", "-q")[0])
        self.assertEqual(self.begun().count("first"), 1)
        self.troupe("run", "flow.yaml", "over", "--name", "more", "-q")
        self.end_engine()

    def test_both_ways(self):
        self.stop_while_it_runs()
        path = self.troupe("export", "it", "--file", "one.troupe")[0].strip()
        self.begin_engine()
        self.there("import", path)
        self.end_engine()
        back = self.there("export", "it", "--file", "two.troupe")[0].strip()
        self.troupe("resume", "-q")
        self.troupe("import", back)
        self.write("go", "")
        self.assertIn("n: 2", self.troupe("resume", "it", "-q")[0])

    def test_what_is_refused_changes_nothing(self):
        self.stop_while_it_runs()
        path = pathlib.Path(self.troupe("export", "it")[0].strip())
        whole = path.read_bytes()
        self.begin_engine()
        for size in (4, len(whole) // 2, len(whole) - 1):
            path.write_bytes(whole[:size])
            _, stderr = self.there("import", path, status=2)
            self.assertIn("it.troupe: it ", stderr)
        bad = bytearray(whole)
        bad[len(whole) // 3] ^= 0x41
        path.write_bytes(bad)
        self.there("import", path, status=2)
        self.assertEqual(self.names_there(), [])
        path.write_bytes(whole)
        running = self.start("run", "flow.yaml", "main", "--name", "it", "--store", self.other)
        running.wait_for("nap: running")
        _, stderr = self.there("import", path, status=2)
        self.assertIn("an execution of its name already: default/development/it (running)", stderr)
        self.there("abort", "it", "-q")
        running.end()
        self.there("prune", "it", "--yes")
        self.there("import", path)
        self.write("go", "")
        self.there("resume", "it", "-q")
        self.end_engine()

    def test_an_engine_without_memory_refuses(self):
        self.write("wide.yaml", WIDE)
        engine = self.start("run", "wide.yaml", "--name", "wide")
        wait_until(lambda: (self.store / "engine.sock").exists() and
                   self.query("select count(*) from actors")[0][0] >= 3000, "it has grown")
        engine.signal(signal.SIGTERM)
        engine.end()
        path = self.troupe("export", "wide")[0].strip()
        (self.other / "settings.yaml").write_text("limits: {memory: 16Mi}\n")
        self.begin_engine()
        _, stderr = self.there("import", path, status=4)
        self.assertRegex(stderr, r"the engine's memory (has no room for it|is at its limit) "
                         r"\(limits.memory of the settings\); say it again when something has "
                         r"ended")
        self.assertEqual(self.names_there(), [])
        self.there("run", "flow.yaml", "over", "--name", "wide", "-q")  # the name is free
        self.there("prune", "wide", "--yes")
        self.end_engine()
        (self.other / "settings.yaml").unlink()
        self.begin_engine()
        self.there("import", path)
        self.assertEqual(self.names_there(), ["wide"])
        self.end_engine()

    def test_one_at_a_time(self):
        self.stop_while_it_runs()
        path = self.troupe("export", "it")[0].strip()
        self.begin_engine()
        with open(self.other / "import.lock", "w", encoding="ascii") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            _, stderr = self.there("import", path, status=4)
        self.assertIn("another import into this store is at work; say it again when it has ended",
                      stderr)
        self.there("import", path)
        self.end_engine()


if __name__ == "__main__":
    unittest.main()
