#!/usr/bin/env python3
"""`troupe run`: results, names, mistakes, and exit statuses."""

import json
import os
import re
import subprocess
import unittest

import stores
from program import EXAMPLES, LIMIT_S, PROGRAM, ProgramTest, Terminal

ECHO = """
troupe: 1
tasks:
  say: {type: echo, inputs: {a: int, s: string}, outputs: {a: int, s: string}}
workflows:
  main:
    inputs: {n: int, s: {type: string, default: hello}}
    nodes: {one: {task: say, with: {a: $n, s: $s}}}
    outputs: {number: $one.a, text: $one.s}
  other:
    nodes: {one: {task: say, with: {a: 1, s: x}}}
launch_plans:
  plan: {workflow: main, inputs: {n: 5}, fixed: {s: fixed}}
"""

FAILING = """
troupe: 1
tasks:
  fail:
    inputs: {}
    run: [sh, -c, 'echo "{\\"code\\": \\"Broken\\", \\"message\\": \\"no luck\\",
      \\"recoverable\\": false}" > "$TROUPE_ERROR"']
workflows:
  main:
    nodes: {one: {task: fail}}
"""


class RunTest(ProgramTest):
    def test_hello(self):
        stdout, stderr = self.troupe("run", EXAMPLES / "hello.yaml", "-i", "name=Ada")
        self.assertEqual(stdout, "greeting: Hello, Ada!\n")
        # Where the store's database is elsewhere its folder was there before.
        self.assertEqual("made a new store" in stderr, stores.SERVER is None, stderr)
        self.assertRegex(stderr, r"hello-[a-z2-9]{5} begins")
        self.assertIn("greet: succeeded in", stderr)
        self.assertEqual(self.store.stat().st_mode & 0o777, 0o700)

    def test_fan_out(self):
        stdout, _ = self.troupe("run", EXAMPLES / "fan_out.yaml", "-i", "size=5", "-q")
        self.assertEqual(stdout, "sum: 30\n")

    def test_documents(self):
        self.write("flow.yaml", ECHO)
        document = self.document("run", "flow.yaml", "-i", "n=7", "--name", "first")
        self.assertEqual(document, {"execution": "first", "phase": "succeeded",
                                    "outputs": {"number": 7, "text": "hello"}})
        stdout, _ = self.troupe("run", "flow.yaml", "-i", "n=7", "-o", "name", "--name", "second")
        self.assertEqual(stdout, "second\n")
        stdout, _ = self.troupe("run", "flow.yaml", "-i", "n=7", "-o", "yaml", "--name", "third")
        self.assertIn('outputs:\n  number: 7\n  text: "hello"\n', stdout)

    def test_workflows_and_plans(self):
        self.write("flow.yaml", ECHO)
        stdout, _ = self.troupe("run", "flow.yaml", "plan", "-q")
        self.assertEqual(stdout, "number: 5\ntext: fixed\n")
        self.troupe("run", "flow.yaml", "other", "-q")
        _, stderr = self.troupe("run", "flow.yaml", "othr", status=2)
        self.assertIn("there is no workflow, launch plan or task 'othr'; did you mean 'other'? "
                      "flow.yaml has main, other, plan, say\n", stderr)

    def test_inputs_from_files(self):
        self.write("flow.yaml", ECHO)
        self.write("inputs.json", '{"n": 3, "s": "from a file"}')
        stdout, _ = self.troupe("run", "flow.yaml", "--inputs", "inputs.json", "-i", "n=4", "-q")
        self.assertEqual(stdout, "number: 4\ntext: from a file\n")
        stdout, _ = self.troupe("run", "flow.yaml", "--inputs", "-", "-q", stdin="n: 9\n")
        self.assertEqual(stdout, "number: 9\ntext: hello\n")

    def test_nothing_starts_with_a_mistake(self):
        self.write("flow.yaml", ECHO)
        self.write("bad.yaml", ECHO.replace("$one.s", "$one.t"))
        stdout, stderr = self.troupe("run", "flow.yaml", "-i", "n=x", "-i", "m=1", status=2)
        self.assertEqual(stdout, "")
        self.assertIn("'x' is no value of type int", stderr)
        self.assertIn("there is no input 'm'", stderr)
        _, stderr = self.troupe("run", "bad.yaml", "-i", "n=1", status=2)
        self.assertRegex(stderr, r"bad.yaml:\d+:\d+: ")
        _, stderr = self.troupe("run", "nothing.yaml", status=2)
        self.assertIn("nothing.yaml: the file cannot be read: not found", stderr)
        self.troupe("run", status=2)
        self.assertEqual(stores.contents(self.store), [])

    def test_what_this_program_cannot_run(self):
        self.write("flow.yaml", ECHO + "  # no plan more\n")
        self.write("types.yaml", "troupe: 1\ntasks: {t: {type: martian, config: {x: 1}},\n"
                                 "  u: {type: echoo}, v: {type: http, config: {urk: x}}}\n"
                                 "workflows: {main: {nodes: {one: {task: t}}}}\n")
        martian = "types.yaml:2:19: t: no plugin here runs tasks of type 'martian'; use one of "
        _, stderr = self.troupe("run", "types.yaml", status=2)
        self.assertTrue(stderr.startswith(martian), stderr)
        self.assertEqual(len(stderr.splitlines()), 1)
        stdout, stderr = self.troupe("check", "types.yaml", status=2)
        self.assertIn("; --without-plugins leaves that out", stderr)
        lines = stdout.splitlines()
        self.assertEqual(len(lines), 3)
        self.assertTrue(lines[0].startswith(martian))
        self.assertEqual(lines[1], "types.yaml:3:13: u: no plugin here runs tasks of type "
                                   "'echoo'; did you mean 'echo'?")
        self.assertEqual(lines[2], "types.yaml:3:45: v: config has no key 'urk'; did you mean "
                                   "'url'?")
        self.assertEqual(len(self.document("check", "types.yaml", status=2)), 3)
        self.assertEqual(self.troupe("check", "--without-plugins", "types.yaml")[0], "")
        self.assertEqual(stores.contents(self.store), [])

    def test_check_has_the_settings_of_the_store(self):
        self.write("types.yaml", "troupe: 1\ntasks: {t: {type: martian}}\n")
        self.store.mkdir()
        self.write(self.store / "settings.yaml", "task_types: {martian: echo}\n")
        self.troupe("check", "types.yaml")
        self.write(self.store / "settings.yaml", "tsk_types: {}\n")
        self.assertIn("tsk_types", self.troupe("check", "types.yaml", status=2)[1])
        self.troupe("check", "types.yaml", "--without-plugins")

    def test_a_failure(self):
        self.write("flow.yaml", FAILING)
        stdout, stderr = self.troupe("run", "flow.yaml", status=1)
        self.assertEqual(stdout, "")
        self.assertRegex(stderr, r"main-\w+ failed at one: no luck \[Broken\]\n")
        document = self.document("run", "flow.yaml", "-q", status=1)
        self.assertEqual(document["phase"], "failed")
        self.assertEqual(document["error"]["node"], "one")
        self.assertIn("no luck", document["error"]["message"])
        self.assertIsNone(document["error"]["element"])

    def test_names(self):
        self.write("flow.yaml", ECHO)
        self.troupe("run", "flow.yaml", "-i", "n=1", "--name", "mine", "-q")
        _, stderr = self.troupe("run", "flow.yaml", "-i", "n=2", "--name", "mine", status=2)
        self.assertIn("there is an execution mine already (succeeded)", stderr)
        stdout, _ = self.troupe("run", "flow.yaml", "-i", "n=2", "--name", "mine", "--if-new", "-q")
        self.assertEqual(stdout, "number: 1\ntext: hello\n")
        _, stderr = self.troupe("run", "flow.yaml", "-i", "n=2", "--name", "9/x", status=2)
        self.assertIn("'9/x' is no name for an execution", stderr)

    def test_an_input_is_no_option(self):
        hello = EXAMPLES / "hello.yaml"
        for words, expected in ((["--size", "3"], "--size; an input is given as -i size=3"),
                                (["--nmae=Ada"], "--nmae; did you mean --name? As an input it is "
                                 "-i nmae=Ada"),
                                (["--text", "two words"], "--text; an input is given as "
                                 "-i text='two words'")):
            _, stderr = self.troupe("run", hello, *words, status=2)
            self.assertEqual(stderr.splitlines()[0], f"troupe run: there is no option {expected}")
        text = self.troupe("run", "--help")[0]
        self.assertRegex(text, r"--name NAME +calls the execution so .*; it is no input\n")

    def test_the_name_is_no_input(self):
        hello = EXAMPLES / "hello.yaml"
        note = ("troupe run: --name calls the execution 'Ada'; the input 'name' has its default: "
                "give it with -i name=VALUE\n")
        stdout, stderr = self.troupe("run", hello, "--name", "Ada")
        self.assertEqual(stdout, "greeting: Hello, world!\n")
        self.assertIn(note, stderr)
        for words in (["--name", "Bob", "-i", "name=Ada"], ["--name", "Cleo", "-q"], ["-q"]):
            self.assertNotIn("has its default", self.troupe("run", hello, *words)[1])

    def test_the_store_is_damaged(self):
        self.store.mkdir()
        (self.store / "troupe.db").write_text("this is no database, and was written by nobody")
        self.write("flow.yaml", ECHO)
        _, stderr = self.troupe("run", "flow.yaml", "-i", "n=1", status=4)
        self.assertIn("troupe.db", stderr)

    def test_detach(self):
        self.write("flow.yaml", """
troupe: 1
tasks:
  touch: {run: [sh, -c, 'while [ ! -e "$TROUPE_FOLDER/go" ]; do sleep 0.01; done;
    touch "$TROUPE_FOLDER/done"']}
workflows: {main: {nodes: {one: {task: touch}}}}
""")
        stdout, _ = self.troupe("run", "flow.yaml", "--detach", "--name", "away")
        self.assertEqual(stdout, "away\n")
        self.write("go", "")
        self.await_file("done")
        stdout, _ = self.troupe("run", "flow.yaml", "--name", "away", "--if-new", "-o", "json")
        self.assertEqual(json.loads(stdout)["phase"], "succeeded")

    def test_a_terminal_shows_a_picture(self):
        """On a terminal the view is drawn in place; with NO_COLOR it has no colours."""
        self.write("flow.yaml", ECHO)
        for no_color in ("", "1"):
            terminal = Terminal()
            environment = dict(self.environment(), TERM="xterm", NO_COLOR=no_color)
            process = subprocess.Popen([PROGRAM, "run", "flow.yaml", "-i", "n=1"], cwd=self.folder,
                                       env=environment, stdout=subprocess.PIPE,
                                       stderr=terminal.end)
            drawn = terminal.read(process)
            stdout, _ = process.communicate(timeout=LIMIT_S)
            self.assertEqual(process.returncode, 0)
            self.assertEqual(stdout, b"number: 1\ntext: hello\n")
            self.assertRegex(drawn, rb"main-\w+  succeeded")
            self.assertEqual(re.search(rb"\x1b\[32m", drawn) is not None, no_color == "")

    def test_a_closed_stdout_ends_quietly(self):
        self.write("flow.yaml", ECHO)
        process = subprocess.Popen([PROGRAM, "run", "flow.yaml", "-i", "n=1", "-q"],
                                   cwd=self.folder, env=self.environment(),
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        process.stdout.close()
        stderr = process.stderr.read()
        self.assertEqual(process.wait(LIMIT_S), 0)
        process.stderr.close()
        self.assertEqual(stderr, b"")


if __name__ == "__main__":
    unittest.main()
