#!/usr/bin/env python3
"""The S3 double by itself: who may sign, what is kept, and each switch."""

import datetime
import hashlib
import http.client
import re
import time
import unittest

from s3_client import BUCKET, SECRET, ObjectStore, quote

PATH = f"/{BUCKET}/a/b%20c.json"


def moment(**ago):
    then = datetime.datetime.now(datetime.timezone.utc) - datetime.timedelta(**ago)
    return then.strftime("%Y%m%dT%H%M%SZ")


class StoreTest(unittest.TestCase):
    options = ()
    key = None

    def setUp(self):
        self.store = ObjectStore(*self.options, **({"key": self.key} if self.key else {}))
        self.addCleanup(self.store.stop)

    def assert_refused(self, answer, status, code):
        self.assertEqual(answer[0], status, answer)
        self.assertIn(f"<Code>{code}</Code>", answer[1].decode())


class SignedTest(StoreTest):
    options = ("--page", "2")

    def test_what_is_put_is_there(self):
        self.assertEqual(self.store.signed("PUT", PATH, b"some"), (200, b""))
        self.assertEqual(self.store.signed("GET", PATH), (200, b"some"))
        self.assertEqual(self.store.objects(), {f"{BUCKET}/a/b c.json": 4})
        self.assertEqual(self.store.signed("DELETE", PATH)[0], 204)
        self.assert_refused(self.store.signed("GET", PATH), 404, "NoSuchKey")
        self.assert_refused(self.store.signed("GET", "/other/x"), 404, "NoSuchBucket")
        self.assertEqual(self.store.counters(),
                         {"PUT 200": 1, "GET 200": 1, "DELETE 204": 1, "GET 404": 2})

    def test_nobody_else_gets_in(self):
        ask = self.store.signed
        self.assert_refused(self.store.ask("GET", PATH), 403, "AccessDenied")
        self.assert_refused(ask("GET", PATH, secret="other"), 403, "SignatureDoesNotMatch")
        self.assert_refused(ask("GET", PATH, region="us-east-1"), 400,
                            "AuthorizationHeaderMalformed")
        self.assert_refused(ask("GET", PATH, moment=moment(minutes=16)), 403,
                            "RequestTimeTooSkewed")
        self.assert_refused(ask("GET", PATH, token="t"), 403, "InvalidToken")
        self.assert_refused(ask("PUT", PATH, b"a", **{"x-amz-content-sha256": "0" * 64}), 400,
                            "XAmzContentSHA256Mismatch")
        self.assertEqual(self.store.objects(), {})

    def test_a_body_need_not_be_signed(self):
        unsigned = {"x-amz-content-sha256": "UNSIGNED-PAYLOAD"}
        self.assertEqual(self.store.signed("PUT", PATH, b"some", **unsigned)[0], 200)

    def test_lists_come_in_pages(self):
        for name in ("d/a", "d/b%20%26", "d/c/x", "e"):
            self.store.signed("PUT", f"/{BUCKET}/{name}", b"12")
        first = self.store.signed("GET", f"/{BUCKET}?list-type=2&prefix=d%2F")
        self.assertEqual(first[0], 200)
        self.assertEqual(re.findall("<Key>(.*?)</Key>", first[1].decode()), ["d/a", "d/b &amp;"])
        token = re.search("<NextContinuationToken>(.*?)</", first[1].decode())[1]
        self.assertEqual(token, "d/b &amp;")
        second = self.store.signed(
            "GET", f"/{BUCKET}?continuation-token=d%2Fb%20%26&list-type=2&prefix=d%2F")
        self.assertIn("<Key>d/c/x</Key>", second[1].decode())
        self.assertNotIn("NextContinuationToken", second[1].decode())

    def test_conditions_and_ranges(self):
        path, ask = f"/{BUCKET}/x", self.store.signed
        ask("PUT", path, b"some")
        tag = '"03d59e663c1af9ac33a9949d1193505a"'
        self.assertEqual(ask("GET", path, **{"if-none-match": tag}), (304, b""))
        self.assertEqual(ask("GET", path, **{"if-match": tag}), (200, b"some"))
        self.assert_refused(ask("GET", path, **{"if-match": '"b"'}), 412, "PreconditionFailed")
        self.assertEqual(ask("GET", path, range="bytes=1-"), (206, b"ome"))
        self.assertEqual(ask("GET", path, range="bytes=1-", **{"if-range": '"b"'}), (200, b"some"))
        self.assert_refused(ask("GET", path, range="bytes=4-"), 416, "InvalidRange")

    def test_signed_urls(self):
        path = f"/{BUCKET}/x"
        url = self.store.signed_url("PUT", path)
        self.assertEqual(self.store.ask("PUT", url, b"some")[0], 200)
        self.assert_refused(self.store.ask("GET", url), 403, "SignatureDoesNotMatch")
        self.assertEqual(self.store.ask("GET", self.store.signed_url("GET", path)), (200, b"some"))
        for changed, code in (({"secret": "other"}, "SignatureDoesNotMatch"),
                              ({"moment": moment(minutes=2)}, "AccessDenied")):
            url = self.store.signed_url("GET", path, **changed)
            self.assert_refused(self.store.ask("GET", url), 403, code)


