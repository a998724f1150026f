"""A collector of traces, by OTLP/HTTP with JSON: it keeps the spans that it gets, and refuses what
breaks a rule of the specification.

    collector = Collector()
    collector.answers = [(503, {"retry-after": "1"}), None]     # each once; None: it never answers
    ...
    collector.spans, collector.requests, collector.mistakes
    collector.close()
"""

import http.server
import json
import re
import threading

NUMBER = re.compile(r"\d+")


def mistakes_of(span):
    """What is wrong with a span, by the JSON mapping of OTLP's protobuf."""
    wrong = []
    for name, size in (("traceId", 32), ("spanId", 16), ("parentSpanId", 16)):
        id = span.get(name, "" if name != "parentSpanId" else None)
        if id is not None and (not re.fullmatch(f"[0-9a-f]{{{size}}}", id) or not int(id, 16)):
            wrong.append(f"{name} {id!r}")
    times = [span.get("startTimeUnixNano"), span.get("endTimeUnixNano")]
    if not all(isinstance(time, str) and NUMBER.fullmatch(time) for time in times):
        wrong.append(f"times {times}")
    elif int(times[0]) > int(times[1]):
        wrong.append("it ends before it begins")
    if not span.get("name"):
        wrong.append("it has no name")
    if span.get("kind") not in range(1, 6):
        wrong.append(f"kind {span.get('kind')!r}")
    if span.get("status", {}).get("code", 0) not in range(3):
        wrong.append(f"status {span['status']}")
    keys = [each["key"] for each in span.get("attributes", [])]
    if len(keys) != len(set(keys)):
        wrong.append(f"an attribute comes twice: {keys}")
    for each in span.get("attributes", []):
        (kind, value), = each["value"].items()
        if kind == "intValue" and not (isinstance(value, str) and NUMBER.fullmatch(value)):
            wrong.append(f"{each['key']}: an integer is a text of digits")
        if kind not in ("stringValue", "intValue", "boolValue"):
            wrong.append(f"{each['key']}: {kind}")
    return wrong


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        self.server.collector.take(self)

    def log_message(self, *words):
        pass


class Collector:
    def __init__(self, port=0):
        self.answers = []
        self.spans = []  # of documents that were taken
        self.requests = []  # path, headers
        self.resources = []
        self.mistakes = []
        self.gone = threading.Event()
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self.server.daemon_threads = True
        self.server.collector = self
        self.port = self.server.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def take(self, request):
        body = request.rfile.read(int(request.headers["content-length"]))
        self.requests.append((request.path, dict(request.headers.items())))
        answer = self.answers.pop(0) if self.answers else (200, {})
        if answer is None:
            self.gone.wait()
            return
        status, headers = answer
        if status == 200 and not self.keep(request, body):
            status = 400
        try:
            self.answer(request, status, headers)
        except OSError:
            pass  # nobody waits for it any more

    def answer(self, request, status, headers):
        request.send_response(status)
        for name, value in headers.items():
            request.send_header(name, value)
        request.send_header("content-type", "application/json")
        request.send_header("content-length", "2")
        request.end_headers()
        request.wfile.write(b"{}")

    def keep(self, request, body):
        """False: the document breaks a rule, which is in the mistakes then."""
        try:
            if request.path != "/v1/traces":
                raise ValueError(f"the path {request.path}")
            if request.headers["content-type"] != "application/json":
                raise ValueError(f"the type {request.headers['content-type']}")
            resources = json.loads(body)["resourceSpans"]
            spans = [span for each in resources for scope in each["scopeSpans"]
                     for span in scope["spans"]]
            wrong = [fault for span in spans for fault in mistakes_of(span)]
            if wrong or not spans:
                raise ValueError(wrong or "no spans")
        except (KeyError, TypeError, ValueError) as fault:
            self.mistakes.append(f"{fault!r}: {body[:300]!r}")
            return False
        self.resources += [{attribute["key"]: attribute["value"]["stringValue"]
                            for attribute in each["resource"]["attributes"]} for each in resources]
        self.spans += spans
        return True

    def close(self):
        self.gone.set()
        self.server.shutdown()
        self.server.server_close()


def attributes(span):
    return {each["key"]: next(iter(each["value"].values())) for each in span["attributes"]}
