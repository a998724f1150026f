"""The Kubernetes double: `/usr/bin/python3 tests/doubles/kubernetes --help`. See README.md.

It prints one line of JSON with its addresses when it listens, and ends at SIGTERM, at POST
/control/stop, or with --until-stdin-closes when whoever started it is gone.
"""

import argparse
import asyncio
import dataclasses
import gc
import json
import os
import pathlib
import shutil
import signal
import ssl
import sys
import tempfile

try:
    from aiohttp import web
except ImportError:
    sys.exit("The Kubernetes double needs aiohttp: apt install python3-aiohttp, and "
             "/usr/bin/python3")

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "shared"))

from api import Api
from control import Control
from counters import Counters
from execute import Executor
from faults import Faults
from kinds import JOBS, PODS, TEMPLATES, kind_of
from kubelet import Kubelet
from server import Server
from store import Store


@dataclasses.dataclass
class Parts:
    """What all parts of the double share."""
    settings: object
    store: Store
    counters: Counters
    faults: Faults
    kinds: list
    secrets: dict  # of Kubernetes, by NAME/KEY
    executor: Executor  # None unless commands are run


def options():
    parser = argparse.ArgumentParser(
        prog="kubernetes", description="A double of Kubernetes' API server, with kubelets.")
    add = parser.add_argument
    add("--port", type=int, default=0, help="of the API server (else a free one)")
    add("--control-port", type=int, default=0, help="of control (else a free one)")
    add("--namespace", action="append", default=[], help="one that is there, beside default")
    add("--token", action="append", default=[], help="who has one is let in, and nobody else")
    add("--crd", action="append", default=[], metavar="GROUP/VERSION/PLURAL/KIND",
        help="a kind of resources that is there")
    add("--pending-ms", type=int, default=0, help="until a pod has a node")
    add("--start-ms", type=int, default=0, help="until its containers have started")
    add("--run-ms", type=int, default=0, help="how long it runs")
    add("--grace-ms", type=int, default=20, help="how long one takes to go that is deleted")
    add("--bookmark-ms", type=int, default=60000, help="how often watches get a bookmark")
    add("--slow-events", type=int, default=20000,
        help="a watch that lags behind by more events is hung up on")
    add("--watch-list", action="store_true", help="watches may begin with what there is")
    add("--execute", action="store_true", help="really run commands, as local processes")
    add("--share", action="append", default=[], metavar="FOLDER",
        help="a folder below /tmp that commands see; /tmp itself is each one's own")
    add("--priority-class", action="append", default=[], metavar="NAME",
        help="a PriorityClass that is there, and no other is (else all are)")
    add("--secret", action="append", default=[], metavar="NAME/KEY=VALUE",
        help="a key of a Secret, for environments of commands that are run")
    add("--tls", metavar="PEM", help="certificate and key of the API server")
    add("--client-ca", metavar="PEM", help="whose certificates clients must have")
    add("--until-stdin-closes", action="store_true", help="ends with who started it")
    settings = parser.parse_args()
    settings.namespaces = ["default", *settings.namespace]
    settings.tokens = settings.token
    return settings


def tls_of(settings):
    if settings.tls is None:
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(settings.tls)
    if settings.client_ca is not None:
        context.load_verify_locations(settings.client_ca)
        context.verify_mode = ssl.CERT_REQUIRED
    return context


async def listen(application, port, tls=None):
    """Serves an application and returns its address and how to end it."""
    runner = web.AppRunner(application, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", port, ssl_context=tls, shutdown_timeout=0.1,
                      backlog=1024).start()
    bound = runner.addresses[0][1]
    return f"{'https' if tls else 'http'}://127.0.0.1:{bound}", runner


def end_with_stdin(stop):
    def look():
        if not os.read(0, 4096):
            stop.set()
    asyncio.get_running_loop().add_reader(0, look)


async def serve(settings, folder):
    stop = asyncio.Event()
    parts = Parts(settings=settings, store=Store(), counters=Counters(), faults=Faults(),
                  kinds=[PODS, JOBS, TEMPLATES, *map(kind_of, settings.crd)],
                  secrets=dict(secret.split("=", 1) for secret in settings.secret),
                  executor=Executor(folder, settings.share) if settings.execute else None)
    kubelet = Kubelet(parts)
    api = Api(parts, kubelet)
    endpoint, server = await listen(Server(parts, api).application(), settings.port,
                                    tls_of(settings))
    control_url, control = await listen(Control(parts, api, kubelet, stop).application(),
                                        settings.control_port)
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    if settings.until_stdin_closes:
        end_with_stdin(stop)
    print(json.dumps({"endpoint": endpoint, "control": control_url}), flush=True)
    await stop.wait()
    if parts.executor is not None:
        parts.executor.kill_all()
    for runner in (server, control):
        await runner.cleanup()


def main():
    settings = options()
    gc.set_threshold(50000, 20, 1000000)  # Objects live long, and only requests make cycles.
    folder = tempfile.mkdtemp(prefix="kubernetes-double-")
    try:
        asyncio.run(serve(settings, pathlib.Path(folder)))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
