"""Notifications: somebody outside is told once how an execution has ended, by a request, a command or
a mail, whatever fails meanwhile, and the execution stays what it was."""

import http.server
import json
import os
import pathlib
import signal
import socketserver
import threading
import unittest

import jsonschema

from program import EXAMPLES, LIMIT_S, ROOT, ProgramTest, free_port, wait_until

FLOW = """\
troupe: 1
project: demo
tasks:
  work: {{run: [sh, -c, {script}]}}
workflows:
  main:
    labels: {{team: data}}
    nodes: {{work: {{task: work}}}}
    notify: {notify}
"""

SCHEMA = json.loads((ROOT / "schemas/documents.schema.json").read_text())


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        server = self.server
        body = self.rfile.read(int(self.headers["Content-Length"]))
        with server.lock:
            server.seen.append((self.path, dict(self.headers), json.loads(body)))
            status = server.statuses.pop(0) if server.statuses else 200
        server.is_asked.set()
        if self.path == "/held":
            server.is_let_go.wait(LIMIT_S)
        answer = b"not now"
        self.send_response(status)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_):
        pass


class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True

    def __init__(self, port=0):
        super().__init__(("127.0.0.1", port), Handler)
        self.seen, self.statuses, self.lock = [], [], threading.Lock()
        self.is_asked, self.is_let_go = threading.Event(), threading.Event()
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def handle_error(self, *_):
        """Clients that were killed are part of the play."""


class NotificationTest(ProgramTest):
    def setUp(self):
        super().setUp()
        self.server = None
        self.url = None

    def tearDown(self):
        if self.server is not None:
            self.server.is_let_go.set()
            self.server.shutdown()
            self.server.server_close()
        super().tearDown()

    def serve(self, port=0):
        self.server = Server(port)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"

    def flow(self, *notify, script="true"):
        self.write("flow.yaml", FLOW.format(script=json.dumps(script), notify=json.dumps(notify)))

    def settings(self, text):
        self.store.mkdir(exist_ok=True)
        (self.store / "settings.yaml").write_text(text)

    def notifications(self, name):
        document = self.document("get", name)
        jsonschema.validate(document["notifications"],
                            {"type": "array", "items": {"$ref": "#/definitions/notification"},
                             "definitions": SCHEMA["definitions"]})
        return document["notifications"]

    def wait_for(self, name, status):
        """Waits until all notifications of an execution stand so."""
        def stand():
            rows = self.query("SELECT status FROM notifications WHERE execution_name = "
                              f"'{name}'")
            return rows and all(row == (status,) for row in rows)
        wait_until(stand, f"notifications of {name} are {status}")


