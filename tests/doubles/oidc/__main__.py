"""An OpenID provider's double: `/usr/bin/python3 tests/doubles/oidc --help`. See README.md.

It prints one line of JSON with its addresses when it listens, and ends at SIGTERM, or with
--until-stdin-closes when whoever started it is gone.
"""

import argparse
import asyncio
import base64
import collections
import json
import pathlib
import secrets
import signal
import sys
import time
import urllib.parse

try:
    from aiohttp import web
except ImportError:
    sys.exit("The double needs aiohttp: apt install python3-aiohttp, and /usr/bin/python3")

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "shared"))

from keys import Keys, mint  # noqa: E402: behind the check of what it needs
from switches import Fault, Faults  # noqa: E402

FAULTS = {
    "hang": Fault("answer", {}, "takes the request and never answers"),
    "broken": Fault("answer", {"status": 500}, "answers with an error"),
    "garbage": Fault("answer", {"text": "<html>"}, "answers with what is no JSON"),
    "lies": Fault("describe", {"issuer": "https://evil.example.org"},
                  "describes itself as another issuer"),
    "no_keys": Fault("keys", {}, "has a set without keys"),
}
TOKEN_S = 3600


def options():
    parser = argparse.ArgumentParser(prog="oidc", description="A double of an OpenID provider.")
    add = parser.add_argument
    add("--port", type=int, default=0, help="of the provider (else a free one)")
    add("--control-port", type=int, default=0, help="of control (else a free one)")
    add("--audience", default="flyte", help="for whom its tokens are")
    add("--client", action="append", default=[], metavar="ID:SECRET", help="who may get some")
    add("--until-stdin-closes", action="store_true", help="ends with who started it")
    return parser.parse_args()


class Provider:
    """Its keys, and the codes of devices that wait for somebody to say yes."""

    def __init__(self, settings):
        self.issuer = None
        self.audience = settings.audience
        self.clients = dict(client.split(":", 1) for client in settings.client)
        self.keys = Keys()
        self.faults = Faults(FAULTS)
        self.devices = {}
        self.calls = collections.Counter()

    async def handle(self, request):
        """One request, with the faults around it."""
        self.calls[request.path] += 1
        place = f"{request.method} {request.path}"
        if self.faults.strikes_now("hang", place):
            await asyncio.Event().wait()
        broken = self.faults.strike("broken", place)
        if broken is not None:
            return web.json_response({"error": "server_error"}, status=broken["status"])
        garbage = self.faults.strike("garbage", place)
        if garbage is not None:
            return web.Response(text=garbage["text"])
        work = {"GET /.well-known/openid-configuration": self.describe, "GET /keys": self.publish,
                "POST /token": self.token, "POST /device": self.device}.get(place)
        return await work(request) if work else web.json_response({"error": "none"}, status=404)

    async def describe(self, _):
        lie = self.faults.strike("lies")
        return web.json_response({
            "issuer": self.issuer if lie is None else lie["issuer"], "jwks_uri": f"{self.issuer}/keys",
            "authorization_endpoint": f"{self.issuer}/authorize",
            "token_endpoint": f"{self.issuer}/token",
            "device_authorization_endpoint": f"{self.issuer}/device"})

    async def publish(self, _):
        if self.faults.strikes_now("no_keys"):
            return web.json_response({"keys": []})
        return web.json_response(self.keys.published())

    def claims(self, who, **more):
        now = int(time.time())
        return {"iss": self.issuer, "aud": self.audience, "sub": who, "iat": now,
                "exp": now + TOKEN_S, **more}

    async def token(self, request):
        form = await request.post()
        if form.get("grant_type") == "client_credentials":
            who = self.authenticate(request, form)
        elif form.get("grant_type") == "urn:ietf:params:oauth:grant-type:device_code":
            who = self.devices.get(form.get("device_code"))
            if who == "":
                return web.json_response({"error": "authorization_pending"}, status=400)
        else:
            return web.json_response({"error": "unsupported_grant_type"}, status=400)
        if not who:
            return web.json_response({"error": "invalid_client"}, status=401)
        return web.json_response({"access_token": mint(self.keys, self.claims(who)),
                                  "token_type": "Bearer", "expires_in": TOKEN_S})

    def authenticate(self, request, form):
        id, secret = form.get("client_id"), form.get("client_secret")
        scheme, _, basic = request.headers.get("Authorization", "").partition(" ")
        if scheme == "Basic":
            id, _, secret = map(urllib.parse.unquote_plus,
                                base64.b64decode(basic).decode().partition(":"))
        return id if id in self.clients and self.clients[id] == secret else None

    async def device(self, _):
        code = secrets.token_hex(16)
        self.devices[code] = ""
        return web.json_response({"device_code": code, "user_code": code[:8], "interval": 1,
                                  "verification_uri": f"{self.issuer}/activate",
                                  "expires_in": 600})


class Control:
    """What a test sees and turns."""

    def __init__(self, provider):
        self.provider = provider

    def application(self):
        made = web.Application()
        made.add_routes([
            web.get("/control/counters", self.counters), web.post("/control/mint", self.mint),
            web.post("/control/rotate", self.rotate), web.post("/control/faults", self.faults),
            web.post("/control/approve", self.approve)])
        return made

    async def counters(self, _):
        return web.json_response(self.provider.calls)

    async def mint(self, request):
        wish = await request.json()
        claims = {key: value for key, value in self.provider.claims(
            wish.pop("sub", "ada"), **wish.pop("claims", {})).items() if value is not None}
        return web.json_response({"token": mint(self.provider.keys, claims, **wish)})

    async def rotate(self, request):
        self.provider.keys.rotate(**await request.json())
        return web.json_response({})

    async def faults(self, request):
        self.provider.faults.clear()
        for name, wish in (await request.json()).items():
            self.provider.faults.set(name, **wish)
        return web.json_response({})

    async def approve(self, request):
        wish = await request.json()
        for code in self.provider.devices:
            if code.startswith(wish["user_code"]):
                self.provider.devices[code] = wish["who"]
        return web.json_response({})


async def listen(handler, port):
    runner = web.AppRunner(handler) if isinstance(handler, web.Application) else (
        web.ServerRunner(web.Server(handler)))
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", port)
    await site.start()
    return f"http://127.0.0.1:{site._server.sockets[0].getsockname()[1]}"


async def main():
    settings = options()
    provider = Provider(settings)
    provider.issuer = await listen(provider.handle, settings.port)
    control = await listen(Control(provider).application(), settings.control_port)
    print(json.dumps({"issuer": provider.issuer, "control": control}), flush=True)
    end = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, end.set)
    if settings.until_stdin_closes:
        asyncio.get_running_loop().add_reader(sys.stdin, end.set)
    await end.wait()


if __name__ == "__main__":
    asyncio.run(main())
