#!/usr/bin/env python3
"""What is said of a failure: the cause in the first message, from the attempt's own stderr."""

import os
import pathlib
import re
import shlex
import subprocess
import unittest

import program

TRACEBACK = """import sys
def read(name):
    return open(name)
sys.stderr.write("a warning before\\n")
read("/no/such/file.csv")
"""
CAUSE = "FileNotFoundError: [Errno 2] No such file or directory: '/no/such/file.csv'"

FLOW = """
troupe: 1
tasks:
  broken: {run: [python3, script.py]}
  odd:
    inputs: {x: int}
    outputs: {y: int}
    retries: 0
    cache: {version: "1"}
    run: [sh, -c, 'if [ $(( $1 % 2 )) = 1 ]; then echo "bad row $1" >&2; exit 1; fi;
          printf "{\\"y\\": $1}" > $TROUPE_OUTPUTS', sh, "{{.inputs.x}}"]
  tell:
    inputs: {err: error}
    outputs: {text: string}
    run: [python3, -c, "import json, os; e = json.load(open(os.environ['TROUPE_INPUTS']))['err'];
          json.dump({'text': e['message']}, open(os.environ['TROUPE_OUTPUTS'], 'w'));
          print(e['message'])"]
workflows:
  main: {nodes: {read: {task: broken}}}
  nested: {nodes: {inner: {workflow: main}}, on_failure: {task: tell}}
  all:
    inputs: {xs: {type: [int]}}
    nodes: {odd: {map: odd, with: {x: $xs}}}
  some:
    inputs: {xs: {type: [int]}}
    nodes: {odd: {map: odd, with: {x: $xs}, min_success_ratio: 0.1, errors: why}}
    outputs: {ys: $odd.y, why: $odd.why}
"""


