"""A real API server, for suites that are pointed at one.

TROUPE_TEST_KUBERNETES is the path of a kubeconfig, in YAML or JSON. Whoever it is has to be allowed
to make and delete namespaces, and all in them. Of a user's identities this client takes `token` and
certificates; the engine takes all of them. What is made lies in a namespace of the test's own.

TROUPE_TEST_KUBERNETES_PLAYED says that nodes run nothing, and play what the annotations of a pod
say: HOW (oom, exit, evicted, preempted, waiting, lives; none: it succeeds), REASON (of waiting) and
RUN (how long, such as 2s).
"""

import base64
import http.client
import json
import os
import pathlib
import ssl
import tempfile
import time
import urllib.parse
import uuid

PATH = os.environ.get("TROUPE_TEST_KUBERNETES")
IS_PLAYED = bool(os.environ.get("TROUPE_TEST_KUBERNETES_PLAYED"))
PODS = int(os.environ.get("TROUPE_TEST_KUBERNETES_PODS", "50"))

HOW = "test.troupe.dev/how"
REASON = "test.troupe.dev/reason"
RUN = "test.troupe.dev/run"
LIMIT_S = 60


def read(path):
    text = pathlib.Path(path).read_text()
    try:
        return json.loads(text)
    except ValueError:
        import yaml  # pylint: disable=import-outside-toplevel
        return yaml.safe_load(text)


def named(rows, name, kind):
    return next(row[kind] for row in rows if row["name"] == name)


class Cluster:
    def __init__(self, path=PATH):
        config = read(path)
        self.path = str(pathlib.Path(path).resolve())
        self.folder = tempfile.TemporaryDirectory(prefix="troupe-cluster-")
        context = named(config["contexts"], config["current-context"], "context")
        cluster = named(config["clusters"], context["cluster"], "cluster")
        user = named(config["users"], context["user"], "user")
        self.server = urllib.parse.urlsplit(cluster["server"])
        self.token = user.get("token")
        self.tls = self.tls_of(cluster, user) if self.server.scheme == "https" else None
        self.namespace = f"troupe-test-{uuid.uuid4().hex[:8]}"

    def file_of(self, mapping, key):
        if key in mapping:
            return mapping[key]
        if f"{key}-data" not in mapping:
            return None
        path = pathlib.Path(self.folder.name) / key
        path.write_bytes(base64.b64decode(mapping[f"{key}-data"]))
        return str(path)

    def tls_of(self, cluster, user):
        context = ssl.create_default_context(cafile=self.file_of(cluster, "certificate-authority"))
        if cluster.get("insecure-skip-tls-verify"):
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        certificate = self.file_of(user, "client-certificate")
        if certificate is not None:
            context.load_cert_chain(certificate, self.file_of(user, "client-key"))
        return context

    def ask(self, verb, path, body=None, **query):
        """(status, document)"""
        connect = http.client.HTTPConnection if self.tls is None else http.client.HTTPSConnection
        more = {} if self.tls is None else {"context": self.tls}
        connection = connect(self.server.hostname, self.server.port, timeout=LIMIT_S, **more)
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if self.token is not None:
            headers["Authorization"] = f"Bearer {self.token}"
        if query:
            path += "?" + urllib.parse.urlencode(query)
        try:
            connection.request(verb, path, None if body is None else json.dumps(body), headers)
            response = connection.getresponse()
            text = response.read()
            return response.status, json.loads(text) if text[:1] == b"{" else {"message": text}
        finally:
            connection.close()

    def make(self, path, body):
        status, document = self.ask("POST", path, body)
        if status != 201:
            raise AssertionError(f"{path}: {status} {document}")
        return document

    def below(self, plural="pods", group="", version="v1"):
        begin = f"/apis/{group}/{version}" if group else f"/api/{version}"
        return f"{begin}/namespaces/{self.namespace}/{plural}"

    def begin(self):
        self.make("/api/v1/namespaces", {"kind": "Namespace", "apiVersion": "v1",
                                         "metadata": {"name": self.namespace}})
        _, about = self.ask("GET", "/version")
        return f"a real API server {about.get('gitVersion')} at {self.server.netloc}"

    def end(self):
        self.ask("DELETE", f"/api/v1/namespaces/{self.namespace}")
        self.folder.cleanup()

    def pods(self):
        return self.ask("GET", self.below())[1]["items"]

    def knows(self, group, version, plural):
        status, document = self.ask("GET", f"/apis/{group}/{version}")
        return status == 200 and any(each["name"] == plural for each in document["resources"])

    def quota(self, **hard):
        """A quota that the server has begun to hold."""
        self.make(self.below("resourcequotas"), {
            "kind": "ResourceQuota", "apiVersion": "v1", "metadata": {"name": "quota"},
            "spec": {"hard": hard}})
        self.wait(lambda: self.ask("GET", self.below("resourcequotas/quota"))[1]
                  .get("status", {}).get("hard"), "the quota is looked at")
        time.sleep(2)  # admission knows it a moment later

    def dry_run(self, group, version, plural, item):
        """(status, words) of making a resource strictly, without making it."""
        body = {"apiVersion": f"{group}/{version}", "kind": item["kind"],
                "metadata": {key: item["metadata"][key] for key in ("name", "labels",
                                                                    "annotations")},
                "spec": item["spec"]}
        status, document = self.ask("POST", self.below(plural, group, version), body,
                                    dryRun="All", fieldValidation="Strict",
                                    fieldManager="troupe")
        return status, document.get("message")

    @staticmethod
    def wait(condition, what, limit_s=LIMIT_S):
        end = time.monotonic() + limit_s
        while not condition():
            if time.monotonic() > end:
                raise AssertionError(f"not within {limit_s} s: {what}")
            time.sleep(0.1)
