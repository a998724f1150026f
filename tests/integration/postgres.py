"""A PostgreSQL server of a test's own: in a folder of its own, on a socket there and on a port.

    server = postgres.Server()
    locator = server.locator("engine", database=server.make_database())
    server.run("SELECT count(*) FROM troupe.actors", locator)

The server refuses to run as root, so for root it belongs to the user `postgres`, or `nobody`. On
the socket everybody is let in; on the port a password is asked for. It syncs as servers do, unless
it is told not to. A guard ends it and removes its folder when the test has ended, however that was.
"""

import os
import pathlib
import pwd
import signal
import subprocess
import tempfile
import urllib.parse

from program import LIMIT_S, ProgramTest, free_port, process_folders, wait_until
from stores import find_program

# Who may come in how, unless a test says otherwise.
DOORS = """
local all all trust
local replication all trust
host all all 127.0.0.1/32 scram-sha-256
"""

# What the guard does when the pipe from the test is closed; $1 is the server's folder.
GUARD = """
read -r _
if [ -e "$1/data/postmaster.pid" ]; then
    kill -QUIT "$(head -n 1 "$1/data/postmaster.pid")"
    while [ -e "$1/data/postmaster.pid" ] && kill -0 "$(head -n 1 "$1/data/postmaster.pid")"; do
        sleep 0.05
    done
fi
rm -rf "$1"
"""


def server_user():
    """What makes a process the server's user's: nothing unless this is root."""
    if os.geteuid() != 0:
        return {}
    names = {entry.pw_name: entry for entry in pwd.getpwall()}
    entry = names.get("postgres") or names["nobody"]
    return {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}


class Server:
    """Runs from its making to `stop`. `settings` are lines of postgresql.conf by name. With `of` it is
    a hot standby of that server."""

    def __init__(self, settings=None, is_synced=False, doors=DOORS, locale="C", of=None,
                 variables=None):
        self.identity = server_user()
        self.of = of
        self.variables = dict(os.environ, **(variables or {}))
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="troupe-postgres-"))
        self.data = self.folder / "data"
        self.port = free_port()
        self.settings = {"fsync": "on" if is_synced else "off", "max_connections": "40",
                         "listen_addresses": "127.0.0.1"} | (settings or {})
        self.count = 0
        self.process = None
        if self.identity:
            os.chown(self.folder, self.identity["user"], self.identity["group"])
        self.folder.chmod(0o755)  # its socket is for everybody
        self.guard = subprocess.Popen(["sh", "-c", GUARD, "guard", self.folder], cwd="/",
                                      stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                                      stderr=subprocess.DEVNULL, start_new_session=True)
        self.make(doors, locale)
        self.start()

    def make(self, doors, locale):
        """Makes what is on its disk."""
        if self.of is None:
            self._run("initdb", "-D", self.data, "-U", "postgres", "-A", "trust", "-E", "UTF8",
                      "--locale", locale, "--no-sync")
        else:
            self._run("pg_basebackup", "-D", self.data, "-R", "-c", "fast", "--no-sync", "-U",
                      "postgres", "-h", self.of.folder, "-p", self.of.port)
        self._write(self.data / "pg_hba.conf", doors)

    def _run(self, name, *words):
        done = subprocess.run([find_program(name), *map(str, words)], cwd="/", text=True,
                              capture_output=True, timeout=10 * LIMIT_S, **self.identity)
        if done.returncode != 0:
            raise AssertionError(f"{name}: {done.stdout}\n{done.stderr}")

    def _write(self, path, text):
        path.write_text(text)
        if self.identity:
            os.chown(path, self.identity["user"], self.identity["group"])

    def _is_ready(self):
        if self.process.poll() is not None:
            raise AssertionError(f"the server has ended: {self.log()}")
        try:
            lines = (self.data / "postmaster.pid").read_text().split("\n")
        except FileNotFoundError:
            return False
        # A hot standby is called so, too.
        return lines[0] == str(self.process.pid) and len(lines) > 7 and \
            lines[7].strip() in ("ready", "standby")

    def command(self):
        """What starts it, as its user."""
        words = [f"-c{name}={value}" for name, value in self.settings.items()]
        return [find_program("postgres"), "-D", self.data, "-k", self.folder, "-p",
                str(self.port), *words]

    def start_identity(self):
        return self.identity

    def start(self):
        """Starts it, and returns when it takes connections."""
        with open(self.folder / "log", "a", encoding="utf-8") as log:
            self.process = subprocess.Popen(
                self.command(), cwd="/", stdin=subprocess.DEVNULL, stdout=log,
                stderr=log, start_new_session=True, env=self.variables, **self.start_identity())
        wait_until(self._is_ready, "the server takes connections", 10 * LIMIT_S)

    def halt(self, is_crash=False):
        """Stops it as an operator does, or as by kill -9 of all its processes."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGQUIT if is_crash else signal.SIGINT)
            self.process.wait(10 * LIMIT_S)

    def processes(self):
        """All of its processes, the one that starts the others first."""
        first = self.process.pid
        found = [first]
        for path in process_folders():
            try:
                parent = (path / "stat").read_text().rsplit(")", 1)[1].split()[1]
            except OSError:
                continue
            if int(parent) == first:
                found.append(int(path.name))
        return found

    def signal(self, number):
        """Sends a signal to all of its processes."""
        for pid in self.processes():
            try:
                os.kill(pid, number)
            except ProcessLookupError:
                pass

    def kill(self):
        """kill -9 of all its processes."""
        self.signal(signal.SIGKILL)
        self.process.wait(LIMIT_S)

    def restart(self, is_crash=False):
        self.halt(is_crash)
        self.start()

    def stop(self):
        """Ends it for good and removes what it has made."""
        self.halt(is_crash=True)
        self.guard.stdin.close()
        self.guard.wait(10 * LIMIT_S)

    def log(self):
        return (self.folder / "log").read_text()

    def locator(self, user="postgres", database="postgres", password=None, **options):
        """A locator through the socket, or with a password through the port."""
        options = {"host": "127.0.0.1" if password else str(self.folder), "port": self.port,
                   "user": user} | ({"password": password} if password else {}) | options
        return f"postgresql:///{database}?{urllib.parse.urlencode(options, safe='/')}"

    def run(self, sql, locator=None):
        """Runs SQL as psql does, as the user who may do all or by a locator: rows of texts."""
        done = subprocess.run(
            [find_program("psql"), "-X", "-q", "-A", "-t", "-0", "-F", "\x1f", "-v",
             "ON_ERROR_STOP=1", "-f", "-", locator or self.locator()], input=sql, text=True, cwd="/",
            capture_output=True, timeout=LIMIT_S)
        if done.returncode != 0:
            raise AssertionError(f"{sql}: {done.stderr}")
        return [tuple(row.split("\x1f")) for row in done.stdout.split("\0") if row.strip("\n")]

    def make_database(self, owner="postgres"):
        """The name of a new and empty database."""
        self.count += 1
        name = f"stand_{self.count}"
        self.run(f'CREATE DATABASE {name} OWNER "{owner}"')
        return name


class PostgresTest(ProgramTest):
    """A test with a server, which the tests of a class share, and a database of its own."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.server = Server()
        cls.addClassCleanup(cls.server.stop)

    def setUp(self):
        super().setUp()
        self.database = self.server.make_database()

    def locator(self, user="postgres", **options):
        return self.server.locator(user, self.database, **options)

    def run_sql(self, sql, user="postgres"):
        return self.server.run(sql, self.locator(user))
