"""The REST gateway: what happens around each call.

A call is counted, meets the faults that strike before the work, is let in, is done, and meets
those that strike after it. What a method does is in methods.py, the stream of events in watch.py.
"""

import asyncio
import base64
import re
import sys

from aiohttp import web

from broken import NO_ANSWER, lose_answer, reset, silence
from methods import METHODS
from submit import Submission
from watch import watch
from wire import TEXTS, Refusal, Request, encode

MESSAGE_BYTES_MAX = 4 << 20
QUERY_ITEMS_MAX = 500
HUGE_BYTES = 64 << 20
METADATA = {"Grpc-Metadata-Content-Type": "application/grpc"}

NONSENSE = {
    "text": b"<html><body>502 Bad Gateway</body></html>",
    "types": b'{"jobResponseItems":{"jobId":7},"jobStates":["3"],"cancelledIds":"all"}',
    "empty": b"",
}


class Server:
    """The gateway; handlers work with its parts."""

    def __init__(self, parts, cluster):
        self.settings = parts.settings
        self.clock = parts.clock
        self.names = parts.names
        self.faults = parts.faults
        self.counters = parts.counters
        self.queues = parts.queues
        self.submission = Submission(parts, cluster)
        self.cluster = cluster

    @property
    def ingest_s(self):
        return self.settings.ingest_ms / 1000

    def lookout_lag_s(self):
        return self.faults.value("lookout_lag", "s", self.ingest_s)

    def application(self):
        application = web.Application(middlewares=[as_go_does], client_max_size=1 << 30)
        for verb, path, method, handler in METHODS:
            application.router.add_route(verb, path, self.wrap(method, handler))
        application.router.add_route("POST", "/v1/job-set/{queue}/{id}",
                                     self.wrap("GetJobSetEvents", watch, is_stream=True))
        application.router.add_get("/health", health)
        return application

    def wrap(self, method, handler, is_stream=False):
        async def call(request):
            self.counters.called(method)
            self.tell(f"{method} begins")
            try:
                response = await self.call(request, method, handler, is_stream)
            except Refusal as refusal:
                response = self.refused(refusal, is_stream)
            except ConnectionError:
                response = web.Response(status=NO_ANSWER)
            self.counters.answered(method, response.status)
            self.tell(f"{method} {response.status}")
            return response
        return call

    def tell(self, words):
        if self.settings.tell:
            print(f"{self.clock.wall_s():.3f} {words}", file=sys.stderr, flush=True)

    def refused(self, refusal, is_stream):
        if refusal.code == 2:
            refusal.message = f'[x-request-id: "{self.names.uuid()}"] {refusal.message}'
        return web.Response(status=refusal.status, headers=refusal.headers,
                            content_type="application/json",
                            body=refusal.frame() if is_stream else refusal.body())

    async def call(self, request, method, handler, is_stream):
        broken = await self.faults_before(request, method)
        if broken is not None:
            return broken
        user = self.user_of(request)
        text = await request.read()
        if len(text) > MESSAGE_BYTES_MAX:
            raise Refusal("ResourceExhausted", "grpc: received message larger than max "
                                               f"({len(text)} vs. {MESSAGE_BYTES_MAX})")
        call = Call(self, request, method, text, user)
        answer = await handler(call)
        if is_stream or isinstance(answer, web.StreamResponse):
            return answer
        return await self.faults_after(request, method, encode(answer))

    # Who calls.

    def user_of(self, request):
        kind, _, wanted = self.settings.auth.partition(":")
        scheme, _, credentials = request.headers.get("Authorization", "").partition(" ")
        if kind == "anonymous":
            return "anonymous"
        if not scheme:
            raise Refusal("Unauthenticated", "Missing credentials")
        if kind == "basic" and scheme == "Basic" and \
                credentials == base64.b64encode(wanted.encode()).decode():
            return wanted.partition(":")[0]
        if kind == "bearer" and scheme == "Bearer" and credentials == wanted:
            return "bearer"
        raise Refusal("Unauthenticated", "Invalid credentials presented")

    # Faults around a call. A response that is None goes on with the work.

    async def faults_before(self, request, method):
        strike = self.faults.strike
        if (fields := strike("latency", method)) is not None:
            await asyncio.sleep(fields["ms"] / 1000)
        if self.faults.strikes_now("hang", method):
            return await silence(request)
        if (fields := strike("reset_request", method)) is not None:
            await request.content.read(fields["bytes"])
            return reset(request)
        if (fields := strike("too_many", method)) is not None:
            wait_s = fields["retry_after_s"]
            raise Refusal("ResourceExhausted", "too many requests",
                          {} if wait_s is None else {"Retry-After": str(wait_s)})
        if (fields := strike("refused", method)) is not None:
            raise Refusal(fields["code"], fields["text"])
        return None

    async def faults_after(self, request, method, body):
        if (fields := self.faults.strike("lost_answer", method)) is not None:
            return await lose_answer(request, body, fields["how"])
        if (fields := self.faults.strike("nonsense", method)) is not None:
            what = fields["what"]
            body = b" " * HUGE_BYTES + body if what == "huge" else NONSENSE[what]
        return web.Response(body=body, content_type="application/json", headers=METADATA)


class Call:
    """A request on its way: who calls which method with what."""

    def __init__(self, server, request, method, text, user):
        self.server = server
        self.request = request
        self.method = method
        self.text = text
        self.user = user

    @property
    def cluster(self):
        return self.server.cluster

    def fields(self, message, **kinds):
        return Request(message, self.text, **kinds)

    def job_ids(self, message, name="jobIds", **kinds):
        """The ids of a query, of which there may be 500, and the request."""
        request = self.fields(message, **{name: TEXTS}, **kinds)
        ids = request[name]
        self.server.counters.named(self.method, len(ids))
        if len(ids) > QUERY_ITEMS_MAX:
            what = {"GetJobErrors": "JobIds", "GetJobRunDetails": "RunIds"}.get(
                self.method, "jobIds")
            raise Refusal("Unknown", f"request contained more than {QUERY_ITEMS_MAX} {what}")
        return ids, request

    def seen(self, job_id):
        """A job that lookout's table has by now, and its state there; or (None, None)."""
        job = self.cluster.jobs.get(job_id)
        if job is None:
            return None, None
        state = job.seen_state(self.server.lookout_lag_s(), self.server.clock)
        return (None, None) if state is None else (job, state)

    def check_queue(self, queue):
        """Unknown queues are errors without a code, and so are 500."""
        if not self.server.queues.is_known(queue):
            raise Refusal("Unknown", f'could not find queue "{queue}"')


@web.middleware
async def as_go_does(request, handler):
    """Go's mux cleans paths by a redirect, and the gateway answers in plain words."""
    if "//" in request.raw_path:
        return web.Response(status=307, headers={
            "Location": re.sub("/+", "/", request.raw_path)})
    try:
        return await handler(request)
    except web.HTTPNotFound:
        return web.Response(status=404, text="Not Found\n")
    except web.HTTPMethodNotAllowed:
        return web.Response(status=405, text="Method Not Allowed\n")


async def health(request):
    return web.Response(status=204)
