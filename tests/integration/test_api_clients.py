#!/usr/bin/env python3
"""Clients with secrets at `troupe serve --http`: each call needs a token, and a role where it acts;
asked by Flyte's own library, by curl, and by the unmodified flytekit, which gets its token itself.
"""

import base64
import hashlib
import json
import re
import signal
import subprocess
import unittest
import urllib.parse

from flyte_clients import ClientTest
from program import LIMIT_S, wait_until
from pypi import KIT_PYTHON
from test_api_executions import DECIDES, FLOWS, WHERE, plan_id

SECRETS = {"ci": "s3cret of/ci", "viewer": "views", "runner": "runs", "boss": "rules"}
ROLES = {"ci": "[{role: register, project: default, domain: development}]",
         "viewer": "[{role: view}]",
         "runner": "[{role: run, project: default, domain: development}, {role: view, project: p}]",
         "boss": "[{role: admin}]"}
NONE = ["UNAUTHENTICATED", "this call needs a token: authorization: Bearer TOKEN"]
BAD = ["UNAUTHENTICATED", "the token is none that this engine has given, or has expired"]
QUEUE = {"project": "q", "domain": "d"}

# A call, where it acts, and the role that it takes there.
CALLS = [
    ("ListTasks", {"id": WHERE}, "default/development", "view"),
    ("ListTasks", {"id": {"project": "p", "domain": "d"}}, "p/d", "view"),
    ("ListTasks", {"id": {"project": "p"}}, "p", "view"),
    ("ListTasks", {}, "all projects", "view"),
    ("GetExecution", {"id": dict(WHERE, name="x")}, "default/development", "view"),
    ("ListNodeExecutions", {"workflow_execution_id": dict(QUEUE, name="x")}, "q/d", "view"),
    ("GetData", {"flyte_url": "flyte://v1/q/d/x/n0/o"}, "q/d", "view"),
    ("ListMatchableAttributes", {}, "all projects", "view"),
    ("CreateExecution", WHERE, "default/development", "run"),
    ("CreateExecution", QUEUE, "q/d", "run"),
    ("TerminateExecution", {"id": dict(WHERE, name="x")}, "default/development", "run"),
    ("SetSignal", {"id": {"execution_id": dict(WHERE, name="x")}}, "default/development", "run"),
    ("CreateTaskEvent", {"event": {"parent_node_execution_id": {
        "execution_id": dict(QUEUE, name="x")}}}, "q/d", "run"),
    ("CreateTask", {"id": dict(WHERE, name="t", version="v")}, "default/development", "register"),
    ("CreateUploadLocation", QUEUE, "q/d", "register"),
    ("RegisterProject", {"project": {"id": "new"}}, "new", "admin"),
    ("UpdateProject", {"id": "p"}, "p", "admin"),
    ("UpdateWorkflowAttributes", {"attributes": dict(QUEUE, workflow="w")}, "q/d", "admin"),
]
RANKS = ["view", "run", "register", "admin"]
# The roles as above: what each has in which places.
HAVE = {"ci": {"default/development": "register"}, "viewer": {"": "view"},
        "runner": {"default/development": "run", "p/d": "view", "p": "view"},
        "boss": {"": "admin"}}

FLYTEKIT = """
import json, sys
from flytekit.clients.friendly import SynchronousFlyteClient
from flytekit.configuration import AuthType, PlatformConfig
from flyteidl.service import identity_pb2, identity_pb2_grpc
address, id, secret = sys.argv[1:]
client = SynchronousFlyteClient(PlatformConfig(
    endpoint=address, insecure=True, **({"auth_mode": AuthType.DEVICEFLOW}
                                        if id == "DEVICEFLOW" else {
        "auth_mode": AuthType.CLIENTSECRET, "client_id": id,
        "client_credentials_secret": secret})))
try:
    print(json.dumps([project.id for project in client.list_projects_paginated()[0]]))
except Exception as error:
    print(json.dumps(type(error).__name__))
"""


