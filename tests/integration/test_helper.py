#!/usr/bin/env python3
"""The helper for tasks in Python, `import troupe`, and the lines of shell beside it: real tasks."""

import ast
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

from program import LIMIT_S, PROGRAM, ROOT, ProgramTest
from pypi import KIT_PYTHON, have_library

HELPER = ROOT / "deploy/authoring/share/python/troupe.py"
README = ROOT / "examples/README.md"

# Each type of the language: values, as JSON has them, and the annotation of a parameter.
VALUES = {
    "none": ("int | none", None, "typing.Optional[int]"),
    "number": ("int", -9223372036854775808, "int"),
    "ratio": ("float", 0.5, "float"),
    "nan": ("float", "nan", "float"),
    "most": ("[float]", ["inf", "-inf", 1e300], "typing.List[float]"),
    "text": ("string", "a\"\n\u2028\U0001f600", "str"),
    "truth": ("bool", True, "bool"),
    "moment": ("datetime", "2026-08-20T09:30:00.123456Z", "datetime.datetime"),
    "day": ("datetime", "2026-08-20T00:00:00Z", "datetime.date"),
    "span": ("duration", "-1d2h3m4.000005s", "datetime.timedelta"),
    "short": ("duration", "250ms", "datetime.timedelta"),
    "data": ("bytes", "AAEC/w==", "bytes"),
    "color": ("enum(red, blue)", "blue", "Color"),
    "names": ("{string: [duration]}", {"a": ["1h"], "b": []},
              "typing.Dict[str, typing.List[datetime.timedelta]]"),
    "either": ("string | duration", {"type": "duration", "value": "1h"},
               "typing.Union[datetime.timedelta, str]"),
    "point": ("struct", {"at": "2026-08-20T09:30:00Z", "size": "nan", "inner": [{"color": "red"}]},
              "Point"),
    "any": ("struct", {"x": [1, None, {"y": "nan"}]}, "dict"),
}

TYPES = """
import dataclasses, datetime, enum, json, os, pathlib, sys, typing
import troupe

class Color(enum.Enum):
    RED, BLUE = "red", "blue"

class Inner(typing.NamedTuple):
    color: Color

@dataclasses.dataclass
class Point:
    at: datetime.datetime
    size: float
    inner: typing.List[Inner]
"""


def pythons():
    """The Pythons from 3.8 on of this machine, those of pyenv among them; one that does not start
    is a name for another."""
    folders = [*map(pathlib.Path, os.environ["PATH"].split(":")),
               *pathlib.Path.home().glob(".pyenv/versions/*/bin")]
    found = {str(path.resolve()) for folder in folders for path in folder.glob("python3.*")
             if re.fullmatch(r"python3\.(8|9|\d\d)", path.name)}
    return sorted(path for path in found
                  if subprocess.run([path, "-c", ""], capture_output=True).returncode == 0)


