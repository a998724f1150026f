#!/usr/bin/env python3
"""What clients get of `troupe serve --http`: files by signed URLs, decks and values, asked for by
Flyte's own library, by the unmodified flytekit, and by curl.
"""

import base64
import hashlib
import json
import os
import pathlib
import re
import subprocess
import unittest
from pathlib import Path

from flyte_clients import ClientTest
from program import LIMIT_S, wait_until
from pypi import KIT_PYTHON
from test_api_executions import WHERE, bare

# A task that leaves a deck, a file and nothing in its logs; and one without a deck.
LEAVES = """
import os, pathlib, sys
from flyteidl.core import literals_pb2
out = pathlib.Path(sys.argv[1])
(out / "deck.html").write_text(f"<h1>deck{os.environ.get('TROUPE_ELEMENT', '')}</h1>")
made = pathlib.Path(sys.argv[2]) / "made by it.txt"
made.parent.mkdir(parents=True, exist_ok=True)
made.write_text("0123456789")
outputs = literals_pb2.LiteralMap()
outputs.literals["o0"].scalar.blob.uri = str(made)
(out / "outputs.pb").write_bytes(outputs.SerializeToString())
"""
FLOWS = """
BLOB = types_pb2.LiteralType(blob=types_pb2.BlobType())
task("flows.leaves", "", {}, BLOB,
     args=["@PYTHON@", "@LEAVES@", "{{.outputPrefix}}", "{{.rawOutputDataPrefix}}"])
task("flows.double", "i['a'] * 2", {"a": INTEGER})
says = task("flows.says", "i['a']", {"a": INTEGER})
says.template.metadata.generates_deck.value = True
again(says)
workflow("flows.main", {}, [node("n0", "flows.leaves"),
                            node("n1", "flows.double", a=scalar(7)),
                            node("n2", "flows.says", a=scalar(8))],
         {"o0": promise("n0"), "o1": promise("n1")}, {"o0": BLOB, "o1": INTEGER})
plan("flows.main", "flows.main")
task("flows.each", "", {"a": INTEGER}, BLOB,
     args=["@PYTHON@", "@LEAVES@", "{{.outputPrefix}}", "{{.rawOutputDataPrefix}}"])
workflow("flows.many", {}, [array("n0", "flows.each", a=numbers(1, 2))], {}, {})
plan("flows.many", "flows.many")
"""

DECKED = """
from flytekit import task, workflow

@task(enable_deck=True)
def decked(a: int) -> int:
    from flytekit import Deck
    Deck("mine", "<b>what it says</b>")
    return a

@workflow
def main(a: int = 3) -> int:
    return decked(a=a)
"""

ASK_DECK = """
import sys
from flytekit.clients.friendly import SynchronousFlyteClient
from flytekit.configuration import PlatformConfig
from flytekit.models.core.identifier import NodeExecutionIdentifier, WorkflowExecutionIdentifier
client = SynchronousFlyteClient(PlatformConfig(endpoint=sys.argv[1], insecure=True))
node = NodeExecutionIdentifier("n0", WorkflowExecutionIdentifier("flytesnacks", "development",
                                                                 sys.argv[2]))
from flyteidl.service import dataproxy_pb2
print(client.get_download_artifact_signed_url(
    node_id="n0", project="flytesnacks", domain="development", name=sys.argv[2],
    artifact_type=dataproxy_pb2.ARTIFACT_TYPE_DECK).signed_url[0])
"""


