"""What happens around a call: it is counted, meets faults, is let in, is done, is answered."""

import asyncio
import json
import re
import urllib.parse

from aiohttp import web

from broken import NO_ANSWER, lose_answer, reset, silence
from kinds import PODS
from status import Refusal

PLACE = re.compile(r"(?P<base>/api/v1|/apis/[^/]+/[^/]+)(/namespaces/(?P<namespace>[^/]+))?"
                   r"/(?P<plural>[^/]+)(/(?P<name>[^/]+))?(?P<log>/log)?")


class Call:
    """A request on its way: who asks what of which resource."""

    def __init__(self, request, kind, verb, place, text):
        self.request = request
        self.kind = kind
        self.method = f"{verb} {kind.plural}"
        self.namespace = place["namespace"]
        self.name = place["name"] and urllib.parse.unquote(place["name"])
        self.query = request.query
        self.accept = request.headers.get("Accept", "")
        self.text = text


class Server:
    def __init__(self, parts, api):
        self.settings = parts.settings
        self.counters = parts.counters
        self.faults = parts.faults
        self.kinds = parts.kinds
        self.api = api

    def application(self):
        application = web.Application(client_max_size=1 << 30)
        application.router.add_get("/version", self.api.versions)
        application.router.add_route("*", "/{tail:.*}", self.handle)
        return application

    async def handle(self, request):
        place = PLACE.fullmatch(request.path)
        kind = place and self.kind_at(place)
        if kind is None:
            return answer(404, Refusal(404, "the server could not find the requested resource"
                                       ).document())
        verb = self.verb_of(request, place)
        method = f"{verb} {kind.plural}"
        self.counters.calls[method] += 1
        try:
            response = await self.call(request, kind, verb, place)
        except Refusal as refusal:
            response = answer(refusal.code, refusal.document(), refusal.headers)
        except (ConnectionError, asyncio.CancelledError):
            response = web.Response(status=NO_ANSWER)
        self.counters.statuses[method][response.status] += 1
        return response

    def kind_at(self, place):
        found = [kind for kind in self.kinds
                 if kind.path == place["base"] and kind.plural == place["plural"]]
        return found[0] if found else None

    @staticmethod
    def verb_of(request, place):
        if place["log"]:
            return "log"
        is_watch = request.query.get("watch") in ("1", "true")
        one, many = {"GET": ("get", "watch" if is_watch else "list"), "POST": ("", "create"),
                     "DELETE": ("delete", "deletecollection"), "PATCH": ("patch", "")
                     }.get(request.method, ("", ""))
        return (one if place["name"] else many) or "unknown"

    async def call(self, request, kind, verb, place):
        broken = await self.faults_before(request, f"{verb} {kind.plural}")
        if broken is not None:
            return broken
        self.let_in(request)
        call = Call(request, kind, verb, place, await request.read())
        verbs = {"create": self.api.create, "get": self.api.get, "list": self.api.list,
                 "watch": self.api.list, "delete": self.api.delete, "patch": self.api.patch,
                 "deletecollection": self.api.delete_all, "log": self.api.log}
        if verb not in verbs or (verb == "log" and kind is not PODS):
            raise Refusal(405, "the server does not allow this method on the requested resource")
        done = await verbs[verb](call)
        if isinstance(done, web.StreamResponse):
            return done
        return await self.faults_after(request, call, *done)

    def let_in(self, request):
        scheme, _, token = request.headers.get("Authorization", "").partition(" ")
        if self.settings.tokens and (scheme != "Bearer" or token not in self.settings.tokens):
            raise Refusal(401, "Unauthorized")

    # Faults around a call. A response that is None goes on with the work.

    async def faults_before(self, request, method):
        strike = self.faults.strike
        if (fields := strike("latency", method)) is not None:
            await asyncio.sleep(fields["ms"] / 1000)
        if self.faults.strikes_now("hang", method):
            return await silence(request)
        if self.faults.strikes_now("reset_request", method):
            return reset(request)
        if (fields := strike("too_many", method)) is not None:
            raise Refusal(429, "Too many requests, please try again later.",
                          headers={"Retry-After": str(fields["retry_after_s"])})
        if (fields := strike("refused", method)) is not None:
            raise Refusal(fields["code"], fields["text"])
        return None

    async def faults_after(self, request, call, status, document):
        body = json.dumps(document, separators=(",", ":")).encode() + b"\n"
        if (fields := self.faults.strike("lost_answer", call.method)) is not None:
            return await lose_answer(request, body, fields["how"])
        if (fields := self.faults.strike("nonsense", call.method)) is not None:
            body = fields["text"].encode()
        self.counters.bytes_sent += len(body)
        return answer(status, body)


def answer(status, body, headers=None):
    if not isinstance(body, bytes):
        body = json.dumps(body, separators=(",", ":")).encode() + b"\n"
    return web.Response(status=status, body=body, headers=headers,
                        content_type="application/json")