class RequestTest(NotificationTest):
    def test_a_server_that_fails_first_is_told_once(self):
        self.serve()
        self.server.statuses = [500, 503]
        self.flow({"on": "succeeded", "backoff": {"first": "10ms"},
                   "http": {"url": self.url + "/{{.labels.team}}"}})
        self.troupe("run", "flow.yaml", "--name", "one")
        self.wait_for("one", "delivered")
        self.assertEqual([path for path, _, _ in self.server.seen], ["/data"] * 3)
        keys = {headers["Idempotency-Key"] for _, headers, _ in self.server.seen}
        self.assertEqual(len(keys), 1)
        _, headers, told = self.server.seen[-1]
        self.assertEqual(headers["Content-Type"], "application/json")
        jsonschema.validate(told, {"$ref": "#/definitions/notified",
                                   "definitions": SCHEMA["definitions"]})
        self.assertEqual((told["name"], told["phase"], told["project"], told["labels"],
                          told["error"], told["notification"]),
                         ("one", "succeeded", "demo", {"team": "data"}, None, *keys))
        [row] = self.notifications("one")
        self.assertEqual((row["status"], row["attempts"], row["kind"], row["message"]),
                         ("delivered", 3, "http", ""))
        self.assertIn("delivered, 3 attempts", self.troupe("get", "one")[0])
        self.assertEqual(self.document("explain", "one")["notifications"], [])

    def test_secrets_go_to_the_server_alone(self):
        self.serve()
        folder = self.folder / "secrets/hooks"
        folder.mkdir(parents=True)
        (folder / "token").write_text("hush-hush")
        self.settings("secrets: [{folder: ../secrets}]\n")
        self.flow({"on": "failed",
                   "http": {"url": self.url, "authorization": {"bearer": "hooks/token"},
                            "secrets": {"X-Key": "hooks/token"}, "headers": {"X-Who": "{{.phase}}"},
                            "body": {"text": "{{.executionName}} {{.errorCode}} {{.errorNode}}"}}},
                  script="exit 3")
        self.troupe("run", "flow.yaml", "--name", "two", status=1)
        self.wait_for("two", "delivered")
        [(_, headers, body)] = self.server.seen
        self.assertEqual((headers["Authorization"], headers["X-Key"], headers["X-Who"], body),
                         ("Bearer hush-hush", "hush-hush", "failed",
                          {"text": "two RetriesExhausted|ProcessFailed work"}))
        for path in self.store.rglob("*"):
            if path.is_file():
                self.assertNotIn(b"hush-hush", path.read_bytes(), path)

    def test_one_that_is_given_up_says_why_and_changes_nothing(self):
        self.serve()
        self.server.statuses = [500] * 9
        self.flow({"on": "succeeded", "retries": 1, "backoff": {"first": "1ms"},
                   "http": {"url": self.url}})
        self.troupe("run", "flow.yaml", "--name", "three")
        self.wait_for("three", "given up")
        self.assertEqual(len(self.server.seen), 2)
        text = self.troupe("explain", "three")[0]
        self.assertIn(f"notification of succeeded by http to {self.url}: given up after 2 "
                      "attempts: answered with 500: not now", text)
        self.assertEqual(self.document("get", "three")["phase"], "succeeded")

    def test_a_plan_tells_beside_its_workflow(self):
        self.serve()
        self.flow({"on": "succeeded", "http": {"url": self.url + "/workflow"}})
        with (self.folder / "flow.yaml").open("a") as file:
            file.write("launch_plans: {p: {workflow: main, notify: [{on: succeeded, http: {url: "
                       f'"{self.url}/{{{{.plan}}}}"}}}}]}}}}\n')
        self.troupe("run", "flow.yaml", "p", "--name", "four")
        self.wait_for("four", "delivered")
        self.assertEqual(sorted(path for path, _, _ in self.server.seen), ["/p", "/workflow"])

    def test_a_gate_that_waits_is_told(self):
        self.serve()
        self.write("flow.yaml", "troupe: 1\nworkflows:\n  main:\n    nodes: {ok: {approve: ship}}\n"
                   f'    notify: [{{on: waiting, http: {{url: "{self.url}"}}}}]\n')
        running = self.start("run", "flow.yaml", "--name", "five")
        self.assertTrue(self.server.is_asked.wait(LIMIT_S))
        self.assertEqual(self.server.seen[0][2]["gate"], {"node": "ok", "id": "ship"})
        self.troupe("approve", "five", "ship")
        self.assertEqual(running.end()[0], 0)
        self.assertEqual(len(self.server.seen), 1)