class DownloadsTest(ClientTest):
    def environment(self):
        return {**super().environment(), "PATH": f"{KIT_PYTHON.parent}:{os.environ['PATH']}"}

    def uploaded(self, content):
        """Its path, after it was uploaded."""
        location, = self.ask("answers", calls=[["CreateUploadLocation", {
            "project": "p", "domain": "d", "filename": "file.bin",
            "content_md5": base64.b64encode(hashlib.md5(content).digest()).decode()}]])
        path = self.folder / "to-upload"
        path.write_bytes(content)
        self.assertEqual(self.curl("", location["signed_url"], "-T", str(path))[0], 200)
        return location["native_url"]

    def url_of(self, path, **more):
        return self.ask("answers", calls=[["CreateDownloadLocation",
                                           dict(more, native_url=str(path))]])[0]["signed_url"]

    def got(self, url, *words):
        """The status, the headers and the bytes."""
        path = self.folder / "got"
        path.unlink(missing_ok=True)
        done = subprocess.run(["curl", "-s", "-S", "-D", "-", "-o", path, url, *words],
                              capture_output=True, timeout=LIMIT_S)
        self.assertEqual(done.returncode, 0, done.stderr)
        head = done.stdout.decode().strip().split("\r\n\r\n")[-1].split("\r\n")
        headers = {name.lower(): value for name, value in
                   (line.split(": ", 1) for line in head[1:])}
        return int(head[0].split()[1]), headers, path.read_bytes() if path.exists() else b""

    def test_files_and_ranges(self):
        self.address, = self.serve()
        content = os.urandom(5 << 20)
        url = self.url_of(self.uploaded(content))
        self.assertTrue(url.startswith(f"http://{self.address}/downloads/uploads/p/d/"))
        size = len(content)
        ranges = [("0-9", content[:10], f"bytes 0-9/{size}"),
                  (f"{size - 5}-", content[-5:], f"bytes {size - 5}-{size - 1}/{size}"),
                  ("-7", content[-7:], f"bytes {size - 7}-{size - 1}/{size}"),
                  (f"1000000-{size * 2}", content[1000000:], f"bytes 1000000-{size - 1}/{size}")]
        for version in ("--http1.1", "--http2-prior-knowledge"):
            with self.subTest(version):
                status, headers, got = self.got(url, version)
                self.assertEqual((status, headers["content-length"], headers["content-type"]),
                                 (200, str(size), "application/octet-stream"))
                self.assertEqual(got, content)
                status, headers, got = self.got(url, version, "-I")
                self.assertEqual((status, headers["content-length"], headers["accept-ranges"]),
                                 (200, str(size), "bytes"))
                for wanted, part, said in ranges:
                    status, headers, got = self.got(url, version, "-r", wanted)
                    self.assertEqual((status, headers["content-range"]), (206, said))
                    self.assertEqual(got, part)
                status, headers, got = self.got(url, version, "-r", f"{size}-")
                self.assertEqual((status, headers["content-range"], got),
                                 (416, f"bytes */{size}", b""))
                status, _, got = self.got(url, version, "-r", "0-9", "-H", 'if-range: "x"')
                self.assertEqual((status, got), (200, content))
        self.assertEqual(self.got(self.url_of(self.uploaded(b"")))[::2], (200, b""))

    def test_urls_that_are_none(self):
        self.address, = self.serve()
        native = self.uploaded(b"content")
        url = self.url_of(native)
        refused = ("this URL was not signed by this store, or was changed; ask for one by "
                   "CreateDownloadLocation")
        for changed in (url[:-1] + "x", url.replace("expires=", "expires=1"),
                        url.replace("file.bin", "other.bin"), url.split("?")[0],
                        url.replace("/downloads/uploads/", "/downloads/x/../uploads/")):
            status, _, body = self.got(changed, "--path-as-is")
            self.assertIn(status, (400, 403))
            if status == 403:
                self.assertEqual(json.loads(body)["message"], refused)
        # What is for a download is for no upload.
        status, _, body = self.got(url.replace("/downloads/", "/"), "-T",
                                   str(self.folder / "to-upload"))
        self.assertEqual(status, 403)
        short = self.url_of(native, expires_in="0.001s")
        expired = "this URL has expired; ask for a new one by CreateDownloadLocation"
        wait_until(lambda: expired.encode() in self.got(short)[2], "the URL expires")
        os.unlink(native)
        status, _, body = self.got(url)
        self.assertEqual((status, json.loads(body)["message"]),
                         (404, "there is no such file any more"))

    def test_what_nobody_may_have(self):
        self.address, = self.serve()
        native = Path(self.uploaded(b"content"))
        link = native.parent / "link"
        link.symlink_to(self.store / "uploads.key")
        folder = str(native.parent)
        none = "'{}' is no file of this store that was uploaded or left by a task"
        wrong = [
            ({"native_url": ""}, "native_url '' is no absolute path; files elsewhere are fetched "
             "from there"),
            ({"native_url": "s3://a/b"}, "native_url 's3://a/b' is no absolute path; files "
             "elsewhere are fetched from there"),
            ({"native_url": folder}, f"'{folder}' is a folder; ask for the files in it one by one"),
            ({"native_url": str(native), "expires_in": "3601s"},
             "expires_in cannot exceed 3600 s (TR_DOWNLOAD_EXPIRY_S_MAX), nor be negative"),
        ] + [({"native_url": str(path)}, none.format(path)) for path in (
            "/etc/passwd", self.store / "uploads.key", *self.store.glob("troupe.db"), link,
            f"{folder}/../../../../uploads.key")]
        self.assertEqual(
            self.ask("outcomes", calls=[["CreateDownloadLocation", row] for row, _ in wrong]),
            [["INVALID_ARGUMENT", words] for _, words in wrong])
        self.assertEqual(
            self.ask("outcomes", calls=[["CreateDownloadLocation", {"native_url": "/gone"}]]),
            [["NOT_FOUND", "there is no file '/gone', or not any more"]])
        # A link that comes after the URL leads nowhere, either.
        url = self.url_of(native)
        native.unlink()
        native.symlink_to(self.store / "uploads.key")
        status, _, body = self.got(url)
        self.assertEqual((status, json.loads(body)["message"]),
                         (404, "there is no such file that may be downloaded"))

    def test_decks_and_values(self):
        self.write("leaves.py", LEAVES)
        self.package(FLOWS.replace("@PYTHON@", str(KIT_PYTHON))
                     .replace("@LEAVES@", str(self.folder / "leaves.py")))
        self.troupe("apply", "flows.tgz", "--version", "v1")
        self.address, = self.serve()
        self.troupe("submit", "flows.tgz", "flows.main", "--name", "all", "--wait", "--version",
                    "v1")
        node = {"node_id": "n0", "execution_id": dict(WHERE, name="all")}
        link, data = self.ask("answers", calls=[
            ["CreateDownloadLink", {"artifact_type": "ARTIFACT_TYPE_DECK",
                                    "node_execution_id": node}],
            ["GetNodeExecutionData", {"id": node}]])
        self.assertEqual(link["signed_url"], link["pre_signed_urls"]["signed_url"])
        status, headers, body = self.got(link["signed_url"][0])
        self.assertEqual((status, headers["content-type"], body),
                         (200, "text/html", b"<h1>deck</h1>"))
        policy = headers["content-security-policy"]
        self.assertTrue(policy.startswith("sandbox allow-scripts; default-src 'none'"), policy)
        self.assertNotIn("allow-same-origin", policy)
        outputs = data["full_outputs"]["literals"]
        self.assertEqual(self.got(self.url_of(outputs["o0"]["scalar"]["blob"]["uri"]))[2],
                         b"0123456789")
        urls, of_node = data["flyte_urls"], "flyte://v1/default/development/all/n0/"
        self.assertEqual(urls, {"inputs": of_node + "i", "outputs": of_node + "o",
                                "deck": of_node + "d"})
        inputs, gave, one, again, deck = self.ask("answers", calls=[
            ["GetData", {"flyte_url": url}] for url in (
                "flyte://v1/default/development/all/n1/i", urls["outputs"],
                "flyte://v1/default/development/all/n1/i/a", of_node + "0/o", urls["deck"])])
        self.assertEqual(bare(inputs), {"literal_map": {"literals": {
            "a": {"scalar": {"primitive": {"integer": "7"}}}}}})
        self.assertEqual(bare(gave), {"literal_map": {"literals": bare(outputs)}})
        self.assertEqual(bare(one), {"literal": {"scalar": {"primitive": {"integer": "7"}}}})
        self.assertEqual(again, gave)
        self.assertEqual(self.got(deck["pre_signed_urls"]["signed_url"][0])[2], b"<h1>deck</h1>")
        status, _, body = self.curl(self.address, "/api/v1/data?flyte_url=flyte%3A%2F%2Fv1"
                                    "/default/development/all/n1/i/a")
        self.assertEqual((status, bare(json.loads(body))), (200, bare(one)))
        self.check_deck_uris(of_node)
        self.check_wrong(node)

    def check_deck_uris(self, of_node):
        """A list tells what definitions say; who asks for one node learns of the file, too."""
        execution = dict(WHERE, name="all")
        listed, *ones = self.ask("answers", calls=[
            ["ListNodeExecutions", {"workflow_execution_id": execution, "limit": 10}]] + [
            ["GetNodeExecution", {"id": {"node_id": id, "execution_id": execution}}]
            for id in ("n0", "n1", "n2", "start-node")])
        decks = {each["id"]["node_id"]: each["closure"].get("deck_uri", "")
                 for each in listed["node_executions"]}
        said = of_node.replace("/n0/", "/n2/") + "d"
        self.assertEqual(decks, {"start-node": "", "n0": "", "n1": "", "n2": said,
                                 "end-node": ""})
        self.assertEqual([each["closure"].get("deck_uri", "") for each in ones],
                         [of_node + "d", "", said, ""])

    def test_elements_have_decks(self):
        """They are no nodes, but have a word as what lies in them has: n0-1."""
        self.write("leaves.py", LEAVES)
        self.package(FLOWS.replace("@PYTHON@", str(KIT_PYTHON))
                     .replace("@LEAVES@", str(self.folder / "leaves.py")))
        self.troupe("apply", "flows.tgz", "--version", "v1")
        self.address, = self.serve()
        self.troupe("submit", "flows.tgz", "flows.many", "--name", "all", "--wait", "--version",
                    "v1")
        begin = "flyte://v1/default/development/all"
        link, first, again = self.ask("answers", calls=[
            ["CreateDownloadLink", {"artifact_type": "ARTIFACT_TYPE_DECK", "node_execution_id": {
                "node_id": "n0-1", "execution_id": dict(WHERE, name="all")}}],
            ["GetData", {"flyte_url": f"{begin}/n0-0/d"}],
            ["GetData", {"flyte_url": f"{begin}/n0-0/0/d"}]])
        self.assertEqual(self.got(link["signed_url"][0])[2], b"<h1>deck1</h1>")
        for each in (first, again):
            self.assertEqual(self.got(each["pre_signed_urls"]["signed_url"][0])[2],
                             b"<h1>deck0</h1>")
        none = "the execution 'all' has no node '{}', or it has not begun"
        rows = [("n0", "the node 'n0' has no attempt with a deck"), ("n0-2", none.format("n0-2")),
                ("n0-0/1", none.format("n0-0")), ("n0-", none.format("n0-")),
                ("n0-0000000000", none.format("n0-0000000000")), ("n9-1", none.format("n9-1"))]
        self.assertEqual(
            self.ask("outcomes", calls=[["GetData", {"flyte_url": f"{begin}/{word}/d"}]
                                        for word, _ in rows]),
            [["NOT_FOUND", words] for _, words in rows])

    def check_wrong(self, node):
        shape = ("write flyte://v1/PROJECT/DOMAIN/EXECUTION/NODE[/ATTEMPT]/(i|o|d)[/NAME]")
        begin = "flyte://v1/default/development/all"
        deck = {"artifact_type": "ARTIFACT_TYPE_DECK"}
        rows = [("GetData", {"flyte_url": url}, "INVALID_ARGUMENT",
                 f"'{url}' is no URL of values; {shape}") for url in (
            "", "flyte://v2/a", begin, f"{begin}/n0", f"{begin}/n0/x", f"{begin}/n0/d/o0",
            f"{begin}/n0/o/a/b", f"{begin}//o", f"{begin}/n0/0/0/o")] + [
            ("GetData", {"flyte_url": f"{begin}/n0/o/none"}, "NOT_FOUND",
             "there is no value 'none' there"),
            ("GetData", {"flyte_url": f"{begin}/n9/o"}, "NOT_FOUND",
             "the execution 'all' has no node 'n9', or it has not begun"),
            ("GetData", {"flyte_url": f"{begin}/n0/5/d"}, "NOT_FOUND",
             "the node 'n0' has no attempt with a deck"),
            ("GetData", {"flyte_url": f"{begin}/n1/d"}, "NOT_FOUND",
             "the node 'n1' has written no deck"),
            ("CreateDownloadLink", dict(deck, node_execution_id=dict(node, node_id="n1")),
             "NOT_FOUND", "the node 'n1' has written no deck"),
            ("CreateDownloadLink", dict(deck, node_execution_id=dict(node, node_id="start-node")),
             "NOT_FOUND", "the node 'start-node' has no attempt with a deck"),
            ("CreateDownloadLink", {"node_execution_id": node}, "INVALID_ARGUMENT",
             "artifact_type has to be ARTIFACT_TYPE_DECK: there are no others"),
            ("CreateDownloadLink", deck, "INVALID_ARGUMENT",
             "the request names no node: node_execution_id is empty"),
        ]
        self.assertEqual(self.ask("outcomes", calls=[row[:2] for row in rows]),
                         [list(row[2:]) for row in rows])

    def test_uploads_that_nobody_names_are_pruned(self):
        """One that a value names stays until its execution goes; so does one that is young."""
        self.package("""
task("flows.says", "i['s']", {"s": STRING}, STRING)
workflow("flows.main", {"s": STRING}, [node("n0", "flows.says", s=promise("", "s"))],
         {"o0": promise("n0")}, {"o0": STRING})
plan("flows.main", "flows.main")
""")
        self.troupe("apply", "flows.tgz", "--version", "v1")
        self.address, = self.serve()
        named, left, young, again = map(self.uploaded, (b"named", b"left", b"young", b"again"))
        self.troupe("submit", "flows.tgz", "flows.main", "-i", f"s={named}", "--name", "x",
                    "--wait", "--version", "v1")
        for path in (named, left, again):
            os.utime(path, (1e9, 1e9))
            os.utime(pathlib.Path(path).parent, (1e9, 1e9))
        self.assertEqual(self.uploaded(b"again"), again)  # the same once more is young
        prune = ["prune", "--unnamed-older-than", "30m", "--yes"]

        def there():
            return [pathlib.Path(path).exists() for path in (named, left, young, again)]
        self.troupe(*prune, "--dry-run")
        self.assertEqual(there(), [True, True, True, True])
        self.troupe(*prune)
        self.assertEqual(there(), [True, False, True, True])
        self.troupe(*prune, "x")
        self.assertEqual(there(), [False, False, True, True])

    def test_a_slow_client_costs_its_own_buffers(self):
        """Beside one that takes nothing another one is served, and both get it all."""
        self.address, = self.serve()
        content = os.urandom(16 << 20)
        url = self.url_of(self.uploaded(content))
        slow = subprocess.Popen(["curl", "-s", "--limit-rate", "8M", url], stdout=subprocess.PIPE)
        self.assertEqual(self.got(url)[2], content)
        self.assertEqual(slow.stdout.read(), content)
        slow.stdout.close()
        self.assertEqual(slow.wait(LIMIT_S), 0)
        # Others leave in the middle.
        for _ in range(5):
            gone = subprocess.Popen(["curl", "-s", "--limit-rate", "1M", url],
                                    stdout=subprocess.PIPE)
            gone.stdout.read(1000)
            gone.kill()
            gone.wait(LIMIT_S)
            gone.stdout.close()
        self.assertEqual(self.got(url, "-r", "0-3")[2], content[:4])

    @unittest.skipUnless(os.environ.get("TROUPE_TEST_LONG"), "runs flytekit")
    def test_flytekit_gets_a_deck(self):
        self.address, = self.serve()
        self.write("config.yaml", self.troupe("config", "flyte", "--file", "-")[0])
        (self.folder / "project").mkdir()
        self.write("project/flows.py", DECKED)
        done = subprocess.run(
            [KIT_PYTHON.parent / "pyflyte", "-c", "../config.yaml", "run", "--remote", "--wait",
             "--poll-interval", "1", "-p", "flytesnacks", "-d", "development", "flows.py", "main"],
            cwd=self.folder / "project", env=self.environment(), capture_output=True, text=True,
            timeout=6 * LIMIT_S)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        name = self.document("get", "@last")["execution"]
        script = self.write("deck.py", ASK_DECK)
        asked = subprocess.run([KIT_PYTHON, "-W", "ignore", script, self.address, name],
                               capture_output=True, text=True, timeout=6 * LIMIT_S)
        self.assertEqual(asked.returncode, 0, asked.stderr)
        status, _, body = self.got(asked.stdout.strip())
        self.assertEqual(status, 200)
        self.assertTrue(re.search(b"what it says", body))


if __name__ == "__main__":
    unittest.main()
