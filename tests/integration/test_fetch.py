#!/usr/bin/env python3
"""Inputs that lie elsewhere: objects of stores of S3's kind and files of the web are there when a
process begins, and are not sent twice.

The object store is the double of tests/doubles/s3, which checks signatures by itself; the web is
a small server of this file, which stops in the middle when it is told to.
"""

import http.server
import json
import re
import sys
import threading
import unittest

from program import ROOT, ProgramTest, wait_until

sys.path[:0] = [str(ROOT / "tests/doubles/s3")]

from s3_client import ACCESS, BUCKET, REGION, SECRET, ObjectStore  # noqa: E402

FLOW = """\
troupe: 1
tasks:
  read:
    inputs: {in: TYPE}
    outputs: {text: string}
    run: [/bin/sh, ./read.sh, "{{.inputs.in}}"]
workflows:
  main:
    inputs: {in: TYPE}
    nodes: {read: {task: read, with: {in: $in}}}
    outputs: {text: $read.text}
  all:
    inputs: {in: [TYPE]}
    nodes: {read: {map: read, with: {in: $in}}}
    outputs: {text: $read.text}
"""

# All files below what it is given, by their names, and what they hold.
READ = """\
cd "$1" 2>/dev/null || { printf '{"text": "%s"}' "$(head -c 100 "$1")" >"$TROUPE_OUTPUTS"; exit; }
printf '{"text": "%s"}' "$(find . -type f | sort | xargs -d '\\n' grep -H . | tr '\\n' ' ')" \
>"$TROUPE_OUTPUTS"
"""


class FetchTest(ProgramTest):
    key = f"{ACCESS}:{SECRET}"
    store_options = ()
    entry = {"region": REGION, "secret": "store/key"}
    scheme = "s3://"

    def setUp(self):
        super().setUp()
        self.objects = ObjectStore(*self.store_options)
        self.addCleanup(self.objects.stop)
        self.store.mkdir()
        self.settle({self.scheme: {"endpoint": self.objects.endpoint, **self.entry}})
        self.write("read.sh", READ)

    def environment(self):
        return super().environment() | {"TROUPE_SECRET_STORE_KEY": self.key,
                                        "TROUPE_SECRET_WEB_TOKEN": "let-me-in"}

    def settle(self, stores):
        (self.store / "settings.yaml").write_text(json.dumps({"object_stores": stores}))

    def flow(self, kind="file"):
        self.write("flow.yaml", FLOW.replace("TYPE", kind))

    def put(self, name, body=b"some"):
        self.assertEqual(self.objects.signed("PUT", f"/{BUCKET}/{name}", body)[0], 200)

    def run_it(self, uri, status=0, name="it", kind="file", workflow="main"):
        self.flow(kind)
        given = uri if isinstance(uri, str) else json.dumps(uri)
        return self.document("run", "flow.yaml", workflow, "--name", name, "-i", f"in={given}",
                             status=status)

    def begin(self, uri):
        return self.start("run", "flow.yaml", "main", "--name", "it", "-i", f"in={uri}")

    def text(self, *words, **more):
        return self.run_it(*words, **more)["outputs"]["text"]

    def error(self, uri, name="it", **more):
        self.run_it(uri, status=1, name=name, **more)
        return self.document("get", f"{name}/read")["error"]

    def count(self, answer):
        return self.objects.counters().get(answer, 0)

    def parts(self):
        folder = self.store / "blobs/.pieces"
        return sorted(path.name for path in folder.iterdir()) if folder.exists() else []