class LeavingTest(NotificationTest):
    def test_run_waits_for_what_is_on_its_way(self):
        self.serve()
        self.flow({"on": "succeeded", "http": {"url": self.url + "/held"}})
        running = self.start("run", "flow.yaml", "--name", "six")
        self.assertTrue(self.server.is_asked.wait(LIMIT_S))
        self.assertIsNone(running.process.poll())
        self.server.is_let_go.set()
        status, _, stderr = running.end()
        self.assertEqual(status, 0)
        self.assertNotIn("not delivered", stderr)
        self.assertEqual(self.notifications("six")[0]["status"], "delivered")

    def test_what_is_not_delivered_goes_on_with_the_next_engine(self):
        port = free_port()
        self.flow({"on": "succeeded", "backoff": {"first": "20ms", "max": "50ms"}, "retries": 10000,
                   "http": {"url": f"http://127.0.0.1:{port}/late"}})
        running = self.start("run", "flow.yaml", "--name", "seven")
        running.wait_for("begins")
        self.wait_for("seven", "retrying")
        running.signal(signal.SIGTERM)
        status, _, stderr = running.end()
        self.assertEqual(status, 0)
        text = self.troupe("explain", "seven")[0]
        self.assertRegex(text, r"retrying since .*: connection refused.*; no engine runs"
                         if "connection refused" in text else r"retrying since .*; no engine runs")
        self.troupe("prune", "seven", "--yes", status=2)
        self.serve(port)
        engine = self.start("serve")
        self.wait_for("seven", "delivered")
        self.assertEqual([path for path, _, _ in self.server.seen], ["/late"])
        engine.signal(signal.SIGTERM)
        engine.end()
        self.troupe("prune", "seven", "--yes")
        self.assertEqual(self.query("SELECT count(*) FROM notifications"), [(0,)])

    def test_a_run_that_leaves_says_so(self):
        port = free_port()
        self.flow({"on": "succeeded", "backoff": {"first": "1h"},
                   "http": {"url": f"http://127.0.0.1:{port}/never"}})
        _, stderr = self.troupe("run", "flow.yaml", "--name", "eight")
        self.assertIn("1 notification is not delivered yet; the next engine on this store goes on "
                      "with it", stderr)

    def test_a_kill_before_the_answer_delivers_once(self):
        """The server was asked and the engine is killed: it is asked again under the same key, so
        that it knows; where it was not asked yet, it is asked once."""
        self.serve()
        self.flow({"on": "succeeded", "http": {"url": self.url + "/held"}})
        running = self.start("run", "flow.yaml", "--name", "nine")
        self.assertTrue(self.server.is_asked.wait(LIMIT_S))
        running.signal(signal.SIGKILL)
        running.end()
        self.server.is_let_go.set()
        engine = self.start("serve")
        self.wait_for("nine", "delivered")
        engine.signal(signal.SIGKILL)
        engine.end()
        engine = self.start("serve")
        engine.wait_for("store")
        engine.signal(signal.SIGTERM)
        engine.end()
        keys = [headers["Idempotency-Key"] for _, headers, _ in self.server.seen]
        self.assertEqual(keys, [keys[0]] * 2)

    def test_a_kill_between_commit_and_delivery_delivers_once(self):
        """Nobody listens when the engine is killed: what is committed is delivered afterwards."""
        port = free_port()
        self.flow({"on": "succeeded", "backoff": {"first": "100ms", "max": "100ms"},
                   "retries": 10000, "http": {"url": f"http://127.0.0.1:{port}/once"}})
        running = self.start("run", "flow.yaml", "--name", "ten")
        running.wait_for("begins")
        self.wait_for("ten", "retrying")
        running.signal(signal.SIGKILL)
        running.end()
        self.serve(port)
        engine = self.start("serve")
        self.wait_for("ten", "delivered")
        engine.signal(signal.SIGTERM)
        engine.end()
        self.assertEqual([path for path, _, _ in self.server.seen], ["/once"])


