#!/usr/bin/env python3
"""How long `troupe list` and `troupe get` take over N executions, by each of the filters that an
index serves. Prints a JSON line per figure; README.md says what each is.

    list.py --size N [--milliseconds M] [--store sqlite|postgres]

One execution is run, and its rows are copied by SQL: a second apart, in turn of 100 workflows, 20
teams and the phases below. A tenth of a percent runs, so that a filter which finds little has to
find it. The program is called as a person would, so a figure has its start in it; `list_version_ms`
is the start alone.
"""

import argparse
import json
import os
import pathlib
import shutil
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/integration"))

TROUPE = pathlib.Path(os.environ.get("TROUPE_PROGRAM", ROOT / "build/release/troupe"))

FLOW = """
troupe: 1
tasks:
  say: {run: ["true"]}
workflows:
  main:
    labels: {team: team_0}
    nodes: {say: {task: say}}
"""

# Phases of an execution by schemas/engine/phase.h.
RUNNING, SUCCEEDED, FAILED = 2, 4, 6

# What is copied from the one execution that there is, and what is made up, by `i` of 1 to N.
MADE_UP = {
    "record_execution": {
        "execution": "r.execution + 16 * i",
        "name": "'run_' || i",
        "workflow": "'flow_' || (i % 100)",
        "phase": f"CASE WHEN i % 1000 = 0 THEN {RUNNING} WHEN i % 100 = 7 THEN {FAILED} "
                 f"ELSE {SUCCEEDED} END",
        "created_ms": "r.created_ms - 1000 * i",
        "started_ms": "r.created_ms - 1000 * i",
        "ended_ms": "CASE WHEN i % 1000 = 0 THEN 0 ELSE r.ended_ms - 1000 * i END",
        "labels": "'team=team_' || (i % 20)",
    },
    "record_execution_label": {
        "execution": "r.execution + 16 * i",
        "value": "'team_' || (i % 20)",
        "created_ms": "r.created_ms - 1000 * i",
    },
}


class Sqlite:
    numbers = "(WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {}) " \
              "SELECT i FROM n)"

    def __init__(self, folder):
        self.locator = str(folder / "store")
        self.database = None

    def open(self):
        self.database = sqlite3.connect(f"{self.locator}/troupe.db", isolation_level=None)
        self.run("PRAGMA synchronous = OFF")

    def close(self):
        self.run("ANALYZE")
        self.database.close()

    def stop(self):
        pass

    def run(self, sql):
        return self.database.execute(sql).fetchall()

    def columns(self, table):
        return [row[1] for row in self.run(f"PRAGMA table_info({table})")]

    def indexes(self, table):
        return self.run("SELECT name, sql FROM sqlite_schema WHERE type = 'index' AND "
                        f"sql IS NOT NULL AND tbl_name = '{table}'")


class Postgres:
    numbers = "(SELECT i FROM generate_series(1::bigint, {}) AS i)"

    def __init__(self, _folder):
        import postgres
        from stores import find_program

        self.psql = find_program("psql")
        self.server = postgres.Server({"max_wal_size": "4GB", "maintenance_work_mem": "512MB"})
        self.locator = self.server.locator(database=self.server.make_database())
        subprocess.run([TROUPE, "store", "init", self.locator], check=True,
                       stdout=subprocess.DEVNULL)

    def open(self):
        pass

    def close(self):
        self.run("VACUUM ANALYZE")

    def stop(self):
        self.server.stop()

    def run(self, sql):
        done = subprocess.run(
            [self.psql, "-X", "-q", "-A", "-t", "-0", "-F", "\x1f", "-v", "ON_ERROR_STOP=1",
             "-c", sql, self.locator], text=True, check=True, stdout=subprocess.PIPE, cwd="/",
            env=dict(os.environ, PGOPTIONS="-c search_path=troupe"))
        return [line.split("\x1f") for line in done.stdout.split("\0")[:-1]]

    def columns(self, table):
        return [row[0] for row in self.run(
            f"SELECT column_name FROM information_schema.columns WHERE table_name = '{table}' "
            "ORDER BY ordinal_position")]

    def indexes(self, table):
        return self.run("SELECT indexname, indexdef FROM pg_indexes WHERE "
                        f"tablename = '{table}' AND indexname NOT LIKE '%_pkey'")


STORES = {"sqlite": Sqlite, "postgres": Postgres}


def fill(store, table, size):
    """Copies with the indexes away, and makes them again: that takes a third of the time."""
    made_up = MADE_UP[table]
    names = store.columns(table)
    values = ", ".join(made_up.get(name, f'r."{name}"') for name in names)
    indexes = store.indexes(table)
    for name, _sql in indexes:
        store.run(f'DROP INDEX "{name}"')
    store.run(f'INSERT INTO {table} ({", ".join(chr(34) + name + chr(34) for name in names)}) '
              f"SELECT {values} FROM {store.numbers.format(size)} AS n, {table} AS r")
    for _name, sql in indexes:
        store.run(sql)


def make(store, folder, size):
    (folder / "flow.yaml").write_text(FLOW)
    subprocess.run([TROUPE, "run", "-q", "flow.yaml", "--name", "first", "--store", store.locator],
                   cwd=folder, check=True, stdout=subprocess.DEVNULL)
    store.open()
    for table in MADE_UP:
        fill(store, table, size)
    store.close()


def commands(size):
    """Name of the figure, how many rows it shows, and the words."""
    middle = f"run_{size // 2}"
    return {
        "list_newest_ms": (50, ["list"]),
        "list_phase_ms": (min(50, size // 1000), ["list", "--phase", "running"]),
        "list_workflow_ms": (50, ["list", "--workflow", "flow_17"]),
        "list_workflow_and_phase_ms": (50, ["list", "--workflow", "flow_7", "--phase", "failed"]),
        "list_label_ms": (50, ["list", "--label", "team=team_3"]),
        "list_since_ms": (50, ["list", "--since", "1h", "--phase", "succeeded"]),
        "list_oldest_ms": (50, ["list", "--reverse"]),
        "get_ms": (None, ["get", middle]),
    }


def measure(store, folder, words, rows, seconds):
    """Median of the calls that the time allows, five at least."""
    times, end = [], time.monotonic() + seconds
    while len(times) < 5 or time.monotonic() < end:
        begin = time.monotonic()
        done = subprocess.run([TROUPE, *words], cwd=folder, check=True, text=True,
                              stdout=subprocess.PIPE,
                              env=dict(os.environ, TROUPE_STORE=store.locator))
        times.append(1000 * (time.monotonic() - begin))
        if rows is not None and len(done.stdout.splitlines()) != rows:
            sys.exit(f"list.py: {' '.join(words)} showed {len(done.stdout.splitlines())} rows, "
                     f"not {rows}")
    return statistics.median(times)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--size", type=int, required=True)
    parser.add_argument("--milliseconds", type=int, default=1000)
    parser.add_argument("--store", choices=STORES, default="sqlite")
    arguments = parser.parse_args()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="troupe-bench-"))
    store = STORES[arguments.store](folder)
    seconds = arguments.milliseconds / 1000
    try:
        make(store, folder, arguments.size)
        todo = {"list_version_ms": (None, ["version"]), **commands(arguments.size)}
        for figure, (rows, words) in todo.items():
            form = ["-q", "-o", "name"] if words[0] == "list" else []
            value = measure(store, folder, [*words, *form], rows, seconds)
            print(json.dumps({"figure": figure, "n": arguments.size, "value": value, "unit": "ms",
                              "workers": 0, "durability": arguments.store, "rss_bytes": 0}),
                  flush=True)
    finally:
        store.stop()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
