"""Runs a container as a process of this machine: its command, arguments and environment.

There is no image: paths are those of this machine, so what a container reads and writes lies in a
folder that its submitter shares. Its /tmp is its own, as in a container, where this machine lets us
mount: only what is shared and the paths of its volumes are there, too. What it prints is kept in a
file, its log. `run` is an object of the double's with an `id`, whose `process` is set here.
"""

import asyncio
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile

GRACE_S = 2
PATH = "/usr/local/bin:/usr/bin:/bin"
# A shell says so of what it can't find; a pod whose command is not there never starts.
NOT_FOUND = 127


# Arguments: the folder that becomes /tmp, how many paths stay there and these, the working folder,
# the command. By absolute paths, since the pod's PATH is the pod's.
PRIVATE_TMP = """
set -e
tmp=$1 left=$2
shift 2
while [ $left -gt 0 ]; do
    /usr/bin/mkdir -p "$tmp${1#/tmp}"
    /usr/bin/mount --bind "$1" "$tmp${1#/tmp}"
    shift
    left=$((left - 1))
done
/usr/bin/mount --rbind "$tmp" /tmp
cd "$1"
shift
exec "$@"
"""


def namespace_words():
    """The command that gives another one mounts of its own; None where that is not allowed."""
    words = ["/usr/bin/unshare", "--mount"]
    if os.geteuid() != 0:
        words += ["--user", "--map-current-user", "--keep-caps"]
    try:
        done = subprocess.run([*words, "/usr/bin/mount", "-t", "tmpfs", "none", "/tmp"],
                              capture_output=True, check=False)
    except OSError:
        return None
    return words if done.returncode == 0 else None


class Executor:
    def __init__(self, folder, shares=()):
        self.folder = pathlib.Path(folder)
        self.shares = list(shares)
        self.namespace = namespace_words()
        self.running = {}

    def log_path(self, run):
        return self.folder / f"{run.id}.log"

    def start(self, run, container, environment, on_end):
        """Begins the container's process and calls on_end(run, exit status) when it is over."""
        words = (container.get("command") or []) + (container.get("args") or [])
        folder = pathlib.Path(tempfile.mkdtemp(dir=self.folder))
        place = str(container.get("workingDir") or folder)
        if self.namespace is not None and words:
            words, place = self.in_private_tmp(container, folder, place, words), "/"
        with open(self.log_path(run), "wb") as log:
            try:
                run.process = subprocess.Popen(
                    words, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                    cwd=place,
                    env={"PATH": PATH, "HOME": "/tmp", **environment},
                    start_new_session=True)
            except (OSError, IndexError, ValueError) as error:
                log.write(f"{error}\n".encode())
                asyncio.get_running_loop().call_soon(on_end, run, NOT_FOUND)
                return
        self.watch(run, run.process, folder, on_end)

    def in_private_tmp(self, container, folder, place, words):
        """The words that run these with a /tmp of their own."""
        tmp = folder / "tmp"
        tmp.mkdir()
        mounts = [mount["mountPath"] for mount in container.get("volumeMounts") or []]
        stay = [path for path in (str(folder), *self.shares, *mounts)
                if path.startswith("/tmp/") and os.path.isdir(path)]
        return [*self.namespace, "/bin/sh", "-c", PRIVATE_TMP, "sh", str(tmp), str(len(stay)),
                *stay, place, *words]

    def watch(self, run, process, folder, on_end):
        """A pidfd is readable when its process has ended. What that has left behind goes, too."""
        loop = asyncio.get_running_loop()
        handle = os.pidfd_open(process.pid)
        self.running[process.pid] = process

        def ended():
            loop.remove_reader(handle)
            os.close(handle)
            send(process, signal.SIGKILL)
            status = process.wait()
            del self.running[process.pid]
            shutil.rmtree(folder, ignore_errors=True)
            if run.process is process:
                run.process = None
                on_end(run, status if status >= 0 else 128 - status)

        loop.add_reader(handle, ended)

    def stop(self, run):
        """Ends a process whose run is over: kindly, which as in a container only the first one
        hears of, and then not."""
        process, run.process = run.process, None
        if process.pid in self.running:
            process.send_signal(signal.SIGTERM)
        asyncio.get_running_loop().call_later(GRACE_S, self.kill, process)

    def kill(self, process):
        if process.pid in self.running:
            send(process, signal.SIGKILL)

    def kill_all(self):
        for process in self.running.values():
            send(process, signal.SIGKILL)


def send(process, number):
    try:
        os.killpg(process.pid, number)
    except ProcessLookupError:
        pass
