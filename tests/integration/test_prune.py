#!/usr/bin/env python3
"""`troupe prune` as people use it, beside an engine and without one: what is needed stays."""

import json
import pathlib
import unittest

from program import ProgramTest, wait_until
from test_signals import WAITING

CACHED = """
troupe: 1
tasks:
  make:
    outputs: {f: file, l: "[int]"}
    cache: {version: v1}
    run: [sh, -c, 'echo once >>"$TROUPE_FOLDER/made"; echo content >a.txt;
      echo "{\\"f\\": \\"a.txt\\", \\"l\\": [$(seq -s, 1 90000)]}" >"$TROUPE_OUTPUTS"']
  bad: {run: [sh, -c, 'exit 3']}
workflows:
  main:
    nodes: {make: {task: make}}
    outputs: {f: $make.f, l: $make.l}
  fails:
    nodes: {make: {task: make}, bad: {task: bad, after: [make]}}
"""

# A task with inputs that no message carries, which it reads when it is told to.
LARGE = """
troupe: 1
tasks:
  wait:
    inputs: {l: "[int]"}
    outputs: {n: int}
    run: [sh, -c, 'echo >"$TROUPE_FOLDER/begun";
      while [ ! -e "$TROUPE_FOLDER/go" ]; do sleep 0.02; done;
      echo "{\\"n\\": $(wc -c <"$TROUPE_INPUTS")}" >"$TROUPE_OUTPUTS"']
workflows:
  main:
    inputs: {l: "[int]"}
    nodes: {wait: {task: wait, with: {l: $l}}}
    outputs: {n: $wait.n}
"""

# How many rows an execution has, by how many nodes its workflow has: few, some, and more than are
# forgotten at once.
NODES = {"narrow": 1, "middle": 40, "wide": 300}


def many():
    """A workflow that launches executions of any size, one after the other."""
    def workflow(nodes):
        return {"inputs": {"a": "int"}, "nodes": {
            f"n{number}": {"task": "echo", "with": {"x": "$a"}} for number in range(nodes)}}
    names = ["narrow", "wide", "middle", "wide", "narrow"]
    launches = {f"l{number}": {"map": f"to_{name}", "with": {"a": "$items"},
                               **({"after": [f"l{number - 1}"]} if number else {})}
                for number, name in enumerate(names)}
    return json.dumps({
        "troupe": 1,
        "tasks": {"echo": {"type": "echo", "inputs": {"x": "int"}, "outputs": {"x": "int"}}},
        "workflows": {**{name: workflow(nodes) for name, nodes in NODES.items()},
                      "main": {"inputs": {"items": ["int"]}, "nodes": launches},
                      "waits": {"nodes": {"gate": {"approve": "echo", "with": {"x": 1}}}}},
        "launch_plans": {f"to_{name}": {"workflow": name} for name in NODES}})


# TR_FORGET_ROWS_MAX.
FORGET_ROWS_MAX = 1000

# Nothing is spared for being young.
NOW = ["--unnamed-older-than", "0s", "--yes"]