class TokenTest(StoreTest):
    key = f"AKIDTEST:{SECRET}:session"

    def test_the_token_belongs_to_the_key(self):
        self.assertEqual(self.store.signed("PUT", PATH, b"a", token="session")[0], 200)
        self.assert_refused(self.store.signed("GET", PATH), 403, "InvalidToken")


class NoListTest(StoreTest):
    options = ("--no-list",)

    def test_what_is_not_there_is_refused(self):
        self.assert_refused(self.store.signed("GET", PATH), 403, "AccessDenied")
        self.assert_refused(self.store.signed("GET", f"/{BUCKET}?list-type=2"), 403, "AccessDenied")


class FaultsTest(StoreTest):
    def test_each_switch(self):
        path, ask = f"/{BUCKET}/x", self.store.signed
        ask("PUT", path, b"some")
        self.store.fault("busy", method="GET", times=1)
        self.assert_refused(ask("GET", path), 503, "SlowDown")
        self.assertEqual(ask("GET", path)[0], 200)
        self.store.fault("broken", name="*/x", skip=1, times=1)
        self.assertEqual(ask("GET", path)[0], 200)
        self.assert_refused(ask("GET", path), 500, "InternalError")
        self.store.fault("slow", ms=50, times=1)
        begin = time.monotonic()
        self.assertEqual(ask("GET", path)[0], 200)
        self.assertGreaterEqual(time.monotonic() - begin, 0.05)
        self.store.fault("huge", bytes=1000, times=1)
        self.assertEqual(ask("GET", path), (200, b" " * 1000))
        self.store.fault("longer", times=1)
        self.assertEqual(ask("GET", path), (200, b"some!"))
        self.store.fault("lost", times=1, method="PUT")
        with self.assertRaises((http.client.HTTPException, ConnectionError)):
            ask("PUT", path, b"other")
        self.assertEqual(ask("GET", path), (200, b"other"))
        self.store.fault("half", times=1)
        with self.assertRaises((http.client.HTTPException, ConnectionError)):
            ask("GET", path)
        self.assertEqual(self.store.control("faults"), {"busy": 1, "broken": 1, "slow": 1,
                                                        "huge": 1, "longer": 1, "lost": 1,
                                                        "half": 1})

    def test_an_object_may_come_in_parts(self):
        path = f"/{BUCKET}/large"
        big, small = b"a" * (5 << 20), b"b"

        def begin():
            body = self.store.signed("POST", f"{path}?uploads=")[1].decode()
            return re.search("<UploadId>(.*)</UploadId>", body)[1]

        def part(upload, number, body):
            self.assertEqual(self.store.signed(
                "PUT", f"{path}?partNumber={number}&uploadId={quote(upload)}", body)[0], 200)
            return (f"<Part><PartNumber>{number}</PartNumber>"
                    f'<ETag>"{hashlib.md5(body).hexdigest()}"</ETag></Part>')

        def complete(upload, *parts):
            return self.store.signed("POST", f"{path}?uploadId={quote(upload)}",
                                     "".join(parts).encode())
        upload = begin()
        first, second = part(upload, 1, big), part(upload, 2, small)
        self.assertEqual(self.store.uploads(), [f"{BUCKET}/large"])
        self.assert_refused(self.store.signed("GET", path), 404, "NoSuchKey")
        self.assert_refused(complete(upload, second, first), 400, "InvalidPartOrder")
        self.assertEqual(complete(upload, first, second)[0], 200)
        self.assertEqual(self.store.signed("GET", path), (200, big + small))
        self.assert_refused(complete(upload, first, second), 404, "NoSuchUpload")
        upload = begin()
        first, second = part(upload, 1, small), part(upload, 2, big)
        self.assert_refused(complete(upload, first, second), 400, "EntityTooSmall")
        self.assertIn(b"<Upload>", self.store.signed("GET", f"/{BUCKET}/?prefix=la&uploads=")[1])
        self.assertEqual(
            self.store.signed("DELETE", f"{path}?uploadId={quote(upload)}")[0], 204)
        self.assertEqual(self.store.uploads(), [])

    def test_mistakes_are_named(self):
        for document, words in (({"gone": {}}, "there is no fault gone"),
                                ({"busy": {"rate": 1}}, "a fault has no rate")):
            with self.assertRaisesRegex(AssertionError, words):
                self.store.control("faults", document)


if __name__ == "__main__":
    unittest.main()
