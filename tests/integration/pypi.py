#!/usr/bin/env python3
"""Flyte's own libraries and some others from PyPI, each set once in a folder of the build's.

As a program it installs all that most tests ask for, before the first of them does: tests/run lets
it work beside the compiler.
"""

import fcntl
import pathlib
import shutil
import subprocess
import sys

from program import LIBRARIES

# Flyte's messages, what calls with them, and what judges our page of OpenAPI.
PYTHON = LIBRARIES / "python-flyte/bin/python"
FLYTE = ("flyteidl==1.*", "grpcio-health-checking==1.*", "grpcio-reflection==1.*",
         "openapi-spec-validator==0.7.*")

# flytekit, and what its tables, models and packages for operators need.
KIT_PYTHON = LIBRARIES / "python-flytekit/bin/python"
KIT = "flytekit==1.16.*"  # the last of Flyte 1
BESIDE_KIT = ("kubernetes", "pandas", "pyarrow", "pydantic")

# What a folder has from its first installation on, in steps: asked for all at once with flytekit,
# of which several versions would do, pip looks for one that suits for minutes.
SETS = {PYTHON: (FLYTE,), KIT_PYTHON: ((KIT,), BESIDE_KIT)}


def missing(python, packages):
    complete = python.parents[1] / "complete"
    there = complete.read_text().splitlines() if complete.exists() else []
    return [name for name in packages if name not in there]


def install(python, packages, options):
    """One test at a time. Modules are compiled as they are imported: most never are."""
    folder = python.parents[1]
    with open(f"{folder}.lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        wanted = missing(python, packages)
        if not wanted:
            return
        if not (folder / "complete").exists():
            shutil.rmtree(folder, ignore_errors=True)
            subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", "--no-compile",
                        "--disable-pip-version-check", *options, *wanted], check=True)
        with open(folder / "complete", "a", encoding="utf-8") as complete:
            complete.writelines(f"{name}\n" for name in wanted)


def have_library(python, *packages, options=()):
    """Installs packages and the folder's set, unless they are there."""
    for step in SETS.get(python, ()):
        if missing(python, step):
            install(python, step, ())
    if missing(python, packages):
        install(python, packages, options)


def main():
    for python in SETS:
        have_library(pathlib.Path(python))


if __name__ == "__main__":
    main()
