#!/usr/bin/env python3
"""Looking at executions: beside a live engine, after its death, when all is over, in no store."""

import json
import pathlib
import re
import shutil
import signal
import sqlite3
import struct
import subprocess
import unittest

from program import EXAMPLES, LIMIT_S, PROGRAM, ROOT, ProgramTest, wait_until

# `wait` goes on when the file `go` is there; `bad` fails; `squares` has one element that fails.
FLOW = """
troupe: 1
tasks:
  wait:
    inputs: {n: int}
    outputs: {n: int}
    run: [sh, -c, "echo begun; echo aside >&2; touch $TROUPE_FOLDER/begun; \
while ! [ -e $TROUPE_FOLDER/go ]; do sleep 0.05; done; echo over; \
cp $TROUPE_INPUTS $TROUPE_OUTPUTS"]
  some:
    inputs: {n: int}
    outputs: {n: int}
    run: [sh, -c, "grep -q 3 $TROUPE_INPUTS && { echo no three; exit 3; }; \
cp $TROUPE_INPUTS $TROUPE_OUTPUTS"]
workflows:
  main:
    inputs: {n: {type: int, default: 7}}
    nodes:
      wait: {task: wait, with: {n: $n}}
      squares: {map: some, with: {n: [1, 2, 3]}, min_successes: 2}
      last: {task: wait, with: {n: $wait.n}}
    outputs: {n: $last.n}
  fails:
    nodes: {one: {map: some, with: {n: [3]}}}
"""


CLEAN_UP = """
troupe: 1
tasks:
  bad: {run: [sh, -c, exit 3]}
  worse: {run: [sh, -c, exit 5]}
  fine: {run: ["true"]}
workflows:
  inner:
    nodes: {b: {task: bad}}
    on_failure: {task: worse}
  main:
    nodes: {a: {workflow: inner}}
    on_failure: {task: worse}
    finally: {task: worse}
  last:
    nodes: {a: {task: fine}}
    finally: {task: worse}
"""