class FileTest(FetchTest):
    def test_an_object_is_there_when_the_process_begins(self):
        self.put("a/b%20%26%2B%C3%A4.txt", b"hello")
        self.assertEqual(self.text(f"s3://{BUCKET}/a/b &+ä.txt"), "hello")
        shown = self.document("get", "it/read")["inputs"]["in"]
        self.assertEqual(shown, f"s3://{BUCKET}/a/b &+ä.txt")
        self.assertEqual(self.parts(), [])

    def test_what_has_not_changed_is_not_sent_again(self):
        self.put("a", b"one")
        self.assertEqual(self.text(f"s3://{BUCKET}/a", name="first"), "one")
        self.assertEqual(self.text(f"s3://{BUCKET}/a", name="second"), "one")
        self.assertEqual((self.count("GET 200"), self.count("GET 304")), (1, 1))
        self.put("a", b"two")
        self.assertEqual(self.text(f"s3://{BUCKET}/a", name="third"), "two")
        self.assertEqual((self.count("GET 200"), self.count("GET 304")), (2, 1))

    def test_the_same_is_fetched_once_for_all_who_want_it(self):
        self.put("a", b"one")
        self.objects.fault("slow", method="GET", ms=300, times=1)
        texts = self.text([f"s3://{BUCKET}/a"] * 40, workflow="all")
        self.assertEqual(texts, ["one"] * 40)
        self.assertEqual(self.count("GET 200"), 1)

    def test_an_empty_object_is_an_empty_file(self):
        self.put("empty", b"")
        self.assertEqual(self.text(f"s3://{BUCKET}/empty"), "")

    def test_prune_forgets_what_was_fetched(self):
        self.put("a", b"one")
        self.run_it(f"s3://{BUCKET}/a", name="first")
        self.troupe("prune", "first", "--cache-older-than", "0s", "--unnamed-older-than", "0s",
                    "--yes")
        self.troupe("prune", "--unnamed-older-than", "0s", "--yes")
        self.assertEqual([path for path in (self.store / "blobs").iterdir()
                          if not path.name.startswith(".")], [])
        self.assertEqual(self.text(f"s3://{BUCKET}/a", name="second"), "one")
        self.assertEqual(self.count("GET 200"), 2)

    def test_prune_keeps_the_blobs_of_what_was_fetched(self):
        self.put("a", b"one")
        self.run_it(f"s3://{BUCKET}/a", name="first")
        self.troupe("prune", "first", "--unnamed-older-than", "0s", "--yes")
        self.assertEqual(self.text(f"s3://{BUCKET}/a", name="second"), "one")
        self.assertEqual((self.count("GET 200"), self.count("GET 304")), (1, 1))


class FolderTest(FetchTest):
    store_options = ("--page", "2")
    FILES = {"d/a": b"1", "d/b%20%26": b"2", "d/c/x": b"3", "d/c/y": b"4", "d/": b"", "e": b"5",
             "dd": b"6"}
    TEXT = "./a:1 ./b &:2 ./c/x:3 ./c/y:4 "

    def setUp(self):
        super().setUp()
        for name, body in self.FILES.items():
            self.put(name, body)

    def test_a_prefix_is_a_folder(self):
        self.assertEqual(self.text(f"s3://{BUCKET}/d", kind="directory"), self.TEXT)
        self.assertEqual(self.count("GET 200"), 4 + 3)  # objects and pages
        self.assertEqual(self.text(f"s3://{BUCKET}/d/", name="again", kind="directory"), self.TEXT)
        self.assertEqual(self.parts(), [])

    def test_what_has_not_changed_is_not_sent_again(self):
        uri = f"s3://{BUCKET}/d"
        self.run_it(uri, name="first", kind="directory")
        before = self.count("GET 200")
        self.assertEqual(self.text(uri, name="second", kind="directory"), self.TEXT)
        self.assertEqual(self.count("GET 200") - before, 3)  # pages
        self.put("d/a", b"9")
        self.assertEqual(self.text(uri, name="third", kind="directory"),
                         self.TEXT.replace("./a:1", "./a:9"))

    def test_what_has_come_before_a_fault_is_not_sent_again(self):
        self.objects.fault("busy", method="GET", name="*/d/c/y", times=1)
        self.assertEqual(self.text(f"s3://{BUCKET}/d", kind="directory"), self.TEXT)
        # The pages came twice; each object that had come whole before the fault came once.
        self.assertLessEqual(self.count("GET 200"), 2 * 3 + 4 + 3)
        self.assertEqual(self.count("GET 503"), 1)

    def test_an_object_of_another_length_is_asked_for_again(self):
        self.objects.fault("longer", method="GET", name="*/d/a", times=1)
        self.assertEqual(self.text(f"s3://{BUCKET}/d", kind="directory"), self.TEXT)

    def test_nothing_below_a_prefix(self):
        error = self.error(f"s3://{BUCKET}/none", kind="directory")
        self.assertEqual(error["code"], "RetriesExhausted|InputsNotFoundError")
        self.assertEqual(error["message"], f"the input 's3://{BUCKET}/none': no object's name "
                         "begins with 'none/'; name a folder of objects that are there")

    def test_names_that_no_folder_has(self):
        self.put("n/../x", b"1")
        error = self.error(f"s3://{BUCKET}/n", kind="directory")
        self.assertIn("the object 'n/../x' has a name that no file below a folder may have",
                      error["message"])
        self.put("o/p", b"1")
        self.put("o/p/q", b"1")
        error = self.error(f"s3://{BUCKET}/o", kind="directory", name="two")
        self.assertIn("the object 'o/p/q' and one below it cannot both be files of a folder",
                      error["message"])


