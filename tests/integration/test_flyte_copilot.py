#!/usr/bin/env python3
"""Raw containers of Flyte's: files in and out, as the co-pilot beside a container has them."""

import json
import os
import subprocess
import unittest

from program import ProgramTest
from pypi import KIT, KIT_PYTHON, have_library
from test_flyte_packages import PackageTest

RAW = """
BOOL, FLOAT, TIME, SPAN, STRUCT = (types_pb2.LiteralType(simple=kind) for kind in (
    types_pb2.BOOLEAN, types_pb2.FLOAT, types_pb2.DATETIME, types_pb2.DURATION, types_pb2.STRUCT))
FILE = types_pb2.LiteralType(blob=types_pb2.BlobType())
FOLDER = types_pb2.LiteralType(blob=types_pb2.BlobType(dimensionality=1))
LIST = types_pb2.LiteralType(collection_type=INTEGER)
FILES = types_pb2.LiteralType(collection_type=FILE)
MAP = types_pb2.LiteralType(map_value_type=STRING)

def raw(name, inputs, outputs, words, format=0, env=(), where="/var/troupe-test"):
    spec = task(name, "", inputs, args=words)
    spec.template.type = "raw-container"
    spec.template.interface.outputs.CopyFrom(variables(outputs))
    data = spec.template.container.data_config
    data.enabled, data.format = True, format
    data.input_path, data.output_path = f"{where}/inputs", f"{where}/outputs"
    for key, value in env:
        spec.template.container.env.add(key=key, value=value)
    members[-1] = (members[-1][0], spec.SerializeToString())
IN, OUT = "/var/troupe-test/inputs", "/var/troupe-test/outputs"
"""

# Each input's file into an output of text.
SHOW = """
raw("t.show", {"i": INTEGER, "f": FLOAT, "s": STRING, "b": BOOL, "t": TIME, "d": SPAN, "l": LIST,
               "m": MAP, "x": FILE, "y": FOLDER, "z": FILES},
    {"o": STRING}, ["sh", "-c", f"cd {IN}; for f in i f s b t d l/0 l/1 m/k x y/below z/0 z/1; "
                    f"do printf '%s=%s;' $f \\"$(cat $f)\\"; done >{OUT}/o"])
"""
SHOWN = ("i=7;f=0.5;s=hello;b=true;t=2026-08-20T09:30:00Z;d=1h30m0s;l/0=1;l/1=2;m/k=v;x=content;"
         "y/below=inside;z/0=content;z/1=content;")


