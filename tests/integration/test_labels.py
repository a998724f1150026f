#!/usr/bin/env python3
"""Labels of executions: where they come from, where they stay, and what is chosen by them."""

import json
import re
import shlex
import shutil
import signal
import subprocess
import unittest

from program import EXAMPLES, PROGRAM, ROOT, ProgramTest, Terminal

FLOW = """
troupe: 1
tasks:
  same: {type: echo, inputs: {n: int}, outputs: {n: int}}
  odd: {run: [sh, -c, "exit 3"]}
  wait: {run: [sh, -c, 'echo >>"$TROUPE_FOLDER/begun";
    while [ ! -e "$TROUPE_FOLDER/go" ]; do sleep 0.02; done']}
workflows:
  one:
    labels: {tier: gold, size: 1}
    inputs: {n: {type: int, default: 7}}
    nodes: {t: {task: same, with: {n: $n}}}
    outputs: {n: $t.n}
  many:
    labels: {team: data, example.org/part: whole}
    inputs: {l: "[int]"}
    nodes: {m: {map: part, with: {n: $l}}}
  deep: {labels: {team: ops}, nodes: {l: {launch: fails}}}
  fails: {labels: {tier: bronze}, nodes: {t: {task: odd}}}
  waits: {labels: {kind: slow}, nodes: {t: {task: wait}}}
  inside: {nodes: {w: {workflow: one}}}
launch_plans:
  part: {workflow: one, labels: {tier: silver, scratch: ""}}
  daily: {workflow: one, labels: {daily: "yes"}, schedule: {cron: "@daily"}}
"""

KEY = ("is no key of a label; write letters, digits, -, _ and ., at most 63, a letter or a digit "
       "at both ends; before that PREFIX/, a DNS subdomain, if you like")
VALUE = ("is no value of a label; write letters, digits, -, _ and ., at most 63, a letter or a "
         'digit at both ends, or ""')


