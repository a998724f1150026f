#!/usr/bin/env python3
"""Files by Troupe's own API: those that an execution names, each by a URL that nobody else can
make, whole and in ranges; and nothing that it does not name.
"""

import base64
import hashlib
import http.client
import os
import pathlib
import re
import unittest

from asking import AskingTest, BASE
from program import LIMIT_S

SECRETS = {"viewer": "look", "author": "write"}
ROLES = {"viewer": "[{role: view}]", "author": "[{role: register}]"}
HUGE_BYTES = 3 << 30
MEMORY_BYTES_MAX = 32 << 20
PAGE = "<script>document.title = 1</script>"
FLOW = """
troupe: 1
tasks:
  gives:
    inputs: {in: file, word: string}
    outputs: {table: file, page: file, all: directory, some: [file], none: "file | none",
              word: string}
    run: [sh, -c, '
      printf "a,b\\n1,2\\n" >t.csv; printf "%s" "PAGE" >p.html;
      mkdir d d/inner; echo one >d/one.txt; echo two >d/two; echo no >d/inner/no;
      printf "{\\"table\\": \\"t.csv\\", \\"page\\": \\"p.html\\", \\"all\\": \\"d\\",
      \\"some\\": [\\"t.csv\\"], \\"word\\": \\"%s\\"}" "$1"', sh, '{{.inputs.word}}']
    stdout: outputs
workflows:
  main:
    inputs: {in: file, word: {type: string, default: x}}
    nodes: {gives: {task: gives, with: {in: $in, word: $word}}}
    outputs: {table: $gives.table, word: $gives.word}
""".replace("PAGE", PAGE)