class CopilotTest(PackageTest):
    def run_raw(self, script, *words, status=0):
        self.package(RAW + script)
        return self.document("run", "flows.tgz", *words, status=status)

    def inputs(self):
        self.write("x.txt", "content")
        (self.folder / "y").mkdir()
        self.write("y/below", "inside")
        self.write("inputs.json", json.dumps({
            "i": 7, "f": 0.5, "s": "hello", "b": True, "t": "2026-08-20T09:30:00Z", "d": "1h30m",
            "l": [1, 2], "m": {"k": "v"}, "x": "x.txt", "y": "y", "z": ["x.txt", "x.txt"]}))
        return ["--inputs", "inputs.json"]

    def test_inputs_are_files(self):
        done = self.run_raw(SHOW, "t.show", *self.inputs())
        self.assertEqual(done["outputs"], {"o": SHOWN})

    def test_all_inputs_in_one_file(self):
        words = self.inputs()
        for number, name in enumerate(("json", "yaml", "pb")):
            done = self.run_raw(f"""
raw("t.all", {{"i": INTEGER, "s": STRING, "x": FILE}}, {{"o": FILE}},
    ["cp", f"{{IN}}/inputs.{name}", f"{{OUT}}/o"], {number})
""", "t.all", "-i", "i=7", "-i", "s=hello", "-i", "x=x.txt")
            with open(done["outputs"]["o"], "rb") as file:
                made = file.read()
            if name == "json":
                read = json.loads(made)
                self.assertEqual((read["i"], read["s"]), (7, "hello"))
                self.assertTrue(read["x"].endswith("/copilot/inputs/x"), read)
            else:
                self.assertIn(b"hello", made)
                self.assertEqual(b's: "hello"\n' in made, name == "yaml", made)

    def test_outputs_are_files(self):
        done = self.run_raw("""
raw("t.out", {}, {"i": INTEGER, "f": FLOAT, "s": STRING, "b": BOOL, "t": TIME, "d": SPAN,
                  "j": STRUCT, "x": FILE, "y": FOLDER},
    ["sh", "-ec", f"cd {OUT}; echo 7 >i; printf 2.5 >f; echo 'a \\"b\\"' >s; printf true >b; "
     "echo 2026-08-20T09:30:00Z >t; echo 1h0m0s >d; echo '{\\"a\\": [1]}' >j; echo content >x; "
     "mkdir y; echo inside >y/below"])
""", "t.out")["outputs"]
        with open(done.pop("x")) as file:
            self.assertEqual(file.read(), "content\n")
        with open(done.pop("y") + "/below") as file:
            self.assertEqual(file.read(), "inside\n")
        self.assertEqual(done, {"i": 7, "f": 2.5, "s": 'a "b"\n', "b": True, "d": "1h",
                                "t": "2026-08-20T09:30:00Z", "j": {"a": [1]}})

    def test_paths_are_replaced(self):
        """In words, within words and in variables, where they stand as a whole."""
        done = self.run_raw("""
raw("t.paths", {"i": INTEGER}, {"o": STRING, "p": STRING},
    ["sh", "-c", f"printf '%s' \\"$0 $1\\" >{OUT}/o; cat $WHERE/i >{OUT}/p",
     f"{IN}-not", "--at={{.inputs.i}}"], env=[("WHERE", IN)])
""", "t.paths", "-i", "i=3")
        self.assertEqual(done["outputs"], {"o": "/var/troupe-test/inputs-not --at=3", "p": "3"})

    def test_what_is_wrong(self):
        for words, code, message in (
                ("printf broken >%s/_ERROR", "UserError", "User Error: broken"),
                ("true; : %s", "OutputsMalformed",
                 "the output 'o' is missing: /var/troupe-test/outputs/o"),
                ("echo x >%s/o", "OutputsMalformed", "the output 'o' is no value of its type"),
                ("mkdir %s/o", "OutputsMalformed", "the output 'o' is no file"),
                ("seq 9999 >%s/o", "OutputsMalformed", "the output 'o' has more than 1024 bytes")):
            error = self.run_raw(f"""
raw("t.wrong", {{}}, {{"o": INTEGER}}, ["sh", "-c", "{words}" % OUT])
""", "t.wrong", status=1)["error"]
            self.assertEqual(error["code"], f"RetriesExhausted|{code}", error)
            self.assertIn(message, error["message"])
        error = self.run_raw("""
raw("t.fails", {}, {"o": INTEGER}, ["sh", "-c", f"echo 1 >{OUT}/o; exit 3"])
""", "t.fails", status=1)["error"]
        self.assertEqual(error["attempt"]["exit_status"], 3)

    def test_a_program_that_knows_its_folders(self):
        """It sees them at their own paths, and nobody else does; or it is told that it cannot."""
        self.write("knows.sh", "cat /var/troupe-test/inputs/i >/var/troupe-test/outputs/o\n")
        allows = any(subprocess.run(["unshare", flag, "true"], capture_output=True).returncode == 0
                     for flag in ("-m", "-Um"))
        done = self.run_raw(f"""
raw("t.knows", {{"i": INTEGER}}, {{"o": INTEGER}}, ["sh", {str(self.folder / "knows.sh")!r}])
""", "t.knows", "-i", "i=5", status=0 if allows else 1)
        if allows:
            self.assertEqual(done["outputs"], {"o": 5})
        else:
            self.assertIn("FolderNotShown", done["error"]["code"])
        self.assertFalse(os.path.exists("/var/troupe-test"))


@unittest.skipUnless(os.environ.get("TROUPE_TEST_LONG"), "needs flytekit, which is large")
class FlytekitTest(ProgramTest):
    """flytekit's own ContainerTask."""

    FLOWS = '''
from flytekit import ContainerTask, kwtypes, task, workflow
area = ContainerTask(
    name="area", image="none:1", input_data_dir="/var/inputs", output_data_dir="/var/outputs",
    inputs=kwtypes(a=float, b=float), outputs=kwtypes(area=float, note=str),
    command=["sh", "-c", "echo $(( $(cat /var/inputs/a) * $(cat /var/inputs/b) )) "
             ">/var/outputs/area; printf '%s' '{{.inputs.a}} by {{.inputs.b}}' >/var/outputs/note"])
@task
def double(a: float) -> float:
    return 2 * a
@workflow
def main(a: float, b: float) -> tuple[float, str]:
    made = area(a=a, b=double(a=b))
    return made.area, made.note
'''

    @classmethod
    def setUpClass(cls):
        have_library(KIT_PYTHON, KIT)

    def test_a_container_task(self):
        folder = self.folder / "src/flows"
        folder.mkdir(parents=True)
        (folder / "__init__.py").touch()
        (folder / "all.py").write_text(self.FLOWS.replace("tuple[", "typing.Tuple[").replace(
            "from flytekit", "import typing\nfrom flytekit", 1))
        done = subprocess.run([KIT_PYTHON.parent / "pyflyte", "--pkgs", "flows", "package",
                               "--image", "none:1", "--source", ".", "-o", "../flows.tgz", "-f",
                               "--fast"], cwd=self.folder / "src", capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        done = self.document("run", "flows.tgz", "main", "-i", "a=3", "-i", "b=2", "--python",
                             KIT_PYTHON)
        self.assertEqual(done["outputs"], {"o0": 12.0, "o1": "3 by 4"})


if __name__ == "__main__":
    unittest.main()
