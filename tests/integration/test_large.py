#!/usr/bin/env python3
"""Values that no message carries: into a run, through its tasks, and out again."""

import json
import os
import signal
import subprocess
import unittest

from program import IS_SANITIZED, PROGRAM, ProgramTest

COUNT = 50_000 if IS_SANITIZED else 1_000_000
MEMORY_MAX_KIB = 512 * 1024

ECHO = """
troupe: 1
tasks:
  same: {type: echo, inputs: {a: int}, outputs: {b: int}}
  pass: {type: echo, inputs: {l: "[int]", s: string}, outputs: {l: "[int]", s: string}}
workflows:
  main:
    inputs: {items: "[int]"}
    nodes: {all: {map: same, with: {a: $items}}}
    outputs: {b: $all.b}
  through:
    inputs: {items: "[int]", text: string}
    nodes:
      one: {task: pass, with: {l: $items, s: $text}}
      two: {workflow: inside, with: {items: $one.l, text: $one.s}}
    outputs: {l: $two.l, s: $two.s}
  inside:
    inputs: {items: "[int]", text: string}
    nodes: {one: {task: pass, with: {l: $items, s: $text}}}
    outputs: {l: $one.l, s: $one.s}
  looks:
    inputs: {items: "[int]"}
    nodes: {one: {task: same, with: {a: "$items[3]"}}}
    outputs: {b: $one.b}
"""


REVERSE = """
import json, os, sys
inputs = json.load(sys.stdin if len(sys.argv) > 1 else open(os.environ["TROUPE_INPUTS"]))
outputs = {"n": len(inputs["l"]), "l": inputs["l"][::-1], "s": inputs["s"]}
json.dump(outputs, sys.stdout if len(sys.argv) > 1 else open(os.environ["TROUPE_OUTPUTS"], "w"))
"""

PROCESSES = """
troupe: 1
tasks:
  files: &task
    inputs: {l: "[int]", s: string}
    outputs: {l: "[int]", n: int, s: string}
    run: [python3, ./reverse.py]
  pipes: {<<: *task, run: [python3, ./reverse.py, piped], stdin: inputs, stdout: outputs}
  wrong:
    outputs: {l: "[int]"}
    run: [python3, -c, "import os; open(os.environ['TROUPE_OUTPUTS'], 'w').write('{\\"l\\": [' +
      '1, ' * 300000 + '\\"x\\"]}')"]
  huge:
    outputs: {l: "[int]"}
    run: [sh, -c, 'truncate -s 67108865 "$TROUPE_OUTPUTS"']
workflows:
  main:
    inputs: {items: "[int]", text: string}
    nodes:
      one: {task: files, with: {l: $items, s: $text}}
      two: {task: pipes, with: {l: $one.l, s: $one.s}}
    outputs: {l: $two.l, n: $two.n, s: $two.s}
  mistyped: {nodes: {one: {task: wrong}}}
  oversized: {nodes: {one: {task: huge}}}
"""


BESIDE = """
troupe: 1
tasks:
  file:
    outputs: {f: file}
    run: [sh, -c, 'truncate -s 1G x; echo "{\\"f\\": \\"x\\"}" >"$TROUPE_OUTPUTS"; echo >BEGUN']
  list:
    outputs: {l: "[int]"}
    run: [sh, -c, '{ printf "{\\"l\\": [1"; yes ", 1" | head -n 8000000 | tr -d "\\n"; echo "]}"; }
      >"$TROUPE_OUTPUTS"; echo >BEGUN']
  quick:
    outputs: {f: file, l: "[int]"}
    timeout: 5s
    run: [sh, -c, 'echo x >x; echo "{\\"f\\": \\"x\\", \\"l\\": [$(seq -s, 1 100000)]}"
      >"$TROUPE_OUTPUTS"']
workflows:
  files: {nodes: {n: {task: file}}}
  lists: {nodes: {n: {task: list}}}
  fast: {nodes: {n: {task: quick}}, outputs: {l: $n.l}}
"""


