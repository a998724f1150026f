#!/usr/bin/env python3
"""Who the engine is to an API server: kubeconfigs and the files of a pod, what is wrong with them,
and that neither keys nor tokens are anywhere but in the call."""

import base64
import json
import pathlib
import socket
import subprocess
import threading
import unittest

from kubernetes import Double, KubernetesTest
from program import LIMIT_S, wait_until

TOKEN = "the-token-that-nobody-sees"
EXEC = "client.authentication.k8s.io/v1"
CREDENTIAL = {"kind": "ExecCredential", "apiVersion": EXEC, "status": {"token": TOKEN}}
PODS = 5


class Authority:
    """A certificate authority of one's own, and what it has signed."""

    def __init__(self, folder):
        self.folder = folder
        folder.mkdir()
        self.run("req", "-x509", *self.key("ca.key"), "-out", "ca.pem", "-subj", "/CN=ca",
                 "-days", "2")

    def run(self, *words):
        subprocess.run(["openssl", *words], cwd=self.folder, check=True, capture_output=True,
                       timeout=LIMIT_S)

    @staticmethod
    def key(name):
        return ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout",
                name)

    def sign(self, name, names):
        self.run("req", "-new", *self.key(f"{name}.key"), "-out", f"{name}.csr", "-subj",
                 f"/CN={name}")
        (self.folder / "names").write_text(f"subjectAltName={names}\n")
        self.run("x509", "-req", "-in", f"{name}.csr", "-CA", "ca.pem", "-CAkey", "ca.key",
                 "-out", f"{name}.pem", "-days", "2", "-extfile", "names", "-CAcreateserial")
        both = self.folder / f"{name}-both.pem"
        both.write_text(self.text(f"{name}.pem") + self.text(f"{name}.key"))
        return both

    def text(self, name):
        return (self.folder / name).read_text()

    def data(self, name):
        return base64.b64encode(self.text(name).encode()).decode()


class IdentityTest(KubernetesTest):
    server_names = "IP:127.0.0.1"
    asks_clients = False

    def setUp(self):
        super().setUp()
        self.authority = Authority(self.folder / "authority")
        options = ["--tls", str(self.authority.sign("server", self.server_names))]
        self.authority.sign("client", "DNS:client")
        if self.asks_clients:
            options += ["--client-ca", str(self.authority.folder / "ca.pem")]
        self.double.stop()
        self.double = Double("--share", str(self.folder), "--namespace", "work", *options)
        self.addCleanup(self.double.stop)
        self.double.control("tokens", tokens=[TOKEN])
        self.write_array(PODS)
        self.kubeconfig = self.store / "kubeconfig"

    def configure(self, user, cluster=None, **settings):
        """A kubeconfig, and settings that name it."""
        document = {
            "apiVersion": "v1", "kind": "Config", "current-context": "here",
            "clusters": [{"name": "one", "cluster": {
                "server": self.double.endpoint,
                "certificate-authority-data": self.authority.data("ca.pem"), **(cluster or {})}}],
            "users": [{"name": "me", "user": user}],
            "contexts": [{"name": "here", "context": {"cluster": "one", "user": "me",
                                                      "namespace": "work"}},
                         {"name": "empty", "context": {"cluster": "two", "user": "me"}},
                         {"name": "nobody", "context": {"cluster": "one", "user": "you"}}]}
        self.kubeconfig.write_text(json.dumps(document))
        self.settle(**{"endpoint": None, "kubeconfig": "kubeconfig", **settings})

    def command(self, text):
        path = self.folder / "credential"
        path.write_text("#!/bin/sh\n" + text)
        path.chmod(0o700)
        return {"exec": {"apiVersion": EXEC, "command": str(path), "args": ["get"],
                         "env": [{"name": "WHOSE", "value": "mine"}]}}

    def prints(self, document, before=""):
        return self.command(f"{before}\ncat <<'END'\n{json.dumps(document)}\nEND\n")

    def assert_runs(self):
        self.run_all()
        counters = self.all_gone()
        self.assertEqual((counters["pods_created"], counters["duplicates"]), (PODS, 0))

    def fault(self, name, words):
        """What people are told of an endpoint that does not work."""
        running = self.begin(name)

        def look():
            rows = {row["plugin"]: row for row in self.document("plugins")}
            said = rows["kubernetes"]["endpoints"][0].get("fault", "")
            return said if words in said else None
        wait_until(look, f"the fault '{words}'")
        self.troupe("abort", name)
        running.end(LIMIT_S)
        self.assertEqual(self.double.counters()["pods_created"], 0)


