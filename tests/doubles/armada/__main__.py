"""The Armada double: `/usr/bin/python3 tests/doubles/armada --help`. See README.md.

It prints one line of JSON with its addresses when it listens, and ends at SIGTERM, at POST
/control/stop, or with --until-stdin-closes when whoever started it is gone.
"""

import argparse
import asyncio
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
    sys.exit("The Armada double needs aiohttp: apt install python3-aiohttp, and /usr/bin/python3")

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "shared"))

from binoculars import Binoculars
from cluster import Cluster
from control import Control
from parts import Parts
from server import Server


def options():
    parser = argparse.ArgumentParser(
        prog="armada", description="A double of Armada's REST gateway, which counts and fails.")
    add = parser.add_argument
    add("--port", type=int, default=0, help="of the gateway (else a free one)")
    add("--control-port", type=int, default=0, help="of control (else a free one)")
    add("--binoculars-port", type=int, default=0, help="of binoculars (else a free one)")
    add("--queue", action="append", default=[], help="a queue that is there from the start")
    add("--queue-cache-ms", type=int, default=10000, help="a new queue is refused so long")
    add("--queued-ms", type=int, default=0, help="how long a job is queued at least")
    add("--pending-ms", type=int, default=0, help="how long its pod is pending")
    add("--run-ms", type=int, default=0, help="how long it runs")
    add("--cancel-ms", type=int, default=20, help="until a cancellation is done")
    add("--deadline-slack-ms", type=int, default=0, help="how much later a pod's deadline strikes")
    add("--ingest-ms", type=int, default=20, help="until status and events show what happened")
    add("--slots", type=int, default=None, help="jobs that have a node at once; 0 is no bound, "
        "which is the default but with --execute, where it is one per core")
    add("--execute", action="store_true", help="really run commands, as local processes")
    add("--share", action="append", default=[], metavar="FOLDER",
        help="a folder below /tmp that commands see; /tmp itself is each one's own")
    add("--secret", action="append", default=[], metavar="GROUP/KEY=VALUE",
        help="a key of a Secret of Kubernetes, for environments of commands that are run")
    add("--auth", default="anonymous", help="anonymous, basic:USER:PASSWORD or bearer:TOKEN")
    add("--restricted-tolerations", action="append", default=[], metavar="KEY",
        help="a toleration that users may not set")
    add("--tls", metavar="PEM", help="certificate and key of the gateway")
    add("--client-ca", metavar="PEM", help="whose certificates clients must have")
    add("--seed", type=int, default=0, help="draws the ids of jobs")
    add("--tell", action="store_true", help="tells each call on stderr, with its time")
    add("--until-stdin-closes", action="store_true", help="ends with who started it")
    settings = parser.parse_args()
    if settings.slots is None:
        settings.slots = (os.cpu_count() or 1) if settings.execute else 0
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
    parts = Parts.of(settings, folder)
    cluster = Cluster(parts)
    endpoint, gateway = await listen(Server(parts, cluster).application(), settings.port,
                                     tls_of(settings))
    control_url, control = await listen(Control(parts, cluster, stop).application(),
                                        settings.control_port)
    binoculars_url, binoculars = await listen(Binoculars(parts, cluster).application(),
                                              settings.binoculars_port)
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    if settings.until_stdin_closes:
        end_with_stdin(stop)
    print(json.dumps({"endpoint": endpoint, "control": control_url,
                      "binoculars": binoculars_url}), flush=True)
    await stop.wait()
    if parts.executor is not None:
        parts.executor.kill_all()
    for runner in (gateway, control, binoculars):
        await runner.cleanup()


def main():
    settings = options()
    gc.set_threshold(50000, 20, 1000000)  # Jobs live long, and only requests make cycles.
    folder = tempfile.mkdtemp(prefix="armada-double-")
    try:
        asyncio.run(serve(settings, pathlib.Path(folder)))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