class LookingTest(ProgramTest):
    def begin(self):
        self.write("flow.yaml", FLOW)
        running = self.start("run", "flow.yaml", "main", "--name", "first")
        self.await_file("begun")
        return running

    def go(self):
        self.write("go", "")

    def test_beside_a_live_engine(self):
        running = self.begin()
        [row] = self.document("list", "--phase", "running")
        self.assertEqual((row["execution"], row["workflow"]), ("first", "main"))
        nodes = {node["node"]: node["phase"] for node in self.document("get", "fir")["nodes"]}
        self.assertEqual(nodes["last"], "not yet started")
        waiting = self.document("explain", "@last")
        self.assertTrue(waiting["is_live"])
        texts = {line["node"]: line["text"] for line in waiting["waiting"]}
        self.assertRegex(texts["wait"], r"attempt 0 is (running|queued)")
        self.assertEqual(texts["last"], "it waits for wait")
        self.assertFalse(any(line["is_stuck"] for line in waiting["waiting"]))
        logs = self.start("logs", "-f", "first/wait")
        logs.wait_for("begun", "stdout")
        watch = self.start("watch", "-o", "json")
        watch.wait_for('"node":"wait"', "stdout")
        self.go()
        self.assertEqual(running.end()[0], 0)
        status, out, _ = logs.end()
        self.assertEqual(status, 0)
        self.assertIn("over", out)
        self.assertIn("first/wait@0 stderr", out)
        status, out, _ = watch.end()
        self.assertEqual(status, 0)
        lines = [json.loads(line) for line in out.splitlines()]
        self.assertEqual(lines[-1], {"execution": "first", "phase": "succeeded",
                                     "outputs": {"n": 7}})
        told = [(line["subject"], line["node"], line["element"], line["attempt"], line["phase"])
                for line in lines[:-1]]
        self.assertEqual(told[-1], ("execution", "", None, None, "succeeded"))
        self.assertIn(("element", "squares", 2, 0, "failed"), told)
        self.assertEqual(len(told), len(set(told)))

    def moments_of(self, pid):
        """The locks by which a process keeps the store's log from beginning anew: bytes 123 to 127
        of its index are SQLite's marks of readers."""
        found = []
        for line in pathlib.Path("/proc/locks").read_text().splitlines():
            words = line.split()
            if words[1] == "POSIX" and int(words[4]) == pid and 123 <= int(words[6]) <= 127:
                found.append(line)
        return found

    def test_who_waits_holds_no_moment(self):
        """A look takes a moment, and the waiting for the next one none: else the log of a busy
        store would grow to its bound, and the engine stand still."""
        self.write("flow.yaml", FLOW)
        engine = self.start("serve")
        engine.wait_for("serves")
        self.troupe("submit", "flow.yaml", "main", "--name", "it", "-q")
        for mark, *words in (("running", "submit", "flow.yaml", "main", "--wait"),
                             ("running", "run", "flow.yaml", "main"),
                             ("running", "watch", "it"),
                             ("running", "watch", "it", "-o", "json"),
                             ("begun", "logs", "it", "-f")):
            with self.subTest(words):
                command = self.start(*words)
                wait_until(lambda: mark in str(command.lines), "it has looked")
                wait_until(lambda: not self.moments_of(command.process.pid), "it lets go")
                command.signal(signal.SIGKILL)
                command.end()
        self.write("go", "")
        self.troupe("watch", "it")

    def test_after_the_engine_has_died(self):
        running = self.begin()
        running.signal(signal.SIGKILL)
        running.end()
        out, _ = self.troupe("explain", "first")
        self.assertIn("no engine runs on", out)
        self.assertIn("last: it waits for wait", out)
        self.assertNotIn("STUCK", out)
        watch = self.start("watch", "first")
        watch.wait_for("nothing goes on until `troupe resume`")
        self.go()
        self.troupe("resume", "first")
        status, out, _ = watch.end()
        self.assertEqual((status, out), (0, "n: 7"))

    def await_engine(self):
        """Waits until the engine that was started answers."""
        for _ in range(1000):
            if subprocess.run([PROGRAM, "metrics"], cwd=self.folder, env=self.environment(),
                              capture_output=True, timeout=LIMIT_S).returncode == 0:
                return
        self.fail("the engine does not answer")

    def blame(self, name):
        """Writes down that the actor NAME has ended the engine twice, as the next start does."""
        [actor] = [row["actor"] for row in self.document("actors", f"/default/development/{name}")]
        group, serial = map(int, actor.split("@")[0].split("/"))
        message = struct.pack("<QQI4xQQH6x", group, serial, 1, 1, 0, 1)
        (self.store / "poison").write_bytes(
            b"POISON02" + struct.pack("<QQ", group, serial) + message + struct.pack("<II", 2, 0))

    def test_who_is_quarantined_goes_on_when_somebody_says_so(self):
        running = self.begin()
        self.blame("first/wait")
        running.signal(signal.SIGKILL)
        running.end()
        resumed = self.start("resume", "first")
        resumed.wait_for("is quarantined")
        self.await_engine()
        [actor] = self.document("actors", "/default/development/first/wait")
        self.assertEqual(actor["phase"], "quarantined")
        self.assertIn("`troupe actors --resume", self.troupe("explain", "first")[0])
        self.troupe("actors", "--drop", status=2)
        _, told = self.troupe("actors", "--resume", "/default/development/first/wait")
        self.assertIn("1 actors go on", told)
        self.assertEqual(self.document("actors", "--resume"), [])
        self.go()
        self.assertEqual(resumed.end()[0], 0)

    def test_a_root_that_is_quarantined_is_named_whoever_asks_it(self):
        """Whatever is said to it meanwhile it hears when somebody lets it go on."""
        running = self.begin()
        self.blame("first")
        running.signal(signal.SIGKILL)
        running.end()
        resumed = self.start("resume", "first")
        still = ("it is quarantined, since one message has failed its actor twice; "
                 "`troupe explain` says more, `troupe actors --resume ADDRESS` lets it go on, "
                 "and then it hears this")
        resumed.wait_for(still)
        self.assertIn(still, self.troupe("resume", "first", "first")[1])
        refused = self.troupe("pause", "first", status=4)[1]
        self.assertIn(f"first cannot be paused: {still}", refused)
        self.assertIn("`troupe actors --resume ADDRESS`",
                      self.troupe("explain", "first")[0])
        self.troupe("resume", "first", "first")
        self.go()
        self.assertIn("1 actors go on",
                      self.troupe("actors", "--resume", "/default/development/first")[1])
        status, out, stderr = resumed.end()
        self.assertEqual((status, out), (0, "n: 7"), stderr)

    def test_when_it_is_over(self):
        self.go()
        self.write("flow.yaml", FLOW)
        self.troupe("run", "flow.yaml", "main", "--name", "first")
        self.troupe("run", "flow.yaml", "fails", "--name", "second", status=1)
        self.assertEqual(self.troupe("list", "-o", "name")[0], "second\nfirst\n")
        squares = self.document("get", "first/squares")
        self.assertEqual(squares["array"]["failed"], 1)
        [group] = squares["array"]["errors"]
        self.assertEqual((group["count"], group["elements"]), (1, [2]))
        self.assertEqual([row["phase"] for row in squares["elements"]],
                         ["succeeded", "succeeded", "failed"])
        element = self.document("get", "first/squares[2]@0")
        self.assertEqual(element["inputs"], {"n": 3})
        self.assertEqual(element["attempts"][0]["exit_status"], 3)
        self.assertEqual(self.troupe("logs", "first/squares[2]")[0], "no three\n")
        self.assertEqual(self.troupe("logs", "first/wait", "--tail", "1")[0].count("\nover\n"), 1)
        out, _ = self.troupe("explain", "second")
        self.assertRegex(out, r"it failed(.*\n)+.*because one\[0\]@0 failed.*exit status 3")
        self.troupe("watch", "second", status=1)
        self.troupe("watch", "first", "-q")

    def test_clean_up_that_failed_itself(self):
        self.write("flow.yaml", CLEAN_UP)
        _, err = self.troupe("run", "flow.yaml", "main", "--name", "first", "-q", status=1)
        self.assertEqual(re.findall(r"troupe run: (.*) failed.*exit status (\d)", err),
                         [("first", "3"), ("and a/on_failure", "5"), ("and finally", "5"),
                          ("and on_failure", "5")])
        out, _ = self.troupe("explain", "first")
        self.assertRegex(out, r"\n  and on_failure failed: exit status 5 of 1 attempt .*\n"
                              r"  because on_failure@0 failed: exit status 5 ")
        self.assertRegex(out, r"\n  and a/on_failure failed: ")
        causes = self.document("explain", "first")["causes"]
        causes = [(row["node"], row["attempt"]) for row in causes]
        self.assertEqual(causes[3:], [("a/b", 0), ("a/on_failure", None), ("a/on_failure", 0),
                                      ("finally", None), ("finally", 0), ("on_failure", None),
                                      ("on_failure", 0)])
        # One that is the execution's own failure is told once.
        _, err = self.troupe("run", "flow.yaml", "last", "--name", "second", "-q", status=1)
        self.assertEqual(err.count("exit status 5"), 1)
        self.assertEqual(self.troupe("explain", "second")[0].count("finally@0"), 1)

    def test_what_is_not_there(self):
        for command in ("list", "get x", "watch", "logs x", "explain x"):
            _, err = self.troupe(*command.split(), status=2)
            self.assertIn("there is no store", err)
        self.go()
        self.write("flow.yaml", FLOW)
        for name in ("same-1", "same-2"):
            self.troupe("run", "flow.yaml", "main", "--name", name)
        for command in ("get", "watch", "logs", "explain"):
            _, err = self.troupe(command, "other", status=2)
            self.assertIn("there is no execution 'other'", err)
            _, err = self.troupe(command, "same", status=2)
            self.assertIn("default/development/same-1", err)
            self.assertIn("default/development/same-2", err)
            _, err = self.troupe(command, "same-1/n@x", status=2)
        for command in ("get", "logs", "explain"):
            _, err = self.troupe(command, "same-1/other", status=2)
            self.assertIn("same-1 has no node 'other'", err)
            self.troupe(command, "/default/development/same-1/wait")
            self.troupe(command, "default/development/same-1/wait")
            _, err = self.troupe(command, "same-1/squares[7]", status=2)
            self.assertIn("squares has 3 elements, counted from 0 on", err)
            _, err = self.troupe(command, "same-1/squares[1]@4", status=2)
            self.assertIn("nothing is known of attempt 4 of squares", err)
            _, err = self.troupe(command, "same-1/wait@9", status=2)
            self.assertIn("nothing is known of attempt 9 of wait", err)
            _, err = self.troupe(command, "same-1/wait[0]", status=2)
            self.assertIn("'wait' is no map, and has no elements", err)
        self.troupe("list", "--phase", "runing", status=2)
        self.troupe("list", "--since", "soon", status=2)
        self.troupe("list", "--limit", "-1", status=2)

    def test_elements_and_attempts_of_what_has_none(self):
        self.write("flow.yaml", """
troupe: 1
tasks: {bad: {run: ["false"]}, some: {inputs: {n: int}, run: ["true"]}}
workflows:
  main:
    nodes:
      nap: {sleep: 1ms}
      none: {map: some, with: {n: []}, over: [n]}
      bad: {task: bad, after: [nap, none]}
      late: {map: some, with: {n: [1]}, after: [bad]}
""")
        self.troupe("run", "flow.yaml", "--name", "it", status=1)
        for command in ("get", "explain"):
            for target, words in (
                    ("bad[0]", "'bad' is no map, and has no elements"),
                    ("nap[0]", "'nap' is no map, and has no elements"),
                    ("late[0]", "'late' has not begun, and its elements are not known before"),
                    ("none[0]", "none has 0 elements, counted from 0 on"),
                    ("nap@0", "'nap' runs no task, and has no attempts: it is a node of the kind "
                              "'sleep'"),
                    ("none@0", "'none' is a map, whose attempts are those of its elements"),
                    ("bad@1", "nothing is known of attempt 1 of bad")):
                with self.subTest(command=command, target=target):
                    self.assertIn(words, self.troupe(command, f"it/{target}", status=2)[1])

    def test_a_store_that_cannot_be_read(self):
        self.go()
        self.write("flow.yaml", FLOW)
        self.troupe("run", "flow.yaml", "main", "--name", "first")
        path = self.store / "troupe.db"
        with sqlite3.connect(path) as database:
            database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            database.execute("PRAGMA user_version = 999")
        database.close()
        for command in ("list", "get first", "watch", "logs first", "explain first"):
            _, err = self.troupe(*command.split(), status=4)
            self.assertRegex(err, "newer|version")
        path.write_bytes(b"no database at all" * 1000)
        _, err = self.troupe("list", status=4)
        self.assertIn(str(path), err)

    def test_completion_knows_executions(self):
        self.go()
        self.write("flow.yaml", FLOW)
        self.troupe("run", "flow.yaml", "main", "--name", "first")
        script = ("source <(troupe completion bash); complete_line() { COMP_LINE=$1; "
                  "COMP_POINT=${#1}; _troupe; echo ${COMPREPLY[@]}; }; "
                  "complete_line 'troupe get fi'; complete_line 'troupe get @'; "
                  "complete_line 'troupe logs first/s'")
        environment = self.environment()
        environment["PATH"] = f"{PROGRAM.parent}:{environment['PATH']}"
        done = subprocess.run(["bash", "-c", script], cwd=self.folder, env=environment, text=True,
                              capture_output=True, timeout=LIMIT_S)
        self.assertEqual(done.stdout.split(), ["first", "@last", "first/squares"], done.stderr)

    def test_nobody_reads_any_more(self):
        self.begin()
        watch = self.start("watch", "-o", "json")
        watch.wait_for('"subject"', "stdout")
        logs = self.start("logs", "-f", "@last")
        logs.wait_for("begun", "stdout")
        for running in (watch, logs):
            running.signal(signal.SIGINT)
            self.assertEqual(running.end()[0], -signal.SIGINT)
        self.go()

    def test_examples_of_the_reference(self):
        shutil.copytree(EXAMPLES, self.folder, dirs_exist_ok=True)
        text = (ROOT / "examples/COMMANDS.md").read_text()
        section = text.split("## Looking at executions", 1)[1].split("\n## ", 1)[0]
        examples = re.findall(r"^    troupe (.*)$", section, re.MULTILINE)
        self.assertGreater(len(examples), 8)
        for example in examples:
            words = [word.strip("'") for word in re.findall(r"'[^']*'|\S+", example)]
            self.troupe(*words)


if __name__ == "__main__":
    unittest.main()
