"""The steps of the engine's benchmark on DBOS: steps_dbos.py WORKLOAD SIZE MILLISECONDS

`chain` is one workflow of SIZE / 1000 steps, one behind the other; `chains` are 64 of them at once.
A step is a function that returns what it got, and is durable when DBOS goes on behind it. DBOS keeps
its state in a PostgreSQL that syncs, on a socket, as ours does.
"""

import logging
import pathlib
import resource
import statistics
import sys
import time

from dbos import DBOS

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tests/integration"))

import postgres  # noqa: E402 (it lies in a folder of ours)

CHAINS = 64
STEPS_DIVISOR = 1000


@DBOS.step()
def step(number):
    return number


@DBOS.workflow()
def chain(count):
    for number in range(count):
        step(number)
    return count


def run_chain(count):
    chain(count)
    return count


def run_chains(count):
    for handle in [DBOS.start_workflow(chain, count) for _ in range(CHAINS)]:
        handle.get_result()
    return CHAINS * count


def measure(run, count, seconds):
    """Seconds a step: the median of passes for so long, behind one that warms up."""
    run(1)
    values = []
    end = time.monotonic() + seconds
    while not values or time.monotonic() < end:
        begin = time.monotonic()
        steps = run(count)
        values.append((time.monotonic() - begin) / steps)
    return statistics.median(values)


def print_figure(workload, seconds_a_step):
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    if workload == "chain":
        print("chain_step_ms", seconds_a_step * 1e3, "ms", 1, memory, flush=True)
    else:
        print("chains_steps_per_second", 1 / seconds_a_step, "1/s", 1, memory, flush=True)


def main(workload, size, milliseconds):
    server = postgres.Server(is_synced=True)
    try:
        DBOS(config={"name": "bench", "system_database_url":
                     server.locator(database=server.make_database()), "run_admin_server": False})
        logging.getLogger("dbos").setLevel(logging.ERROR)
        DBOS.launch()
        run = run_chain if workload == "chain" else run_chains
        print_figure(workload, measure(run, max(1, size // STEPS_DIVISOR), milliseconds / 1e3))
        DBOS.destroy()
    finally:
        server.stop()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
