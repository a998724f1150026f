"""What the tests of Troupe's own API share: a service, requests, answers held against their
schemas, streams of events.
"""

import http.client
import json
import re

import jsonschema

from program import LIMIT_S, ROOT, wait_until
from test_api import ServedTest
from test_documents import SCHEMA, closed

BASE = "/api/troupe/v1"
FLOW = """
troupe: 1
tasks:
  count:
    inputs: {log: string}
    outputs: {n: int}
    run: [sh, -c, 'echo of $1 >&2; echo "{\\"n\\": 3}"', sh, '{{.inputs.log}}']
    stdout: outputs
  fails: {run: [sh, -c, exit 3]}
workflows:
  main:
    inputs: {logs: [string]}
    nodes:
      count: {map: count, with: {log: $logs}}
      ok: {approve: go, after: [count]}
  broken: {nodes: {fails: {task: fails}}}
  asks: {nodes: {it: {signal: limit, type: int}}}
launch_plans:
  nightly: {workflow: main, schedule: "0 3 * * *", inputs: {logs: [a]}}
"""


def limits():
    text = (ROOT / "deploy/web/web_limits.h").read_text()
    return {name: int(value) for name, value in
            re.findall(r"#define TR_WEB_(\w+) (\d+)\b", text)}


LIMITS = limits()


class Events:
    """A stream of server-sent events."""

    def __init__(self, address, path, **headers):
        host, port = address.rsplit(":", 1)
        self.connection = http.client.HTTPConnection(host, int(port), timeout=LIMIT_S)
        self.connection.request("GET", path, headers={"accept": "text/event-stream", **headers})
        self.response = self.connection.getresponse()

    def next(self):
        """The next event: its name, its id and its data."""
        found = {}
        while True:
            line = self.response.readline().decode().rstrip("\n")
            if line == "" and found:
                return found.get("event"), found.get("id"), json.loads(found["data"])
            if ": " in line:
                name, found[line.split(": ", 1)[0]] = line.split(": ", 1)
            elif line == "" and self.response.isclosed():
                return None

    def until(self, is_meant):
        while True:
            event = self.next()
            if is_meant(event[2]):
                return event

    def close(self):
        self.response.close()
        self.connection.close()


class AskingTest(ServedTest):
    def setUp(self):
        super().setUp()
        self.write("flow.yaml", FLOW)
        self.schema = closed(SCHEMA)

    def ask(self, path, body=None, method=None, **headers):
        """The status, the headers and the body, which is JSON where it says so."""
        host, port = self.address.rsplit(":", 1)
        connection = http.client.HTTPConnection(host, int(port), timeout=LIMIT_S)
        headers = {name.replace("_", "-"): value for name, value in headers.items()}
        if body is not None and not isinstance(body, (bytes, str)):
            body = json.dumps(body)
        if body is not None:
            headers.setdefault("content-type", "application/json")
        connection.request(method or ("GET" if body is None else "POST"),
                           path if path.startswith("/") else f"{BASE}/{path}", body, headers)
        response = connection.getresponse()
        said = response.read().decode()
        seen = {name.lower(): value for name, value in response.getheaders()}
        connection.close()
        if "json" in seen.get("content-type", "") and said:
            said = json.loads(said)
        return response.status, seen, said

    def gives(self, schema, path, body=None, status=200, **headers):
        """An answer that is as the schema says."""
        got, _, document = self.ask(path, body, **headers)
        self.assertEqual(got, status, document)
        self.suits(schema, document)
        return document

    def suits(self, name, document):
        jsonschema.Draft7Validator(
            {**self.schema, "$ref": f"#/definitions/{name}"}).validate(document)

    def events(self, path, **headers):
        stream = Events(self.address, path, **headers)
        self.addCleanup(stream.close)
        return stream

    def refuses(self, status, code, words, path, body=None, **headers):
        got, seen, problem = self.ask(path, body, **headers)
        self.assertEqual((got, seen["content-type"]), (status, "application/problem+json"), problem)
        self.assertEqual(set(problem),
                         {"type", "title", "status", "code", "exit_status", "detail"})
        self.assertEqual((problem["status"], problem["code"]), (status, code))
        self.assertIn(words, problem["detail"])
        return seen

    def begin(self, *words):
        """A service, and an execution of main that waits at its gate."""
        self.address, = self.serve(*(words or ("--http", "0")))
        self.troupe("submit", "flow.yaml", "main", "-i", "logs=[a, b, c]", "--name", "first")
        self.one = "executions/default/development/first"
        self.wait_for_gate("first")

    def wait_for_gate(self, name):
        wait_until(lambda: [gate for gate in self.ask("gates")[2] if gate["execution"] == name],
                   "its gate waits")

    def phase(self, name):
        return self.ask(f"executions/default/development/{name}")[2]["phase"]

    def wait_for_phase(self, name, phase):
        wait_until(lambda: self.phase(name) == phase, f"{name} is {phase}")
