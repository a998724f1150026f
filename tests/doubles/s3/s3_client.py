"""A plain client of the double, for tests: starts it, signs and asks, turns its switches.

It uses the standard library alone, and signs by code of its own.
"""

import datetime
import hashlib
import hmac
import http.client
import json
import pathlib
import subprocess
import urllib.parse

FOLDER = pathlib.Path(__file__).resolve().parent
PYTHON = "/usr/bin/python3"  # Debian's, which has python3-aiohttp
LIMIT_S = 60

ACCESS, SECRET, REGION, BUCKET = "AKIDTEST", "s3cr3t/+key", "eu-test-1", "results"


def quote(text, safe="-_.~"):
    return urllib.parse.quote(text, safe=safe)


def now():
    return datetime.datetime.now(datetime.timezone.utc).strftime("%Y%m%dT%H%M%SZ")


def sign(secret, region, moment, *lines):
    """The signature of a canonical request, given by its lines."""
    scope = f"{moment[:8]}/{region}/s3/aws4_request"
    digest = hashlib.sha256("\n".join(lines).encode()).hexdigest()
    key = b"AWS4" + secret.encode()
    for step in [*scope.split("/"), f"AWS4-HMAC-SHA256\n{moment}\n{scope}\n{digest}"]:
        key = hmac.digest(key, step.encode(), "sha256")
    return scope, key.hex()


class ObjectStore:
    """A double of one's own, which ends with `stop` or with this process."""

    def __init__(self, *options, key=f"{ACCESS}:{SECRET}", region=REGION, bucket=BUCKET):
        words = [PYTHON, str(FOLDER), "--until-stdin-closes", "--region", region,
                 "--bucket", bucket, *(("--key", key) if key else ()), *options]
        self.process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True)
        line = self.process.stdout.readline()
        if not line:
            raise AssertionError(f"the double did not start: {' '.join(words)}")
        self.addresses = json.loads(line)
        self.endpoint = self.addresses["endpoint"]
        self.host = urllib.parse.urlsplit(self.endpoint).netloc

    def stop(self):
        self.process.stdin.close()
        self.process.wait(LIMIT_S)
        self.process.stdout.close()

    def ask(self, method, path, body=b"", headers=None, part="endpoint"):
        """One request as it is: (status, body)."""
        address = urllib.parse.urlsplit(self.addresses[part]).netloc
        connection = http.client.HTTPConnection(address, timeout=LIMIT_S)
        try:
            connection.request(method, path, body, headers or {})
            response = connection.getresponse()
            return response.status, response.read()
        finally:
            connection.close()

    def signed(self, method, path, body=b"", secret=SECRET, region=REGION, moment=None, token="",
               **more):
        """One request that is signed in its headers; `path` may have a query, sorted and encoded."""
        moment = moment or now()
        path, _, query = path.partition("?")
        headers = {"host": self.host, "x-amz-date": moment,
                   "x-amz-content-sha256": hashlib.sha256(body).hexdigest(), **more}
        if token:
            headers["x-amz-security-token"] = token
        names = ";".join(sorted(headers))
        scope, signature = sign(
            secret, region, moment, method, quote(urllib.parse.unquote(path), "/-_.~"), query,
            *(f"{name}:{headers[name]}" for name in sorted(headers)), "", names,
            headers["x-amz-content-sha256"])
        headers["Authorization"] = (f"AWS4-HMAC-SHA256 Credential={ACCESS}/{scope}, "
                                    f"SignedHeaders={names}, Signature={signature}")
        return self.ask(method, f"{path}?{query}" if query else path, body, headers)

    def signed_url(self, method, path, expires_s=60, secret=SECRET, moment=None):
        """A URL that whoever has it may ask for."""
        moment = moment or now()
        query = {"X-Amz-Algorithm": "AWS4-HMAC-SHA256",
                 "X-Amz-Credential": f"{ACCESS}/{moment[:8]}/{REGION}/s3/aws4_request",
                 "X-Amz-Date": moment, "X-Amz-Expires": str(expires_s),
                 "X-Amz-SignedHeaders": "host"}
        words = "&".join(f"{quote(name)}={quote(query[name])}" for name in sorted(query))
        _, signature = sign(secret, REGION, moment, method, path, words, f"host:{self.host}", "",
                            "host", "UNSIGNED-PAYLOAD")
        return f"{path}?{words}&X-Amz-Signature={signature}"

    # Control.

    def control(self, path, document=None):
        method = "GET" if document is None else "POST"
        status, body = self.ask(method, f"/control/{path}", json.dumps(document or {}).encode(),
                                part="control")
        if status != 200:
            raise AssertionError(f"{path}: {status} {body}")
        return json.loads(body)

    def fault(self, what, **fields):
        self.control("faults", {what: fields})

    def counters(self):
        return self.control("counters")

    def objects(self):
        return self.control("objects")

    def uploads(self):
        """The names of what comes in parts and has not ended."""
        return self.control("uploads")
