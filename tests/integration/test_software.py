#!/usr/bin/env python3
"""What a process runs in: environments that its first attempt makes, kept by what they are made of.

Nothing comes from a network: packages are wheels that are written here, and the tool of conda is a
double that makes a folder as it does.
"""

import json
import os
import pathlib
import shutil
import sys
import unittest
import zipfile

from program import ProgramTest, wait_until

# Writes down each call, and makes an environment with a program that says which one it is. It waits
# for a file before it does, if a test says so, and can end in the midst of it.
CONDA = """#!/bin/sh
echo "$@" >>"$CALLS"
while [ $# -gt 0 ]; do
  case $1 in
  -p) prefix=$2; shift ;;
  -f) file=$2; shift ;;
  esac
  shift
done
mkdir -p "$prefix/bin" "$prefix/etc/conda/activate.d"
printf '#!/bin/sh\\necho "it is $(cat %s)"\\n' "$file" >"$prefix/bin/tell"
echo 'export ACTIVATED=yes' >"$prefix/etc/conda/activate.d/own.sh"
chmod +x "$prefix/bin/tell"
if [ -e "$CALLS.fail" ]; then
  echo 'Could not solve for environment specs'
  exit 1
fi
touch "$CALLS.half"
while [ -e "$CALLS.wait" ]; do sleep 0.02; done
"""


