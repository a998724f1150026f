"""What Python imports before anything else in a task's process; then that of its environment.

flytekit's commands make temporary folders and leave them behind. Here theirs lie in the attempt's
TROUPE_TMP, which goes with it. Warm workers do the same on their own. For all others the place stays
the same, since names of sockets there must not be long.
"""

import os
import sys
from importlib.machinery import PathFinder


def is_flytekits_command():
    """Of sys.argv nothing is known yet."""
    with open("/proc/self/cmdline", "rb") as words:
        script = words.read().split(b"\0")[1:2]
    return b"".join(script).rpartition(b"/")[2].startswith(b"pyflyte-")


def keep_together(place):
    """Lets the folders of modules of flytekit's be made in a place."""
    import tempfile
    original = tempfile.mkdtemp

    def mkdtemp(suffix=None, prefix=None, dir=None):
        frame = sys._getframe(1)
        while frame and frame.f_globals is vars(tempfile):
            frame = frame.f_back
        module = frame.f_globals.get("__name__", "") if frame else ""
        return original(suffix, prefix, dir or (place if f"{module}.".startswith("flytekit.")
                                                else None))
    tempfile.mkdtemp = mkdtemp


def import_the_next():
    """The one that this one stands before, which then has the name."""
    own = os.path.dirname(__file__)
    spec = PathFinder.find_spec(__name__, [path for path in sys.path if path != own])
    if spec is not None and spec.loader is not None:
        import importlib.util  # which takes longer than all else
        sys.modules[__name__] = module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)


if "TROUPE_TMP" in os.environ and os.path.exists("/proc/self/cmdline") and is_flytekits_command():
    keep_together(os.environ["TROUPE_TMP"])
import_the_next()
