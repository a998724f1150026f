"""The kinds of back ends whose arrays are tested alike: what a task of each looks like, and what
each has counted on its own side.

KINDS is the table. A kind is what its class says (its task, what one request takes, what it can
promise), and a back end that a test starts, holds, and asks for its figures. Tests see nothing else
of it, as the engine's arrays do.
"""

import collections
import dataclasses
import http.server
import importlib.util
import json
import os
import select
import socket
import sys
import threading

from program import PROGRAM, ROOT

sys.path.insert(0, str(ROOT / "examples/plugins"))
sys.path.insert(0, str(ROOT / "tests/doubles/armada"))

import job_server  # noqa: E402
from armada_client import QUEUE, Double  # noqa: E402

# The class of an element that no back end takes.
BAD = "unheard-of"
GOOD = "armada-default"

# The work, where it is a command: gives its input back, when nobody holds it any more.
WORK = rf"""
read -r line <"$TROUPE_INPUTS"
case $line in *{BAD}*) exit 7 ;; esac
a=${{line#*\"a\":}}
a=${{a# }}
a=${{a%%[!0-9]*}}
echo "$$ $TROUPE_ELEMENT $TROUPE_ATTEMPT" >>"$TROUPE_FOLDER/begun"
while [ -e "$TROUPE_FOLDER/held" ]; do /bin/sleep 0.1; done
echo "{{\"sum\": $a}}" >"$TROUPE_OUTPUTS"
"""

COMMAND = {"run": ["/bin/sh", "./work.sh"]}


@dataclasses.dataclass
class Figures:
    """What a back end has counted since it was started."""

    made: collections.Counter  # how often the work of an element and attempt was begun
    asked: int                 # how many jobs it was asked to make, those it had made already, too
    live: int                  # how many there are that have not ended
    calls: collections.Counter # of its verbs: make, look, end

    def doubled(self):
        return {key: times for key, times in self.made.items() if times > 1}


class Kind:
    name = ""
    task = {}           # what a task says beside its inputs and outputs
    node = {}           # and the node of its array
    has_outputs = True
    is_command = False  # its work is a process of this machine, which starts in its own time
    at_once = None      # of a wide array no more than so many are live; None: all of them
    takes = None        # how many jobs a request takes; None: there are no such requests
    looks = None        # the same of a question how jobs are
    # Whether nobody knows what became of what was under way when an engine was killed. Its attempts
    # then end as `outcome unknown`, and nothing of it is done again.
    forgets = False

    def start(self, folder):
        self.folder = folder

    def stop(self):
        """The engine has ended already."""

    def settings(self):
        return {}

    def words(self):
        """Options of the engine."""
        return []

    def hold(self, is_held):
        raise NotImplementedError

    def figures(self):
        raise NotImplementedError

    def handle_of(self, element):
        """What the back end calls an element's job, as `explain` shows it; None: it has no name."""
        return None

    def room(self, size):
        return size if self.at_once is None else min(size, self.at_once)


def hold_work(folder, is_held):
    """Commands of WORK wait as long as the file is there."""
    path = folder / "held"
    path.touch() if is_held else path.unlink(missing_ok=True)


# ---- Processes of the keeper. --------------------------------------------------------------------

class Process(Kind):
    name = "process"
    task = {**COMMAND}
    is_command = True
    at_once = 8

    def words(self):
        return ["-j", str(self.at_once)]

    def hold(self, is_held):
        hold_work(self.folder, is_held)

    def figures(self):
        path = self.folder / "begun"
        rows = [line.split() for line in path.read_text().splitlines()] if path.exists() else []
        made = collections.Counter((int(element), int(attempt)) for _, element, attempt in rows)
        live = sum(self.is_live(int(pid)) for pid, _, _ in rows)
        return Figures(made, len(rows), live, collections.Counter())

    def is_live(self, pid):
        """Whether it is one of this test's: numbers are given again."""
        try:
            with open(f"/proc/{pid}/environ", "rb") as file:
                return os.fsencode(f"TROUPE_FOLDER={self.folder}") in file.read().split(b"\0")
        except OSError:
            return False


# ---- Armada, by its double. ----------------------------------------------------------------------

