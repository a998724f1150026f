"""The steps of the engine's benchmark on Restate: steps_restate.py SERVER WORKLOAD SIZE MILLISECONDS

`chain` is one handler of SIZE / 1000 steps, one behind the other; `chains` are 64 of them at once. A
step is `ctx.run` of a function that returns what it got, and is durable when the handler goes on
behind it. SERVER is the path of restate-server, which runs in a folder of its own.
"""

import asyncio
import json
import pathlib
import resource
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request

import hypercorn.asyncio
import hypercorn.config
import restate

CHAINS = 64
STEPS_DIVISOR = 1000
READY_S = 60

steps = restate.Service("steps")


@steps.handler()
async def chain(ctx: restate.Context, count: int) -> int:
    for number in range(count):
        await ctx.run("step", lambda number=number: number)
    return count


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def post(port, path, value):
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", json.dumps(value).encode(),
                                     {"content-type": "application/json"})
    with urllib.request.urlopen(request, timeout=600) as answer:
        return json.load(answer)


def wait_for(port, path):
    end = time.monotonic() + READY_S
    while True:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=5):
                return
        except (urllib.error.URLError, ConnectionError):
            if time.monotonic() > end:
                raise
            time.sleep(0.05)


def serve_handlers(port):
    """The service's own process: this one, in a thread."""
    config = hypercorn.config.Config()
    config.bind = [f"127.0.0.1:{port}"]
    config.accesslog = config.errorlog = None

    async def never():
        await asyncio.Event().wait()

    asyncio.run(hypercorn.asyncio.serve(restate.app([steps]), config, shutdown_trigger=never))


class Server:
    """restate-server in a folder, with ports of its own."""

    def __init__(self, program):
        self.folder = tempfile.TemporaryDirectory(prefix="troupe-restate-")
        self.ingress, self.admin, self.node, handlers = (free_port() for _ in range(4))
        config = pathlib.Path(self.folder.name) / "restate.toml"
        config.write_text(
            f'base-dir = "{self.folder.name}"\nnode-name = "bench"\ndisable-telemetry = true\n'
            f'bind-address = "127.0.0.1:{self.node}"\n'
            f'advertised-address = "http://127.0.0.1:{self.node}/"\nuse-random-ports = false\n'
            f'[ingress]\nbind-address = "127.0.0.1:{self.ingress}"\n'
            f'[admin]\nbind-address = "127.0.0.1:{self.admin}"\n')
        self.log = open(pathlib.Path(self.folder.name) / "log", "wb")
        self.process = subprocess.Popen([program, "--config-file", config], stdout=self.log,
                                        stderr=self.log, stdin=subprocess.DEVNULL)
        threading.Thread(target=serve_handlers, args=(handlers,), daemon=True).start()
        wait_for(self.admin, "/health")
        post(self.admin, "/deployments", {"uri": f"http://127.0.0.1:{handlers}"})
        wait_for(self.ingress, "/restate/health")

    def memory(self):
        for line in pathlib.Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if line.startswith("VmHWM"):
                return int(line.split()[1]) * 1024
        return 0

    def stop(self):
        self.process.kill()
        self.process.wait()
        self.log.close()
        self.folder.cleanup()


def run_chain(server, count):
    return post(server.ingress, "/steps/chain", count)


def run_chains(server, count):
    callers = [threading.Thread(target=run_chain, args=(server, count)) for _ in range(CHAINS)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    return CHAINS * count


def measure(run, server, count, seconds):
    """Seconds a step: the median of passes for so long, behind one that warms up."""
    run(server, 1)
    values = []
    end = time.monotonic() + seconds
    while not values or time.monotonic() < end:
        begin = time.monotonic()
        done = run(server, count)
        values.append((time.monotonic() - begin) / done)
    return statistics.median(values)


def main(program, workload, size, milliseconds):
    server = Server(program)
    try:
        run = run_chain if workload == "chain" else run_chains
        seconds = measure(run, server, max(1, size // STEPS_DIVISOR), milliseconds / 1e3)
        memory = server.memory() + resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        if workload == "chain":
            print("chain_step_ms", seconds * 1e3, "ms", 2, memory, flush=True)
        else:
            print("chains_steps_per_second", 1 / seconds, "1/s", 2, memory, flush=True)
    finally:
        server.stop()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
