"""Measures a yardstick of the benchmark of the API as `api.py` measures ours, by the same client:

    peer.py calls version|get SIZE MILLISECONDS COMMAND...     a server that prints its port
    peer.py files files SIZE MILLISECONDS                      nginx

Prints FIGURE VALUE UNIT WORKERS RSS_BYTES, as harness.py reads it.
"""

import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import wire
from transfer import ROUNDS, size_of, transfer

LOAD = pathlib.Path(__file__).resolve().parents[3] / "build/release/bench_api_load"
WORKERS = 2
NGINX = """
daemon off;
master_process off;
pid {folder}/pid;
error_log {folder}/errors;
events {{ }}
http {{
    access_log off;
    client_max_body_size 0;
    client_body_temp_path {folder}/parts;
    server {{
        listen 127.0.0.1:{port};
        root {folder}/files;
        dav_methods PUT;
    }}
}}
"""


def show(figure, value, unit, process):
    text = pathlib.Path(f"/proc/{process.pid}/status").read_text(encoding="utf-8")
    peak = int(text.split("VmHWM:")[1].split()[0]) * 1024
    print(figure, f"{value:.3f}", unit, WORKERS, peak, flush=True)


def calls(workload, milliseconds, command):
    server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    client = wire.Client(LOAD, f"127.0.0.1:{server.stdout.readline().strip()}")
    request = wire.message((1, wire.execution("flow-abcdefghijkl")))
    version, get = wire.ADMIN + "GetVersion", wire.ADMIN + "GetExecution"
    try:
        client.call(version, milliseconds=milliseconds)
        if workload == "version":
            alone = client.call(version, milliseconds=milliseconds)
            show("api_version_us", alone.median_us, "us", server)
        else:
            many = client.call(get, request, connections=8, streams=10, milliseconds=milliseconds)
            show("api_get_per_s", many.count / many.seconds, "1/s", server)
            alone = client.call(get, request, milliseconds=milliseconds)
            show("api_get_us", alone.median_us, "us", server)
    finally:
        client.stop()
        server.kill()


def files(size):
    folder = pathlib.Path(tempfile.mkdtemp(prefix="troupe-bench-"))
    for name in ("files", "parts"):
        (folder / name).mkdir(mode=0o777)
        (folder / name).chmod(0o777)
    folder.chmod(0o755)
    port = 20000 + os.getpid() % 10000
    (folder / "nginx.conf").write_text(NGINX.format(folder=folder, port=port), encoding="utf-8")
    server = subprocess.Popen(["/usr/sbin/nginx", "-p", folder, "-c", folder / "nginx.conf", "-e",
                               folder / "errors"])
    try:
        end = time.monotonic() + 10
        while not (folder / "pid").exists() and time.monotonic() < end:
            time.sleep(0.02)
        url = f"http://127.0.0.1:{port}/large"
        for figure, is_upload in (("upload", True), ("download", False)):
            speeds = [transfer(url, size_of(size), folder, is_upload) for _ in range(ROUNDS)]
            show(f"api_{figure}_mb_per_s", statistics.median(speeds), "MB/s", server)
    finally:
        server.terminate()
        server.wait()
        shutil.rmtree(folder)


def main():
    what, workload, size, milliseconds, *command = sys.argv[1:]
    if what == "calls":
        calls(workload, int(milliseconds), command)
    else:
        files(int(size))


if __name__ == "__main__":
    main()
