#!/usr/bin/env python3
"""Beginning a project: `troupe init`, and each template as its comment says."""

import os
import pathlib
import re
import shlex
import shutil
import subprocess
import unittest

from program import LIMIT_S, PROGRAM, ROOT, ProgramTest
from pypi import KIT, KIT_PYTHON, have_library

TEMPLATES = ROOT / "deploy/authoring/share/templates"

# What each template prints when it is run as its comment says.
PRINTS = {
    "python": "text: 2026-08-20: 5 squares, 55 in all\n",
    "shell": 'sizes: [2, 2, 2, 3, 2, 2]\n'
             'shown: ["<to>", "<be>", "<or>", "<not>", "<to>", "<be>"]\n',
    "flytekit": 'loud: ["HELLO, ADA!", "HELLO, ADA!"]\n',
}


class InitTest(ProgramTest):
    def begin(self, *words):
        """Begins a project and gives the words of the command that it names."""
        stdout, stderr = self.troupe("init", *words)
        self.assertIn("Now run:", stderr)
        self.assertTrue(stdout.startswith("troupe run flow.yaml"), stdout)
        return shlex.split(stdout)[1:]

    def test_python(self):
        self.assertEqual(self.troupe(*self.begin(), "-q")[0], PRINTS["python"])
        stdout, _ = self.troupe("run", "flow.yaml", "square", "-i", "number=7", "-q")
        self.assertEqual(stdout, "square: 49\n")
        error = self.document("run", "flow.yaml", "-i", "size=0", status=1)["error"]
        self.assertEqual((error["code"], error["node"]), ("NothingToDo", "numbers"))

    def test_shell(self):
        self.assertEqual(self.troupe(*self.begin("shell"), "-q")[0], PRINTS["shell"])
        text = 'a"b \\ tab\there'
        done = self.document("run", "flow.yaml", "measure", "-i", f"word={text}")
        self.assertEqual(done["outputs"], {"size": len(text), "shown": f"<{text}>"})
        error = self.document("run", "flow.yaml", "split", "-i", "text= ", status=1)["error"]
        self.assertEqual(error["code"], "NothingToDo")

    def test_flytekit_is_right(self):
        self.begin("flytekit")
        self.troupe("check", "flow.yaml")

    @unittest.skipUnless(os.environ.get("TROUPE_TEST_LONG"), "needs flytekit, which is large")
    def test_flytekit(self):
        have_library(KIT_PYTHON, KIT)
        words = self.begin("flytekit")
        path = os.environ["PATH"]
        os.environ["PATH"] = f"{KIT_PYTHON.parent}:{path}"
        self.addCleanup(os.environ.__setitem__, "PATH", path)
        self.assertEqual(self.troupe(*words, "-q")[0], PRINTS["flytekit"])

    def test_all_are_listed(self):
        names = self.troupe("init", "--list", "-o", "name")[0].split()
        self.assertEqual(names, sorted(path.name for path in TEMPLATES.iterdir()))
        self.assertEqual(sorted(PRINTS), names)
        lines = self.troupe("init", "--list")[0].splitlines()
        self.assertEqual([line.split()[0] for line in lines], names)
        for name, line in zip(names, lines):
            first = (TEMPLATES / name / "flow.yaml").read_text().splitlines()[0]
            self.assertEqual(line.split(None, 1)[1], first.removeprefix("# "))

    def test_a_shell_completes_them(self):
        self.assertEqual(self.completed("init", "p"), ["python"])

    def test_nothing_is_overwritten(self):
        self.write("tasks.py", "mine\n")
        _, stderr = self.troupe("init", status=2)
        self.assertEqual(stderr, "troupe init: this folder has tasks.py already, and nothing was "
                         "written; move it away, or begin in another folder\n")
        self.assertEqual(os.listdir(self.folder), ["tasks.py"])
        (self.folder / "flow.yaml").symlink_to("/nowhere")
        _, stderr = self.troupe("init", status=2)
        self.assertIn("this folder has flow.yaml, tasks.py already", stderr)
        self.assertEqual(self.write("x", "").parent.joinpath("tasks.py").read_text(), "mine\n")

    def test_where_nothing_can_be_written(self):
        if os.geteuid() == 0:
            done = subprocess.run([PROGRAM, "init"], cwd="/proc/self", capture_output=True,
                                  text=True)
        else:
            self.folder.chmod(0o500)
            done = subprocess.run([PROGRAM, "init"], cwd=self.folder, capture_output=True,
                                  text=True)
            self.folder.chmod(0o700)
        self.assertEqual(done.returncode, 4)
        self.assertIn("troupe init: the project cannot be written here: ", done.stderr)

    def test_mistakes_are_named(self):
        self.assertEqual(self.troupe("init", "pyton", status=2)[1], "troupe init: there is no "
                         "template 'pyton'; did you mean 'python'?\n")
        self.assertEqual(self.troupe("init", "fortran", status=2)[1], "troupe init: there is no "
                         "template 'fortran'; `troupe init --list` shows all\n")
        alone = shutil.copy(PROGRAM, self.folder)
        done = subprocess.run([alone, "init"], cwd=self.folder, capture_output=True, text=True)
        self.assertEqual(done.returncode, 4)
        self.assertIn("the templates are not there; they belong into ../share/troupe/templates",
                      done.stderr)

    def test_an_installation_has_them(self):
        prefix = self.folder / "usr"
        done = subprocess.run(["cmake", "--install", PROGRAM.parent, "--prefix", prefix],
                              capture_output=True, text=True, timeout=LIMIT_S)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        for name in ("python", "shell"):
            project = self.folder / name
            project.mkdir()

            def installed(*words):
                done = subprocess.run([prefix / "bin/troupe", *words], cwd=project, text=True,
                                      env=self.environment(), capture_output=True, timeout=LIMIT_S)
                self.assertEqual(done.returncode, 0, done.stderr)
                return done.stdout
            command = shlex.split(installed("init", name, "-q"))
            self.assertEqual(installed(*command[1:], "-q"), PRINTS[name])


class PagesTest(ProgramTest):
    def test_the_quickstart_names_it(self):
        text = (ROOT / "deploy/quickstart").read_text()
        self.assertIn("/build/release/troupe init", text)

    def test_each_template_begins_as_told(self):
        for folder in TEMPLATES.iterdir():
            comment = re.match(r"(#.*\n)+", (folder / "flow.yaml").read_text()).group()
            self.assertRegex(comment, r"(?m)^#   troupe run flow\.yaml")
            self.assertLessEqual(max(map(len, (folder / "flow.yaml").read_text().splitlines())),
                                 100)
        self.assertTrue(pathlib.Path(PROGRAM.parent, "share/troupe/templates").is_dir())


if __name__ == "__main__":
    unittest.main()