class KubeconfigTest(IdentityTest):
    def test_a_token_in_it(self):
        self.configure({"token": TOKEN})
        self.assert_runs()

    def test_nothing_of_it_is_kept(self):
        self.configure({"token": TOKEN,
                        "client-certificate-data": self.authority.data("client.pem"),
                        "client-key-data": self.authority.data("client.key")})
        running = self.start("run", "flow.yaml", "--inputs", "inputs.json", "-v")
        status, out, err = running.end(LIMIT_S)
        self.kubeconfig.unlink()
        key = self.authority.text("client.key").splitlines()[1]
        kept = [out, err] + [path.read_bytes().decode("latin-1") for path in self.folder.rglob("*")
                             if path.is_file() and self.authority.folder not in path.parents]
        self.assertEqual(status, 0, err)
        for secret in (TOKEN, key, base64.b64encode(TOKEN.encode()).decode()):
            self.assertFalse([text for text in kept if secret in text])

    def test_a_token_file_that_is_written_anew(self):
        self.configure({"tokenFile": "token"})
        (self.store / "token").write_text(TOKEN + "\n")
        engine = self.start("serve")
        engine.wait_for("serves")
        self.run_all()
        (self.store / "token").write_text("another")
        self.double.control("tokens", tokens=["another"])
        self.run_all("again")
        self.assertEqual(self.double.counters()["pods_created"], 2 * PODS)
        engine.signal(15)
        engine.end(LIMIT_S)

    def test_a_command_runs_once(self):
        lines = self.folder / "lines"
        self.configure(self.prints(CREDENTIAL, f'echo "$1 $WHOSE $KUBERNETES_EXEC_INFO" >>{lines}'))
        self.assert_runs()
        said, = lines.read_text().splitlines()
        self.assertTrue(said.startswith("get mine {"), said)
        self.assertEqual(json.loads(said[9:])["kind"], "ExecCredential")

    def test_a_command_runs_again_when_its_token_has_expired(self):
        lines = self.folder / "lines"
        expired = {**CREDENTIAL, "status": {"token": TOKEN,
                                            "expirationTimestamp": "2020-01-01T00:00:00Z"}}
        self.configure(self.prints(expired, f"echo x >>{lines}"))
        self.double.control("settings", run_ms=5000)
        self.assert_runs()
        self.assertGreater(len(lines.read_text().splitlines()), 1)

    def test_commands_that_are_broken(self):
        for name, user, words in (
                ("ends", "exit 1\n", "exit status 1"),
                ("nonsense", "echo hello\n", "what it prints is no ExecCredential"),
                ("empty", {**CREDENTIAL, "status": {}}, "what it prints has no status.token"),
                ("certificate", {**CREDENTIAL, "status": {"clientCertificateData": "x"}},
                 "it gives a client certificate; use a command that gives a token"),
                ("time", {**CREDENTIAL, "status": {"token": TOKEN, "expirationTimestamp": "soon"}},
                 "its status.expirationTimestamp is no time"),
                ("hangs", "sleep 600\n", "it did not end within 10 seconds")):
            with self.subTest(name):
                self.configure(self.command(user) if isinstance(user, str) else self.prints(user))
                self.fault(f"it-{name}", f"(secret: the token of credential: {words})")

    def test_another_context(self):
        self.configure({"token": TOKEN}, context="here")
        self.assert_runs()

    def test_a_proxy(self):
        with Proxy() as proxy:
            self.configure({"token": TOKEN}, {"proxy-url": proxy.url})
            self.assert_runs()
            self.assertGreater(proxy.connects, 0)

    def test_an_authority_that_does_not_fit(self):
        other = Authority(self.folder / "other")
        self.configure({"token": TOKEN}, {"certificate-authority-data": other.data("ca.pem")})
        self.fault("it", "unable to get local issuer certificate")

    def test_each_mistake_is_told(self):
        path = self.store / "settings.yaml"
        own = self.kubeconfig
        for user, cluster, settings, words in (
                ({}, {}, {"context": "there"},
                 f"{own}:1:{{}}: there is no context 'there'; name one of contexts of this file"),
                ({}, {}, {"context": "empty"},
                 f"{own}:1:{{}}: there is no cluster 'two'; name one of clusters of this file"),
                ({}, {}, {"context": "nobody"},
                 f"{own}:1:{{}}: there is no user 'you'; name one of users of this file"),
                ({}, {}, {"kubeconfig": None, "context": "here"},
                 f"{path}:1:{{}}: the plugin kubernetes has 'context' without 'kubeconfig'; write "
                 "kubeconfig: FILE beside it"),
                ({}, {}, {"in_cluster": "true"},
                 f"{path}:1:{{}}: the plugin kubernetes has 'kubeconfig' and 'in_cluster'; write "
                 "one of them"),
                ({}, {}, {"ca_file": "../authority/ca.pem"},
                 f"{path}:1:{{}}: the plugin kubernetes has 'kubeconfig', which says where its API "
                 "server is and who we are to it; take out url, authorization, ca_file, "
                 "client_certificate, client_key and insecure"),
                ({}, {}, {"kubeconfig": "nowhere"},
                 f"{path}:1:{{}}: the file {self.store}/nowhere cannot be read: "),
                ({}, {"certificate-authority-data": "!"}, {},
                 f"{own}:1:{{}}: certificate-authority-data is not the base64 of a PEM file; write "
                 "what `base64 -w0 FILE` prints"),
                ({}, {"server": "ftp://here"}, {},
                 f"{own}:1:{{}}: 'ftp://here' is no URL; write http://HOST[:PORT][/PATH], or "
                 "https://"),
                ({"username": "me", "password": "x"}, {}, {},
                 f"{own}:1:{{}}: 'username' is nothing that API servers take any more; write "
                 "token, tokenFile, exec or a client certificate"),
                ({"exec": {"apiVersion": EXEC}}, {}, {},
                 f"{own}:1:{{}}: exec has no command; write command: PROGRAM"),
                ({"exec": {"command": "true"}}, {}, {},
                 f"{own}:1:{{}}: exec has no apiVersion that is known; write apiVersion: {EXEC}, "
                 "or v1beta1"),
                ({"client-key": "nowhere.key"}, {}, {},
                 f"{own}:1:{{}}: the file {self.store}/nowhere.key cannot be read: ")):
            with self.subTest(words):
                self.configure(user, cluster, **settings)
                told = self.troupe("plugins", status=2)[1]
                before, after = words.split("{}")
                self.assertTrue(told.startswith(before), told)
                self.assertIn(after, told)

    def test_a_file_that_is_none(self):
        self.configure({})
        for text, words in (("just a word", "is no kubeconfig; name a file as `kubectl config view "
                             "--raw` prints it"), ("{a: [", "kubeconfig:"),
                            ("{}", "has no current-context; write context: NAME beside")):
            self.kubeconfig.write_text(text)
            self.assertIn(words, self.troupe("plugins", status=2)[1])

    def test_others_have_no_kubeconfig(self):
        (self.store / "settings.yaml").write_text("plugins: {armada: {kubeconfig: x}}\n")
        self.assertIn("the plugin armada has no key 'kubeconfig'; write url, or endpoint: URL",
                      self.troupe("plugins", status=2)[1])