class LabelsTest(ProgramTest):
    def setUp(self):
        super().setUp()
        self.write("flow.yaml", FLOW)

    def run_flow(self, workflow, name, *words, status=0):
        self.troupe("run", "flow.yaml", workflow, "--name", name, "-q", *words, status=status)

    def labels(self, name):
        return self.document("get", name)["labels"]

    def names(self, *words):
        return self.troupe("list", "-o", "name", *words)[0].split()

    def test_where_they_come_from(self):
        self.run_flow("one", "plain")
        self.assertEqual(self.labels("plain"), {"tier": "gold", "size": "1"})
        self.run_flow("one", "given", "--label", "tier=", "--label=a.b/c=d")
        self.assertEqual(self.labels("given"), {"tier": "", "size": "1", "a.b/c": "d"})
        self.run_flow("part", "plan", "--label", "size=2")
        self.assertEqual(self.labels("plan"), {"tier": "silver", "scratch": "", "size": "2"})
        self.run_flow("inside", "inside")
        self.assertEqual(self.labels("inside"), {})
        self.assertNotIn("labels", self.troupe("get", "inside")[0])
        self.assertRegex(self.troupe("get", "plain")[0], r"(?m)^ *labels +size=1,tier=gold$")
        self.assertEqual(self.query("SELECT key, value FROM labels WHERE execution_name = 'given' "
                                    "ORDER BY key"),
                         [("a.b/c", "d"), ("size", "1"), ("tier", "")])
        self.assertEqual(self.query("SELECT name FROM executions AS e JOIN labels AS l "
                                    "USING (execution) WHERE key = 'tier' AND value = 'silver'"),
                         [("plan",)])
        self.assertEqual(self.query("SELECT labels FROM executions WHERE name = 'plan'"),
                         [("scratch=,size=2,tier=silver",)])

    def test_what_is_launched_inherits(self):
        self.run_flow("many", "root", "-i", "l=[1,2]", "--label", "team=web")
        self.assertEqual(self.labels("root"), {"team": "web", "example.org/part": "whole"})
        rows = self.document("list", "--parent", "root")
        self.assertEqual(len(rows), 2)
        for row in rows:
            self.assertEqual(row["labels"], {"team": "web", "example.org/part": "whole",
                                             "tier": "silver", "scratch": "", "size": "1"})
        row, = self.document("list", "--label", "team=web")
        self.assertEqual((row["execution"], row["launched"]), ("root", 2))
        self.assertEqual(len(self.names("--label", "team=web", "--all")), 3)
        stdout, stderr = self.troupe("list", "-o", "name", "--label", "scratch")
        self.assertEqual(stdout, "")
        self.assertIn("2 that others have launched would suit; --all shows them", stderr)

    def test_too_many_refuse_what_is_launched(self):
        words = [word for i in range(62) for word in ("--label", f"k{i}=v")]
        self.run_flow("many", "root", "-i", "l=[1]", *words, status=1)
        error = self.document("get", "root")["error"]
        self.assertEqual(error["code"], "LaunchRefused")
        self.assertIn("its labels, with those that it inherits, are more than 64 or 8 KiB",
                      error["message"])
        _, stderr = self.troupe("run", "flow.yaml", "one", *words, "--label", "a=", "--label", "b=",
                                "--label", "c=", status=2)
        self.assertIn("--label: an execution has at most 64 labels, of 8192 bytes", stderr)

    def test_recoveries_keep_them(self):
        self.run_flow("deep", "first", "--label", "a=1", "--label", "b=1", status=1)
        kept = {"team": "ops", "a": "1", "b": "1"}
        self.troupe("recover", "first", "--name", "second", "--label", "b=2", "-q", status=1)
        self.assertEqual(self.labels("second"), {**kept, "b": "2"})
        row, = self.document("list", "--parent", "second")
        self.assertEqual(row["labels"], {**kept, "b": "2", "tier": "bronze"})
        self.write("flow.yaml", FLOW.replace("team: ops", "team: other, fresh: 1"))
        self.troupe("rerun", "second", "--name", "third", "--from", "l", "--file", "flow.yaml",
                    "-q", status=1)
        self.assertEqual(self.labels("third"), {**kept, "b": "2", "fresh": "1"})

    def test_schedules_and_other_engines(self):
        self.troupe("apply", "flow.yaml")
        self.troupe("backfill", "daily", "--from", "2026-08-01", "--to", "2026-08-02", "--label",
                    "why=missed", "-q")
        rows = self.document("list", "--plan", "daily")
        self.assertEqual(len(rows), 2)
        for row in rows:
            self.assertEqual(row["labels"],
                             {"tier": "gold", "size": "1", "daily": "yes", "why": "missed"})
        engine = self.start("serve")
        engine.wait_for("serves")
        self.troupe("submit", "flow.yaml", "one", "--name", "there", "--label", "a=b", "--wait",
                    "-q")
        self.assertEqual(self.labels("there"), {"tier": "gold", "size": "1", "a": "b"})
        self.run_flow("one", "client", "--label", "a=c")
        self.assertEqual(self.names("--label", "a in (b, c)"), ["client", "there"])
        engine.signal(signal.SIGTERM)
        self.assertEqual(engine.end()[0], 0)

    def test_they_survive_a_kill_and_a_move(self):
        engine = self.start("run", "flow.yaml", "waits", "--name", "it", "--label", "a=b")
        self.await_file("begun")
        engine.process.kill()
        engine.end()
        self.write("go", "")
        self.troupe("resume", "it", "-q")
        expected = {"kind": "slow", "a": "b"}
        self.assertEqual(self.labels("it"), expected)
        self.troupe("export", "it", "--file", "it.troupe")
        self.store = self.folder / "other"
        self.troupe("import", "it.troupe")
        self.assertEqual(self.labels("it"), expected)
        self.assertEqual(self.names("-l", "kind=slow,a!=c"), ["it"])

    def test_selectors(self):
        self.run_flow("one", "a", "--label", "team=data")
        self.run_flow("one", "b", "--label", "team=web", "--label", "tier=silver")
        self.run_flow("inside", "c")
        for selector, names in (("team=data", "a"), ("team==data", "a"), ("team!=data", "c b"),
                                ("team", "b a"), ("!team", "c"), ("team in (data, web)", "b a"),
                                ("team notin (data)", "c b"), ("team,tier=gold", "a"),
                                ("tier=gold,team=web", "")):
            self.assertEqual(self.names("--label", selector), names.split(), selector)
            self.assertEqual(self.names("-l", selector), names.split(), selector)
        self.assertEqual(self.names("--label", "team", "--label", "tier!=gold"), ["b"])
        self.assertEqual(self.names("-l", "team", "--workflow", "o*", "--sort", "name"), ["a", "b"])
        table = self.troupe("list", "-o", "wide", "-l", "team=web")[0].splitlines()
        self.assertEqual(table[0].split(), ["NAME", "WORKFLOW", "PHASE", "AGE", "DURATION",
                                            "LAUNCHED", "PROJECT", "DOMAIN", "PLAN", "LABELS",
                                            "HOST", "ERROR"])
        self.assertEqual(table[1].split()[5:], ["-", "default", "development", "-",
                                                "size=1,team=web,tier=silver", "-", "-"])

    def test_pauses_and_aborts(self):
        for name, team in (("a", "data"), ("b", "data"), ("c", "web")):
            self.troupe("run", "flow.yaml", "waits", "--name", name, "--label", f"team={team}",
                        "--detach", "-q")
        self.run_flow("one", "over", "--label", "team=data")
        _, stderr = self.troupe("pause", "-l", "team=data", status=2)
        self.assertIn("these are 2 executions; give --yes if you mean all of them", stderr)
        rows = self.document("pause", "--label", "team=data", "--yes")
        self.assertEqual([row["execution"] for row in rows], ["a", "b"])
        self.troupe("abort", "--label", "team=web")
        for words, said in (
                (["a", "--label", "team"], "executions are named, or chosen by --label; write one "
                                           "of both"),
                ([], "name an execution, or choose some by --label"),
                (["-l", "team=ops"], "no unfinished execution has these labels; `troupe "
                                     "list -o wide` shows the labels of all")):
            for command in ("abort", "pause"):
                _, stderr = self.troupe(command, *words, status=2)
                self.assertIn(said, stderr)
        self.troupe("abort", "-l", "kind=slow", "--yes")
        for name in "abc":
            self.troupe("watch", name, "-q", status=3)
        self.assertEqual(self.document("get", "over")["phase"], "succeeded")

    def test_pruning(self):
        self.run_flow("one", "a", "--label", "team=data")
        self.run_flow("one", "b", "--label", "team=data", "--label", "keep=")
        self.run_flow("inside", "c", "--label", "team=data")
        self.run_flow("one", "d")
        self.assertIn("would remove 1 executions", self.troupe(
            "prune", "--label", "team=data,!keep", "--workflow", "o*", "--dry-run")[0])
        self.troupe("prune", "--label", "team=data,!keep", "--workflow", "one", "--yes", "-q")
        self.assertEqual(self.names(), ["d", "c", "b"])
        self.troupe("prune", "-l", "team=data", "--older-than", "1h", "--yes", "-q")
        self.assertEqual(self.names(), ["d", "c", "b"])
        self.troupe("prune", "-l", "team=data", "--yes", "-q")
        self.assertEqual(self.names(), ["d"])
        self.assertEqual(self.query("SELECT DISTINCT execution_name FROM labels"), [("d",)])
        self.troupe("prune", "--workflow", "*", "--yes", "-q")
        self.assertEqual(self.names(), [])

    def test_progress_of_many(self):
        self.write("in.json", json.dumps({"l": list(range(1099))}))
        self.run_flow("many", "root", "--inputs", "in.json")
        tenths = [256, 512, 768, 1024]
        _, stderr = self.troupe("prune", "--label", "team=data", "--yes")
        self.assertEqual(stderr.splitlines(),
                         [f"removed {done} of 1100 executions" for done in tenths])
        self.run_flow("many", "root", "--inputs", "in.json")
        terminal = Terminal()
        process = subprocess.Popen([PROGRAM, "prune", "--label", "team=data", "--yes"],
                                   cwd=self.folder, env=self.environment(), stdout=terminal.end,
                                   stdin=subprocess.DEVNULL, stderr=terminal.end)
        shown = terminal.read(process).decode()
        self.assertEqual(process.returncode, 0)
        self.assertIn("\rremoved 256 of 1100 executions\rremoved 512 of 1100 executions", shown)
        self.assertIn("removed 1100 of 1100 executions\n", shown)
        self.run_flow("many", "root", "--inputs", "in.json")
        self.assertEqual(self.troupe("prune", "--label", "team=data", "--yes", "-q")[1], "")

    def test_examples_of_the_reference(self):
        shutil.copytree(EXAMPLES, self.folder, dirs_exist_ok=True)
        self.troupe("run", "flow.yaml", "waits", "--name", "it", "--label", "team=data", "--detach",
                    "-q")
        text = (ROOT / "examples/COMMANDS.md").read_text()
        section = text.split("\n## Labels\n", 1)[1].split("\n## ", 1)[0]
        examples = re.findall(r"^    troupe (.*)$", section, re.MULTILINE)
        self.assertGreater(len(examples), 4)
        for example in examples:
            self.troupe(*shlex.split(example))
        self.troupe("watch", "it", "-q", status=3)

    def test_mistakes(self):
        self.run_flow("one", "a")
        for word, said in (
                ("team", "--label: 'team' is no label; write KEY=VALUE"),
                ("=x", f"--label: '' {KEY}"), ("my team=x", f"--label: 'my team' {KEY}"),
                ("A.b/c=x", f"--label: 'A.b/c' {KEY}"), ("k=-x", f"--label: '-x' {VALUE}"),
                (f"k={'x' * 64}", f"--label: '{'x' * 64}' {VALUE}")):
            for command in (["run", "flow.yaml", "one"], ["submit", "flow.yaml", "one"],
                            ["backfill", "daily", "--from", "2026-08-01", "--to", "2026-08-01"],
                            ["rerun", "a", "--from", "t"]):
                _, stderr = self.troupe(*command, "--label", word, status=2)
                self.assertIn(said, stderr)
        _, stderr = self.troupe("run", "flow.yaml", "one", "--label", "a=1", "--label", "a=2",
                                status=2)
        self.assertIn("--label: a key stands there twice; give it once", stderr)
        for selector, said in (
                ("", "--label: a condition has no key; write KEY=VALUE, KEY!=VALUE, KEY or !KEY"),
                ("a=1 b=2", "--label: 'a' goes on with 'b=2'; write a comma between conditions"),
                ("a>1", f"--label: 'a>1' {KEY}"),
                ("a in b", "--label: behind 'in' and 'notin' stands a list; write a in (a, b)")):
            for command in ("list", "abort", "pause", "prune"):
                words = [command, "--label", selector] + (["--yes"] if command == "prune" else [])
                if command == "pause":
                    continue  # it looks for an engine first
                _, stderr = self.troupe(*words, status=2)
                self.assertIn(said, stderr)
        for words, said in (
                (["--until", "soon"], "--until: 'soon' is no time; write a span such as 2h, or a "
                                      "date such as 2026-08-20"),
                (["--offset", "x"], "--offset: 'x' is no number; write how many of the first are "
                                    "left out"),
                (["--sort", "size"], "--sort: 'size' is no value for it; write one of "
                                     "created|started|ended|duration|name|workflow|phase"),
                (["--parent", "nobody"], "--parent: there is no execution 'nobody'"),
                (["-o", "broad"], "--output: 'broad' is no output form of this command; write one "
                                  "of table|wide|json|yaml|name")):
            self.assertIn(said, self.troupe("list", *words, status=2)[1])

    def test_pages_of_a_list(self):
        for name in ("a", "b", "c"):
            self.run_flow("one", name)
        self.assertEqual(self.names("--limit", "2"), ["c", "b"])
        self.assertEqual(self.names("--limit", "2", "--offset", "2"), ["a"])
        self.assertEqual(self.names("--reverse"), ["a", "b", "c"])
        self.assertEqual(self.names("--until", "1h"), [])
        self.assertEqual(self.names("--since", "1h", "--until", "2100-01-01"), ["c", "b", "a"])


if __name__ == "__main__":
    unittest.main()
