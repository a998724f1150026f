"""A plain client of the double, for tests: starts it, calls it, reads its streams, turns its
switches.

It uses the standard library alone and knows nothing of the double's own code, so that a shared
misunderstanding has a chance to show.
"""

import http.client
import json
import pathlib
import ssl
import subprocess
import threading
import time
import urllib.parse

FOLDER = pathlib.Path(__file__).resolve().parent
PYTHON = "/usr/bin/python3"  # Debian's, which has python3-aiohttp
LIMIT_S = 60
STOP_LIMIT_S = 600  # a million jobs take 11 GB, which it gives back before it ends

QUEUE = "research"
JOB_SET = "set"


def pod(*words, **fields):
    """The smallest pod that Armada takes."""
    amounts = {"cpu": "1", "memory": "64Mi"}
    return {"containers": [{"name": "main", "image": "debian:12", "command": list(words),
                            "resources": {"requests": amounts, "limits": amounts}, **fields}]}


def item(client_id=None, **fields):
    """An item of a submission."""
    named = {} if client_id is None else {"clientId": client_id}
    return {"namespace": "default", "podSpecs": [pod("true")], **named, **fields}


def until(condition, limit_s=LIMIT_S):
    """Asks until it holds: what the server shows lags behind what it has done."""
    begin = time.monotonic()
    while not condition():
        waited_s = time.monotonic() - begin
        if waited_s > limit_s:
            raise AssertionError(f"not within {limit_s} s")
        threading.Event().wait(min(max(0.005, waited_s / 10), 0.1))


class Answer:
    def __init__(self, response):
        self.status = response.status
        self.headers = response.headers
        self.body = response.read()

    @property
    def document(self):
        return json.loads(self.body)


class Double:
    """A double of one's own, which ends with `stop` or with this process."""

    def __init__(self, *options, queue=QUEUE, context=None):
        words = [PYTHON, str(FOLDER), "--until-stdin-closes", "--queue", queue, *options]
        self.process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True)
        line = self.process.stdout.readline()
        if not line:
            raise AssertionError(f"the double did not start: {' '.join(words)}")
        self.addresses = json.loads(line)
        self.endpoint = self.addresses["endpoint"]
        self.context = context

    def stop(self):
        self.process.stdin.close()
        self.process.wait(STOP_LIMIT_S)
        self.process.stdout.close()

    def resident_bytes(self):
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.split("VmRSS:")[1].split()[0]) * 1024

    def connect(self, part="endpoint", timeout_s=LIMIT_S):
        address = urllib.parse.urlsplit(self.addresses[part])
        if address.scheme == "https":
            context = self.context or ssl._create_unverified_context()
            return http.client.HTTPSConnection(address.netloc, timeout=timeout_s, context=context)
        return http.client.HTTPConnection(address.netloc, timeout=timeout_s)

    def ask(self, path, body=None, verb="POST", headers=None, part="endpoint", timeout_s=LIMIT_S):
        """One request; `body` is sent as JSON unless it is bytes."""
        connection = self.connect(part, timeout_s)
        try:
            data = body if isinstance(body, bytes) else json.dumps(body or {}).encode()
            connection.request(verb, path, data, headers or {})
            return Answer(connection.getresponse())
        finally:
            connection.close()

    # Armada.

    def submit(self, items, queue=QUEUE, job_set=JOB_SET, **options):
        return self.ask("/v1/job/submit", {"queue": queue, "jobSetId": job_set,
                                           "jobRequestItems": items}, **options)

    def submit_ids(self, *items, **options):
        """The ids of jobs that must be taken."""
        answer = self.submit(list(items), **options)
        if answer.status != 200:
            raise AssertionError(f"{answer.status} {answer.body}")
        return [entry["jobId"] for entry in answer.document["jobResponseItems"]]

    def states(self, *ids):
        return self.ask("/v1/job/status", {"jobIds": ids}).document["jobStates"]

    def stream(self, queue=QUEUE, job_set=JOB_SET, **fields):
        """An open stream; read lines of its `response`."""
        return Stream(self, queue, job_set, fields)

    def events(self, queue=QUEUE, job_set=JOB_SET, after=""):
        """What there is, as (message id, kind, event)."""
        stream = self.stream(queue, job_set, fromMessageId=after)
        try:
            return list(stream)
        finally:
            stream.close()

    # Control.

    def control(self, path, verb="POST", **body):
        answer = self.ask("/control/" + path, body, verb, part="control",
                          timeout_s=2 * LIMIT_S)
        if answer.status != 200:
            raise AssertionError(f"{path}: {answer.document['error']}")
        return answer.document

    def counters(self):
        return self.control("counters", "GET")

    def calls(self, method):
        """How often a method was called."""
        return self.counters()["calls"].get(method, {"calls": 0})["calls"]

    def jobs(self, **match):
        return self.control("jobs", "GET", **match)

    def wait(self, timeout_s=LIMIT_S, **bounds):
        return self.control("wait", timeout_s=timeout_s, **bounds)

    def fault(self, name, **options):
        self.control("faults", **{name: options})

    def clear(self, *names):
        self.control("faults/clear", **({"names": names} if names else {}))


class Stream:
    """A job set's events as they come."""

    def __init__(self, double, queue, job_set, fields):
        self.connection = double.connect()
        path = f"/v1/job-set/{urllib.parse.quote(queue)}/{urllib.parse.quote(job_set)}"
        self.connection.request("POST", path, json.dumps(fields).encode())
        self.response = None

    def open(self):
        """Waits for the header, which comes with the first event."""
        if self.response is None:
            self.response = self.connection.getresponse()
        return self.response

    def __iter__(self):
        for line in self.open():
            message = json.loads(line)["result"]
            found = message["message"]
            (kind, event), = found.get("Events", found).items()
            yield message["id"], kind, event

    def until(self, wanted, count=1):
        """All events up to the count-th of a kind."""
        events = []
        for event in self:
            events.append(event)
            count -= event[1] == wanted
            if count == 0:
                return events
        return events

    def close(self):
        self.connection.close()