class FaultsTest(FetchTest):
    def test_an_object_that_is_not_there(self):
        error = self.error(f"s3://{BUCKET}/none")
        self.assertEqual(error["code"], "RetriesExhausted|InputsNotFoundError")
        self.assertEqual(error["message"],
                         f"the input 's3://{BUCKET}/none': the server answers with status 404 "
                         f"NoSuchKey to GET {self.objects.endpoint}/{BUCKET}/none, signed with the "
                         "secret store/key; name an existing object")

    def test_a_bucket_that_is_not_there(self):
        self.assertIn("404 NoSuchBucket", self.error("s3://other/none")["message"])

    def test_no_object_is_named(self):
        for name, uri, words in (("one", f"s3://{BUCKET}", "it names a bucket but no object"),
                                 ("two", "s3:///x", "it names no bucket; write s3://BUCKET/KEY"),
                                 ("three", "ftp://x/y", "it is neither a path of this machine nor "
                                  "a URI that begins with s3://, gs://, https:// or http://")):
            error = self.error(uri, name=name)
            self.assertEqual(error["code"], "RetriesExhausted|InputsNotFoundError")
            self.assertIn(words, error["message"])

    def test_a_busy_store_is_asked_again(self):
        self.put("a")
        self.objects.fault("busy", method="GET", times=1)
        self.assertEqual(self.text(f"s3://{BUCKET}/a"), "some")
        self.assertEqual(self.count("GET 503"), 1)
        self.assertEqual(self.document("get", "it/read")["attempts"][0]["attempt"], 0)

    def test_explain_says_what_is_waited_for(self):
        self.put("a")
        self.objects.fault("broken", method="GET")
        self.flow()
        running = self.begin(f"s3://{BUCKET}/a")
        wait_until(lambda: self.count("GET 500") >= 1, "it was asked")
        wait_until(lambda: "InternalError" in self.troupe("explain", "it")[0], "it says why")
        self.assertRegex(self.troupe("explain", "it")[0],
                         r"it fetches its input files \(the server answers with status 500 "
                         r"InternalError to GET \S+, signed with the secret store/key; tried again "
                         r"in \d+ ms\)")
        self.objects.control("faults/clear", {})
        self.assertEqual(running.end()[0], 0)

    def test_what_was_cut_off_goes_on(self):
        self.put("a", b"0123456789")
        self.objects.fault("half", method="GET", times=1)
        self.assertEqual(self.text(f"s3://{BUCKET}/a"), "0123456789")
        self.assertEqual((self.count("GET 200"), self.count("GET 206")), (1, 1))
        self.assertEqual(self.parts(), [])

    def test_what_was_cut_off_and_has_changed_begins_anew(self):
        self.put("a", b"0123456789")
        self.objects.fault("half", method="GET", times=1)
        self.flow()
        running = self.begin(f"s3://{BUCKET}/a")
        wait_until(lambda: self.count("GET 200") == 1, "it was asked")
        self.put("a", b"another")
        self.assertEqual(running.end()[0], 0)
        self.assertEqual(self.document("get", "it")["outputs"]["text"], "another")

    def test_an_answer_that_is_lost(self):
        self.put("a")
        self.objects.fault("lost", method="GET", times=1)
        self.assertEqual(self.text(f"s3://{BUCKET}/a"), "some")


