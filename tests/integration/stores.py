"""In which database the stores of the tests are: SQLite's file, or PostgreSQL.

With TROUPE_TEST_POSTGRES, the locator of a server's database `postgres`, every store that a command
of a test makes is in PostgreSQL: `bound` gives a program that, before it runs, binds the folder of
such a store to a schema of its own by the file `database`. A test program has a database of its
own there, which goes with it. tests/support/with_postgres runs commands so.
"""

import atexit
import glob
import json
import os
import pathlib
import secrets
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import urllib.parse

import only_sqlite

SERVER = os.environ.get("TROUPE_TEST_POSTGRES")

# Each test that is skipped adds a line to this file.
SKIPPED = os.environ.get("TROUPE_TEST_SKIPPED")

# Stands before a program, and becomes it. Before a command that makes a store it makes its folder,
# the tables, and then the file `database`, which `ln` makes once though two commands begin at once.
BINDER = """#!/bin/sh
program={program}
bind() (
    PATH=/usr/bin:/bin
    unset TROUPE_DIE_AS
    [ -e "$1/database" ] || [ -e "$1/troupe.db" ] && return
    [ -d "$1" ] || mkdir -m 700 "$1" || return
    read -r name </proc/sys/kernel/random/uuid
    umask 077
    mkdir "$1/.bound.$$" || return
    echo "{locator}&options=-csearch_path%3Ds_${name%%-*}" >"$1/.bound.$$/database"
    "$program" store init -q "$1/.bound.$$" >&2 && ln "$1/.bound.$$/database" "$1/database"
    rm -rf "$1/.bound.$$"
)
find_store() {
    store=$TROUPE_STORE
    while [ $# -gt 0 ]; do
        case $1 in
        --store=*) store=${1#--store=} ;;
        --store) store=$2 ;;
        esac
        shift
    done
    [ -z "$store" ] || return
    above=$PWD
    while [ -n "$above" ] && [ ! -d "$above/.troupe" ]; do
        above=${above%/*}
    done
    store=${above:-$PWD}/.troupe
}
case $1 in
run | serve | apply | backfill | import | plugins)
    find_store "$@"
    case $store in
    *://*) ;;
    *) bind "$store" 2>/dev/null ;;
    esac
    ;;
esac
exec "$program" "$@"
"""


class QueryError(sqlite3.Error):
    """What a database says of a query; SQLite's own errors are of the same class."""


def find_program(name):
    """The path of one of PostgreSQL's programs, of the newest version that is installed."""
    found = sorted(glob.glob(f"/usr/lib/postgresql/*/bin/{name}"),
                   key=lambda path: float(path.split("/")[4]))
    return found[-1] if found else name


def psql(locator, sql):
    """Runs SQL as psql does: what it prints."""
    done = subprocess.run([find_program("psql"), "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-f", "-",
                           locator], input=sql, text=True, cwd="/", capture_output=True, timeout=300,
                          check=False)
    if done.returncode != 0:
        raise QueryError(f"{sql}: {done.stderr}")
    return done.stdout


def of_database(name):
    place = urllib.parse.urlsplit(SERVER)
    return f"postgresql:///{name}?{place.query}"


def make_database():
    """The locator of a new database that is dropped when this program ends."""
    name = f"tests_{secrets.token_hex(8)}"
    psql(SERVER, f"CREATE DATABASE {name}")
    atexit.register(lambda: psql(SERVER, f"DROP DATABASE {name} WITH (FORCE)"))
    return of_database(name)


def make_binders(program, locator):
    """A folder like a program's own, in which each program binds stores first."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="troupe-bound-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    folder.chmod(0o755)
    for path in program.parent.iterdir():
        if path != program:
            (folder / path.name).symlink_to(path)
    binder = folder / program.name
    binder.write_text(BINDER.replace("{program}", f"'{program}'").replace("{locator}", locator))
    binder.chmod(0o755)
    return binder


class Binders:
    """The programs of this test, and where each is that binds stores first."""

    def __init__(self):
        self.locator = None
        self.made = {}

    def get(self, program):
        if SERVER is None:
            return program
        if self.locator is None:
            self.locator = make_database()
        if program not in self.made:
            self.made[program] = make_binders(program, self.locator)
        return self.made[program]


BINDERS = Binders()


def bound(program):
    """The program, or the one in its place that binds the stores it makes to PostgreSQL."""
    path = pathlib.Path(program).resolve()
    return BINDERS.get(path) if path.exists() else path


def skip_if_of_sqlite(test):
    """Skips a test that only_sqlite.py lists, where stores are in PostgreSQL."""
    if SERVER is None:
        return
    name = f"{pathlib.Path(sys.argv[0]).stem}.{type(test).__name__}.{test._testMethodName}"
    reason = only_sqlite.reason_of(name)
    if reason is not None:
        if SKIPPED is not None:
            with open(SKIPPED, "a", encoding="utf-8") as file:
                file.write(f"{name}: {reason}\n")
        test.skipTest(reason)


# What psql prints of bytes.
BYTES = "\\x"


def value_of(value):
    is_bytes = isinstance(value, str) and value.startswith(BYTES)
    return bytes.fromhex(value[len(BYTES):]) if is_bytes else value


def locator_of(store):
    """The locator of a store in PostgreSQL, None if it is SQLite's file."""
    path = pathlib.Path(store) / "database"
    return path.read_text().strip() if path.exists() else None


def strays(folder):
    """The databases of SQLite below a folder, where there should be none."""
    return [] if SERVER is None else sorted(pathlib.Path(folder).rglob("troupe.db"))


def contents(store):
    """The names in a store's folder, without the one that binds it; none if there is no store."""
    folder = pathlib.Path(store)
    return sorted(path.name for path in folder.iterdir() if path.name != "database") \
        if folder.exists() else []


def rows(store, sql):
    """The rows that a query finds in a store, as tuples."""
    locator = locator_of(store)
    if locator is None:
        connection = sqlite3.connect(f"file:{store}/troupe.db?mode=ro", uri=True)
        try:
            return connection.execute(sql).fetchall()
        finally:
            connection.close()
    printed = psql(locator, f"SELECT row_to_json(t) FROM ({sql}) t")
    return [json.loads(line, object_pairs_hook=lambda pairs: tuple(value_of(value) for _, value in
                                                                   pairs))
            for line in printed.splitlines()]


def tables(store):
    """The names of a store's tables."""
    sql = "SELECT name FROM sqlite_master WHERE type = 'table'" if locator_of(store) is None else \
        "SELECT tablename FROM pg_tables WHERE schemaname = current_schema()"
    return [name for name, in rows(store, sql)]


def change(store, *statements):
    """Runs statements on a store in one transaction."""
    locator = locator_of(store)
    if locator is not None:
        psql(locator, ";\n".join(("BEGIN", *statements, "COMMIT")))
        return
    connection = sqlite3.connect(pathlib.Path(store) / "troupe.db")
    try:
        with connection:
            for statement in statements:
                connection.execute(statement)
    finally:
        connection.close()


def literal(store, data):
    """Bytes, as a statement on this store has them."""
    return f"X'{data.hex()}'" if locator_of(store) is None else f"'\\x{data.hex()}'::bytea"
