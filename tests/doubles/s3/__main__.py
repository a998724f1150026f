"""The object store's double: `/usr/bin/python3 tests/doubles/s3 --help`. See README.md.

It prints one line of JSON with its addresses when it listens, and ends at SIGTERM, or with
--until-stdin-closes when whoever started it is gone.
"""

import argparse
import asyncio
import collections
import datetime
import hashlib
import json
import re
import signal
import sys
from xml.sax.saxutils import escape

try:
    from aiohttp import web
except ImportError:
    sys.exit("The S3 double needs aiohttp: apt install python3-aiohttp, and /usr/bin/python3")

from faults import Faults
from signature import Refused, Signer

OBJECT_BYTES_MAX = 64 << 20
PART_BYTES_MIN = 5 << 20
QUOTES = {'"': "&quot;"}


def options():
    parser = argparse.ArgumentParser(prog="s3", description="A double of an object store.")
    add = parser.add_argument
    add("--port", type=int, default=0, help="of the store (else a free one)")
    add("--control-port", type=int, default=0, help="of control (else a free one)")
    add("--bucket", action="append", default=[], help="a bucket that is there")
    add("--key", metavar="ACCESS:SECRET[:TOKEN]", help="who may sign; else nobody has to")
    add("--region", default="us-east-1", help="what signatures have to be for")
    add("--no-list", action="store_true", help="what is not there is refused, as to who may not list")
    add("--page", type=int, default=1000, help="how many objects a page of a list has")
    add("--until-stdin-closes", action="store_true", help="ends with who started it")
    return parser.parse_args()


class Store:
    """Buckets with objects, in memory; and what was asked of them."""

    def __init__(self, settings):
        self.buckets = {name: {} for name in settings.bucket}
        self.modified = {}  # of objects, by BUCKET/NAME
        self.uploads = Uploads()
        self.may_list = not settings.no_list
        self.page = settings.page
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
        if huge:
            return web.Response(body=b" " * huge.bytes)
        response = self.work(request, name, body)
        if self.faults.find("longer", request.method, name):
            response.body = response.body + b"!"
        return response

    def work(self, request, name, body):
        method = request.method
        bucket, _, key = name.partition("/")
        objects = self.buckets.get(bucket)
        if objects is None:
            raise Refused(404, "NoSuchBucket", "there is no such bucket")
        if not key and method == "GET" and request.query.get("list-type") == "2":
            return self.list(bucket, objects, request.query)
        response = self.uploads.answer(method, name, request.query, body)
        if isinstance(response, bytes):
            self.keep(objects, name, key, response)
            return completed(name, response)
        if response is not None:
            return response
        if method == "PUT" and not key:
            raise Refused(409, "BucketAlreadyOwnedByYou", "the bucket is there")
        if method == "PUT":
            self.keep(objects, name, key, body)
            return web.Response(headers={"ETag": etag(body)})
        if method == "DELETE":
            objects.pop(key, None)
            return web.Response(status=204)
        if method not in ("GET", "HEAD"):
            raise Refused(405, "MethodNotAllowed", "an object is put, got and deleted")
        if key not in objects:
            raise Refused(*((404, "NoSuchKey") if self.may_list else (403, "AccessDenied")),
                          "there is no such object")
        return give(request.headers, objects[key], self.modified[name])

    def keep(self, objects, name, key, body):
        objects[key] = body
        self.modified[name] = datetime.datetime.now(datetime.timezone.utc)

    def list(self, bucket, objects, query):
        """A page of the objects below a prefix, in the order of their names."""
        if not self.may_list:
            raise Refused(403, "AccessDenied", "a list is not for you")
        prefix, token = query.get("prefix", ""), query.get("continuation-token", "")
        folders, below = folders_in(objects, prefix, query.get("delimiter", ""))
        names = sorted(name for name in below if name > token)
        page, rest = names[:self.page], names[self.page:]
        contents = "".join(
            f"<Contents><Key>{escape(name)}</Key><LastModified>"
            f"{moment(self.modified[f'{bucket}/{name}'])}</LastModified>"
            f"<ETag>{escape(etag(objects[name]), QUOTES)}</ETag><Size>{len(objects[name])}</Size>"
            "<StorageClass>STANDARD</StorageClass></Contents>" for name in page)
        common = "" if token else "".join(
            f"<CommonPrefixes><Prefix>{escape(folder)}</Prefix></CommonPrefixes>"
            for folder in folders)
        after = (f"<NextContinuationToken>{escape(page[-1])}</NextContinuationToken>"
                 if rest else "")
        text = ('<?xml version="1.0" encoding="UTF-8"?>\n'
                '<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">'
                f"<Name>{bucket}</Name><Prefix>{escape(prefix)}</Prefix>"
                f"<KeyCount>{len(page)}</KeyCount><MaxKeys>{self.page}</MaxKeys>"
                f"<IsTruncated>{'true' if rest else 'false'}</IsTruncated>{after}{contents}"
                f"{common}"
                "</ListBucketResult>")
        return web.Response(text=text, content_type="application/xml")


def folders_in(objects, prefix, delimiter):
    """What names begin with up to a delimiter behind the prefix, and the names without one."""
    folders, names = set(), []
    for name in objects:
        inside = name.removeprefix(prefix)
        if name.startswith(prefix) and delimiter and delimiter in inside:
            folders.add(prefix + inside.partition(delimiter)[0] + delimiter)
        elif name.startswith(prefix):
            names.append(name)
    return sorted(folders), names


