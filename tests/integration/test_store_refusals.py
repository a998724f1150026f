#!/usr/bin/env python3
"""What is said when a store in PostgreSQL cannot be made or read: each row of the table in
deploy/POSTGRESQL.md, provoked, in its words and with its exit status. No password is ever said."""

import contextlib
import os
import re
import socket
import struct
import subprocess
import threading
import unittest

import postgres
from program import LIMIT_S, PROGRAM, ROOT, ProgramTest, free_port

PAGE = (ROOT / "deploy/POSTGRESQL.md").read_text()
TABLE = PAGE[PAGE.index("## What is said when something is wrong"):]
ROWS = {what: (said, int(status)) for what, said, status in
        re.findall(r"^\| ([^|]+) \| ([^|]+) \| (\d) \|$", TABLE, re.MULTILINE)}

# What the page's words stand for.
WORDS = {"PLACE": r'the database "[^"]*" at \S+', "WORDS": r".+", "LOCATOR": r"postgresql://[^']*",
         "SCHEMA": r"\w+", "OPTION": r"\w+", "RIGHTS": r"[A-Z, ]+"}
SECRET = "geheim"


def pattern_of(said):
    """The page's words as a pattern; those of URIs stand for themselves."""
    kept = said.replace("postgresql://USER@HOST:PORT/DATABASE?OPTION=VALUE", "\0")
    kept = re.escape(kept)
    for word, pattern in WORDS.items():
        kept = re.sub(rf"\b{word}\b", lambda _, pattern=pattern: pattern, kept)
    kept = re.sub(r'"USER"', lambda _: r'"\w+"', kept)
    return kept.replace("\0", re.escape("postgresql://USER@HOST:PORT/DATABASE?OPTION=VALUE"))


class Silent:
    """A port that takes connections: says nothing, closes at once, or does what `speak` does."""

    def __init__(self, speak=None):
        self.speak = speak
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]
        self.taken = []
        self.thread = threading.Thread(target=self._serve, daemon=True)
        self.thread.start()

    def _serve(self):
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self.socket.accept()
                self.taken.append(connection)
                if self.speak is not None:
                    with contextlib.suppress(OSError, struct.error):
                        self.speak(connection)
                    connection.close()

    def close(self):
        # A thread that waits in accept() is woken by this alone.
        with contextlib.suppress(OSError):
            self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()
        for connection in self.taken:
            connection.close()
        self.thread.join(LIMIT_S)


def message(kind, body):
    return kind + struct.pack(">I", len(body) + 4) + body


def receive(connection):
    """The body of a message from a client at its beginning."""
    def exactly(count):
        data = b""
        while len(data) < count:
            more = connection.recv(count - len(data))
            if not more:
                raise OSError("closed")
            data += more
        return data
    return exactly(struct.unpack(">I", exactly(4))[0] - 4)


def be_old(connection):
    """Speaks as a server of version 12 does, until it is ready for a query."""
    while struct.unpack(">I", receive(connection)[:4])[0] != 196608:
        connection.sendall(b"N")  # no TLS, no Kerberos
    parameters = {"server_version": "12.22", "server_encoding": "UTF8", "client_encoding": "UTF8",
                  "integer_datetimes": "on", "standard_conforming_strings": "on"}
    connection.sendall(
        message(b"R", struct.pack(">I", 0))
        + b"".join(message(b"S", f"{name}\0{value}\0".encode())
                   for name, value in parameters.items())
        + message(b"K", struct.pack(">II", 1, 2)) + message(b"Z", b"I"))
    connection.recv(4096)