class ProcessTest(NotificationTest):
    def script(self, name, text):
        path = self.write(name, "#!/bin/sh\n" + text)
        path.chmod(0o755)
        return path

    def test_a_command_that_fails_first(self):
        self.script("page", 'echo "$TROUPE_NOTIFICATION $TROUPE_PHASE $1" >> "$TROUPE_FOLDER/told"\n'
                            'cat >> "$TROUPE_FOLDER/told.json"\n'
                            'test $(wc -l < "$TROUPE_FOLDER/told") -gt 1 || '
                            '{ echo "nobody is there" >&2; exit 7; }\n')
        self.flow({"on": ["succeeded"], "backoff": {"first": "10ms"},
                   "command": ["./page", "{{.executionName}} of {{.workflow}}"]})
        self.troupe("run", "flow.yaml", "--name", "one")
        self.wait_for("one", "delivered")
        [row] = self.notifications("one")
        self.assertEqual((row["attempts"], row["target"]), (2, "./page {{.executionName}} of {{.workflow}}"))
        line = f"{row['notification']} succeeded one of main\n"
        self.assertEqual((self.folder / "told").read_text(), line * 2)
        told = json.loads((self.folder / "told.json").read_text().split("}{")[0] + "}"
                          if "}{" in (self.folder / "told.json").read_text() else
                          (self.folder / "told.json").read_text())
        self.assertEqual(told["name"], "one")
        wait_until(lambda: not list(self.store.glob("attempts/*/*/one/*notify*")),
                   "nothing is left of the processes")

    def test_a_command_that_is_given_up(self):
        self.script("page", 'echo "nobody is there" >&2; exit 7\n')
        self.flow({"on": "succeeded", "retries": 0, "command": ["./page"]})
        self.troupe("run", "flow.yaml", "--name", "one")
        self.wait_for("one", "given up")
        self.assertEqual(self.notifications("one")[0]["message"],
                         "ended with exit status 7: nobody is there")

    def test_a_kill_starts_a_command_once(self):
        """A command runs when the engine is killed: its keeper knows it, and it runs once."""
        self.script("page", 'echo begun >> "$TROUPE_FOLDER/begun"\n'
                            'while [ ! -e "$TROUPE_FOLDER/go" ]; do sleep 0.01; done\n')
        self.flow({"on": "succeeded", "command": ["./page"]})
        running = self.start("run", "flow.yaml", "--name", "two")
        self.await_file("begun")
        running.signal(signal.SIGKILL)
        running.end()
        engine = self.start("serve")
        engine.wait_for("store")
        self.write("go", "")
        self.wait_for("two", "delivered")
        engine.signal(signal.SIGTERM)
        engine.end()
        self.assertEqual((self.folder / "begun").read_text(), "begun\n")
        self.assertEqual(self.notifications("two")[0]["attempts"], 1)

    def test_mail_goes_through_the_program_of_the_settings(self):
        self.settings("mail: {sendmail: ../sendmail, from: Troupe <troupe@example.org>}\n")
        self.script("sendmail", f'echo "$@" > "{self.folder}/words"\ncat > "{self.folder}/mail.new"\n'
                                f'mv "{self.folder}/mail.new" "{self.folder}/mail"\n')
        self.flow({"on": "failed", "mail": {"to": ["ops@example.org", "data@example.org"],
                                            "subject": "{{.executionName}} is {{.phase}}"}},
                  script="exit 3")
        self.troupe("run", "flow.yaml", "--name", "one", status=1)
        self.wait_for("one", "delivered")
        self.assertEqual((self.folder / "words").read_text(),
                         "-i ops@example.org data@example.org\n")
        mail = (self.folder / "mail").read_text()
        head, text = mail.split("\n\n", 1)
        self.assertIn("From: Troupe <troupe@example.org>\nTo: ops@example.org,\n "
                      "data@example.org\nSubject: one is failed\n", head)
        self.assertIn("The execution one of main in demo/development is failed.", text)
        self.assertIn("[RetriesExhausted|ProcessFailed]", text)

    def test_without_a_program_for_mail(self):
        self.settings("mail: {sendmail: ./none}\n")
        self.flow({"on": "succeeded", "retries": 0, "mail": {"to": "ops@example.org"}})
        self.troupe("run", "flow.yaml", "--name", "one")
        self.wait_for("one", "given up")
        self.assertIn("/none was not started", self.notifications("one")[0]["message"])

    def test_the_example_tells(self):
        self.troupe("run", EXAMPLES / "notify.yaml", "-i", "name=Ada", "--name", "example")
        self.wait_for("example", "delivered")
        self.assertEqual([(row["phase"], row["position"]) for row in self.notifications("example")],
                         [("succeeded", 0)])


if __name__ == "__main__":
    unittest.main()