class Uploads:
    """Objects that come in parts: begun, and neither completed nor dropped."""

    def __init__(self):
        self.begun = {}  # (name, when, parts) by their number
        self.count = 0

    def answer(self, method, name, query, body):
        """None: it is about no upload; bytes: the object that its parts have become."""
        if method == "POST" and "uploads" in query:
            return self.begin(name)
        if method == "GET" and "uploads" in query:
            return self.list(name.partition("/")[0], query.get("prefix", ""))
        if "uploadId" not in query:
            return None
        number = query["uploadId"]
        if number not in self.begun or self.begun[number][0] != name:
            raise Refused(404, "NoSuchUpload", "it was not begun, or has ended")
        if method == "DELETE":
            del self.begun[number]
            return web.Response(status=204)
        if method == "PUT":
            self.begun[number][2][int(query["partNumber"])] = body
            return web.Response(headers={"ETag": etag(body)})
        return self.complete(number, body.decode())

    def begin(self, name):
        self.count += 1
        number = f"upload/{self.count}+="
        self.begun[number] = (name, datetime.datetime.now(datetime.timezone.utc), {})
        return xml("InitiateMultipartUploadResult", f"<UploadId>{number}</UploadId>")

    def complete(self, number, text):
        """The parts must be those that came, in order, and none but the last below 5 MiB."""
        _, _, parts = self.begun[number]
        listed = re.findall(r"<Part><PartNumber>(\d+)</PartNumber><ETag>([^<]*)</ETag></Part>", text)
        if [int(part) for part, _ in listed] != sorted(parts) or not parts:
            raise Refused(400, "InvalidPartOrder", "the list is not in order")
        if any(etag(parts[int(part)]) != tag for part, tag in listed):
            raise Refused(400, "InvalidPart", "a part is another one")
        if any(len(parts[int(part)]) < PART_BYTES_MIN for part, _ in listed[:-1]):
            raise Refused(400, "EntityTooSmall", "a part is too small")
        del self.begun[number]
        return b"".join(parts[number] for number in sorted(parts))

    def list(self, bucket, prefix):
        begun = "".join(
            f"<Upload><Key>{escape(name.partition('/')[2])}</Key><UploadId>{number}</UploadId>"
            f"<Initiated>{moment(when)}</Initiated></Upload>"
            for number, (name, when, _) in self.begun.items()
            if name.startswith(f"{bucket}/{prefix}"))
        return xml("ListMultipartUploadsResult", f"<Bucket>{bucket}</Bucket>{begun}")


def moment(when):
    return when.strftime("%Y-%m-%dT%H:%M:%S.000Z")


def xml(name, inside):
    return web.Response(text=f'<?xml version="1.0" encoding="UTF-8"?>\n<{name} '
                        f'xmlns="http://s3.amazonaws.com/doc/2006-03-01/">{inside}</{name}>',
                        content_type="application/xml")


def completed(name, body):
    return xml("CompleteMultipartUploadResult",
               f"<Key>{escape(name)}</Key><ETag>{escape(etag(body))}</ETag>")


def give(headers, body, when):
    """An object, whole, from a byte on or up to one, if the conditions hold."""
    tag = etag(body)
    told = {"ETag": tag, "Last-Modified": when.strftime("%a, %d %b %Y %H:%M:%S GMT")}
    if headers.get("If-Match", tag) != tag:
        raise Refused(412, "PreconditionFailed", "it is another one")
    if headers.get("If-None-Match") == tag:
        return web.Response(status=304, headers=told)
    wanted = re.fullmatch(r"bytes=(\d+)-(\d*)", headers.get("Range", ""))
    if wanted is None or headers.get("If-Range", tag) != tag:
        return web.Response(body=body, headers=told)
    first, end = int(wanted[1]), min(int(wanted[2] or len(body)), len(body) - 1)
    if first >= len(body):
        raise Refused(416, "InvalidRange", "it is not so long")
    return web.Response(status=206, body=body[first:end + 1], headers={
        **told, "Content-Range": f"bytes {first}-{end}/{len(body)}"})


def etag(body):
    return f'"{hashlib.md5(body).hexdigest()}"'


def refusal(refused):
    text = (f'<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>{refused.code}</Code>'
            f"<Message>{refused.words}</Message></Error>")
    return web.Response(status=refused.status, text=text, content_type="application/xml")


async def break_off(request, response):
    kept = {name: value for name, value in response.headers.items() if name in ("ETag", "Content-Range")}
    stream = web.StreamResponse(status=response.status, headers=kept)
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
            web.get("/control/uploads", self.uploads),
            web.get("/control/faults", self.struck), web.post("/control/faults", self.faults),
            web.post("/control/faults/clear", self.clear)])
        return application

    async def counters(self, _):
        return web.json_response(self.store.calls)

    async def objects(self, _):
        return web.json_response({f"{bucket}/{key}": len(body)
                                  for bucket, objects in self.store.buckets.items()
                                  for key, body in objects.items()})

    async def uploads(self, _):
        return web.json_response([name for name, _, _ in self.store.uploads.begun.values()])

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