class PruneTest(ProgramTest):
    def setUp(self):
        super().setUp()
        self.write("flow.yaml", CACHED)

    def blobs(self):
        return sorted(path.name for path in (self.store / "blobs").glob("[!.]*"))

    def graphs(self):
        return [row[0].hex() for row in self.query("SELECT hash FROM graphs ORDER BY hash")]

    def plant(self, node, log=""):
        """What an attempt leaves when the word that removes it is lost: its working folder."""
        document = self.document("get", f"one/{node}")
        folder = pathlib.Path(document["attempts"][0]["folder"])
        (folder / "work" / "deep").mkdir(parents=True, exist_ok=True)
        (folder / "work" / "deep" / "file").write_text("x" * 1000)
        (folder / "stdout").write_text(log)
        return folder

    def test_what_a_kill_left_of_successes_is_swept(self):
        self.troupe("run", "flow.yaml", "fails", "--name", "one", "-q", status=1)
        make, bad = self.plant("make"), self.plant("bad")
        stranger = make.parent / "stranger" / "work"
        stranger.mkdir(parents=True)
        counts = self.document("prune", "--dry-run")["attempts"]
        self.assertEqual((counts["count"], counts["bytes"] >= 1000), (1, True))
        self.assertTrue((make / "work").exists())
        self.troupe("prune", "--yes", "-q")
        self.assertFalse(make.exists())
        self.assertTrue((bad / "work/deep/file").exists())
        self.assertTrue(stranger.exists())
        self.plant("make", log="said\n")
        self.write("wait.yaml", WAITING)
        engine = self.start("run", "wait.yaml", "--name", "wait")
        self.await_gone(make / "work")
        self.assertEqual((make / "stdout").read_text(), "said\n")
        self.write("go", "")
        self.assertEqual(engine.end()[0], 0)
        self.assertTrue((bad / "work/deep/file").exists())

    def await_gone(self, path):
        """Waits until a path is no more."""
        wait_until(lambda: not path.exists(), f"{path} is gone")

    def test_what_is_named_stays_and_goes_with_the_last_name(self):
        self.troupe("run", "flow.yaml", "main", "--name", "one", "-q")
        self.troupe("run", "flow.yaml", "main", "--name", "two", "-q")
        outputs = self.document("get", "one")["outputs"]
        self.assertEqual(len(outputs["l"]), 90000)
        self.assertEqual(len(self.blobs()), 2)
        document = self.document("prune", *NOW)
        self.assertEqual(document["blobs"], {"count": 0, "bytes": 0})
        self.assertEqual(self.document("get", "one")["outputs"], outputs)
        # The cache goes on to know it when both are forgotten.
        document = self.document("prune", "one", "two", *NOW)
        self.assertEqual(document["executions"]["count"], 2)
        self.assertEqual(document["blobs"]["count"], 0)
        self.assertEqual(self.document("list"), [])
        self.troupe("run", "flow.yaml", "main", "--name", "one", "-q")
        self.assertEqual((self.folder / "made").read_text(), "once\n")
        self.assertEqual(self.document("get", "one")["outputs"], outputs)
        self.assertEqual(pathlib.Path(outputs["f"]).read_text(), "content\n")
        document = self.document("prune", "one", "--cache-older-than", "0s", *NOW)
        self.assertEqual(document["cache"]["count"], 1)
        # What was in the cache until now may have been taken from it just now.
        document = self.document("prune", *NOW)
        self.assertEqual(self.blobs(), [])
        self.assertEqual(self.graphs(), [])

    def test_folders_of_failures(self):
        self.troupe("run", "flow.yaml", "fails", "--name", "it", "-q", status=1)
        folder = pathlib.Path(self.document("get", "it/bad")["attempts"][0]["folder"])
        self.assertTrue(folder.is_dir())
        self.troupe("prune", "--attempts-older-than", "1h", *NOW)
        self.assertTrue(folder.is_dir())
        document = self.document("prune", "--attempts-older-than", "0s", *NOW)
        self.assertGreater(document["attempts"]["count"], 0)
        self.assertFalse(folder.exists())
        self.assertEqual(self.document("get", "it")["phase"], "failed")

    def test_by_age_and_phase(self):
        self.troupe("run", "flow.yaml", "fails", "--name", "bad", "-q", status=1)
        self.troupe("run", "flow.yaml", "main", "--name", "good", "-q")
        self.troupe("prune", "--older-than", "30d", *NOW)
        self.assertEqual(len(self.document("list")), 2)
        stdout, _ = self.troupe("prune", "--phase", "succeeded", "--dry-run")
        self.assertIn("would remove 1 executions", stdout)
        self.assertEqual(len(self.document("list")), 2)
        self.troupe("prune", "--phase", "succeeded", *NOW)
        self.assertEqual([row["execution"] for row in self.document("list")], ["bad"])
        self.troupe("prune", "--older-than", "0s", *NOW)
        self.assertEqual(self.document("list"), [])

    def test_beside_an_engine_what_runs_is_unharmed(self):
        self.troupe("run", "flow.yaml", "main", "--name", "over", "-q")
        self.write("large.yaml", LARGE)
        self.write("in.json", json.dumps({"l": list(range(100000))}))
        engine = self.start("run", "large.yaml", "--inputs", "in.json", "--name", "it")
        self.await_file("begun")
        for _ in range(3):
            self.troupe("prune", "--older-than", "0s", "--cache-older-than", "0s", *NOW)
        self.assertEqual([row["execution"] for row in self.document("list")], ["it"])
        _, stderr = self.troupe("prune", "it", "--yes", status=2)
        self.assertIn("it has not ended (running); only what has ended can be forgotten", stderr)
        self.write("go", "")
        status, stdout, stderr = engine.end()
        self.assertEqual(status, 0, stderr)
        self.assertGreater(int(stdout.removeprefix("n: ")), 500000)
        self.troupe("prune", "--older-than", "0s", *NOW)
        self.assertEqual(self.blobs(), [])

    def test_an_unfinished_execution_goes_on_after_a_prune_without_an_engine(self):
        self.write("wait.yaml", WAITING)
        self.troupe("run", "flow.yaml", "main", "--name", "over", "-q")
        engine = self.start("run", "wait.yaml", "--name", "it")
        self.await_file("pid")
        engine.process.kill()
        engine.end()
        self.troupe("prune", "--older-than", "0s", *NOW)
        self.assertEqual([row["execution"] for row in self.document("list")], ["it"])
        self.write("go", "")
        self.assertEqual(self.troupe("resume", "it", "-q")[0], "n: 2\n")
        self.assertEqual((self.folder / "firsts").read_text(), "once\n")

    def test_many_executions_of_any_size_go_and_others_stay(self):
        """Also those whose numbers lie between theirs."""
        self.write("many.yaml", many())
        engine = self.start("serve")
        engine.wait_for("serves")
        self.troupe("submit", "many.yaml", "main", "-i", "items=[1, 2, 3]", "--name", "first",
                    "--wait")
        self.troupe("submit", "many.yaml", "waits", "--name", "between")
        self.troupe("submit", "many.yaml", "main", "-i", f"items={list(range(6))}", "--name",
                    "second", "--wait")
        number = self.document("get", "between")["number"]
        before = self.rows_of(f"WHERE execution = {number}")
        largest, = self.query("SELECT count(*) FROM record_phase WHERE execution = (SELECT "
                              "execution FROM record_execution WHERE workflow LIKE '%wide' "
                              "LIMIT 1)")[0]
        self.assertGreater(largest, FORGET_ROWS_MAX)
        self.troupe("prune", "--older-than", "0s", "--yes", "-q")
        self.assertEqual([row["execution"] for row in self.document("list")], ["between"])
        self.assertEqual(self.rows_of(""), before)
        self.assertGreater(sum(before.values()), 3)
        engine.signal(15)
        self.assertEqual(engine.end()[0], 0)

    def rows_of(self, where):
        """How many rows of executions each record has, where it has some."""
        counts = {record: self.query(f"SELECT count(*) FROM {record} {where}")[0][0]
                  for record in ("record_execution", "record_node_status", "record_attempt",
                                 "record_phase", "record_node_value", "record_element_block")}
        return {record: count for record, count in counts.items() if count > 0}

    def test_mistakes(self):
        _, stderr = self.troupe("prune", "--yes", status=2)
        self.assertIn("there is no store", stderr)
        self.troupe("run", "flow.yaml", "main", "--name", "it", "-q")
        for words, said in (
                (["--older-than", "soon"], "--older-than: 'soon' is no time; write a span such as"),
                (["--phase", "running"], "--phase: running is no end; only what has ended"),
                (["--phase", "odd"], "odd"),
                (["nobody", "--yes"], "there is no execution 'nobody'"),
                ([], "nobody can be asked here; --yes removes, --dry-run only counts")):
            _, stderr = self.troupe("prune", *words, status=2)
            self.assertIn(said, stderr)
        self.assertEqual(self.troupe("prune", "--dry-run")[0],
                         "there is nothing to be removed\n")


if __name__ == "__main__":
    unittest.main()