class NoListTest(FetchTest):
    store_options = ("--no-list",)

    def test_who_may_not_list_is_told_so(self):
        error = self.error(f"s3://{BUCKET}/none")
        self.assertEqual(error["code"], "StorageDenied")
        self.assertIn("403 AccessDenied", error["message"])
        self.assertIn("grant permission to read it", error["message"])


class WrongSecretTest(FetchTest):
    key = f"{ACCESS}:another"

    def test_the_reference_and_a_remedy_are_named(self):
        error = self.error(f"s3://{BUCKET}/a")
        self.assertEqual(error["code"], "StorageDenied")
        self.assertRegex(error["message"], r"403 SignatureDoesNotMatch to GET \S+, signed with the "
                         r"secret store/key; .*set another secret under object_stores ")
        self.assertEqual(self.count("GET 403"), 1)
        self.assertNotIn("another:", json.dumps(error))


class WrongRegionTest(FetchTest):
    entry = {"region": "us-east-1", "secret": "store/key"}

    def test_a_wrong_region(self):
        error = self.error(f"s3://{BUCKET}/a")
        self.assertEqual(error["code"], "StorageDenied")
        self.assertRegex(error["message"], "400 AuthorizationHeaderMalformed.*; check its "
                         "endpoint, region and secret under object_stores of the settings$")


class NoSecretTest(FetchTest):
    entry = {"region": REGION, "secret": "store/none"}

    def test_a_secret_that_is_not_there(self):
        error = self.error(f"s3://{BUCKET}/a")
        self.assertEqual(error["code"], "StorageDenied")
        self.assertIn("store/none", error["message"])


class UnsignedTest(FetchTest):
    entry = {}

    def test_without_a_secret_it_is_said(self):
        error = self.error(f"s3://{BUCKET}/a")
        self.assertEqual(error["code"], "StorageDenied")
        self.assertIn("without a secret, as its entry under object_stores has none",
                      error["message"])


class GoogleTest(FetchTest):
    scheme = f"gs://{BUCKET}"

    def test_gs_is_spoken_to_alike(self):
        self.put("a", b"hello")
        self.assertEqual(self.text(f"gs://{BUCKET}/a"), "hello")


class Web:
    """A server that counts, and stops in the middle of an answer until it is let go on."""

    BODY = bytes(range(65, 91)) * 20000

    def __init__(self):
        web = self
        self.asked = []
        self.stops_at = None
        self.goes_on = threading.Event()

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def do_GET(self):
                web.asked.append((self.path, dict(self.headers)))
                try:
                    web.answer(self)
                except OSError:
                    self.close_connection = True

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def answer(self, handler):
        first = 0
        wanted = re.fullmatch(r"bytes=(\d+)-", handler.headers.get("Range", ""))
        is_known = handler.headers.get("Authorization") == "Bearer let-me-in"
        if handler.path == "/private" and not is_known:
            self.say(handler, 401, b"no")
            return
        if handler.path == "/huge":
            handler.send_response(200)
            handler.send_header("Content-Length", str(100 << 30))
            handler.end_headers()
            handler.wfile.write(b"and so on")
            return
        if handler.path == "/dated":
            is_known = handler.headers.get("If-Modified-Since") == self.DATE
            self.say(handler, 304 if is_known else 200, b"" if is_known else b"dated",
                     [("Last-Modified", self.DATE)])
            return
        if handler.path == "/moved":
            self.say(handler, 302, b"", [("Location", "/plain")])
            return
        if handler.path == "/plain":
            self.say(handler, 200, b"plain")
            return
        if wanted and handler.headers.get("If-Range") == '"tag"':
            first = int(wanted[1])
        handler.send_response(206 if first else 200)
        handler.send_header("ETag", '"tag"')
        handler.send_header("Content-Length", str(len(self.BODY) - first))
        if first:
            handler.send_header("Content-Range",
                                f"bytes {first}-{len(self.BODY) - 1}/{len(self.BODY)}")
        handler.end_headers()
        stop = self.stops_at or len(self.BODY)
        handler.wfile.write(self.BODY[first:stop])
        handler.wfile.flush()
        if self.stops_at:
            self.goes_on.wait(60)
            handler.wfile.write(self.BODY[max(first, stop):])

    DATE = "Thu, 20 Aug 2026 09:30:00 GMT"

    @staticmethod
    def say(handler, status, body, headers=()):
        handler.send_response(status)
        for name, value in headers:
            handler.send_header(name, value)
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)

    def stop(self):
        self.goes_on.set()
        self.server.shutdown()
        self.server.server_close()


