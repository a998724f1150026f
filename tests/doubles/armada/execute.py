"""Runs a job's container as a process of this machine: its command, arguments and environment.

There is no image and no volume: paths are those of this machine, so what a job reads and writes
lies in a folder that its submitter shares. What it prints is kept for binoculars.
"""

import asyncio
import os
import pathlib
import shutil
import signal
import subprocess

from rules import GANG_CARDINALITY, GANG_ID

GRACE_S = 2
PATH = "/usr/local/bin:/usr/bin:/bin"

# A shell says so of what it can't find; a pod whose command is not there never starts.
NOT_FOUND = 127


class Executor:
    def __init__(self, folder, secrets=()):
        self.folder = pathlib.Path(folder)
        self.secrets = dict(secret.split("=", 1) for secret in secrets)
        self.running = {}

    def log_path(self, job):
        return self.folder / f"{job.id}.log"

    def start(self, job, on_end):
        """Begins the job's process and calls on_end(job, exit status) when it is over."""
        container = job.pod["containers"][0]
        words = (container.get("command") or []) + (container.get("args") or [])
        folder = self.folder / job.runs[-1].id
        folder.mkdir()
        with open(self.log_path(job), "wb") as log:
            try:
                job.process = subprocess.Popen(
                    words, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                    cwd=container.get("workingDir") or folder,
                    env=environment_of(job, container, self.secrets),
                    start_new_session=True)
            except (OSError, IndexError, ValueError) as error:
                log.write(f"{error}\n".encode())
                asyncio.get_running_loop().call_soon(on_end, job, NOT_FOUND)
                return
        self.watch(job, job.process, folder, on_end)

    def watch(self, job, process, folder, on_end):
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
            if job.process is process:
                job.process = None
                on_end(job, status if status >= 0 else 128 - status)

        loop.add_reader(handle, ended)

    def stop(self, job):
        """Ends a process whose job is over: kindly, which as in a container only the first one
        hears of, and then not."""
        process, job.process = job.process, None
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


def environment_of(job, container, secrets):
    """What the container asks for, beside what Armada gives to every pod; `secrets` are those of
    Kubernetes, by GROUP/KEY."""
    environment = {"PATH": PATH, "HOME": "/tmp", "ARMADA_JOB_ID": job.id,
                   "ARMADA_QUEUE": job.queue, "ARMADA_JOB_SET_ID": job.job_set}
    if GANG_ID in job.annotations:
        environment["ARMADA_GANG_ID"] = job.annotations[GANG_ID]
        environment["ARMADA_GANG_CARDINALITY"] = job.annotations.get(GANG_CARDINALITY, "")
    for variable in container.get("env") or []:
        reference = variable.get("valueFrom", {}).get("secretKeyRef", {})
        secret = secrets.get(f"{reference.get('name')}/{reference.get('key')}", "")
        environment[variable["name"]] = variable.get("value", secret)
    return environment
