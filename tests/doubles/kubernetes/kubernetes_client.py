"""A plain client of the double, for tests: starts it, calls it, reads its watches, turns its
switches.

It uses the standard library alone and knows nothing of the double's own code, so that a shared
misunderstanding has a chance to show.
"""

import http.client
import json
import pathlib
import subprocess
import urllib.parse

FOLDER = pathlib.Path(__file__).resolve().parent
PYTHON = "/usr/bin/python3"  # Debian's, which has python3-aiohttp
LIMIT_S = 60
STOP_LIMIT_S = 600

PODS = "/api/v1/namespaces/default/pods"
METADATA = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
MERGE = "application/merge-patch+json"


def pod(name, *words, labels=None, annotations=None, resources=None, **spec):
    """The smallest pod that is taken."""
    container = {"name": "main", "image": "debian:12"}
    if words:
        container["command"] = list(words)
    if resources:
        container["resources"] = resources
    meta = {"name": name, "labels": labels or {}, "annotations": annotations or {}}
    return {"kind": "Pod", "apiVersion": "v1", "metadata": meta,
            "spec": {"containers": [container], "restartPolicy": "Never", **spec}}


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

    def __init__(self, *options):
        words = [PYTHON, str(FOLDER), "--until-stdin-closes", *options]
        self.process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True)
        line = self.process.stdout.readline()
        if not line:
            raise AssertionError(f"the double did not start: {' '.join(words)}")
        self.addresses = json.loads(line)
        self.endpoint = self.addresses["endpoint"]
        self.token = None

    def stop(self):
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait(STOP_LIMIT_S)

    def connect(self, part="endpoint", timeout_s=LIMIT_S):
        place = urllib.parse.urlsplit(self.addresses[part])
        return http.client.HTTPConnection(place.hostname, place.port, timeout=timeout_s)

    def ask(self, verb, path, body=None, accept="application/json", part="endpoint",
            timeout_s=LIMIT_S, content_type="application/json", **query):
        connection = self.connect(part, timeout_s)
        try:
            self.send(connection, verb, path, body, accept, content_type, query)
            return Answer(connection.getresponse())
        finally:
            connection.close()

    def send(self, connection, verb, path, body, accept, content_type, query):
        headers = {"Accept": accept, "Content-Type": content_type}
        if self.token is not None:
            headers["Authorization"] = f"Bearer {self.token}"
        if query:
            path += "?" + urllib.parse.urlencode(query)
        text = body if isinstance(body, (bytes, type(None))) else json.dumps(body).encode()
        connection.request(verb, path, text, headers)

    def create(self, item, path=PODS, **options):
        return self.ask("POST", path, item, **options)

    def made(self, name, *words, **fields):
        """A pod that must be taken."""
        answer = self.create(pod(name, *words, **fields))
        if answer.status != 201:
            raise AssertionError(f"{answer.status} {answer.body}")
        return answer.document

    def get(self, name):
        return self.ask("GET", f"{PODS}/{name}")

    def delete(self, name, **options):
        return self.ask("DELETE", f"{PODS}/{name}", options or None)

    def list(self, **query):
        return self.ask("GET", PODS, **query)

    def version(self):
        return self.list(limit=1).document["metadata"]["resourceVersion"]

    def watch(self, version=None, path=PODS, **query):
        if version is not None:
            query["resourceVersion"] = version
        return Watch(self, path, query)

    # Control.

    def control(self, path, verb="POST", **body):
        answer = self.ask(verb, "/control/" + path, body, part="control", timeout_s=2 * LIMIT_S)
        if answer.status != 200:
            raise AssertionError(f"{path}: {answer.document['error']}")
        return answer.document

    def counters(self):
        return self.control("counters", "GET")

    def specs(self):
        """Those of the last pods that were made, the newest last."""
        return self.control("specs", "GET")["specs"]

    def calls(self, method):
        """How often a method was called: "create pods"."""
        return self.counters()["calls"].get(method, 0)

    def wait(self, timeout_s=LIMIT_S, **bounds):
        return self.control("wait", timeout_s=timeout_s, **bounds)

    def fault(self, name, **options):
        self.control("faults", **{name: options})

    def clear(self, *names):
        self.control("faults/clear", **({"names": names} if names else {}))

    def rules(self, *rules):
        self.control("rules", rules=list(rules))


class Watch:
    """Events as they come."""

    def __init__(self, double, path, query):
        self.connection = double.connect()
        double.send(self.connection, "GET", path, None, "application/json", "application/json",
                    {"watch": 1, **query})
        self.response = self.connection.getresponse()

    def __iter__(self):
        for line in self.response:
            event = json.loads(line)
            yield event["type"], event["object"]

    def until(self, wanted, count=1):
        """All events up to the count-th of a type."""
        events = []
        for event in self:
            events.append(event)
            count -= event[0] == wanted
            if count == 0:
                return events
        return events

    def close(self):
        self.connection.close()