class ClientsTest(ClientTest):
    def serve_clients(self, clients=SECRETS):
        self.store.mkdir(exist_ok=True)
        rows = "".join(
            f"    - id: {id}\n      secret_sha256: "
            f"{hashlib.sha256(SECRETS[id].encode()).hexdigest()}\n      roles: {ROLES[id]}\n"
            for id in clients)
        (self.store / "settings.yaml").write_text(f"http:\n  listen: ['0']\n  clients:\n{rows}")
        self.address, = self.serve("--no-warm")

    def test_each_call_takes_its_role_where_it_acts(self):
        self.serve_clients()
        calls = [row[:2] for row in CALLS]
        self.assertEqual(self.ask("outcomes", None, calls=calls), [NONE for _ in calls])
        self.assertEqual(self.ask("outcomes", "no secret", calls=calls), [BAD for _ in calls])
        for id, places in HAVE.items():
            found = self.ask("outcomes", SECRETS[id], calls=calls)
            for (method, _, place, role), (code, words) in zip(CALLS, found):
                with self.subTest(id=id, method=method, place=place):
                    have = max((places[each] for each in ("", place) if each in places),
                               key=RANKS.index, default=None)
                    if have is not None and RANKS.index(have) >= RANKS.index(role):
                        self.assertNotIn(code, ("PERMISSION_DENIED", "UNAUTHENTICATED"), words)
                    else:
                        self.assertEqual([code, words], ["PERMISSION_DENIED", (
                            f"'{id}' may not call {method}: that takes the role '{role}' in "
                            f"{place}")])

    def test_who_it_is(self):
        self.serve_clients()
        open_to_all = [["GetVersion", {}], ["GetOAuth2Metadata", {}], ["GetPublicClientConfig", {}]]
        self.assertEqual(self.ask("outcomes", None, calls=open_to_all), 3 * [["OK", ""]])
        for id in SECRETS:
            who, projects = self.ask("answers", SECRETS[id], calls=[["UserInfo", {}],
                                                                  ["ListProjects", {}]])
            self.assertEqual(who["subject"], id)
            self.assertEqual([each["id"] for each in projects["projects"]], ["default"])
        metadata, config = self.ask("answers", None, calls=open_to_all[1:])
        self.assertEqual(metadata["token_endpoint"], f"http://{self.address}/oauth2/token")
        self.assertEqual(config["authorization_metadata_key"], "authorization")
        status, _, body = self.curl(self.address, "/me")
        self.assertEqual((status, json.loads(body)["message"]), (401, NONE[1]))
        status, _, body = self.curl(self.address, "/me", "-H", "Authorization: Bearer views")
        self.assertEqual((status, json.loads(body)["subject"]), (200, "viewer"))
        status, _, body = self.curl(self.address, "/api/v1/projects", "-d",
                                    '{"project": {"id": "x"}}', "-H", "Authorization: bearer views")
        self.assertEqual((status, json.loads(body)["code"]), (403, 7))
        self.assertEqual(self.curl(self.address, "/healthcheck")[0], 200)

    def token(self, *words, form="grant_type=client_credentials"):
        """The status, and what the endpoint says."""
        status, headers, body = self.curl(self.address, "/oauth2/token", "-d", form, *words)
        self.assertEqual(headers["cache-control"], "no-store")
        return status, json.loads(body)

    def test_tokens_by_oauth(self):
        self.serve_clients()
        secret = urllib.parse.quote(SECRETS["ci"], safe="")
        basic = base64.b64encode(f"ci:{secret}".encode()).decode()
        status, given = self.token("-H", f"Authorization: Basic {basic}")
        self.assertEqual((status, given["token_type"], given["expires_in"], given["scope"]),
                         (200, "Bearer", 3600, "all"))
        self.assertRegex(given["access_token"], r"^ci\.\d+\.[0-9a-f]{64}$")
        who, = self.ask("answers", given["access_token"], calls=[["UserInfo", {}]])
        self.assertEqual(who["subject"], "ci")
        form = f"grant_type=client_credentials&scope=all&client_id=ci&client_secret={secret}"
        self.assertEqual(self.token(form=form)[0], 200)
        wrong = [
            ("-H", f"Authorization: Basic {basic[:-6]}", 400, "invalid_request"),
            ("-H", "Authorization: Basic " + base64.b64encode(b"ci:no").decode(), 401,
             "invalid_client"),
            ("-H", "Authorization: Basic " + base64.b64encode(b"no").decode(), 400,
             "invalid_request"),
            ("-H", "X: y", 401, "invalid_client"),
        ]
        for *words, expected, error in wrong:
            with self.subTest(words):
                status, said = self.token(*words)
                self.assertEqual((status, said["error"]), (expected, error), said)
        self.assertEqual(self.token(form="grant_type=password")[1], {
            "error": "unsupported_grant_type",
            "error_description": "grant_type has to be client_credentials or "
                                 "urn:ietf:params:oauth:grant-type:device_code"})
        status, _, body = self.curl(self.address, "/oauth2/token", "-d", "x" * 20000)
        self.assertEqual(status, 413)
        # Its client is gone from the settings, and so is what it was given; others' holds.
        kept = self.token(form="grant_type=client_credentials&client_id=boss&client_secret=rules")
        self.stop()
        self.serve_clients(("boss",))
        self.assertEqual(self.ask("outcomes", given["access_token"], calls=[["UserInfo", {}]]),
                         [BAD])
        self.assertEqual(self.ask("outcomes", kept[1]["access_token"], calls=[["UserInfo", {}]]),
                         [["OK", ""]])

    def test_a_device_gets_a_token(self):
        """It asks again and again until somebody has said at the page whose it is."""
        self.serve_clients()
        status, _, body = self.curl(self.address, "/oauth2/device", "-d", "client_id=flytectl")
        begun = json.loads(body)
        page = f"http://{self.address}/device"
        self.assertEqual((status, begun["verification_uri"], begun["expires_in"],
                          begun["interval"]), (200, page, 600, 5))
        poll = ("grant_type=urn:ietf:params:oauth:grant-type:device_code&client_id=flytectl&"
                f"device_code={begun['device_code']}")
        self.assertEqual(self.token(form=poll), (400, {
            "error": "authorization_pending",
            "error_description": "nobody has said yet whose it is"}))
        wait_until(lambda: self.token(form=poll)[1]["error"] == "slow_down", "it asks too often")
        self.assertEqual(self.token(form=poll.replace("flytectl", "x"))[1]["error"],
                         "expired_token")
        status, headers, body = self.curl(self.address, begun["verification_uri_complete"])
        self.assertEqual((status, headers["content-type"]), (200, "text/html"))
        self.assertIn("frame-ancestors 'none'", headers["content-security-policy"])
        self.assertIn(f'value="{begun["user_code"]}"', body)
        self.assertNotIn("<b>", self.curl(self.address, f"{page}?user_code=<b>x")[2])
        form = f"user_code={begun['user_code'].lower()}&client_id=runner&client_secret="
        for changed, code, words in (
                (form + "no", 401, "There is no such client, or it has another secret."),
                (form.replace("user_code=", "user_code=x") + "runs", 400,
                 "No device shows this code, or its time is over.")):
            status, _, body = self.curl(self.address, "/device", "-d", changed)
            self.assertEqual((status, words in body), (code, True), body)
        status, _, _ = self.curl(self.address, "/device", "-d", form + "runs", "-H",
                                 "Origin: https://evil.example")
        self.assertEqual(status, 403)
        status, _, body = self.curl(self.address, "/device", "-d", form + "runs")
        self.assertEqual((status, "The device goes on" in body), (200, True), body)
        given = self.token(form=poll)[1]["access_token"]
        self.assertEqual(self.ask("answers", given, calls=[["UserInfo", {}]])[0]["subject"],
                         "runner")
        self.assertEqual(self.token(form=poll)[1]["error"], "expired_token")  # once
        self.assertEqual(self.curl(self.address, "/oauth2/device", "-d", "x=y")[0], 400)

    def test_flytekit_by_a_device(self):
        self.serve_clients()
        script = self.write("client.py", FLYTEKIT)
        asking = subprocess.Popen([KIT_PYTHON, "-u", "-W", "ignore", script, self.address,
                                   "DEVICEFLOW", ""], stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, text=True, env=self.environment())
        self.addCleanup(asking.wait)
        self.addCleanup(asking.kill)
        code = re.search(r"user_code=([A-Z-]+)", asking.stdout.readline())[1]
        status, _, body = self.curl(self.address, "/device", "-d", f"user_code={code}&"
                                    "client_id=viewer&client_secret=views")
        self.assertEqual(status, 200, body)
        stdout, stderr = asking.communicate(timeout=3 * LIMIT_S)
        self.assertEqual(asking.returncode, 0, stderr)
        self.assertEqual(json.loads(stdout.splitlines()[-1]), ["default"])

    def test_without_clients_there_is_no_endpoint(self):
        self.address, = self.serve()
        for path in ("/oauth2/token", "/oauth2/device", "/device"):
            self.assertEqual(self.curl(self.address, path, "-d", "x=y")[0], 404)
        metadata, who = self.ask("answers", None, calls=[["GetOAuth2Metadata", {}],
                                                         ["UserInfo", {}]])
        self.assertEqual((metadata["token_endpoint"], who["subject"]), ("", ""))

    def test_flytekit_gets_a_token(self):
        self.serve_clients()
        script = self.write("client.py", FLYTEKIT)
        for id, secret, expected in (("ci", SECRETS["ci"], ["default"]),
                                     ("viewer", SECRETS["viewer"], ["default"]),
                                     ("ci", "wrong", "FlyteSystemException")):
            with self.subTest(id=id, secret=secret):
                done = subprocess.run([KIT_PYTHON, "-W", "ignore", script, self.address, id,
                                       secret], capture_output=True, text=True,
                                      timeout=3 * LIMIT_S, env=self.environment())
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual(json.loads(done.stdout.splitlines()[-1]), expected, done.stderr)

    def test_executions_say_who_began_them(self):
        self.write("decide.py", DECIDES)
        self.package(FLOWS.replace("@DECIDE@", str(self.folder / "decide.py")))
        self.troupe("apply", "flows.tgz", "--version", "v1")
        self.serve_clients()
        execution = dict(WHERE, name="mine")
        begun = self.ask("answers", SECRETS["runner"], calls=[
            ["CreateExecution", dict(execution, spec={
                "launch_plan": plan_id("flows.gates"), "metadata": {"principal": "somebody"}})],
            ["GetExecution", {"id": execution}],
            ["TerminateExecution", {"id": execution, "cause": "enough"}]])
        self.assertEqual(begun[1]["spec"]["metadata"]["principal"], "runner")
        shown = self.document("get", "mine")
        self.assertEqual(shown["cause"], "CreateExecution by runner")
        self.assertTrue(re.search("enough by runner", json.dumps(shown)), shown)
        again, = self.ask("answers", SECRETS["boss"], calls=[
            ["RelaunchExecution", {"id": execution, "name": "again"}]])
        self.assertEqual(self.document("get", "again")["cause"],
                         "RelaunchExecution of mine by boss")
        self.ask("answers", SECRETS["boss"], calls=[["TerminateExecution", {
            "id": dict(WHERE, name=again["id"]["name"])}]])

    def audit(self, *words):
        """Rows of the audit, the oldest first, without their times."""
        rows = self.document("audit", *words)[::-1]
        for row in rows:
            self.assertRegex(row.pop("at"), r"^20\d\d-")
        return rows

    def test_the_audit_says_who_has_changed_what(self):
        """Of each kind of change one row; of what was not there to change, or only read, none."""
        self.package(FLOWS)
        self.troupe("apply", "flows.tgz", "--version", "v1")
        self.serve_clients()
        execution, answer = dict(WHERE, name="mine"), {"id": {
            "signal_id": "ship", "execution_id": dict(WHERE, name="mine")},
            "value": {"scalar": {"primitive": {"boolean": True}}}}
        plan = dict(plan_id("flows.gates"), resource_type="LAUNCH_PLAN")
        spec = {"launch_plan": plan_id("flows.gates")}
        attributes = dict(WHERE, workflow="w", matching_attributes={
            "cluster_resource_attributes": {"attributes": {"a": "b"}}})
        resource = {"resource_type": "CLUSTER_RESOURCE"}
        changes = [
            ("runner", "CreateExecution", dict(execution, spec=spec), "mine"),
            ("runner", "SetSignal", answer, "ship mine"),
            ("ci", "UpdateExecution", {"id": execution, "state": 1}, "mine"),
            ("ci", "TerminateExecution", {"id": execution}, "mine"),
            ("ci", "RelaunchExecution", {"id": execution, "name": "again"}, "again"),
            ("boss", "RecoverExecution", {"id": execution, "name": "more"}, "more"),
            ("ci", "UpdateLaunchPlan", {"id": plan, "state": 1}, "flows.gates v1"),
            ("ci", "UpdateNamedEntity", {"resource_type": "TASK", "id": dict(
                WHERE, name="flows.add"), "metadata": {"description": "sums"}}, "flows.add"),
            ("ci", "CreateUploadLocation", dict(WHERE, filename="f", filename_root="r"), "f"),
            ("boss", "UpdateWorkflowAttributes", {"attributes": attributes}, "w"),
            ("boss", "DeleteWorkflowAttributes", dict(WHERE, workflow="w", **resource), "w"),
            ("boss", "RegisterProject", {"project": {"id": "new", "name": "New"}}, ""),
            ("boss", "UpdateProject", {"id": "new", "name": "New", "description": "d"}, "New"),
        ]
        for who, call, fields, _ in changes:
            with self.subTest(call):
                self.assertEqual(self.ask("outcomes", SECRETS[who], calls=[[call, fields]]),
                                 [["OK", ""]])
        refused = [("GetExecution", {"id": execution}), ("CreateExecution", dict(execution,
                                                                                  spec=spec)),
                   ("TerminateExecution", {"id": execution}),
                   ("CreateTask", {"id": dict(WHERE, name="t", version="v")})]
        self.ask("outcomes", SECRETS["ci"], calls=[list(row) for row in refused])
        expected = [dict(who=who, call=call, subject=subject, refused="",
                         project="new" if "Project" in call else "default",
                         domain="" if "Project" in call else "development")
                    for who, call, _, subject in changes]
        self.assertEqual(self.audit(), expected)
        self.assertEqual(self.audit("--who", "boss", "--project", "new", "--since", "1h"),
                         expected[-2:])
        self.assertEqual(self.audit("--call", "SetSignal"), expected[1:2])
        self.assertEqual(self.audit("--limit", "1"), expected[-1:])
        lines = self.troupe("audit", "--call", "RecoverExecution")[0].splitlines()
        self.assertEqual(lines[0].split(), ["AT", "WHO", "CALL", "PLACE", "SUBJECT", "REFUSED"])
        self.assertEqual(lines[1].split()[-5:], ["boss", "RecoverExecution", "default/development",
                                                "more", "-"])
        for option, words in (("--limit", "--limit: 'x' is no number"), ("--since", "'x'")):
            _, stderr = self.troupe("audit", option, "x", status=2)
            self.assertIn(words, stderr)
        self.serving.signal(signal.SIGKILL)  # what was acknowledged is there all the same
        self.serving.end()
        self.assertEqual(self.audit(), expected)

    def test_the_audit_has_what_the_engine_refuses(self):
        """Of two that want one name at once one is refused by the engine, which says why."""
        self.package(FLOWS)
        self.troupe("apply", "flows.tgz", "--version", "v1")
        self.address, = self.serve()
        self.ask("same_name", plan="flows.empty", name="one", count=4)
        rows = self.audit()
        self.assertEqual([row["refused"] for row in rows if not row["refused"]], [""])
        for row in rows:
            self.assertEqual((row["who"], row["call"], row["subject"]),
                             ("", "CreateExecution", "one"))


if __name__ == "__main__":
    unittest.main()
