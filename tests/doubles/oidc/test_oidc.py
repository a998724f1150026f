#!/usr/bin/env python3
"""The provider's double itself: another library reads its tokens, and each switch works."""

import json
import pathlib
import subprocess
import unittest
import urllib.error
import urllib.parse
import urllib.request

from oidc_client import LIMIT_S, PYTHON, Provider

READ = """
import json, sys, jwt
token, keys = sys.argv[1:]
id = jwt.get_unverified_header(token)["kid"]
key, = [each for each in json.loads(keys)["keys"] if each["kid"] == id]
try:
    print(json.dumps(jwt.decode(token, jwt.PyJWK(key).key, [key["alg"]], audience="flyte")))
except jwt.PyJWTError as error:
    print(json.dumps(type(error).__name__))
"""


class DoubleTest(unittest.TestCase):
    def setUp(self):
        self.provider = Provider("--client", "ci:secret")
        self.addCleanup(self.provider.stop)

    def get(self, path, form=None):
        data = None if form is None else urllib.parse.urlencode(form).encode()
        try:
            with urllib.request.urlopen(self.provider.issuer + path, data, LIMIT_S) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read().decode()

    def read(self, token):
        """What another library makes of it."""
        done = subprocess.run([PYTHON, "-c", READ, token, self.get("/keys")[1]],
                              capture_output=True, text=True, timeout=LIMIT_S, check=True)
        return json.loads(done.stdout)

    def test_tokens_are_right_or_wrong_as_asked(self):
        for alg in ("RS256", "ES256"):
            with self.subTest(alg=alg):
                claims = self.read(self.provider.token("ada", alg=alg))
                self.assertEqual((claims["sub"], claims["aud"]), ("ada", "flyte"))
                self.assertEqual(self.read(self.provider.token(alg=alg, forged=True)),
                                 "InvalidSignatureError")
        self.assertEqual(self.read(self.provider.token(claims={"exp": 1})),
                         "ExpiredSignatureError")
        self.assertEqual(self.read(self.provider.token(claims={"aud": "other"})),
                         "InvalidAudienceError")
        for alg in ("none", "HS256"):
            self.assertEqual(self.read(self.provider.token(alg=alg)), "InvalidAlgorithmError")

    def test_clients_and_devices(self):
        grant = {"grant_type": "client_credentials", "client_id": "ci", "client_secret": "secret"}
        token = json.loads(self.get("/token", grant)[1])["access_token"]
        self.assertEqual(self.read(token)["sub"], "ci")
        self.assertEqual(self.get("/token", dict(grant, client_secret="no"))[0], 401)
        begun = json.loads(self.get("/device", {"client_id": "x"})[1])
        poll = {"grant_type": "urn:ietf:params:oauth:grant-type:device_code",
                "device_code": begun["device_code"]}
        self.assertEqual(self.get("/token", poll),
                         (400, '{"error": "authorization_pending"}'))
        self.provider.control("approve", {"user_code": begun["user_code"], "who": "ada"})
        self.assertEqual(self.get("/token", poll)[0], 200)

    def test_switches_and_keys(self):
        description = json.loads(self.get("/.well-known/openid-configuration")[1])
        self.assertEqual(description["issuer"], self.provider.issuer)
        old = [each["kid"] for each in json.loads(self.get("/keys")[1])["keys"]]
        self.provider.rotate(keeps_old=True)
        both = [each["kid"] for each in json.loads(self.get("/keys")[1])["keys"]]
        self.assertEqual((both[:2], len(both)), (old, 4))
        self.provider.faults(broken={"times": 1, "method": "GET /keys"}, lies={})
        self.assertEqual(self.get("/keys")[0], 500)
        self.assertEqual(self.get("/keys")[0], 200)
        self.assertIn("evil", self.get("/.well-known/openid-configuration")[1])
        self.provider.faults(garbage={}, no_keys={})
        self.assertEqual(self.get("/keys"), (200, "<html>"))
        self.provider.faults(no_keys={})
        self.assertEqual(self.get("/keys"), (200, '{"keys": []}'))
        self.assertEqual(self.provider.counters()["/keys"], 6)


if __name__ == "__main__":
    unittest.main()
