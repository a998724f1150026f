#!/usr/bin/env python3
"""`troupe store check`: it finds what is wrong with a store, and only that, in both databases and
beside a live engine."""

import sqlite3
import threading
import unittest

import postgres
from program import ProgramTest, wait_until

FLOW = """
troupe: 1
tasks:
  echo: {type: echo, inputs: {a: int}, outputs: {a: int}}
workflows:
  main:
    inputs: {a: int}
    nodes:
      one: {task: echo, with: {a: $a}}
"""

# What is inserted, and where it is found: rows that are in both databases.
WRONG = [
    ("INSERT INTO actors VALUES(1, 2, 1, 7, '', 0)", "actors (group 1, serial 2)",
     "the row fails its checksum"),
    ("INSERT INTO pages VALUES(3, 4, 5, '', 0)", "pages (group 3, serial 4, page 5)",
     "the row fails its checksum"),
    ("INSERT INTO pages VALUES(3, 4, 5, '', 0)", "pages (group 3, serial 4, page 5)",
     "the page belongs to no actor"),
    ("INSERT INTO messages(to_group, key_group, key_serial, incarnation, sequence, envelope,"
     " checksum) VALUES(5, 6, 7, 8, 9, '', 0)",
     "messages (group 6, serial 7, incarnation 8, sequence 9)", "the row fails its checksum"),
    ("INSERT INTO counters VALUES(10, 1, 2, 0)", "counters (group 10, worker 1)",
     "the row fails its checksum"),
    ("INSERT INTO meta VALUES(99, '', 0)", "meta (cell 99)", "the row fails its checksum"),
    ("INSERT INTO crashes(kind, key_group, key_serial, number, incarnation, data, checksum)"
     " VALUES(1, 2, 3, 4, 5, '', 0)", "crashes (kind 1, group 2, serial 3, number 4)",
     "the row fails its checksum"),
    ("INSERT INTO record_attempt(execution, path, attempt) VALUES(5, 'a/b', 5000000000)",
     'record_attempt (execution 5, path "a/b", element 0, attempt 5000000000)',
     "the column attempt has a number that is too large"),
]


class FolderTest(ProgramTest):
    def findings(self, status=1):
        document = self.document("store", "check", self.store, status=status)
        self.assertEqual(document["well"], status == 0)
        return {(finding["place"], finding["what"]) for finding in document["findings"]}

    def change(self, sql):
        database = sqlite3.connect(self.store / "troupe.db")
        database.executescript(sql)
        database.close()

    def test_a_store_that_was_used_is_well(self):
        self.write("flow.yaml", FLOW)
        self.troupe("run", "flow.yaml", "-i", "a=1")
        out, _ = self.troupe("store", "check")
        self.assertRegex(out, f"^the store {self.store} is well: [0-9]+ tables, [0-9]+ rows\n$")
        document = self.document("store", "check")
        rows = {table["name"]: table["rows"] for table in document["tables"]}
        self.assertEqual(rows["record_execution"], 1)
        self.assertGreater(rows["actors"], 0)

    def test_beside_a_live_engine(self):
        self.troupe("store", "init", self.store)
        self.start("serve")
        wait_until(lambda: (self.store / "engine.sock").exists(), "the engine is there")
        self.assertEqual(self.findings(status=0), set())

    def test_each_row_is_looked_at(self):
        self.troupe("store", "init", self.store)
        for sql, place, what in WRONG:
            with self.subTest(what, place=place):
                self.change(sql.replace("''", "x''"))
                self.assertIn((place, what), self.findings())
                self.change("DELETE FROM actors; DELETE FROM pages; DELETE FROM messages;"
                            "DELETE FROM counters; DELETE FROM meta; DELETE FROM crashes;"
                            "DELETE FROM record_attempt")
        self.assertEqual(self.findings(status=0), set())

    def test_values_of_another_type(self):
        self.troupe("store", "init", self.store)
        self.change("INSERT INTO record_attempt(execution, path, code) VALUES"
                    "(1, x'00', ''), (2, 'a', CAST(x'ff' AS TEXT))")
        self.assertEqual({what for _, what in self.findings()},
                         {"the column path has a value of another type",
                          "the column code has a text that is no UTF-8"})

    def test_tables_and_columns_that_are_missing(self):
        self.troupe("store", "init", self.store)
        self.change("DROP TABLE record_cache_miss")
        self.assertEqual(self.findings(), {("record_cache_miss", "the table is missing")})

    def test_damage_of_the_file(self):
        self.troupe("store", "init", self.store)
        self.change("CREATE TABLE more(a, b); CREATE INDEX wrong ON more(a);"
                    "INSERT INTO more VALUES(1, 2)")
        self.change("PRAGMA writable_schema = ON; UPDATE sqlite_schema"
                    " SET sql = 'CREATE INDEX wrong ON more(b)' WHERE name = 'wrong'")
        self.assertTrue(any("wrong" in what for _, what in self.findings()), self.findings())
        self.change("UPDATE host SET last_number = 77")
        out, _ = self.troupe("store", "check", status=1)
        self.assertIn("the host's row fails its checksum", out)
        self.assertIn("is not well: 1 finding\n", out)

    def test_many_findings_are_counted(self):
        self.troupe("store", "init", self.store)
        self.change("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 25)"
                    " INSERT INTO actors SELECT 1, i, 1, 7, x'', 0 FROM n")
        found = self.findings()
        self.assertEqual(len(found), 11)
        self.assertIn(("actors", "15 more findings in this table are not shown"), found)