class Files(AskingTest):
    def setUp(self):
        super().setUp()
        self.write("files.yaml", FLOW)
        self.outside = pathlib.Path(self.write("outside.log", "outside"))

    def prepare(self, *words):
        self.troupe("run", "files.yaml", "-q", "--name", "one", "-i", f"in={self.outside}", *words)
        self.address, = self.serve()

    def files(self, node=None, name="one", **headers):
        """By what they are of and what they are called."""
        query = "" if node is None else f"?node={node}"
        rows = self.gives("files", f"executions/default/development/{name}/files{query}", **headers)
        return {f"{row['of']} {row['value']} {row['name']}": row for row in rows}

    def got(self, path, method="GET", **headers):
        """The status, the headers and the bytes."""
        host, port = self.address.rsplit(":", 1)
        connection = http.client.HTTPConnection(host, int(port), timeout=LIMIT_S)
        connection.request(method, path, headers=headers)
        response = connection.getresponse()
        body = response.read()
        connection.close()
        return response.status, {name.lower(): value for name, value in response.getheaders()}, body

    def test_what_an_execution_names(self):
        """Of it, of its node, with folders; as the command says it, which has no URLs."""
        self.prepare()
        self.assertEqual(set(self.files()), {"input in outside.log", "output table t.csv"})
        files = self.files("gives")
        self.assertEqual(set(files), {
            "input in outside.log", "output table t.csv", "output page p.html",
            "output all one.txt", "output all two", "output some t.csv"})
        self.assertEqual({name.rsplit(" ", 1)[1]: row["media_type"] for name, row in files.items()},
                         {"outside.log": "text/plain", "t.csv": "text/csv", "p.html": "text/html",
                          "one.txt": "text/plain", "two": "application/octet-stream"})
        for row in files.values():
            self.assertEqual(self.got(row["url"])[2], pathlib.Path(row["path"]).read_bytes())
            self.assertEqual(row["size_bytes"], os.stat(row["path"]).st_size)
        told = self.document("files", "one/gives")
        self.suits("files", told)
        self.assertEqual([{**row, "url": None} for row in files.values()], told)
        paths = self.troupe("files", "one/gives", "-o", "name", "--limit", "2")[0].split()
        self.assertEqual(paths, [row["path"] for row in told[:2]])
        self.assertIn("text/csv", self.troupe("files", "one")[0])
        self.assertEqual(self.files(), self.files(), "a URL stays for a while")
        page, headers, _ = self.ask("executions/default/development/one/files?node=gives&limit=4")
        self.assertIn('rel="next"', headers["link"])
        self.refuses(404, "not-found", "has no node 'none'",
                     "executions/default/development/one/files?node=none")

    def test_ranges_and_headers(self):
        self.prepare()
        files = self.files("gives")
        table, page = files["output table t.csv"]["url"], files["output page p.html"]["url"]
        whole = b"a,b\n1,2\n"
        for asked, status, body, said in [
                (None, 200, whole, None), ("bytes=0-2", 206, b"a,b", "bytes 0-2/8"),
                ("bytes=4-", 206, b"1,2\n", "bytes 4-7/8"),
                ("bytes=-2", 206, b"2\n", "bytes 6-7/8"),
                ("bytes=2-900", 206, whole[2:], "bytes 2-7/8"), ("bytes=8-", 416, b"", "bytes */8"),
                ("bytes=0-1,3-4", 200, whole, None), ("lines=1", 200, whole, None),
                ("bytes=" + "9" * 300 + "-", 200, whole, None)]:
            with self.subTest(asked):
                got = self.got(table, **({"range": asked} if asked else {}))
                self.assertEqual((got[0], got[2], got[1].get("content-range")),
                                 (status, body, said))
        self.assertEqual(self.got(table, range="bytes=0-2", **{"if-range": '"x"'})[0], 200)
        status, headers, body = self.got(table, "HEAD")
        self.assertEqual((status, headers["content-length"], body), (200, "8", b""))
        self.assertEqual(headers["content-type"], "text/csv")
        self.assertEqual(headers["content-disposition"], "inline; filename*=UTF-8''t.csv")
        self.assertEqual(headers["x-content-type-options"], "nosniff")
        self.assertTrue(headers["content-security-policy"].startswith(
            "sandbox; default-src 'none'"))
        headers = self.got(page)[1]
        policy = headers["content-security-policy"]
        self.assertTrue(policy.startswith("sandbox allow-scripts; default-src 'none'"))
        self.assertNotIn("allow-same-origin", policy)
        self.assertNotIn("connect-src", policy)
        self.assertIn("frame-ancestors 'self'", policy)
        self.assertEqual(headers["cross-origin-resource-policy"], "same-origin")
        self.assertEqual(self.got(table, "PUT")[0], 405)

    def test_nobody_else_makes_a_url(self):
        """Of another file, of another time, with another type, or with anything changed."""
        self.prepare()
        url = self.files()["output table t.csv"]["url"]
        coded, query = url.removeprefix(f"{BASE}/files/").split("?")
        expires, signature = re.fullmatch(r"expires=(\d+)&signature=(\w+)", query).groups()
        named = base64.urlsafe_b64decode(coded + "==").decode()

        def other(changed):
            return base64.urlsafe_b64encode(changed.encode()).decode().rstrip("=")
        kind, name, path = named.split("\n")
        last = "1" if signature[-1] == "0" else "0"
        for wrong in [
                f"{other(chr(10).join([kind, name, str(self.outside)]))}?{query}",
                f"{other(chr(10).join([kind, name, path + '/../../settings.yaml']))}?{query}",
                f"{other(chr(10).join(['text/html', name, path]))}?{query}",
                f"{other('text/plain')}?{query}", f"{coded}?expires={expires}",
                f"{coded}?expires={int(expires) + 1}&signature={signature}",
                f"{coded}?expires={expires}&signature={signature[:-1]}{last}",
                f"{coded}?signature={signature}&expires={expires}",
                f"{coded}?expires={expires}&signature={signature.upper()}",
                f"{coded}?expires={expires}&signature=", coded]:
            with self.subTest(wrong[-80:]):
                self.refuses(403, "forbidden", "not given by this engine", f"files/{wrong}")
        self.refuses(400, "invalid", "a segment . or ..", f"files/%2e%2e?{query}")
        self.refuses(400, "invalid", "'path' is nothing", f"files/{coded}?{query}&path=/etc/passwd")
        self.refuses(404, "not-found", "", "files/..%2f..%2fetc%2fpasswd?" + query)
        self.refuses(404, "not-found", "", "files/?" + query)

    def test_a_file_that_was_changed_for_another_is_none(self):
        """A link that comes to its place later leads nowhere, nor does a folder."""
        self.prepare()
        row = self.files()["output table t.csv"]
        path = pathlib.Path(row["path"])
        path.unlink()
        self.refuses(404, "not-found", "no such file any more", row["url"])
        path.symlink_to(self.store / "uploads.key")
        self.refuses(404, "not-found", "no such file any more", row["url"])
        self.assertIn("outside", self.files()["output table " + path.name[65:]]["problem"])
        path.unlink()
        path.mkdir()
        self.refuses(404, "not-found", "no such file any more", row["url"])
        inside = pathlib.Path(self.files("gives")["output all two"]["path"])
        inside.unlink()
        inside.symlink_to(self.store / "uploads.key")
        self.assertIsNone(self.files("gives")["output all two"]["url"])

    def test_secrets_of_the_store_are_nobodys(self):
        """An input may name them; a string that looks like a path names nothing."""
        self.store.mkdir(exist_ok=True)
        key = self.store / "uploads.key"
        key.write_bytes(b"k" * 32)
        self.troupe("run", "files.yaml", "-q", "--name", "one", "-i", f"in={key}", "-i",
                    f"word={self.outside}")
        self.address, = self.serve()
        row = self.files()["input in uploads.key"]
        self.assertEqual((row["url"], row["size_bytes"]), (None, None))
        self.assertIn("outside of the store", row["problem"])
        self.assertNotIn("word", " ".join(self.files("gives")))

    def test_what_lies_outside_is_for_who_may_register(self):
        self.store.mkdir(exist_ok=True)
        rows = "".join(f"    - id: {id}\n      secret_sha256: "
                       f"{hashlib.sha256(secret.encode()).hexdigest()}\n      roles: {ROLES[id]}\n"
                       for id, secret in SECRETS.items())
        (self.store / "settings.yaml").write_text(f"http:\n  listen: ['0']\n  clients:\n{rows}")
        self.troupe("run", "files.yaml", "-q", "--name", "one", "-i", f"in={self.outside}")
        self.address, = self.serve("--no-warm")
        self.assertEqual(self.ask("executions/default/development/one/files")[0], 401)
        seen = {client: self.files(authorization=f"Bearer {secret}")
                for client, secret in SECRETS.items()}
        for client, files in seen.items():
            self.assertEqual(self.got(files["output table t.csv"]["url"])[0], 200, client)
        self.assertIsNone(seen["viewer"]["input in outside.log"]["url"])
        self.assertIsNone(seen["viewer"]["input in outside.log"]["size_bytes"])
        self.assertEqual(self.got(seen["author"]["input in outside.log"]["url"])[2], b"outside")

    def test_a_huge_file_takes_no_memory(self):
        """Its end is there at once; who takes it slowly or leaves holds up nobody."""
        with open(self.outside, "r+b") as file:
            file.truncate(HUGE_BYTES)
            file.seek(HUGE_BYTES - 3)
            file.write(b"end")
        self.prepare()
        url = self.files()["input in outside.log"]["url"]
        before = self.memory_bytes()
        self.assertEqual(self.got(url, range="bytes=-3")[2], b"end")
        host, port = self.address.rsplit(":", 1)
        clients = []
        for _ in range(8):
            connection = http.client.HTTPConnection(host, int(port), timeout=LIMIT_S)
            connection.request("GET", url)
            response = connection.getresponse()
            self.assertEqual(response.getheader("content-length"), str(HUGE_BYTES))
            self.assertEqual(len(response.read(1 << 20)), 1 << 20)
            clients.append((connection, response))
        self.assertEqual(self.got(url, range="bytes=-3")[2], b"end")
        self.assertLess(self.memory_bytes() - before, MEMORY_BYTES_MAX)
        for connection, _ in clients:
            connection.close()
        self.assertEqual(self.got(url, range="bytes=-3")[2], b"end")

    def memory_bytes(self):
        status = pathlib.Path(f"/proc/{self.serving.process.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+)", status)[1]) << 10


if __name__ == "__main__":
    unittest.main()
