"""The object store's double: `/usr/bin/python3 tests/doubles/s3 --help`. See README.md.

It prints one line of JSON with its addresses when it listens, and ends at SIGTERM, or with
--until-stdin-closes when whoever started it is gone.
"""

import argparse
import asyncio
import collections
import hashlib
import json
import signal
import sys

try:
    from aiohttp import web
except ImportError:
    sys.exit("The S3 double needs aiohttp: apt install python3-aiohttp, and /usr/bin/python3")

from faults import Faults
from signature import Refused, Signer

OBJECT_BYTES_MAX = 64 << 20


def options():
    parser = argparse.ArgumentParser(prog="s3", description="A double of an object store.")
    add = parser.add_argument
    add("--port", type=int, default=0, help="of the store (else a free one)")
    add("--control-port", type=int, default=0, help="of control (else a free one)")
    add("--bucket", action="append", default=[], help="a bucket that is there")
    add("--key", metavar="ACCESS:SECRET[:TOKEN]", help="who may sign; else nobody has to")
    add("--region", default="us-east-1", help="what signatures have to be for")
    add("--no-list", action="store_true", help="what is not there is refused, as to who may not list")
    add("--until-stdin-closes", action="store_true", help="ends with who started it")
    return parser.parse_args()


class Store:
    """Buckets with objects, in memory; and what was asked of them."""

    def __init__(self, settings):
        self.buckets = {name: {} for name in settings.bucket}
        self.may_list = not settings.no_list
        self.faults = Faults()
        self.calls = collections.Counter()
        self.signer = None
        if settings.key is not None:
            access, secret, token, *_ = [*settings.key.split(":"), "", ""]
            self.signer = Signer(access, secret, token, settings.region)

    async def handle(self, request):
        """One request, with the faults around it."""
        path, _, query = request.raw_path.partition("?")
        name = request.path.lstrip("/")
        body = await request.read()
        try:
            response = await self.answer(request, path, query, name, body)
        except Refused as refused:
            response = refusal(refused)
        self.calls[f"{request.method} {response.status}"] += 1
        if self.faults.find("lost", request.method, name):
            request.transport.abort()
        if self.faults.find("half", request.method, name):
            await break_off(request, response)
        return response

    async def answer(self, request, path, query, name, body):
        for what, status, code in (("busy", 503, "SlowDown"), ("broken", 500, "InternalError")):
            if self.faults.find(what, request.method, name):
                raise Refused(status, code, "on demand")
        slow = self.faults.find("slow", request.method, name)
        if slow:
            await asyncio.sleep(slow.ms / 1000)
        if self.signer is not None:
            headers = {key.lower(): value for key, value in request.headers.items()}
            self.signer.check(request.method, path, query, headers, body)
        huge = self.faults.find("huge", request.method, name)
        return web.Response(body=b" " * huge.bytes) if huge else self.work(request.method, name, body)

    def work(self, method, name, body):
        bucket, _, key = name.partition("/")
        objects = self.buckets.get(bucket)
        if objects is None:
            raise Refused(404, "NoSuchBucket", "there is no such bucket")
        if method == "PUT":
            objects[key] = body
            return web.Response(headers={"ETag": etag(body)})
        if method == "DELETE":
            objects.pop(key, None)
            return web.Response(status=204)
        if method not in ("GET", "HEAD"):
            raise Refused(405, "MethodNotAllowed", "an object is put, got and deleted")
        if key not in objects:
            raise Refused(*((404, "NoSuchKey") if self.may_list else (403, "AccessDenied")),
                          "there is no such object")
        return web.Response(body=objects[key], headers={"ETag": etag(objects[key])})


def etag(body):
    return f'"{hashlib.md5(body).hexdigest()}"'


def refusal(refused):
    text = (f'<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>{refused.code}</Code>'
            f"<Message>{refused.words}</Message></Error>")
    return web.Response(status=refused.status, text=text, content_type="application/xml")


async def break_off(request, response):
    stream = web.StreamResponse(status=response.status)
    stream.content_length = len(response.body or b"") + 1
    await stream.prepare(request)
    await stream.write((response.body or b"")[:-1])
    request.transport.abort()


class Control:
    """A port of its own, JSON in and out; README.md has the table."""

    def __init__(self, store):
        self.store = store

    def application(self):
        application = web.Application()
        application.add_routes([
            web.get("/control/counters", self.counters), web.get("/control/objects", self.objects),
            web.get("/control/faults", self.struck), web.post("/control/faults", self.faults),
            web.post("/control/faults/clear", self.clear)])
        return application

    async def counters(self, _):
        return web.json_response(self.store.calls)

    async def objects(self, _):
        return web.json_response({f"{bucket}/{key}": len(body)
                                  for bucket, objects in self.store.buckets.items()
                                  for key, body in objects.items()})

    async def struck(self, _):
        return web.json_response({name: fault.struck
                                  for name, fault in self.store.faults.on.items()})

    async def faults(self, request):
        try:
            self.store.faults.turn_on(await request.json())
        except ValueError as error:
            return web.json_response({"error": str(error)}, status=400)
        return web.json_response({})

    async def clear(self, _):
        self.store.faults.on.clear()
        return web.json_response({})


async def listen(application, port):
    runner = web.AppRunner(application, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", port, shutdown_timeout=0.1).start()
    return f"http://127.0.0.1:{runner.addresses[0][1]}"


async def main():
    settings = options()
    store = Store(settings)
    application = web.Application(client_max_size=OBJECT_BYTES_MAX)
    application.router.add_route("*", "/{name:.*}", store.handle)
    addresses = {"endpoint": await listen(application, settings.port),
                 "control": await listen(Control(store).application(), settings.control_port)}
    print(json.dumps(addresses), flush=True)
    is_over = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGTERM, is_over.set)
    if settings.until_stdin_closes:
        loop.run_in_executor(None, lambda: (sys.stdin.read(), loop.call_soon_threadsafe(is_over.set)))
    await is_over.wait()


if __name__ == "__main__":
    asyncio.run(main())
