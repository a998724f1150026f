"""What tasks come across outside of their code, whichever it is: each notes that it runs, and one of
them fails. The test puts this file in the place of each package's __init__.py, and FOLDER in it.

In FOLDER lie `runs`, a line for each task that has begun, and `fails`: which of them fails, counted
from 1 on as they begin.
"""

import fcntl
import os
import pathlib

from flytekit.core import base_task
from flytekit.exceptions.user import FlyteUserRuntimeException

FOLDER = pathlib.Path("@FOLDER@")


def is_met():
    """Notes that this task runs; whether it is the one that fails."""
    with open(FOLDER / "runs", "a+", encoding="utf-8") as runs:
        fcntl.flock(runs, fcntl.LOCK_EX)
        names = ("TROUPE_EXECUTION", "TROUPE_NODE", "TROUPE_ELEMENT")
        runs.write(" ".join(os.environ.get(name, "-") for name in names) + "\n")
        runs.seek(0)
        fails = FOLDER / "fails"
        return fails.exists() and len(runs.readlines()) == int(fails.read_text(encoding="utf-8"))


def watch(execute):
    def dispatch_execute(self, context, inputs):
        if "TROUPE_NODE" in os.environ and is_met():
            raise FlyteUserRuntimeException(OSError("the disk is full"))
        return execute(self, context, inputs)
    dispatch_execute.is_watched = True
    return dispatch_execute


if not hasattr(base_task.PythonTask.dispatch_execute, "is_watched"):
    base_task.PythonTask.dispatch_execute = watch(base_task.PythonTask.dispatch_execute)