class SoftwareTest(ProgramTest):
    def setUp(self):
        super().setUp()
        self.path = os.environ["PATH"]
        self.calls = self.folder / "calls"
        self.environments = self.store / "environments"

    def environment(self):
        return {**super().environment(), "PATH": self.path, "CALLS": str(self.calls)}

    def wheel(self, name, version="1.0"):
        """A package with a module that has its version."""
        folder = self.folder / "wheels"
        folder.mkdir(exist_ok=True)
        about = f"{name}-{version}.dist-info"
        files = {f"{name}.py": f"VERSION = {version!r}\n",
                 f"{about}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
                 f"{about}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\n"
                                   "Tag: py3-none-any\n"}
        files[f"{about}/RECORD"] = "".join(f"{path},,\n" for path in [*files, f"{about}/RECORD"])
        with zipfile.ZipFile(folder / f"{name}-{version}-py3-none-any.whl", "w") as archive:
            for path, text in files.items():
                archive.writestr(path, text)

    def conda_tool(self, name):
        """Programs of a PATH that has this tool of conda, and no other."""
        folder = self.folder / "bin"
        folder.mkdir(exist_ok=True)
        for tool in ("sh", "flock", "sha256sum", "cat", "cp", "cmp", "mkdir", "rm", "sync", "tail",
                     "grep", "printf", "tr", "sed", "chmod", "touch", "sleep", "uname", "env"):
            (folder / tool).symlink_to(shutil.which(tool))
        if name:
            (folder / name).write_text(CONDA)
            (folder / name).chmod(0o755)
        self.path = str(folder)

    def task(self, *run, outputs=None, nodes="{n: {task: t}}", **keys):
        document = {"troupe": 1, "tasks": {"t": {"run": list(run), **keys}},
                    "workflows": {"main": {"nodes": {"n": {"task": "t"}}}}}
        if outputs:
            document["tasks"]["t"]["outputs"] = outputs
            document["workflows"]["main"]["outputs"] = {name: f"$n.{name}" for name in outputs}
        self.write_flow(document)

    def write_flow(self, document):
        """Flow style, in which a key may have no value."""
        self.write("flow.yaml", json.dumps(document).replace(": null", ": "))

    def flow(self):
        return json.loads((self.folder / "flow.yaml").read_text().replace(": }", ": null}"))

    def told(self, *words):
        """What a task that says it on stdout is told."""
        self.troupe("run", "flow.yaml", "--name", "it", "-q", *words)
        return self.troupe("logs", "it/n")[0]

    def error(self):
        return self.document("run", "flow.yaml", "--name", "it", "-q", status=1)["error"]

    def made(self):
        """The names of environments that are ready."""
        return sorted(path.parent.name for path in self.environments.glob("*/ready"))

    # ------------------------------------------------------------------ venv

    def python_task(self, code, requirements, **keys):
        venv = {"requirements": requirements, "python": sys.executable}
        self.task("python", "-c", code, venv=venv, env={"CALLS": None}, **keys)

    def test_a_command_runs_in_its_packages(self):
        self.wheel("abc_one")
        self.python_task("import abc_one, os, sys; print(abc_one.VERSION, sys.prefix, "
                         "os.environ['VIRTUAL_ENV'])", ["--no-index", "./wheels/abc_one-1.0-py3-"
                                                        "none-any.whl"])
        name, = self.made_by("it")
        place = self.environments / name / "env"
        self.assertIn(f"1.0 {place} {place}\n", self.troupe("logs", "it/n")[0])
        self.assertIn(f"troupe: making the environment {name}, with its log in ",
                      self.troupe("logs", "it/n")[0])
        # The next one finds it, and is as quiet as any other.
        self.troupe("run", "flow.yaml", "--name", "next", "-q")
        self.assertNotIn("troupe:", self.troupe("logs", "next/n")[0])
        self.assertEqual(self.made(), [name])

    def made_by(self, name):
        self.troupe("run", "flow.yaml", "--name", name, "-q")
        return self.made()

    def test_it_is_known_by_its_content(self):
        for version in ("1.0", "2.0"):
            self.wheel("abc_two", version)
        code = "import abc_two; print('it is', abc_two.VERSION)"
        self.task("python", "-c", code, venv={"requirements": "needed.txt", "python":
                                              sys.executable})
        (self.folder / "needed.txt").write_text("# one\n--no-index\n--find-links wheels\n"
                                                "abc_two==1.0\n")
        self.assertIn("it is 1.0\n", self.told())
        (self.folder / "needed.txt").write_text("--no-index\n--find-links wheels\nabc_two==2.0\n")
        self.troupe("run", "flow.yaml", "--name", "next", "-q")
        self.assertIn("it is 2.0\n", self.troupe("logs", "next/n")[0])
        self.assertEqual(len(self.made()), 2)

    def test_nothing_more_than_python(self):
        self.python_task("import sys; print(sys.prefix != sys.base_prefix)", [])
        self.assertIn("True\n", self.told())

    def test_what_cannot_be_installed_says_why(self):
        self.python_task("pass", ["--no-index", "no-such-package-here==7"], retries=1)
        error = self.error()
        self.assertEqual(error["code"], "RetriesExhausted|EnvironmentNotMade")
        self.assertIn("the environment could not be made: ERROR: No matching distribution found "
                      "for no-such-package-here==7", error["message"])
        self.assertIn("no-such-package-here", error["attempt"]["stderr"])
        self.assertEqual(len(self.document("get", "it/n")["attempts"]), 2)
        self.assertEqual(self.made(), [])

    def test_without_the_interpreter_nothing_begins(self):
        self.task("true", venv={"requirements": [], "python": "python9.9"}, retries=3)
        error = self.error()
        self.assertEqual(error["code"], "ToolNotFound")
        self.assertRegex(error["message"], r"there is no python9\.9 in the PATH \(.+\); install "
                         "it, or name another one by python: in venv")
        self.assertEqual(len(self.document("get", "it/n")["attempts"]), 1)

    def test_a_file_that_is_not_there(self):
        self.task("true", venv="needed.txt")
        out, _ = self.troupe("check", "flow.yaml")
        self.assertIn("warning: t: the file 'needed.txt' cannot be read: No such file or "
                      "directory; put it there before the task runs", out)
        error = self.error()
        self.assertEqual(error["code"], "EnvironmentNotMade")
        self.assertIn(f"{self.folder}/needed.txt, which says what the environment has, cannot be "
                      "read", error["message"])

    # ------------------------------------------------------------------ conda

    def conda_task(self, *run, tool="micromamba", **keys):
        self.conda_tool(tool)
        (self.folder / "own.yml").write_text("yours\n")
        self.task(*run, conda="own.yml", env={"CALLS": None}, **keys)

    def test_conda_by_the_first_tool_there_is(self):
        for tool, words in (("micromamba", "create -q -p"), ("mamba", "env create -q -p"),
                            ("conda", "env create -q -p")):
            with self.subTest(tool):
                shutil.rmtree(self.folder / "bin", ignore_errors=True)
                shutil.rmtree(self.environments, ignore_errors=True)
                self.conda_task("sh", "-c", "tell; echo $ACTIVATED; echo $CONDA_PREFIX", tool=tool)
                self.troupe("run", "flow.yaml", "--name", tool, "-q")
                name, = self.made()
                self.assertIn(f"it is yours\nyes\n{self.environments}/{name}/env\n",
                              self.troupe("logs", f"{tool}/n")[0])
                self.assertTrue(self.calls.read_text().startswith(words), self.calls.read_text())
                self.calls.unlink()

    def test_without_a_tool_of_conda_nothing_begins(self):
        self.conda_task("touch", str(self.folder / "begun"), tool=None)
        error = self.error()
        self.assertEqual(error["code"], "ToolNotFound")
        self.assertRegex(error["message"], r"there is no micromamba, mamba or conda in the PATH "
                         r"\(.+\); install one, or put it into the PATH of the engine")
        self.assertFalse((self.folder / "begun").exists())

    def test_a_failure_is_made_anew(self):
        self.conda_task("tell", retries=0)
        fail = pathlib.Path(f"{self.calls}.fail")
        fail.touch()
        self.assertIn("could not be made: Could not solve for environment specs",
                      self.error()["message"])
        self.assertEqual(self.made(), [])
        fail.unlink()
        self.troupe("run", "flow.yaml", "--name", "next", "-q")
        self.assertEqual(len(self.made()), 1)

    # ------------------------------------------------------------------ together

    def test_parallel_attempts_make_one(self):
        self.conda_task("tell")
        document = self.flow()
        document["workflows"]["main"]["nodes"] = {f"n{i}": {"task": "t"} for i in range(4)}
        self.write_flow(document)
        wait = pathlib.Path(f"{self.calls}.wait")
        wait.touch()
        running = self.start("run", "flow.yaml", "--name", "it", "-j", "4")
        # All four may have waited for a moment, as each looks whether it is made already.
        wait_until(lambda: sum("waiting until another attempt has made the environment" in line
                               for path in self.progresses()
                               for line in path.read_text().splitlines()[-1:]) == 3,
                   "three wait for the fourth")
        out = "".join(self.troupe("get", f"it/n{i}")[0] for i in range(4))
        self.assertEqual(out.count("making the environment conda-"), 1)
        self.assertEqual(self.made(), [])
        wait.unlink()
        status, _, stderr = running.end()
        self.assertEqual(status, 0, stderr)
        self.assertEqual(len(self.calls.read_text().splitlines()), 1)

    def progresses(self):
        return (self.store / "attempts").glob("*/*/*/*/progress")

    def test_one_that_is_half_made_is_never_used(self):
        self.conda_task("tell")
        wait = pathlib.Path(f"{self.calls}.wait")
        wait.touch()
        running = self.start("run", "flow.yaml", "--name", "it")
        self.await_file("calls.half")
        self.kill_keeper()
        wait_until(lambda: len(self.calls.read_text().splitlines()) == 2, "it is made anew")
        wait.unlink()
        status, _, stderr = running.end()
        self.assertEqual(status, 0, stderr)
        # The keeper's end was the first attempt's; the second one has made it from the beginning.
        self.assertEqual(len(self.calls.read_text().splitlines()), 2)
        self.assertEqual(len(self.made()), 1)

    def test_it_is_removed_when_it_is_not_used(self):
        self.conda_task("sh", "-c", "touch $TROUPE_FOLDER/begun; "
                        "until [ -e $TROUPE_FOLDER/go ]; do sleep 0.02; done")
        running = self.start("run", "flow.yaml", "--name", "it")
        self.await_file("begun")
        name, = self.made()
        prune = ("prune", "--cache-older-than", "0s", "--yes")
        self.assertEqual(self.document(*prune)["environments"]["count"], 0)
        self.assertEqual(self.made(), [name])
        (self.folder / "go").touch()
        self.assertEqual(running.end()[0], 0)
        dry = self.document("prune", "--cache-older-than", "0s", "--dry-run")["environments"]
        self.assertEqual((dry["count"], self.made()), (1, [name]))
        self.assertGreater(dry["bytes"], 0)
        self.assertEqual(self.document("prune", "--cache-older-than", "1d", "--yes")
                         ["environments"]["count"], 0)
        self.assertEqual(self.document(*prune)["environments"]["count"], 1)
        self.assertEqual(list(self.environments.iterdir()), [])

    # ------------------------------------------------------------------ elsewhere

    def test_other_types_of_tasks_have_none(self):
        self.write("flow.yaml", json.dumps({
            "troupe": 1, "tasks": {"t": {"type": "echo", "venv": []}},
            "workflows": {"main": {"nodes": {"n": {"task": "t"}}}}}))
        out, _ = self.troupe("check", "flow.yaml", status=2)
        self.assertIn("t: 'venv' is for processes of this machine, and tasks of type 'echo' are "
                      "none here; remove it", out)

    def test_a_node_has_another_one(self):
        self.wheel("abc_three")
        self.python_task("import abc_three; print(abc_three.VERSION)", [])
        document = self.flow()
        document["workflows"]["main"]["nodes"]["n"]["venv"] = {
            "python": sys.executable,
            "requirements": ["--no-index", "./wheels/abc_three-1.0-py3-none-any.whl"]}
        self.write_flow(document)
        self.assertIn("1.0\n", self.told())


if __name__ == "__main__":
    unittest.main()
