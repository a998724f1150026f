#!/usr/bin/env python3
"""Tokens of an OpenID provider at `troupe serve --http`: who is let in, as whom, and what a
provider costs that hangs, lies, changes its keys or has gone. The provider is tests/doubles/oidc/.
"""

import hashlib
import re
import subprocess
import sys
import time
import unittest
import urllib.error
import urllib.request

from flyte_clients import ClientTest
from program import LIMIT_S, ROOT, wait_until
from pypi import KIT_PYTHON
from test_api_executions import WHERE

sys.path.insert(0, str(ROOT / "tests/doubles/oidc"))

from oidc_client import Provider  # noqa: E402: it lies elsewhere

WHO = [["UserInfo", {}]]
TASK = [["CreateTask", {"id": dict(WHERE, name="t", version="v")}]]
ROLES = """    roles:
      - {value: builders, role: register, project: default}
      - {value: chiefs, role: admin}
      - {role: view, project: default}
"""

FLYTEKIT = """
import sys
from flytekit.clients.friendly import SynchronousFlyteClient
from flytekit.configuration import AuthType, PlatformConfig
address, mode = sys.argv[1:3]
more = {"client_id": sys.argv[3], "client_credentials_secret": sys.argv[4]} if len(
    sys.argv) > 3 else {}
client = SynchronousFlyteClient(PlatformConfig(endpoint=address, insecure=True,
                                               auth_mode=AuthType[mode], **more))
print([each.id for each in client.list_projects_paginated()[0]])
"""


def wrong(words):
    return [["UNAUTHENTICATED", f"the token is not good here: {words}"]]