class WebTest(FetchTest):
    def setUp(self):
        super().setUp()
        self.web = Web()
        self.addCleanup(self.web.stop)
        self.settle({f"{self.web.url}/private": {"authorization": {"bearer": "web/token"}}})

    def test_a_secret_is_for_its_beginning_alone(self):
        self.assertTrue(self.text(f"{self.web.url}/private").startswith("ABC"))
        self.run_it(f"{self.web.url}/privateer", name="other")
        self.assertNotIn("Authorization", self.web.asked[-1][1])

    def test_redirects_are_followed(self):
        self.assertEqual(self.text(f"{self.web.url}/moved"), "plain")

    def test_without_a_tag_the_date_counts(self):
        self.assertEqual(self.text(f"{self.web.url}/dated", name="first"), "dated")
        self.assertEqual(self.text(f"{self.web.url}/dated", name="second"), "dated")
        self.assertEqual(self.web.asked[-1][1]["If-Modified-Since"], Web.DATE)

    def test_without_any_name_it_is_sent_again(self):
        for name in ("first", "second"):
            self.assertEqual(self.text(f"{self.web.url}/plain", name=name), "plain")
        self.assertNotIn("If-None-Match", self.web.asked[-1][1])

    def test_the_web_has_no_folders(self):
        error = self.error(f"{self.web.url}/d", kind="directory")
        self.assertEqual(error["code"], "MismatchingTypes")
        self.assertEqual(error["message"], f"the input '{self.web.url}/d': its type is directory, "
                         "and web servers have no folders; declare it as file, or put it "
                         "into an object store")
        self.assertEqual(self.web.asked, [])

    def test_what_is_too_large_is_not_begun(self):
        error = self.error(f"{self.web.url}/huge")
        self.assertEqual(error["code"], "InputSizeExceeded")
        self.assertEqual(error["message"], f"the input '{self.web.url}/huge': it has 107374182400 "
                         "bytes or more, and TR_BLOB_FETCH_BYTES_MAX is 68719476736")

    def test_a_kill_in_the_middle_costs_what_is_not_there(self):
        self.web.stops_at = 300000
        self.flow()
        running = self.begin(f"{self.web.url}/f")
        folder = self.store / "blobs/.pieces"

        def has_come():
            return sum(path.stat().st_size for path in folder.glob("fetch-*/*")) >= 300000
        wait_until(has_come, "a part of it is there")
        running.signal(9)
        running.end()
        self.web.stops_at = None
        self.web.goes_on.set()
        self.troupe("resume", "it")
        self.assertEqual(self.web.asked[-1][1]["Range"], "bytes=300000-")
        self.assertEqual(self.web.asked[-1][1]["If-Range"], '"tag"')
        blob, = (path for path in (self.store / "blobs").iterdir() if path.name.endswith("-f"))
        self.assertEqual(blob.read_bytes(), Web.BODY)
        self.assertEqual(self.parts(), [])

    def test_an_abort_does_not_wait_for_it(self):
        self.web.stops_at = 300000
        self.flow()
        running = self.begin(f"{self.web.url}/f")
        wait_until(lambda: self.web.asked, "it is asked for")
        running.signal(2)
        self.assertEqual(running.end()[0], 3)

    def test_others_do_not_wait_for_it(self):
        self.web.stops_at = 300000
        self.flow()
        running = self.begin(f"{self.web.url}/f")
        wait_until(lambda: self.web.asked, "it is asked for")
        self.write("local.txt", "here")
        self.assertEqual(self.text(str(self.folder / "local.txt"), name="other"), "here")
        self.web.goes_on.set()
        self.assertEqual(running.end()[0], 0)


if __name__ == "__main__":
    unittest.main()