class ServerNameTest(IdentityTest):
    server_names = "DNS:cluster.example.org"

    def test_the_name_of_the_certificate(self):
        self.configure({"token": TOKEN}, {"tls-server-name": "cluster.example.org"})
        self.assert_runs()

    def test_without_it_the_server_is_not_trusted(self):
        self.configure({"token": TOKEN})
        self.fault("it", "127.0.0.1")


class CertificateTest(IdentityTest):
    asks_clients = True

    def test_certificates_as_data(self):
        self.configure({"token": TOKEN,
                        "client-certificate-data": self.authority.data("client.pem"),
                        "client-key-data": self.authority.data("client.key")})
        self.assert_runs()

    def test_certificates_as_files(self):
        for name in ("client.pem", "client.key", "ca.pem"):
            (self.store / name).write_text(self.authority.text(name))
        self.configure({"token": TOKEN, "client-certificate": "client.pem",
                        "client-key": str(self.store / "client.key")})
        self.assert_runs()


class InClusterTest(IdentityTest):
    def setUp(self):
        super().setUp()
        self.account = self.store / "account"
        self.account.mkdir()
        (self.account / "token").write_text(TOKEN)
        (self.account / "ca.crt").write_text(self.authority.text("ca.pem"))
        (self.account / "namespace").write_text("work\n")
        self.settle(endpoint=None, in_cluster="account")
        self.is_pod = False

    def environment(self):
        host, _, port = pathlib.PurePath(self.double.endpoint).name.rpartition(":")
        pod = {"KUBERNETES_SERVICE_HOST": host, "KUBERNETES_SERVICE_PORT": port}
        return super().environment() | (pod if self.is_pod else {})

    def set_place(self):
        self.is_pod = True

    def test_the_files_of_a_pod(self):
        self.set_place()
        self.double.control("namespaces", namespaces=["work"])
        self.assert_runs()

    def test_elsewhere_it_is_told_so(self):
        self.assertIn("this is no pod of a cluster: $KUBERNETES_SERVICE_HOST and "
                      "$KUBERNETES_SERVICE_PORT are not set; write kubeconfig: FILE instead",
                      self.troupe("plugins", status=2)[1])

    def test_files_that_are_missing(self):
        self.set_place()
        (self.account / "ca.crt").write_text("no certificate")
        self.assertIn("account/ca.crt is no PEM file; mount the files of a service account there",
                      self.troupe("plugins", status=2)[1])
        (self.account / "ca.crt").unlink()
        self.assertIn(f"the file {self.account}/ca.crt cannot be read",
                      self.troupe("plugins", status=2)[1])


class Proxy:
    """Takes CONNECT, and counts how often."""

    def __enter__(self):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        self.connects = 0
        threading.Thread(target=self.serve, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.listener.close()

    def serve(self):
        while True:
            try:
                here, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.carry, args=(here,), daemon=True).start()

    def carry(self, here):
        head = b""
        while b"\r\n\r\n" not in head:
            head += here.recv(4096)
        host, port = head.split()[1].decode().rsplit(":", 1)
        self.connects += 1
        with here, socket.create_connection((host, int(port))) as there:
            here.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
            back = threading.Thread(target=pump, args=(there, here), daemon=True)
            back.start()
            pump(here, there)
            back.join(LIMIT_S)


def pump(source, target):
    try:
        while data := source.recv(65536):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)
    except OSError:
        pass


if __name__ == "__main__":
    unittest.main()