class HelperTest(ProgramTest):
    def task(self, script, inputs="{}", outputs="{}", **keys):
        """A definition with one task of a script that finds the helper by itself."""
        self.write("task.py", TYPES + script)
        lines = [f"    {key}: {json.dumps(value)}" for key, value in keys.items()]
        self.write("flow.yaml", "\n".join(
            ["troupe: 1", "tasks:", "  t:", f"    inputs: {inputs}", f"    outputs: {outputs}",
             *([] if "run" in keys else ["    run: [python3, ./task.py]"]), *lines]) + "\n")

    def outputs(self, script, *words, **keys):
        self.task(script, **keys)
        return self.document("run", "flow.yaml", *words)["outputs"]

    def error(self, script, *words, **keys):
        self.task(script, **keys)
        return self.document("run", "flow.yaml", *words, status=1)["error"]

    # ------------------------------------------------------------------------- values

    def check_values(self, **keys):
        """Values of all types through a function with annotations, and back."""
        declared = json.dumps({name: kind for name, (kind, _, _) in VALUES.items()})
        values = {name: value for name, (_, value, _) in VALUES.items()}
        self.write("inputs.json", json.dumps(values))
        parameters = ", ".join(f"{name}: {kind}" for name, (_, _, kind) in VALUES.items())
        outputs = self.outputs(f"""
def same({parameters}):
    assert nan != nan and color is Color.BLUE and isinstance(day, datetime.date), (nan, color, day)
    assert point.inner[0].color is Color.RED and point.size != point.size, point
    assert either == datetime.timedelta(hours=1) and names["a"] == [either], (either, names)
    assert -span == datetime.timedelta(1, 4, 5, hours=2, minutes=3), span
    return dict(locals(), either={{"type": "duration", "value": either}})
troupe.run(same)
""", "--inputs", "inputs.json", inputs=declared, outputs=declared, **keys)
        self.assertEqual(outputs, values)

    def test_values_of_all_types_come_back(self):
        self.check_values()

    def test_old_and_new_pythons_understand_it(self):
        ast.parse(HELPER.read_text(), feature_version=(3, 8))
        for python in pythons():
            with self.subTest(python):
                self.check_values(run=[python, "./task.py"])

    def test_values_of_python_have_a_form(self):
        outputs = self.outputs("""
berlin = datetime.timezone(datetime.timedelta(hours=2))
troupe.outputs(
    naive=datetime.datetime(2026, 8, 20, 9, 30), day=datetime.date(2026, 8, 20),
    zoned=datetime.datetime(2026, 8, 20, tzinfo=berlin), small={3, 1, 2}, pair=(1, 2),
    made=(i * i for i in range(3)),
    most=datetime.timedelta(days=100000), view=memoryview(b"ab"), truth=float("inf"))
troupe.outputs({"with-dash": Inner(Color.RED)})
""", outputs='{naive: datetime, zoned: datetime, day: datetime, small: "[int]", pair: "[int]", '
             'made: "[int]", most: duration, view: bytes, truth: float, with-dash: struct}')
        self.assertEqual(outputs, {
            "naive": "2026-08-20T09:30:00Z", "zoned": "2026-08-19T22:00:00Z",
            "day": "2026-08-20T00:00:00Z", "small": [1, 2, 3], "pair": [1, 2], "made": [0, 1, 4],
            "most": "100000d", "view": "YWI=", "truth": "inf", "with-dash": {"color": "red"}})

    def test_values_of_numpy_have_a_form(self):
        have_library(KIT_PYTHON)
        outputs = self.outputs("""
import numpy
def make():
    return {"one": numpy.int64(1), "half": numpy.float32(0.5), "truth": numpy.bool_(True),
            "nan": numpy.float64("nan"), "all": numpy.array([[1.5, numpy.inf]]),
            "when": numpy.datetime64("2026-08-20T09:30:00", "ns"),
            "long": numpy.array([90], dtype="timedelta64[s]"), "text": numpy.str_("x")}
troupe.run(make)
""", outputs='{one: int, half: float, truth: bool, nan: float, all: "[[float]]", when: datetime, '
             'long: "[duration]", text: string}', run=[str(KIT_PYTHON), "./task.py"])
        self.assertEqual(outputs, {"one": 1, "half": 0.5, "truth": True, "nan": "nan",
                                   "all": [[1.5, "inf"]], "when": "2026-08-20T09:30:00Z",
                                   "long": ["1m30s"], "text": "x"})

    def test_files_count_from_the_working_folder(self):
        given = self.write("given.txt", "hello")
        outputs = self.outputs("""
def copy(given: pathlib.Path):
    pathlib.Path("made").mkdir()
    (pathlib.Path("made") / "x.txt").write_text(given.read_text().upper())
    return {"made": pathlib.Path("made/x.txt"), "all": pathlib.Path("made"), "same": given}
troupe.run(copy)
""", "-i", f"given={given}", inputs="{given: file}",
                               outputs="{made: file, all: directory, same: file}")
        self.assertEqual(pathlib.Path(outputs["made"]).read_text(), "HELLO")
        self.assertEqual((pathlib.Path(outputs["all"]) / "x.txt").read_text(), "HELLO")
        self.assertEqual(outputs["same"], str(given))

    def test_inputs_alone(self):
        outputs = self.outputs("""
given = troupe.inputs(day=datetime.date)
assert given == {"day": datetime.date(2026, 8, 20), "more": "1h"}, given
troupe.outputs(text=f"{given['day']:%d.%m.}{troupe.inputs({'more': datetime.timedelta})['more']}")
""", "-i", "day=2026-08-20", "-i", "more=1h", inputs="{day: datetime, more: duration}",
                               outputs="{text: string}")
        self.assertEqual(outputs, {"text": "20.08.1:00:00"})

    # ------------------------------------------------------------------------- errors

    def test_what_is_raised_is_the_error(self):
        error = self.error("""
def t():
    open("runs", "a").write("x")
    raise ConnectionError("the line is busy")
troupe.run(t)
""", retries=1)
        self.assertEqual(error["code"].split("|")[-1], "ConnectionError", error)
        self.assertIn("the line is busy", error["message"])
        attempts = self.document("get", "@last/t")["attempts"]
        self.assertEqual(len(attempts), 2)
        lines = attempts[0]["stderr"].splitlines()
        self.assertEqual(lines[0], "Traceback (most recent call last):")
        self.assertRegex(lines[1], r'task\.py", line \d+, in t$')  # the helper's own are left out
        self.assertEqual(lines[-1], "ConnectionError: the line is busy")

    def test_an_error_may_be_final(self):
        error = self.error("""
print("before")
troupe.fail("Gone", "it is gone", recoverable=False)
print("after")
""", retries=3)
        self.assertEqual(error["code"], "Gone")
        self.assertEqual(len(self.document("get", "@last/t")["attempts"]), 1)
        self.assertEqual(self.troupe("logs", "@last/t")[0], "before\n")

    def test_what_has_no_form_is_named_with_its_place(self):
        for value, words in (
                ("{'a': [1, object()]}", "the output 'x'.a[1] is object, for which JSON has no "
                 "form: give text, numbers, lists, mappings, or write it to a file and give its "
                 "path"),
                ("{1: 2}", "the output 'x' has the key 1, and keys are text in JSON: use str(1)"),
                ("{'a': 1j}", "the output 'x'.a is complex, for which JSON has no form")):
            error = self.error(f"troupe.run(lambda: {{'x': {value}}})", outputs="{x: struct}")
            self.assertIn(words, error["message"])
            self.assertIn("TypeError", error["code"])
            self.assertIn("troupe.py", error["attempt"]["stderr"])  # the helper's own are all

    def test_mistakes_of_functions_are_named(self):
        inputs = "{n: int}"
        for script, words in (
                ("def t(m: int): pass\ntroupe.run(t)",
                 "the task has the input 'n', and t takes none of that name"),
                ("def t(n: int): return n\ntroupe.run(t)",
                 "t returned int; outputs have names: return {NAME: VALUE}, a dataclass or a named "
                 "tuple"),
                ("def t(n: Color): pass\ntroupe.run(t)",
                 "the input 'n' is no Color: 3 is not a valid Color"),
                ("def t(n): pass\ndef u(n): pass\ntroupe.run(t, u)",
                 "troupe: name one of t, u behind the script, as in run: [python3, ./task.py, t]"),
                ("troupe.inputs(m=int)", "the task has no input 'm'; its inputs are n")):
            self.assertIn(words, self.error(script, "-i", "n=3", inputs=inputs)["message"])

    def test_json_that_is_none_is_named_with_its_place(self):
        error = self.error("""
with open(os.environ["TROUPE_OUTPUTS"], "w") as file:
    json.dump({"a": 1, "x": float("nan")}, file, indent=1)
""", outputs="{x: float}")
        self.assertEqual(error["message"].split("; write")[0].split(": ", 1)[1],
                         "line 3, column 7: NaN is no JSON")
        self.assertIn('write "nan", "inf" or "-inf" as text, as troupe.outputs() does',
                      error["message"])

    def test_outside_of_a_task(self):
        done = subprocess.run([sys.executable, "-B", "-c", "import troupe; troupe.inputs()"],
                              env=dict(os.environ, PYTHONPATH=str(HELPER.parent)), text=True,
                              capture_output=True)
        self.assertEqual((done.returncode, done.stderr), (
            1, "troupe: $TROUPE_INPUTS is not set, so this is no task of an engine; `troupe run "
            "FILE TASK -i NAME=VALUE` runs one alone\n"))

    # -------------------------------------------------------------- where it is found

    def test_several_functions(self):
        script = "def one(): return {'n': 1}\ndef two(): return {'n': 2}\ntroupe.run(one, two)"
        self.assertEqual(self.outputs(script, outputs="{n: int}",
                                      run=["python3", "./task.py", "two"]), {"n": 2})

    def paths(self, **keys):
        outputs = self.outputs("troupe.outputs(path=os.environ['PYTHONPATH'])",
                               outputs="{path: string}", **keys)
        return outputs["path"].split(":")

    def test_a_path_of_ones_own_comes_first(self):
        os.environ["PYTHONPATH"] = "/own:/more"
        self.addCleanup(os.environ.pop, "PYTHONPATH", None)
        helper = str((PROGRAM.parent / "share/troupe/python").resolve())
        self.assertEqual(self.paths(), [helper])
        self.assertEqual(self.paths(env={"PYTHONPATH": "/mine"}), ["/mine", helper])
        self.assertEqual(self.paths(env={"PYTHONPATH": ""}), [helper])
        flow = self.folder / "flow.yaml"
        self.paths(env={"PYTHONPATH": "PASSED"})
        flow.write_text(flow.read_text().replace('"PASSED"', ""))
        path = self.document("run", "flow.yaml")["outputs"]["path"]
        self.assertEqual(path.split(":"), ["/own", "/more", helper])
        del os.environ["PYTHONPATH"]
        self.assertEqual(self.document("run", "flow.yaml")["outputs"]["path"], helper)

    def test_a_module_of_ones_own_comes_first(self):
        self.write("troupe.py", "def outputs(**values):\n    import json, os\n"
                   "    json.dump({'x': 'mine'}, open(os.environ['TROUPE_OUTPUTS'], 'w'))\n")
        self.assertEqual(self.outputs("troupe.outputs(x='helper')", outputs="{x: string}"),
                         {"x": "mine"})

    def test_a_program_without_it_goes_on(self):
        """A copy of the program alone has no helper, and sets no variable."""
        alone = shutil.copy(PROGRAM, self.folder)
        self.write("flow.yaml", "troupe: 1\ntasks:\n  t:\n    outputs: {x: string}\n    run: [sh, "
                   "-c, 'printf \"{\\\"x\\\": \\\"%s\\\"}\" \"${PYTHONPATH-unset}\" "
                   "> $TROUPE_OUTPUTS']\n")
        done = subprocess.run([alone, "run", "flow.yaml", "-q"], cwd=self.folder, text=True,
                              env=self.environment(), capture_output=True, timeout=LIMIT_S)
        self.assertEqual((done.stdout, done.stderr), ("x: unset\n", ""))

    # -------------------------------------------------------- progress and checkpoints

    def test_progress_is_one_line(self):
        self.error("troupe.progress('3 of 10\\n  files')\nsys.exit(1)")
        progress = self.document("get", "@last/t")["attempts"][0]["progress"]
        self.assertEqual(progress["text"], "3 of 10 files")
        self.assertIsNone(progress["percent"])

    def test_progress_may_have_a_number(self):
        for words, text, percent in (("'fitting', 42.9", "42 %, fitting", 42),
                                     ("'', percent=0", "0 %", 0),
                                     ("'done', percent=250", "100 %, done", 100)):
            self.error(f"troupe.progress({words})\nsys.exit(1)")
            progress = self.document("get", "@last/t")["attempts"][0]["progress"]
            self.assertEqual((progress["text"], progress["percent"]), (text, percent))

    def test_progress_elsewhere_is_a_line(self):
        self.outputs("del os.environ['TROUPE_PROGRESS']\ntroupe.progress('half of it')")
        self.assertEqual(self.troupe("logs", "@last/t")[0], "progress: half of it\n")

    def test_later_attempts_go_on(self):
        outputs = self.outputs("""
def count():
    seen = troupe.load("seen", [], typing.List[datetime.timedelta])
    seen.append(datetime.timedelta(hours=len(seen)))
    troupe.save("seen", seen)
    if len(seen) < 3:
        os.kill(os.getpid(), 9)
    return {"seen": seen}
troupe.run(count)
""", outputs='{seen: "[duration]"}', retries=5)
        self.assertEqual(outputs, {"seen": ["0s", "1h", "2h"]})

    # -------------------------------------------------------------------------- pages

    @staticmethod
    def blocks(heading, language):
        text = README.read_text().split(f"\n### {heading}\n")[1].split("\n### ")[0]
        return re.findall(rf"```{language}\n(.*?)```", text, re.S)

    def test_the_page_in_python(self):
        block, = self.blocks("Tasks in Python", "python")
        self.write("notes.txt", "to be or not")
        self.write("empty.txt", "")
        self.task("", inputs="{text: file, since: datetime}",
                  outputs='{words: "[string]", mean: float}')
        self.write("task.py", block)
        words = ["run", "flow.yaml", "-i", "since=2026-08-20", "-i"]
        done = self.document(*words, "text=notes.txt")
        self.assertEqual(done["outputs"], {"words": ["to", "be", "or", "not"], "mean": 2.25})
        error = self.document(*words, "text=empty.txt", status=1)["error"]
        self.assertEqual((error["code"], "has no words" in error["message"]), ("Empty", True))

    def test_the_page_in_shell(self):
        functions, script = self.blocks("Tasks in shell", "sh")
        self.write("count.sh", functions + script.replace(
            'save words "$begin"\n', 'save words "$begin"\n    [ "$word" != stop ] || '
            '[ "$TROUPE_ATTEMPT" != 0 ] || exit 7\n'))
        self.write("flow.yaml", 'troupe: 1\ntasks:\n  t:\n    inputs: {text: string}\n'
                   '    outputs: {words: int, last: string}\n'
                   '    run: [sh, ./count.sh, "{{.inputs.text}}"]\n    retries: 2\n')
        done = self.document("run", "flow.yaml", "-i", 'text=a "b\\c\td"')
        self.assertEqual(done["outputs"], {"words": 3, "last": 'd"'})
        done = self.document("run", "flow.yaml", "-i", "text=a stop b")
        self.assertEqual(done["outputs"], {"words": 5, "last": "b"})
        error = self.document("run", "flow.yaml", "-i", "text=", status=1)["error"]
        self.assertEqual(error["code"], "Empty")
        text = 'a\n"b"\\\tc\n\nd'
        script = self.write("json.sh", functions + 'json "$1"\n')
        for awk in filter(None, map(shutil.which, ("mawk", "gawk", "busybox"))):
            (self.folder / "bin").mkdir(exist_ok=True)
            (self.folder / "bin/awk").unlink(missing_ok=True)
            (self.folder / "bin/awk").symlink_to(awk)
            done = subprocess.run(["sh", script, text], text=True, capture_output=True, check=True,
                                  env={"PATH": f"{self.folder}/bin:{os.environ['PATH']}"})
            self.assertEqual(json.loads(done.stdout), text, awk)

    def test_the_template_has_the_functions_of_the_page(self):
        functions, _ = self.blocks("Tasks in shell", "sh")
        template = (ROOT / "deploy/authoring/share/templates/shell/tasks.sh").read_text()
        for name in ("json", "outputs", "fail", "progress"):
            function = re.search(rf"(?ms)^{name}\(\) \{{.*?(?:^\}}| \}})$", functions)[0]
            lines = [re.sub(r" #.*", "", line) for line in function.splitlines()]
            for line in lines[1:]:
                self.assertIn(line, template)


if __name__ == "__main__":
    unittest.main()