class DatabaseTest(postgres.PostgresTest):
    def setUp(self):
        super().setUp()
        self.troupe("store", "init", self.locator())

    def findings(self, status=1, user="postgres"):
        document = self.document("store", "check", self.locator(user), status=status)
        self.assertEqual(document["well"], status == 0)
        return {(finding["place"], finding["what"]): finding["remedy"]
                for finding in document["findings"]}

    def change(self, sql):
        self.run_sql("SET search_path = troupe; " + sql)

    def test_a_new_one_is_well(self):
        out, _ = self.troupe("store", "check", self.locator())
        self.assertRegex(out, "is well: [0-9]+ tables, 0 rows\n$")

    def test_each_row_is_looked_at(self):
        for sql, place, what in WRONG:
            with self.subTest(what, place=place):
                self.change(sql)
                self.assertIn((place, what), self.findings())
                self.change("DELETE FROM actors; DELETE FROM pages; DELETE FROM messages;"
                            "DELETE FROM counters; DELETE FROM meta; DELETE FROM crashes;"
                            "DELETE FROM record_attempt")
        self.assertEqual(self.findings(status=0), {})

    def test_entries_of_the_log(self):
        self.change("INSERT INTO commit_entries VALUES(0, 7, 'no entry')")
        self.assertEqual(set(self.findings()),
                         {("commit_entries (host 0, sequence 7)", "the entry is damaged")})

    def test_the_host_s_row(self):
        self.change("UPDATE fences SET last_number = 77")
        self.assertEqual(set(self.findings()),
                         {("fences (host 0)", "the host's row fails its checksum")})

    def test_partitions(self):
        self.change("UPDATE partitions SET host = 7 WHERE number = 3;"
                    "DELETE FROM partitions WHERE number = 1023;"
                    "INSERT INTO partitions VALUES(1024, 0, 0, 0, 0)")
        unowned = "no host has the partition, or one without a fence"
        self.assertEqual(set(self.findings()), {
            ("partitions (number 3)", unowned),
            ("partitions (number 1023)", "the partition is missing"),
            ("partitions (number 1024)", "the store was made with fewer partitions")})
        self.change("UPDATE cluster SET partitions = 1025")
        self.assertIn(("cluster (id 1)", "it says 1025 partitions, where 1 to 1024 may be"),
                      self.findings())
        self.change("UPDATE cluster SET partitions = 1; DELETE FROM partitions WHERE number > 0;"
                    "DELETE FROM fences")
        self.assertEqual(set(self.findings()), {("partitions (number 0)", unowned)})
        self.change("DELETE FROM cluster")
        self.assertIn(("cluster", "the row is missing"), self.findings())

    def test_what_an_upgrade_mends(self):
        self.change("DROP TABLE record_cache_miss; DROP VIEW attempts CASCADE;"
                    "ALTER TABLE record_attempt DROP COLUMN code; DROP FUNCTION fence")
        found = self.findings()
        self.assertIn(("record_cache_miss", "the table is missing"), found)
        self.assertIn(("record_attempt.code", "the column is missing"), found)
        self.assertIn(("fence()", "the function is missing, or another program's"), found)
        remedy = "as the owner of its tables type troupe store upgrade"
        self.assertEqual({found[key] for key in found if key[0] != "record_attempt"}, {remedy})
        changes = self.document("store", "upgrade", self.locator())["changes"]
        for change in ("made the column code of the table record_attempt",
                       "made the function fence", "made the table record_cache_miss",
                       "made the view attempts"):
            self.assertIn(change, changes)
        self.assertEqual(self.findings(status=0), {})

    def test_views_and_indexes(self):
        [(index,)] = self.run_sql("SELECT indexname FROM pg_indexes WHERE schemaname = 'troupe'"
                                  " AND indexname LIKE 'index_%' ORDER BY 1 LIMIT 1")
        self.change(f'DROP INDEX "{index}"; DROP VIEW executions;'
                    "CREATE VIEW executions AS SELECT 1 AS a")
        what = "the view or index is missing, or an older program's"
        self.assertEqual(set(self.findings()), {(index, what), ("executions", what)})

    def test_what_it_cannot_mend(self):
        self.change("ALTER TABLE messages ALTER COLUMN envelope TYPE text USING '';"
                    "ALTER TABLE meta DROP CONSTRAINT meta_pkey; DROP TABLE counters")
        found = self.findings()
        for place, what in (("messages.envelope", "the column is of the type text, and not bytea"),
                            ("meta", "the table has no valid unique index, by which its rows are "
                             "found"), ("counters", "the table is missing")):
            self.assertEqual(found[place, what], "restore a backup, or start a new store")

    def test_rows_that_the_server_cannot_read(self):
        self.change("INSERT INTO meta SELECT i, repeat('x', 500)::bytea, 0"
                    " FROM generate_series(1, 100) i; CHECKPOINT")
        [(path,)] = self.run_sql("SELECT pg_relation_filepath('troupe.meta')")
        self.server.halt()
        with open(self.server.data / path, "r+b") as table:
            table.write(b"\xff" * 64)
        self.server.start()
        found = self.findings()
        [what] = [what for place, what in found if place == "meta"]
        self.assertIn("its rows cannot be read: ", what)
        self.assertIn("PostgreSQL XX001", what)

    def test_one_moment_beside_a_writer(self):
        """A writer commits a row here and one there: of one moment there are as many of both."""
        self.change("INSERT INTO record_attempt(execution, path)"
                    " SELECT 0, i::text FROM generate_series(1, 20000) i;"
                    "INSERT INTO record_phase(execution, number)"
                    " SELECT 0, i FROM generate_series(1, 20000) i")
        ended = threading.Event()

        def write():
            while not ended.is_set():
                self.change(";".join(
                    "BEGIN; INSERT INTO record_attempt(execution, path) SELECT 1, count(*)::text"
                    " FROM record_phase; INSERT INTO record_phase(execution, number) SELECT 1,"
                    " count(*) FROM record_phase; COMMIT" for _ in range(20)))
        writer = threading.Thread(target=write)
        writer.start()
        try:
            wait_until(lambda: self.run_sql("SELECT max(execution) FROM troupe.record_phase")
                       == [("1",)], "the writer writes")
            document = self.document("store", "check", self.locator())
        finally:
            ended.set()
            writer.join()
        rows = {table["name"]: table["rows"] for table in document["tables"]}
        self.assertGreater(rows["record_attempt"], 20000)
        self.assertEqual(rows["record_attempt"], rows["record_phase"])


if __name__ == "__main__":
    unittest.main()