class OidcTest(ClientTest):
    def provide(self, *options):
        self.provider = Provider(*options)
        self.addCleanup(self.provider.stop)

    def serve_for(self, **more):
        """An engine that takes tokens of the provider, and one client with a secret."""
        self.store.mkdir(exist_ok=True)
        lines = {"issuer": self.provider.issuer, "audience": "flyte", "client_id": "flytectl",
                 "claim": "groups", **more}
        secret = hashlib.sha256(b"secret").hexdigest()
        (self.store / "settings.yaml").write_text(
            "http:\n  listen: ['0']\n  clients:\n"
            f"    - {{id: ci, secret_sha256: {secret}, roles: [{{role: view}}]}}\n  oidc:\n"
            + "".join(f"    {key}: {value}\n" for key, value in lines.items() if value) + ROLES)
        self.address, = self.serve("--no-warm")

    def outcome(self, token, calls=WHO):
        return self.ask("outcomes", token, calls=calls)

    def test_who_is_let_in_and_as_whom(self):
        self.provide()
        self.serve_for()
        for alg in ("RS256", "ES256"):
            with self.subTest(alg=alg):
                who, = self.ask("answers", self.provider.token("ada", alg=alg), calls=WHO)
                self.assertEqual(who["subject"], "ada")
        self.assertEqual(self.ask("answers", "secret", calls=WHO)[0]["subject"], "ci")
        role = ("PERMISSION_DENIED", "'ada' may not call CreateTask: that takes the role "
                "'register' in default/development")
        for groups, expected in ((None, role), ([], role), ("builders", "INVALID_ARGUMENT"),
                                 (["x", "builders"], "INVALID_ARGUMENT"),
                                 (["chiefs"], "INVALID_ARGUMENT"), ({"builders": 1}, role)):
            with self.subTest(groups=groups):
                found, = self.outcome(self.provider.token(claims={"groups": groups}), TASK)
                self.assertEqual(tuple(found) if expected == role else found[0], expected)
        elsewhere = [["ListTasks", {"id": {"project": "other", "domain": "d"}}]]
        self.assertEqual(self.outcome(self.provider.token(), elsewhere)[0][0], "PERMISSION_DENIED")
        for aud in (["a", "flyte"], "flyte"):
            self.assertEqual(self.outcome(self.provider.token(claims={"aud": aud})),
                             [["OK", ""]])
        # The audit has the provider's word for who it was.
        self.assertEqual(self.outcome(self.provider.token("eve", claims={"groups": "chiefs"}), [
            ["RegisterProject", {"project": {"id": "new", "name": "New"}}]]), [["OK", ""]])
        self.assertEqual([(row["who"], row["call"]) for row in self.document("audit")],
                         [("eve", "RegisterProject")])

    def test_the_other_api_takes_the_same_tokens(self):
        """Also where the provider is all there is: nobody comes in without a token."""
        self.provide()
        self.serve_for()
        settings = self.store / "settings.yaml"
        clients = re.compile(r"  clients:\n.*\n")
        for text in (settings.read_text(), clients.sub("", settings.read_text())):
            with self.subTest(clients="clients" in text):
                self.stop()
                settings.write_text(text)
                self.address, = self.serve("--no-warm")
                ada, eve = (self.provider.token(who, claims={"groups": [group]})
                            for who, group in (("ada", "builders"), ("eve", "chiefs")))
                actors = "/api/troupe/v1/actors"
                for path, token, status, word in (
                        ("/api/troupe/v1/executions", None, 401, "this needs a token"),
                        (actors, "x", 401, "the token is none that this engine has given"),
                        (actors, self.provider.token(forged=True), 401, "its signature is wrong"),
                        (actors, ada, 403, "'ada' may not do"), (actors, eve, 200, "")):
                    wait_until(lambda: self.asked(path, token)[0] != 503, "it has the keys")
                    found, body = self.asked(path, token)
                    self.assertEqual(found, status, body)
                    self.assertIn(word, body)

    def asked(self, path, token):
        request = urllib.request.Request(f"http://{self.address}{path}", headers={
            "authorization": f"Bearer {token}"} if token else {})
        try:
            with urllib.request.urlopen(request, timeout=LIMIT_S) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    def test_claims_of_other_names(self):
        self.provide()
        self.serve_for(who="email", claim="realm_access.roles")
        token = self.provider.token(claims={"email": "ada@example.org",
                                            "realm_access": {"roles": ["chiefs"]}})
        self.assertEqual(self.ask("answers", token, calls=WHO)[0]["subject"], "ada@example.org")
        self.assertEqual(self.outcome(token, TASK)[0][0], "INVALID_ARGUMENT")
        nobody = [["UNAUTHENTICATED", "the token does not say who you are: it has no claim 'email' "
                   "with a text of at most 255 bytes"]]
        for email in (None, 7, "", "x" * 256):
            with self.subTest(email=email):
                self.assertEqual(self.outcome(self.provider.token(claims={"email": email})), nobody)

    def test_what_is_wrong_with_a_token(self):
        self.provide()
        self.serve_for()
        now = int(time.time())
        token = self.provider.token
        algorithm = "it is signed neither by RS256 nor by ES256, or its key is for the other one"
        rows = [
            (token(forged=True), "its signature is wrong"),
            (token(alg="ES256", forged=True), "its signature is wrong"),
            (token(alg="none"), "it has no signature"),
            (token(alg="none") + "AAAA", algorithm),
            (token(alg="None", signed_as="RS256"), algorithm),
            (token(alg="HS256"), algorithm),  # the public key as a secret
            (token(alg="PS256"), algorithm),
            (token(alg="ES256", signed_as="RS256"), algorithm),
            (token(alg="ES256", kid="rsa-1"), algorithm),
            (token(alg="RS256", kid="ec-1", signed_as="ES256"), algorithm),
            (token(header={"alg": None}), algorithm),
            (token(header={"crit": ["exp"], "exp": 1}),
             "its header has extensions that nobody here understands"),
            (token(claims={"aud": "other"}), "it is for another audience"),
            (token(claims={"aud": None}), "it is for another audience"),
            (token(claims={"aud": ["a", 7]}), "it is for another audience"),
            (token(claims={"iss": "https://evil.example.org"}), "it is of another issuer"),
            (token(claims={"iss": self.provider.issuer + "/"}), "it is of another issuer"),
            (token(claims={"exp": now - 61}), "it has expired"),
            (token(claims={"exp": None}), "it does not say until when it is good"),
            (token(claims={"exp": "tomorrow"}), "it does not say until when it is good"),
            (token(claims={"nbf": now + 120}), "it is good later only"),
            (token(claims={"iat": now + 120}), "it is good later only"),
            (token(kid="rsa-9"), "its key is none of the provider's"),
            ("a.b.c", "its parts are no JSON"),
            ("..", "its parts are no JSON"),
        ]
        self.outcome(token())  # the keys are there
        for shown, words in rows:
            with self.subTest(words=words, token=shown[:40]):
                self.assertEqual(self.outcome(shown), wrong(words))
        self.assertEqual(self.outcome(token(claims={"exp": now - 30})), [["OK", ""]])  # leeway
        self.assertEqual(self.outcome("no token at all")[0][0], "UNAUTHENTICATED")
        self.assertEqual(self.outcome(token()), [["OK", ""]])

    def test_keys_that_change_are_fetched(self):
        """A token that names a new key is good as soon as keys may be fetched again; nobody has
        the provider asked more often, whatever tokens he makes up."""
        self.provide()
        self.serve_for()
        old = self.provider.token()
        self.assertEqual(self.outcome(old), [["OK", ""]])
        self.provider.rotate()
        token = self.provider.token()
        for _ in range(20):
            self.outcome(self.provider.token(kid="made-up"))
        wait_until(lambda: self.outcome(token) == [["OK", ""]], "the new keys are fetched")
        self.assertEqual(self.outcome(old), wrong("its key is none of the provider's"))
        self.assertEqual(self.provider.counters()["/keys"], 2)

    def test_a_provider_that_is_away(self):
        """What it costs: the calls with its tokens, each for a while. Others are answered."""
        self.provide()
        issuer = self.provider.issuer
        description = f"{issuer}/.well-known/openid-configuration"
        token = self.provider.token()
        for switch, words in (
                ("hang", f"{description}: no answer (timeout)"),
                ("broken", f"{description}: the answer is HTTP 500"),
                ("garbage", f"{description}: what came is no JSON"),
                ("lies", f"{description}: it is of another issuer"),
                ("no_keys", f"{issuer}/keys: of the 0 keys none can be used: RSA of 2048 bits at "
                 "least for RS256, or P-256 for ES256")):
            with self.subTest(switch=switch):
                self.provider.faults(**{switch: {}})
                self.serve_for()
                self.assertEqual(self.outcome("secret"), [["OK", ""]])
                self.assertEqual(self.outcome(token), [["UNAVAILABLE", "the provider of tokens "
                                                        f"cannot be asked now: {words}"]])
                self.assertEqual(self.outcome(None)[0][0], "UNAUTHENTICATED")
                self.provider.faults()
                if switch == "hang":
                    wait_until(lambda: self.outcome(token) == [["OK", ""]], "it is back")
                self.stop()
        # The settings may say where the keys are; then nobody asks for a description first.
        self.provider.faults(broken={"method": "GET /.well-known/openid-configuration"})
        self.serve_for(keys=f"{issuer}/keys")
        self.assertEqual(self.outcome(token), [["OK", ""]])
        self.provider.stop()
        self.assertEqual(self.outcome(token), [["OK", ""]])  # what it said holds

    def test_clients_are_told_where_to_get_tokens(self):
        self.provide("--client", "robot:its secret")
        self.serve_for(scopes="[openid, offline_access]")
        issuer = self.provider.issuer
        metadata, config = self.ask("answers", None, calls=[["GetOAuth2Metadata", {}],
                                                            ["GetPublicClientConfig", {}]])
        self.assertEqual(
            [metadata[f"{name}_endpoint"] for name in ("authorization", "token",
                                                       "device_authorization")],
            [f"{issuer}/authorize", f"{issuer}/token", f"{issuer}/device"])
        self.assertEqual((config["client_id"], config["scopes"], config["audience"],
                          config["redirect_uri"]),
                         ("flytectl", ["openid", "offline_access"], "flyte",
                          "http://localhost:53593/callback"))
        script = self.write("client.py", FLYTEKIT)
        done = subprocess.run([KIT_PYTHON, "-W", "ignore", script, self.address, "CLIENTSECRET",
                               "robot", "its secret"], capture_output=True, text=True,
                              timeout=3 * LIMIT_S, env=self.environment())
        self.assertEqual((done.returncode, done.stdout), (0, "['default']\n"), done.stderr)

    def test_flytekit_by_a_device(self):
        """Somebody says yes at the provider, elsewhere; flytekit goes on with its token."""
        self.provide()
        self.serve_for()
        script = self.write("client.py", FLYTEKIT)
        asking = subprocess.Popen([KIT_PYTHON, "-u", "-W", "ignore", script, self.address,
                                   "DEVICEFLOW"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                  text=True, env=self.environment())
        self.addCleanup(asking.wait)
        self.addCleanup(asking.kill)
        line = asking.stdout.readline()
        code = re.search(r"user_code=(\w+)", line)[1]
        self.provider.control("approve", {"user_code": code, "who": "ada"})
        stdout, stderr = asking.communicate(timeout=3 * LIMIT_S)
        self.assertEqual(asking.returncode, 0, stderr)
        self.assertEqual(stdout.splitlines()[-1], "['default']")


if __name__ == "__main__":
    unittest.main()