class Refusals(ProgramTest):
    """How the rows are provoked. A row that nobody provokes fails test_all_rows."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.server = postgres.Server(doors="local all outsider reject\n" + postgres.DOORS)
        cls.addClassCleanup(cls.server.stop)
        cls.server.run("CREATE ROLE outsider LOGIN; CREATE ROLE guest LOGIN PASSWORD 'right';"
                       " CREATE ROLE crowded LOGIN CONNECTION LIMIT 0 PASSWORD 'geheim';"
                       " CREATE ROLE other LOGIN")

    def setUp(self):
        super().setUp()
        self.database = self.server.make_database()

    def locator(self, user="postgres", **options):
        return self.server.locator(user, self.database, **options)

    def run_sql(self, sql):
        return self.server.run(sql, self.locator())

    def refused(self, what, *words, environment=None, command="store"):
        """Runs `troupe store WORDS`, which says what the row of the page says."""
        said, status = ROWS[what]
        done = subprocess.run([PROGRAM, command, *map(str, words)], cwd=self.folder, text=True,
                              env=self.environment() | (environment or {}), capture_output=True,
                              timeout=LIMIT_S)
        self.assertNotIn(SECRET, done.stdout + done.stderr)
        self.assertEqual(done.stdout, "")
        self.assertRegex(done.stderr, f"^troupe {command}: " + pattern_of(said) + "\n$")
        self.assertEqual(done.returncode, status, done.stderr)
        return done.stderr

    def tcp(self, port, host="127.0.0.1", user="guest", **options):
        rest = "".join(f"&{name}={value}" for name, value in options.items())
        return f"postgresql://{user}:{SECRET}@{host}:{port}/d?sslmode=prefer{rest}"


class LocatorTest(Refusals):
    def test_locators(self):
        for locator in (f"postgresql://u:p@{SECRET}@h/d", f"postgresql://u:{SECRET}/w@h/d",
                        f"postgresql://u:{SECRET}%zz@h/d", f"postgresql://h:{SECRET}/d",
                        f"postgresql://h/d?password=a&{SECRET}"):
            with self.subTest(locator):
                self.refused("the locator makes no sense", "check", locator)
        self.refused("an unknown option in it", "check", f"postgresql://u:{SECRET}@h/d?abc=1")
        self.refused("another kind of database", "init", f"mysql://u:{SECRET}@h/d")
        folder = self.folder / "bound"
        folder.mkdir()
        (folder / "database").write_text(f"mysql://u:{SECRET}@h/d\n")
        self.refused("any of these in a folder's file `database`", "upgrade", folder)


class FolderTest(Refusals):
    """A store belongs to the folder in which its engine has worked."""

    def bind(self, name):
        folder = self.folder / name
        folder.mkdir(mode=0o700)
        (folder / "database").write_text(self.locator() + "\n")
        (folder / "database").chmod(0o600)
        return folder

    def program(self, *words):
        return subprocess.run([PROGRAM, *map(str, words)], cwd=self.folder, text=True, check=True,
                              env=self.environment(), capture_output=True, timeout=LIMIT_S).stdout

    def test_another_folder(self):
        self.write("flow.yaml", "troupe: 1\nworkflows: {w: {nodes: {n: {sleep: 1ms}}}}\n")
        one, other = self.bind("one"), self.bind("other")
        self.program("store", "init", self.locator())
        self.program("run", "flow.yaml", "--store", one, "--name", "first")
        what = "another folder than the one of its engine"
        said = self.refused(what, "flow.yaml", "--store", other, command="run")
        self.assertIn(f"used with the folder {one} of the host {socket.gethostname()},", said)
        self.assertTrue(said.endswith(f"take-over --store {other}\n"), said)
        self.assertIn("first", self.program("list", "--store", other))  # who looks may be anywhere
        self.assertEqual(self.program("store", "take-over", other),
                         f"the folder of {self.locator()} is {other} from now on\n")
        self.program("run", "flow.yaml", "--store", other, "--name", "second")
        self.refused(what, "--store", one, command="resume")
        other.rename(self.folder / "moved")
        self.program("run", "flow.yaml", "--store", self.folder / "moved", "--name", "third")


class ServerTest(Refusals):
    def test_nobody_there(self):
        self.refused("no server there", "check", self.tcp(free_port()))
        self.refused("no such socket", "check", f"postgresql:///d?host={self.folder}&user=u"
                     f"&password={SECRET}")
        self.refused("a host that nobody knows", "check", self.tcp(5432, "no.such.invalid"))

    def test_a_server_that_is_silent(self):
        silent = Silent()
        self.addCleanup(silent.close)
        self.refused("a server that does not answer", "check",
                     self.tcp(silent.port, connect_timeout=2))

    def test_a_server_that_closes_at_once(self):
        closing = Silent(lambda connection: None)
        self.addCleanup(closing.close)
        self.refused("a connection that ends at once", "check", self.tcp(closing.port))

    def test_an_old_server(self):
        old = Silent(be_old)
        self.addCleanup(old.close)
        self.refused("an old server", "check", self.tcp(old.port))

    def test_who_is_let_in(self):
        self.refused("a wrong password", "check", self.locator("guest", password=SECRET))
        self.refused("no password", "check", self.locator("guest", host="127.0.0.1",
                                                          passfile="/none"))
        self.refused("a role that is not there, or not let in", "check", self.locator("nobody"))
        self.refused("a role that is not there, or not let in", "check", self.locator("outsider"))
        self.refused("no such database", "check", self.server.locator("guest", "none"))
        self.run_sql(f"REVOKE CONNECT ON DATABASE {self.database} FROM PUBLIC")
        self.refused("no right to connect", "check", self.locator("guest"))
        self.refused("no connection left", "check", self.locator("crowded", password=SECRET)
                     .replace(self.database, "postgres"))

    def test_another_encoding(self):
        self.run_sql("CREATE DATABASE narrow ENCODING LATIN1 TEMPLATE template0")
        self.refused("another encoding", "init", self.server.locator("postgres", "narrow"))

    def test_a_server_that_is_stopping(self):
        server = postgres.Server()
        self.addCleanup(server.stop)
        open_one = subprocess.Popen([postgres.find_program("psql"), "-X", server.locator()],
                                    stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        open_one.stdin.write("SELECT 'here';\n")
        open_one.stdin.flush()
        while "here" not in open_one.stdout.readline():
            pass
        server.process.terminate()  # it waits for those that are there

        def is_stopping():
            done = subprocess.run([postgres.find_program("psql"), "-X", "-c", "", server.locator()],
                                  capture_output=True, text=True)
            return "shutting down" in done.stderr
        postgres.wait_until(is_stopping, "it takes no more connections")
        self.refused("a server that is stopping", "check", server.locator())
        open_one.stdin.close()
        open_one.wait(LIMIT_S)
        open_one.stdout.close()

    def test_only_to_be_read(self):
        what = "only to be read: a hot standby, or default_transaction_read_only"
        self.run_sql(f"ALTER DATABASE {self.database} SET default_transaction_read_only = on")
        self.refused(what, "init", self.locator())
        self.run_sql(f"SET default_transaction_read_only = off;"
                     f"ALTER DATABASE {self.database} RESET default_transaction_read_only")
        self.troupe("store", "init", self.locator())
        standby = postgres.Server(of=self.server)
        self.addCleanup(standby.stop)
        there = standby.locator(database=self.database)
        self.refused(what, "upgrade", there)
        self.assertIn("is well", self.troupe("store", "check", there)[0])
        # Of several servers the one that can be written is taken.
        both = there.replace(f"host={standby.folder}",
                             f"host={standby.folder},{self.server.folder}")
        both = both.replace(f"port={standby.port}", f"port={standby.port},{self.server.port}")
        self.assertIn("has this program's tables", self.troupe("store", "upgrade", both)[0])

    def test_another_language(self):
        """Reasons are read from SQLSTATEs. A locale is made for a server that speaks German."""
        folder = self.folder / "locales"
        folder.mkdir()
        made = subprocess.run(["localedef", "-i", "de_DE", "-f", "UTF-8", folder / "de_DE.UTF-8"],
                              capture_output=True, check=False)
        self.folder.chmod(0o755)
        if made.returncode != 0:
            self.skipTest("no locale can be made here")
        server = postgres.Server({"lc_messages": "de_DE.UTF-8"},
                                 variables={"LOCPATH": str(folder), "LC_ALL": "de_DE.UTF-8"})
        self.addCleanup(server.stop)
        server.run("CREATE ROLE guest LOGIN PASSWORD 'right'")
        said = self.refused("a wrong password", "check",
                            server.locator("guest", password=SECRET))
        if "password authentication failed" in said:
            self.skipTest("the server speaks no German here")
        self.assertIn("fehlgeschlagen", said)
        self.refused("no such database", "check", server.locator("guest", "none"))
        self.refused("a role that is not there, or not let in", "check", server.locator("nobody"))


class SchemaTest(Refusals):
    def test_stores_that_are_none(self):
        self.refused("no store there", "check", self.locator())
        self.refused("no store there", "upgrade", self.locator(password=SECRET, host=str(
            self.server.folder)))
        self.run_sql("CREATE SCHEMA troupe CREATE TABLE orders(id int)")
        for verb in ("init", "check", "upgrade"):
            self.refused("another program's tables", verb, self.locator())

    def test_newer_ones(self):
        self.troupe("store", "init", self.locator())
        self.run_sql("UPDATE troupe.troupe SET format = 9")
        for verb in ("init", "check", "upgrade"):
            self.refused("a newer store", verb, self.locator())

    def test_an_engine_of_an_earlier_version(self):
        self.troupe("store", "init", self.locator())
        # What it had, and the lock that it holds.
        self.run_sql("SET search_path = troupe; DROP TABLE cluster, hosts, beats, partitions;"
                     "DROP FUNCTION fence; ALTER TABLE fences RENAME TO host;"
                     "ALTER TABLE host RENAME COLUMN number TO id; UPDATE host SET id = 1;"
                     "ALTER TABLE commit_log RENAME COLUMN host TO id;"
                     "UPDATE commit_log SET id = 1;"
                     "ALTER TABLE commit_entries DROP CONSTRAINT commit_entries_pkey;"
                     "ALTER TABLE commit_entries DROP COLUMN host;"
                     "ALTER TABLE commit_entries ADD PRIMARY KEY(sequence);"
                     "UPDATE troupe SET format = 2")
        holder = subprocess.Popen([postgres.find_program("psql"), "-X", "-q", self.locator()],
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        holder.stdin.write("SELECT pg_advisory_lock(1414680405::bigint << 32 | oid::bigint)"
                           " FROM pg_namespace WHERE nspname = 'troupe'; SELECT 'held';\n")
        holder.stdin.flush()
        while "held" not in holder.stdout.readline():
            pass
        self.refused("an engine of an earlier version, beside which tables are to be upgraded",
                     "upgrade", self.locator())
        holder.stdin.close()
        holder.wait(LIMIT_S)
        holder.stdout.close()
        self.assertIn("made the table hosts", self.troupe("store", "upgrade", self.locator())[0])
        self.assertIn("is well", self.troupe("store", "check", self.locator())[0])

    def test_a_damaged_log(self):
        self.write("flow.yaml", "troupe: 1\nworkflows: {w: {nodes: {n: {sleep: 1ms}}}}\n")
        self.troupe("store", "init", self.locator())
        self.run_sql("UPDATE troupe.commit_log SET last_sequence = 1")
        self.refused("the log has lost an entry, or one is damaged", "flow.yaml", "--store",
                     self.locator(), command="run")

    def test_rights(self):
        guest = self.locator("guest")
        self.refused("no right to make a schema", "init", guest)
        self.run_sql("CREATE SCHEMA troupe")
        self.refused("no right to use the schema", "init", guest)
        self.run_sql("GRANT USAGE ON SCHEMA troupe TO guest")
        self.refused("no right to make tables", "init", guest)
        self.troupe("store", "init", self.locator())
        self.run_sql("GRANT ALL ON ALL TABLES IN SCHEMA troupe TO guest;"
                     "ALTER TABLE troupe.record_attempt DROP COLUMN code CASCADE")
        self.refused("an upgrade by another role", "upgrade", guest)

    @unittest.skipUnless(os.geteuid() == 0, "a small disk is mounted by root alone")
    def test_a_full_disk(self):
        disk = self.folder / "disk"
        disk.mkdir()
        self.folder.chmod(0o755)
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=128k", "none", disk],
                          check=False).returncode != 0:
            self.skipTest("nothing can be mounted here")
        self.addCleanup(subprocess.run, ["umount", disk], check=True)
        os.chown(disk, self.server.identity["user"], self.server.identity["group"])
        self.run_sql(f"CREATE TABLESPACE tiny LOCATION '{disk}'")
        self.addCleanup(self.server.run, "DROP TABLESPACE tiny")
        self.run_sql("ALTER ROLE other SET default_tablespace = tiny;"
                     "GRANT CREATE ON TABLESPACE tiny TO other; CREATE SCHEMA troupe AUTHORIZATION"
                     " other")
        self.refused("a full disk", "init", self.locator("other"))
        self.run_sql("ALTER ROLE other RESET default_tablespace")
        self.troupe("store", "init", self.locator("other"))


class CutTest(Refusals):
    """A connection that is cut behind any byte from the server: never a success, never a hang,
    always words; and what was begun is whole or not there."""

    def through(self, bytes_max):
        """A port that passes on so many bytes from the server of one connection."""
        def pass_on(client):
            with socket.create_connection(("127.0.0.1", self.server.port)) as server:
                def up():
                    with contextlib.suppress(OSError):
                        while data := client.recv(65536):
                            server.sendall(data)
                thread = threading.Thread(target=up, daemon=True)
                thread.start()
                left = bytes_max
                while left > 0 and (data := server.recv(min(left, 65536))):
                    client.sendall(data)
                    left -= len(data)
                client.shutdown(socket.SHUT_RDWR)
        port = Silent(pass_on)
        self.addCleanup(port.close)
        return port

    def test_anywhere(self):
        self.run_sql("CREATE ROLE cut LOGIN SUPERUSER PASSWORD 'geheim'")
        self.addCleanup(self.server.run, "DROP ROLE cut")
        step = 1 if os.environ.get("TROUPE_TEST_LONG") else 97
        cut, status = 1, 4
        while status != 0:
            port = self.through(cut)
            done = subprocess.run(
                [PROGRAM, "store", "init", f"postgresql://cut:{SECRET}@127.0.0.1:{port.port}/"
                 f"{self.database}?sslmode=disable"], text=True, env=self.environment(),
                capture_output=True, timeout=LIMIT_S)
            port.close()
            status = done.returncode
            self.assertNotIn(SECRET, done.stdout + done.stderr)
            if status != 0:
                self.assertEqual(status, 4, done.stderr)
                self.assertRegex(done.stderr, "^troupe store: .+\n$")
            if "the connection to" in done.stderr:
                said, _ = ROWS["a connection that is cut in the middle"]
                self.assertRegex(done.stderr, "^troupe store: " + pattern_of(said) + "\n$")
            # All or nothing of it is there; the last bytes may be lost behind the commit.
            there = self.run_sql("SELECT count(*) FROM pg_tables WHERE schemaname = 'troupe'")
            if there != [("0",)]:
                self.assertIn("is well", self.troupe("store", "check", self.locator())[0])
                self.run_sql("DROP SCHEMA troupe CASCADE")
            cut += step
        self.assertGreater(cut, 2000)


class AllTest(unittest.TestCase):
    def test_each_row_of_the_page_is_provoked(self):
        source = open(__file__, encoding="utf-8").read()
        self.assertGreater(len(ROWS), 20)
        self.assertEqual([what for what in ROWS if f'"{what}"' not in source], [])


if __name__ == "__main__":
    unittest.main()
