#!/usr/bin/env python3
"""What `run` would refuse, or each attempt, is what `check` tells, in the same words and places."""

import io
import json
import subprocess
import tarfile
import unittest

import stores
from program import PROGRAM, ProgramTest

# Keys of a task; what is told, and where in the third line, or in the fourth, which is the node's.
TASK = (
    ("{type: teleport}", "3:13: t: no plugin here runs tasks of type 'teleport'; use one of"),
    ("{type: htpp}", "3:13: t: no plugin here runs tasks of type 'htpp'; did you mean 'http'?"),
    ("{type: http}", "3:13: t: config.url is missing; write config: {url: URL}"),
    ("{type: http, config: {urll: x}}", "3:27: t: config has no key 'urll'; did you mean 'url'?"),
    ("{type: http, config: {url: 3}}", "3:27: t: config.url has to be text, not a whole number"),
    ("{type: http, config: {url: x, headers: {A: 1}}}",
     "3:27: t: config.headers holds what is no text, or too many; write {NAME: \"VALUE\"}"),
    ("{type: http, config: {url: x, expect: [ok]}}",
     "3:27: t: config.expect holds what is no status; write numbers from 100 to 599"),
    ("{type: http, config: {url: x, expect: []}}", "3:27: t: config.expect holds what is no"),
    ("{type: http, config: {url: 'x/{{.input}}'}}",
     "3:13: t: the template {{.input}} asks for inputs.pb, which only tasks on this machine and "
     "pods of Kubernetes have"),
    ("{type: http, config: {url: '{{.executionName}}'}}",
     "3:33: t: the template {{.executionName}} names nothing that there is"),
    ("{type: http, inputs: {err: error}, config: {url: x, body: '{{.inputs.err}}'}}",
     "3:64: t: the template {{.inputs.err}} is of type error, which has no form as text"),
    ("{type: core-sleep}", "3:13: t: core-sleep takes an input, a duration"),
    ("{type: core-sleep, inputs: {d: duration}, config: {a: 1}}",
     "3:56: t: config has no key 'a'"),
    ("{run: [date], config: {a: 1}}",
     "3:28: t: config: a process task knows only `limits` and `in_doubt`"),
    ("{run: [date], config: {limits: {open_fils: 1}}}",
     "3:28: t: config.limits names what is no limit; write one of: address_space core"),
    ("{type: armada, config: {quue: x}}",
     "3:29: t: config has no key 'quue'; did you mean 'queue'?"),
)
NODE = (
    ("config: {urll: x}", "4:71: main.n: config has no key 'urll'; did you mean 'url'?"),
    ("config: {expect: [1]}", "4:71: main.n: config.expect holds what is no status"),
    ("config: {url: '{{.inputs.a}}'}",
     "4:77: main.n: the template {{.inputs.a}} names no input of the task"),
)


class CheckTest(ProgramTest):
    def tell(self, task, node=""):
        given = "d: 1s" if "d: duration" in task else ""
        self.write("flow.yaml", f"troupe: 1\ntasks:\n  t: {task}\nworkflows: {{main: {{nodes: "
                                f"{{n: {{task: t, with: {{{given}}}, retries: 1{node}}}}}}}}}\n")
        stdout, _ = self.troupe("check", "flow.yaml", status=2)
        _, stderr = self.troupe("run", "flow.yaml", status=2)
        self.assertEqual(set(stderr.splitlines()) - set(stdout.splitlines()), set())
        self.assertEqual(stores.contents(self.store), [])
        return stdout

    def test_a_script_that_is_not_there(self):
        self.write("here.sh", "")

        def told(run):
            self.write("flow.yaml", "troupe: 1\ntasks:\n"
                                    f"  t: {{inputs: {{a: string}}, run: {run}}}\n")
            return self.troupe("check", "flow.yaml")[0]
        for run, word in (("[./none.sh]", "./none.sh"), ("[sh, ./none.sh]", "./none.sh"),
                          ("[/usr/bin/python3, ../none/x.py, a]", "../none/x.py")):
            self.assertEqual(told(run), "flow.yaml:3:3: warning: t: there is no file "
                             f"'{word}'; its path counts from the folder of the file that defines "
                             "the task\n")
        for run in ("[./here.sh]", "[sh, ./here.sh]", "[tee, ./none]", "[none.sh]",
                    "[sh, -c, ./none]", "['./{{.inputs.a}}']"):
            self.assertEqual(told(run), "", run)
        self.write("flow.yaml", "troupe: 1\ntasks: {t: {run: [./none.sh], retries: 0}}\n")
        _, stderr = self.troupe("run", "flow.yaml", status=1)
        self.assertIn("warning: t: there is no file './none.sh'", stderr)

    def test_what_is_wrong_with_a_task(self):
        for task, words in TASK:
            with self.subTest(task=task):
                self.assertIn(f"flow.yaml:{words}", self.tell(task))

    def test_what_is_wrong_with_a_node(self):
        for node, words in NODE:
            with self.subTest(node=node):
                self.assertIn(f"flow.yaml:{words}",
                              self.tell("{type: http, config: {url: x}}", f", {node}"))

    def check_armada(self, keys):
        self.write("flow.yaml", f"troupe: 1\ntasks:\n  t: {{type: armada{keys}}}\n")
        return self.troupe("check", "flow.yaml")[0]

    def test_endpoints_that_nobody_knows_are_warned_of(self):
        west = ", config: {endpoint: west}"
        self.assertIn("flow.yaml:3:13: warning: t: the plugin 'armada' has no endpoint here; write "
                      "plugins.armada.endpoint: URL into the settings file", self.check_armada(""))
        self.assertIn("flow.yaml:3:29: warning: t: the plugin 'armada' has no endpoint 'west' "
                      "here; write", self.check_armada(west))
        self.store.mkdir()
        settings = {"plugins": {"armada": {"endpoints": {"west": {"url": "http://127.0.0.1:1"}}}}}
        (self.store / "settings.yaml").write_text(json.dumps(settings))
        for keys in ("", west, ", inputs: {e: string}, config: {endpoint: '{{.inputs.e}}'}"):
            self.assertEqual(self.check_armada(keys), "")
        self.assertIn("no endpoint 'est' here", self.check_armada(", config: {endpoint: est}"))

    def test_what_people_of_flyte_have(self):
        self.write("flow.py", "import flytekit\n")
        for command in ("run", "check"):
            done = subprocess.run([PROGRAM, command, "flow.py"], cwd=self.folder, text=True,
                                  env=self.environment(), capture_output=True)
            self.assertEqual(done.returncode, 2)
            self.assertEqual(
                done.stdout + done.stderr, "flow.py: this is a program in Python, which has to be "
                "run to know its workflows; package it: pyflyte --pkgs MODULE package --image "
                "none:1 -o flows.tgz --fast; or write a definition in YAML: `troupe init` begins "
                "one\n")
        with tarfile.open(self.folder / "flows.tgz", "w:gz") as archive:
            member = tarfile.TarInfo("0_flow.main_2.pb")
            member.size = 3
            archive.addfile(member, io.BytesIO(b"\x0a\x01x"))
        self.assertEqual(self.troupe("check", "flows.tgz", status=2)[0],
                         "flows.tgz: 0_flow.main_2.pb: the file is no WorkflowSpec of Flyte's\n")
        self.assertIn("flows.tgz: 0_flow.main_2.pb: the file is no WorkflowSpec of Flyte's\n",
                      self.troupe("apply", "flows.tgz", status=2)[1])


if __name__ == "__main__":
    unittest.main()