class CausesTest(program.ProgramTest):
    def setUp(self):
        super().setUp()
        self.write("script.py", TRACEBACK)
        self.write("flow.yaml", FLOW.replace("script.py", str(self.folder / "script.py")))

    def one(self, *words, retries=0, name="one"):
        """Runs one task of these words; what is said on stderr, and the document of its node."""
        self.write("one.yaml", f"troupe: 1\ntasks: {{one: {{run: {list(words)!r}, "
                               f"retries: {retries}}}}}\n"
                               "workflows: {main: {nodes: {one: {task: one}}}}\n")
        self.troupe("run", "one.yaml", "--name", name, "-q", status=1)
        return self.document("get", f"{name}/one")

    # ------------------------------------------------------------------ where it is said

    def test_the_first_message_has_the_cause(self):
        _, stderr = self.troupe("run", "flow.yaml", "main", "--name", "first", status=1)
        self.assertIn(f"troupe run: first failed at read: exit status 1 of 1 attempt: {CAUSE} "
                      "[RetriesExhausted|ProcessFailed]\n", stderr)
        # The traceback is whole, with its lines, and what was written before it.
        self.assertRegex(stderr, r"\n    a warning before\n    Traceback \(most .* last\):\n"
                                 r"      File .*, line 5, in <module>\n(.*\n)+    " +
                                 re.escape(CAUSE) + "\n  it took ")
        self.assertRegex(stderr, r"\n  its files are in /\S+\n")

    def test_watch_get_and_explain_say_it_too(self):
        self.troupe("run", "flow.yaml", "main", "--name", "first", "-q", status=1)
        for words in (["watch", "first"], ["get", "first/read"], ["explain", "first"]):
            out, stderr = self.troupe(*words, status=1 if words[0] == "watch" else 0)
            self.assertRegex(out + stderr, r"exit status 1 of 1 attempt: " + re.escape(CAUSE))
            self.assertRegex(out + stderr, r"Traceback \(most recent call last\):\n +File ")
            self.assertRegex(out + stderr, r"CPU \d+\.\d\ds, memory \d+\.\d MiB at most")
        self.assertIn(f"exit status 1 of 1 attempt: {CAUSE}"[:60], self.troupe("get", "first")[0])

    def test_documents_have_it_in_fields(self):
        error = self.document("run", "flow.yaml", "main", "--name", "first", "-q",
                              status=1)["error"]
        self.assertEqual(error["code"], "RetriesExhausted|ProcessFailed")
        self.assertEqual(error["message"], f"exit status 1 of 1 attempt: {CAUSE}")
        self.assertEqual(error["flyte_message"],
                         "[1/1] currentAttempt done. Last Error: USER::exit status 1")
        attempt = error["attempt"]
        self.assertTrue(attempt["stderr"].startswith("a warning before\nTraceback"))
        self.assertTrue(attempt["stderr"].endswith(CAUSE))
        self.assertEqual((attempt["node"], attempt["attempt"], attempt["exit_status"]),
                         ("read", 0, 1))
        self.assertGreater(attempt["elapsed_ms"], 0)
        self.assertGreater(attempt["memory_bytes_max"], 1 << 20)
        self.assertTrue(pathlib.Path(attempt["folder"]).is_dir())
        row = self.document("get", "first/read")["attempts"][0]
        for key in ("stderr", "exit_status", "elapsed_ms", "cpu_ms", "memory_bytes_max"):
            self.assertEqual(row[key], attempt[key], key)
        self.assertEqual(row["error"]["message"], f"exit status 1: {CAUSE}")
        cause = self.document("explain", "first")["causes"][-1]
        self.assertEqual((cause["stderr"], cause["attempt"]), (attempt["stderr"], 0))

    def test_an_error_value_has_it(self):
        self.troupe("run", "flow.yaml", "nested", "--name", "first", "-q", status=1)
        text = self.document("get", "first/on_failure")["outputs"]["text"]
        self.assertTrue(text.startswith(f"exit status 1 of 1 attempt: {CAUSE}\na warning before\n"))
        self.assertIn("Traceback (most recent call last):\n", text)
        used = (r"\nit took \d+\.\d\ds, CPU \d+\.\d\ds, memory \d+\.\d MiB at most"
                r"\nits files are in (/\S+)$")
        self.assertTrue(pathlib.Path(re.search(used, text).group(1), "stderr").exists())
        why = self.document("run", "flow.yaml", "some", "-i", "xs=[0, 1]", "-q")["outputs"]["why"]
        self.assertIsNone(why[0])
        self.assertRegex(why[1]["message"],
                         r"^exit status 1 of 1 attempt: bad row 1\nbad row 1" + used)

    def test_the_next_commands_can_be_pasted(self):
        _, stderr = self.troupe("run", "flow.yaml", "all", "-i", "xs=[1]", "--name", "first",
                                status=1)
        out, _ = self.troupe("explain", "first")
        for text, wanted in ((stderr, ["explain", "recover"]), (out, ["logs", "recover"])):
            lines = re.search(r"\nnext: (.*\n      .*)\n$", text).group(1).split("\n")
            words = [shlex.split(line) for line in lines]
            self.assertEqual([line[1] for line in words], wanted)
            for line in words:
                self.troupe(*line[1:], status=1 if line[1] == "recover" else 0)
        self.assertIn("next: troupe logs 'first/odd[0]'\n", out)
        folder = str(self.store)
        out, _ = self.troupe("explain", "first", "--store", folder)
        self.assertIn(f"next: troupe logs --store {folder} 'first/odd[0]'\n", out)

    # ------------------------------------------------------------------ how it ended

    def test_ends_in_words(self):
        for number, (words, said) in enumerate((
                (("sh", "-c", "kill -SEGV $$"), "signal 11 (SIGSEGV, Segmentation fault)"),
                (("sh", "-c", "sh -c 'kill -SEGV $$'; exit $?"),
                 "exit status 139 (128 + 11: SIGSEGV, Segmentation fault)"),
                (("sh", "-c", "no-such-command"),
                 "exit status 127 (to a shell: command not found)"),
                (("sh", "-c", "kill -9 $$"), "signal 9 (SIGKILL, Killed)"))):
            with self.subTest(said):
                message = self.one(*words, name=f"one{number}")["error"]["message"]
                self.assertTrue(message.startswith(f"{said} of 1 attempt"), message)

    def test_only_what_will_be_tried_again_may_be_retried(self):
        attempts = self.one("sh", "-c", "exit 3", retries=2)["attempts"]
        self.assertEqual([row["phase"] for row in attempts],
                         ["failed, may be retried", "failed, may be retried", "failed"])
        self.assertIn("exit status 3 of the last of 3 attempts", self.troupe("get", "one")[0])

    def test_a_success_came_after_what_failed(self):
        self.write("one.yaml", "troupe: 1\ntasks: {one: {run: [sh, -c, 'echo busy >&2; "
                               "exit $((1 - TROUPE_ATTEMPT))'], retries: 2}}\n"
                               "workflows: {main: {nodes: {one: {task: one}}}}\n")
        self.troupe("run", "one.yaml", "--name", "it", "-q")
        out, _ = self.troupe("explain", "it/one")
        self.assertIn("  one succeeded\n  after one@0 failed, may be retried: exit status 1: busy",
                      out)
        self.assertNotIn("because", out)

    def test_much_output_ends_with_whole_lines(self):
        words = ("python3", "-c", "import sys\nfor i in range(9999):\n"
                 "    sys.stderr.write('line %d\\n' % i)\n"
                 "sys.stderr.buffer.write(b'\\x1b[31mno \\xff utf-8\\n')\nsys.exit(1)")
        row = self.one(*words)
        lines = row["attempts"][0]["stderr"].split("\n")
        self.assertRegex(lines[0], r"^line \d+$")
        self.assertLessEqual(len(row["attempts"][0]["stderr"]), 4096)
        self.assertEqual(lines[-1], "\x1b[31mno ? utf-8")
        # People see control characters escaped, wherever they come from.
        self.assertIn(r"\x1b[31mno ? utf-8", self.troupe("get", "one/one")[0])

    def test_a_timeout_shows_what_was_written_last(self):
        self.write("one.yaml", "troupe: 1\ntasks: {one: {run: [sh, -c, 'echo step 7 >&2; "
                               "exec sleep 600'], timeout: 1s, retries: 0}}\n"
                               "workflows: {main: {nodes: {one: {task: one}}}}\n")
        error = self.document("run", "one.yaml", "-q", status=1)["error"]
        self.assertIn("timeout [1s] expired", error["message"])
        self.assertEqual(error["attempt"]["stderr"], "step 7")

    def test_use_is_counted_with_children(self):
        burn = "x = bytearray(150 << 20)\nimport time\nwhile time.process_time() < 0.3: pass"
        row = self.one("sh", "-c", f"python3 -c '{burn}'; exit 1")["attempts"][0]
        self.assertGreater(row["memory_bytes_max"], 150 << 20)
        self.assertGreaterEqual(row["cpu_ms"], 300)
        self.assertGreaterEqual(row["elapsed_ms"], 300)

    def test_the_kernel_kills_for_want_of_memory(self):
        group = pathlib.Path("/sys/fs/cgroup/memory") / f"troupe-test-{os.getpid()}"
        limit, name = "memory.limit_in_bytes", "cgroup.procs"
        if not group.parent.is_dir():
            group, limit = pathlib.Path("/sys/fs/cgroup") / group.name, "memory.max"
        try:
            group.mkdir()
            self.addCleanup(group.rmdir)
            (group / limit).write_text(str(64 << 20))
        except OSError as fault:
            self.skipTest(f"no cgroup with a limit of memory can be made: {fault}")
        message = self.one("sh", "-c", f"echo $$ > {group / name} && exec python3 -c "
                           "'x = bytearray(400 << 20)'")["error"]["message"]
        self.assertRegex(message, r"^signal 9 \(SIGKILL, Killed: (out of memory, killed by the "
                                  r"kernel|the kernel killed for want of memory)")

    # ------------------------------------------------------------------ maps

    def test_failures_alike_are_one_group(self):
        _, stderr = self.troupe("run", "flow.yaml", "some", "-i", "xs=[0, 1, 3, 5]", "--name",
                                "first")
        self.assertRegex(stderr, r"odd: succeeded in [\d.]+s, 3 of 4 failed\n")
        groups = self.document("get", "first/odd")["array"]["errors"]
        self.assertEqual([(group["count"], group["elements"]) for group in groups],
                         [(3, [1, 2, 3])])
        self.assertRegex(self.troupe("get", "first")[0],
                         r"3 x exit status 1 of 1 attempt: bad row \d \[.*\]  at \[1\] \[2\] \[3\]")
        _, stderr = self.troupe("run", "flow.yaml", "all", "-i", "xs=[1]", "-q", status=1)
        self.assertIn(" failed at odd[0]: [0] exit status 1 of 1 attempt: bad row 1 [", stderr)

    def test_what_came_from_the_cache_is_said(self):
        self.troupe("run", "flow.yaml", "some", "-i", "xs=[0, 2, 4]", "-q")
        _, stderr = self.troupe("run", "flow.yaml", "some", "-i", "xs=[0, 2, 4, 6, 7]", "--name",
                                "second")
        self.assertRegex(stderr,
                         r"odd: succeeded in [\d.]+s, 1 of 5 failed, 3 from the cache\n")
        self.assertEqual(self.document("get", "second/odd")["array"]["cached"], 3)
        self.assertIn("4 of 5 succeeded (3 from the cache), 1 failed",
                      self.troupe("get", "second/odd")[0])


if __name__ == "__main__":
    unittest.main()