class LargeTest(ProgramTest):
    def write_processes(self):
        self.write("reverse.py", REVERSE)
        self.write("flow.yaml", PROCESSES)

    def test_processes_get_and_give_large_documents(self):
        self.write_processes()
        text = "a \"text\"\n" * 100_000
        self.write_numbers(300_000, text=text)
        outputs = self.document("run", "flow.yaml", "main", "--inputs", "in.json")["outputs"]
        self.assertEqual(outputs, {"l": list(range(300_000)), "n": 300_000, "s": text})

    def test_large_outputs_are_judged_as_small_ones(self):
        self.write_processes()
        error = self.document("run", "flow.yaml", "mistyped", status=1)["error"]
        self.assertIn("MismatchingTypes", error["code"])
        self.assertIn("the output 'l': [300000]: 'x' is no value of type int; write a whole number "
                      "of at most 64 bits", error["message"])
        error = self.document("run", "flow.yaml", "oversized", status=1)["error"]
        self.assertEqual(error["code"], "OutputSizeExceeded")
        self.assertIn("the document at $TROUPE_OUTPUTS has 67108865 bytes, more than "
                      "TR_OUTPUTS_BYTES_MAX (67108864); write large data to a file and return its "
                      "path", error["message"])

    def hold_up(self, workflow):
        """Another execution is done while this one's outputs are kept."""
        self.write("flow.yaml", BESIDE.replace("BEGUN", str(self.folder / workflow)))
        slow = self.start("run", "flow.yaml", workflow, "-q")
        self.await_file(workflow)
        outputs = self.document("run", "flow.yaml", "fast")["outputs"]
        self.assertEqual(len(outputs["l"]), 100000)
        self.assertIsNone(slow.process.poll())
        slow.signal(signal.SIGINT)
        self.assertEqual(slow.end()[0], 3)

    def test_large_files_hold_up_no_other_execution(self):
        self.hold_up("files")

    def test_large_lists_hold_up_no_other_execution(self):
        self.hold_up("lists")

    def write_numbers(self, count, **more):
        self.write("in.json", json.dumps({"items": list(range(count)), **more}))

    def test_a_million_elements(self):
        self.write("flow.yaml", ECHO)
        self.write_numbers(COUNT)
        with open(self.folder / "out.json", "w", encoding="utf-8") as out:
            process = subprocess.Popen(
                [PROGRAM, "run", "flow.yaml", "--inputs", "in.json", "-o", "json", "-q"],
                cwd=self.folder, env=self.environment(), stdout=out)
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        self.assertEqual(process.returncode, 0)
        document = json.loads((self.folder / "out.json").read_text())
        self.assertEqual(document["outputs"]["b"], list(range(COUNT)))
        if not IS_SANITIZED:
            self.assertLess(usage.ru_maxrss, MEMORY_MAX_KIB)

    def test_values_pass_through_tasks_and_workflows(self):
        self.write("flow.yaml", ECHO)
        text = "a \"text\"\n" * 100_000
        self.write_numbers(200_000, text=text)
        outputs = self.document("run", "flow.yaml", "through", "--inputs", "in.json")["outputs"]
        self.assertEqual(outputs, {"l": list(range(200_000)), "s": text})
        got = self.document("get", "@last")
        self.assertEqual(got["outputs"], outputs)
        self.assertEqual(got["inputs"]["text"], text)
        stdout, _ = self.troupe("run", "flow.yaml", "through", "--inputs", "in.json", "-q")
        self.assertEqual(stdout, f"l: {list(range(200_000))}\ns: {text}\n")

    def test_large_literals_of_a_definition(self):
        text = "y" * 300_000
        numbers = list(range(100_000))
        self.write("flow.yaml", json.dumps({
            "troupe": 1,
            "tasks": {"same": {"type": "echo", "inputs": {"a": "int"}, "outputs": {"b": "int"}},
                      "pass": {"type": "echo", "inputs": {"s": "string"},
                               "outputs": {"s": "string"}}},
            "workflows": {"main": {
                "inputs": {"s": {"type": "string", "default": text + "d"}},
                "nodes": {"all": {"map": "same", "with": {"a": numbers}},
                          "one": {"task": "pass", "with": {"s": text}},
                          "two": {"task": "pass", "with": {"s": "$s"}}},
                "outputs": {"b": "$all.b", "one": "$one.s", "two": "$two.s"}}},
            "launch_plans": {"plan": {"workflow": "main", "fixed": {"s": text + "f"}}}}))
        outputs = self.document("run", "flow.yaml", "main")["outputs"]
        self.assertEqual(outputs, {"b": numbers, "one": text, "two": text + "d"})
        self.assertEqual(self.document("run", "flow.yaml", "plan")["outputs"]["two"], text + "f")

    def test_a_guest_hands_over_large_values(self):
        self.write("flow.yaml", ECHO)
        self.write("stay.yaml", "troupe: 1\ntasks: {t: {run: [sh, -c, 'touch ../../../../up; "
                                "sleep 600']}}\nworkflows: {main: {nodes: {n: {task: t}}}}\n")
        host = self.start("run", "stay.yaml", "--name", "host")
        host.wait_for("n: running")
        self.write_numbers(200_000)
        outputs = self.document("run", "flow.yaml", "main", "--inputs", "in.json")["outputs"]
        self.assertEqual(outputs, {"b": list(range(200_000))})
        self.troupe("abort", "host")
        host.end()

    def test_what_lies_outside_is_looked_into(self):
        self.write("flow.yaml", ECHO)
        self.write_numbers(200_000)
        document = self.document("run", "flow.yaml", "looks", "--inputs", "in.json")
        self.assertEqual(document["outputs"], {"b": 3})

    def test_a_blob_that_is_gone_is_told(self):
        self.write("flow.yaml", ECHO)
        self.write_numbers(200_000)
        self.troupe("run", "flow.yaml", "main", "--inputs", "in.json", "-q", "--name", "one")
        for path in (self.store / "blobs").iterdir():
            if path.is_file():
                path.unlink()
        got = self.document("get", "one")
        self.assertEqual(got["outputs"]["b"]["problem"], "not found")
        self.assertRegex(got["outputs"]["b"]["uri"], "^blob:[0-9a-f]{64}$")

    def test_optional_nodes_end_once(self):
        """What is large can be none, too, and is recorded once."""
        big = {"inputs": {"a": "int"}, "outputs": {"s": "string"}, "run": [
            "sh", "-c", "printf '{\"s\": \"%0300000d\"}' 5 > $TROUPE_OUTPUTS"]}
        nodes = {"one": {"task": "big", "with": {"a": 1}, "optional": True},
                 "all": {"map": "big", "with": {"a": [1, 2]}, "optional": True}}
        self.write("flow.yaml", json.dumps({
            "troupe": 1, "tasks": {"big": big},
            "workflows": {"main": {"nodes": nodes,
                                   "outputs": {"one": "$one.s", "all": "$all.s"}}}}))
        text = "5".zfill(300_000)
        self.assertEqual(self.document("run", "flow.yaml", "--name", "it")["outputs"],
                         {"one": text, "all": [text, text]})
        for node, outputs in (("one", {"s": text}), ("all", {"s": [text, text]})):
            document = self.document("get", f"it/{node}")
            phases = [row["phase"] for row in document["phases"] if row["subject"] == "node"]
            self.assertEqual([phases.count("failed"), phases.count("succeeded")], [0, 1], phases)
            self.assertEqual(document["outputs"], outputs)


if __name__ == "__main__":
    unittest.main()