class Armada(Kind):
    """Pods without any way back for outputs."""

    name = "armada"
    task = {"run": ["true"], "type": "armada", "config": {"priority_class": "{{.inputs.class}}"}}
    has_outputs = False
    takes = 200
    looks = 500
    options = ()
    share = None
    verbs = {"SubmitJobs": "make", "GetJobStatus": "look", "GetJobErrors": "look",
             "CancelJobs": "end", "CancelJobSet": "end"}

    def start(self, folder):
        super().start(folder)
        self.double = Double(*self.options)

    def stop(self):
        self.double.stop()

    def settings(self):
        own = {"endpoint": self.double.endpoint, "queue": QUEUE, "image": "debian:12",
               "interval": "1s", "lag": "10s"}  # the double shows jobs at once
        return {"plugins": {"armada": own}}

    def hold(self, is_held):
        self.double.control("hold", is_held=is_held)

    def figures(self):
        counters = self.double.counters()
        calls = collections.Counter()
        for method, figures in counters["calls"].items():
            calls[self.verbs.get(method, method)] += figures["calls"]
        made = collections.Counter(self.place(job) for job in self.double.jobs())
        asked = counters["calls"].get("SubmitJobs", {"ids": 0})["ids"]
        return Figures(made, asked, counters["live"], calls)

    @staticmethod
    def place(job):
        """The element and attempt, from it-NODE-ELEMENT-HASH-ATTEMPT.MARK."""
        words = job["client_id"].split(".")[0].split("-")
        return int(words[2]), int(words[-1])

    def handle_of(self, element):
        variable = f'"name": "TROUPE_ELEMENT", "value": "{element}"'
        return self.double.jobs(text=variable)[0]["job_id"]


class ArmadaShare(Armada):
    """Pods whose commands are run here, and leave their outputs in a folder."""

    name = "armada_share"
    task = {**Armada.task, **COMMAND}
    has_outputs = True
    is_command = True
    options = ("--execute", "--slots", "8", "--share", str(ROOT))  # of its examples

    def settings(self):
        document = super().settings()
        document["plugins"]["armada"]["share"] = str(self.folder)
        return document


# ---- Kubernetes, by its double. ------------------------------------------------------------------

def double_of_kubernetes():
    """Its client, whose module is named as that of no other double."""
    path = ROOT / "tests/doubles/kubernetes/kubernetes_client.py"
    spec = importlib.util.spec_from_file_location("kubernetes_client", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.Double


class Kubernetes(Kind):
    """Pods without any way back for outputs."""

    name = "kubernetes"
    task = {"run": ["true"], "type": "kubernetes",
            "config": {"priority_class": "{{.inputs.class}}"}}
    has_outputs = False
    options = ()
    verbs = {"create pods": "make", "get pods": "look", "delete pods": "end",
             "deletecollection pods": "end"}

    def start(self, folder):
        super().start(folder)
        self.double = double_of_kubernetes()("--priority-class", GOOD, *self.options)

    def stop(self):
        self.double.stop()

    def settings(self):
        own = {"endpoint": self.double.endpoint, "image": "debian:12", "keep": {"failed": "0s"}}
        return {"plugins": {"kubernetes": own}}

    def hold(self, is_held):
        self.double.control("hold", is_held=is_held)

    def figures(self):
        counters = self.double.counters()
        calls = collections.Counter()
        for method, times in counters["calls"].items():
            calls[self.verbs.get(method, method)] += times
        made = collections.Counter()
        for name, times in self.double.control("names", "GET")["names"].items():
            made[self.place(name)] += times
        return Figures(made, calls["make"], counters["live"], calls)

    @staticmethod
    def place(name):
        """The element and attempt, from it-NODE-ELEMENT-HASH-ATTEMPT-MARK."""
        words = name.split("-")
        return int(words[2]), int(words[-2])


class KubernetesShare(Kubernetes):
    """Pods whose commands are run here, and leave their outputs in a folder."""

    name = "kubernetes_share"
    task = {**Kubernetes.task, **COMMAND}
    has_outputs = True
    is_command = True

    def start(self, folder):
        self.options = ("--execute", "--share", str(ROOT), "--share", str(folder))
        super().start(folder)

    def settings(self):
        document = super().settings()
        document["plugins"]["kubernetes"]["share"] = str(self.folder)
        return document

    def hold(self, is_held):
        hold_work(self.folder, is_held)


# ---- The example of the Web API shape, whose server takes an identity for a key. -----------------

class CountingJobs(job_server.Jobs):
    """Counts what it is asked to make, and refuses requests with a bad element as a whole."""

    def __init__(self):
        super().__init__()
        self.asked = []

    def answer(self, path, rows):
        if path == "/jobs":
            with self.lock:
                self.calls[path] += 1
                if any(BAD in row["job"]["inputs"] for row in rows):
                    self.calls["refused"] += 1
                    return 400, []
                self.asked += [row["id"] for row in rows]
                return 200, [self.make(row) for row in rows]
        return super().answer(path, rows)


class JobServer(Kind):
    name = "jobs"
    task = {"type": "jobs"}
    takes = 100
    looks = 100

    def start(self, folder):
        super().start(folder)
        self.jobs = CountingJobs()
        self.server = job_server.Server(0, self.jobs)
        self.server.handle_error = lambda *_: None  # clients that were killed are part of the play
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def stop(self):
        self.server.shutdown()
        self.server.server_close()

    def settings(self):
        path = PROGRAM.parent / "examples/plugins/jobs.so"
        return {"plugins": {"jobs": {"path": str(path), "endpoint": self.server.url,
                                     "interval": "1s"}}}

    def hold(self, is_held):
        self.jobs.seconds = float("inf") if is_held else 0.0

    def figures(self):
        jobs = self.jobs
        with jobs.lock:
            made = collections.Counter(self.place(name) for name in jobs.jobs)
            live = sum(jobs.look(name)["state"] == "running" for name in jobs.jobs)
            calls = collections.Counter({"make": jobs.calls["/jobs"],
                                         "look": jobs.calls["/jobs/status"],
                                         "end": jobs.calls["/jobs/cancel"]})
            return Figures(made, len(jobs.asked), live, calls)

    @staticmethod
    def place(name):
        words = name.split("-")
        return int(words[2]), int(words[-1])

    def handle_of(self, element):
        return next(name for name in self.jobs.jobs if name.startswith(f"it-work-{element}-"))


class Seeded(JobServer):
    """Not one of KINDS: tests/plugins/seeded.c makes jobs twice and more, as in Flyte's arrays."""

    takes = None
    looks = None

    def __init__(self, seeds):
        self.seeds = seeds

    def start(self, folder):
        super().start(folder)
        self.jobs.seconds = 0.3  # so that each is polled
        self.task = {"type": "seeded", "config": {"url": self.server.url, "seeds": self.seeds}}

    def settings(self):
        return {"plugins": {"seeded": {"path": str(PROGRAM.parent / "tests/plugins/seeded.so")}}}

    def handle_of(self, element):
        return None


# ---- Requests of which nobody can be asked later. ------------------------------------------------

class WorkHandler(http.server.BaseHTTPRequestHandler):
    """One request is one piece of work, which lasts as long as somebody waits for its answer."""

    protocol_version = "HTTP/1.1"

    def do_POST(self):
        server = self.server
        work = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if work["class"] == BAD:
            return self.answer(400, {"error": "a bad element"})
        with server.lock:
            server.made[(int(work["a"]), 0)] += 1
            server.live += 1
        is_wanted = self.wait()
        with server.lock:
            server.live -= 1
        if is_wanted:
            self.answer(200, {"sum": int(work["a"])})

    def wait(self):
        """Whether the one who asked is still there when the work is no longer held."""
        while not self.server.is_free.wait(0.05):
            ready, _, _ = select.select([self.connection], [], [], 0)
            if ready and not self.connection.recv(1, socket.MSG_PEEK):
                self.close_connection = True
                return False
        return True

    def answer(self, status, document):
        body = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class WorkServer(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(self):
        super().__init__(("127.0.0.1", 0), WorkHandler)
        self.made, self.live, self.lock = collections.Counter(), 0, threading.Lock()
        self.is_free = threading.Event()
        self.is_free.set()

    def handle_error(self, *_):
        """Clients that were killed are part of the play."""


class Http(Kind):
    name = "http"
    at_once = 64  # of one host (TR_HTTP_CONCURRENT_PER_HOST_MAX)
    node = {"parallelism": at_once}
    forgets = True

    def start(self, folder):
        super().start(folder)
        self.server = WorkServer()
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{self.server.server_address[1]}/work"
        self.task = {"type": "http", "config": {
            "url": url, "method": "POST",
            "body": {"a": "{{.inputs.a}}", "class": "{{.inputs.class}}"}}}

    def stop(self):
        self.server.is_free.set()
        self.server.shutdown()
        self.server.server_close()

    def hold(self, is_held):
        self.server.is_free.clear() if is_held else self.server.is_free.set()

    def figures(self):
        server = self.server
        with server.lock:
            made = collections.Counter(server.made)
            return Figures(made, sum(made.values()), server.live, collections.Counter())


KINDS = (Process, Armada, ArmadaShare, Kubernetes, KubernetesShare, JobServer, Http)
