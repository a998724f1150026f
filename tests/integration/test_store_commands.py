#!/usr/bin/env python3
"""`troupe store`: making a store and bringing it to this program's tables, in a folder and in
PostgreSQL; what it says where it cannot."""

import json
import sqlite3
import unittest

import postgres
from program import ProgramTest


class FolderTest(ProgramTest):
    def test_init_makes_one_once(self):
        self.assertEqual(self.troupe("store", "init", "new")[0],
                         f"made the store {self.folder}/new\n")
        self.assertTrue((self.folder / "new/troupe.db").exists())
        self.assertEqual(self.troupe("store", "init", "new")[0],
                         f"the store {self.folder}/new is there already, and stays as it is\n")
        self.assertEqual(self.document("store", "init", "other"),
                         {"store": f"{self.folder}/other", "made": True})
        self.assertIn("there is no store", self.troupe("store", "init", status=2)[1])
        (self.folder / "foreign").mkdir()
        (self.folder / "foreign/troupe.db").write_text("no database")
        self.assertIn("is not a store of Troupe", self.troupe("store", "init", "foreign",
                                                              status=4)[1])

    def test_a_folder_is_not_divided(self):
        self.assertIn("a store in a folder has one host, and is not divided",
                      self.troupe("store", "init", "new", "--partitions", "2", status=2)[1])
        self.assertFalse((self.folder / "new").exists())

    def test_upgrade_brings_what_is_missing(self):
        self.troupe("store", "init", self.store)
        self.assertEqual(self.troupe("store", "upgrade", self.store)[0],
                         f"the store {self.store} has this program's tables already\n")
        database = sqlite3.connect(self.store / "troupe.db")
        database.executescript(
            "DROP VIEW executions; DROP TABLE record_cache_miss;"
            "DELETE FROM record_schemas WHERE name = 'cache_miss'")
        database.close()
        document = self.document("store", "upgrade", self.store)
        self.assertEqual(document["changes"], ["made the table record_cache_miss",
                                               "made the view executions"])
        self.assertEqual(self.document("store", "upgrade")["changes"], [])
        self.assertIn("there is no store yet", self.troupe("store", "upgrade", "none",
                                                           status=2)[1])

    def test_a_store_of_a_later_program_is_refused(self):
        self.troupe("store", "init", self.store)
        database = sqlite3.connect(self.store / "troupe.db")
        database.executescript("UPDATE record_schemas SET version = 99 WHERE name = 'attempt'")
        database.close()
        self.assertIn("record attempt has version 99, and this version of the program knows",
                      self.troupe("store", "upgrade", self.store, status=4)[1])

    def test_what_is_no_verb(self):
        self.assertIn("'mend' is nothing that is done to a store; write one of init|",
                      self.troupe("store", "mend", status=2)[1])
        self.assertIn("'' names no folder", self.troupe("store", "init", "", status=2)[1])
        self.assertIn("one argument too many", self.troupe("store", "init", "a", "b",
                                                           status=2)[1])


class DatabaseTest(postgres.PostgresTest):
    def test_init_makes_one_once(self):
        locator = self.locator()
        self.assertEqual(self.troupe("store", "init", locator)[0], f"made the store {locator}\n")
        self.assertEqual(self.troupe("store", "init", locator)[0],
                         f"the store {locator} is there already, and stays as it is\n")
        self.assertEqual(json.loads(self.troupe("store", "init", locator, "-o", "json")[0]),
                         {"store": locator, "made": False})
        self.assertEqual(self.run_sql("SELECT format FROM troupe.troupe"), [("6",)])
        self.assertEqual(self.run_sql("SELECT incarnation FROM troupe.fences"), [("0",)])

    def test_it_is_divided_once(self):
        locator = self.locator()
        for word in ("0", "-1", "1025", "many", "1e2", ""):
            for place in (locator, "postgresql://localhost:1/away"):
                self.assertIn(f"--partitions takes a number from 1 to 1024, and not '{word}'",
                              self.troupe("store", "init", place, f"--partitions={word}",
                                          status=2)[1])
        self.assertIn("--partitions belongs to init alone",
                      self.troupe("store", "check", locator, "--partitions=3", status=2)[1])
        self.troupe("store", "init", locator, "--partitions", "3")
        self.assertIn("is there already", self.troupe("store", "init", locator)[0])
        self.assertIn("is there already",
                      self.troupe("store", "init", locator, "--partitions", "3")[0])
        self.assertIn('the store in the schema "troupe" was made with 3 partitions, and keeps them',
                      self.troupe("store", "init", locator, "--partitions", "4", status=2)[1])
        self.assertEqual(self.run_sql("SELECT number, host FROM troupe.partitions ORDER BY 1"),
                         [("0", "0"), ("1", "0"), ("2", "0")])

    def test_an_engine_refuses_partitions_that_are_not_there(self):
        self.store = self.locator()
        self.troupe("store", "init", self.store)
        self.write("flow.yaml", "troupe: 1\ntasks: {t: {type: echo}}\n")
        self.run_sql("DELETE FROM troupe.partitions WHERE number = 5")
        self.assertIn("it has 1024 partitions, and 1023 rows of them; troupe store check says",
                      self.troupe("run", "flow.yaml", "t", status=4)[1])
        self.run_sql("UPDATE troupe.cluster SET partitions = 0")
        self.assertIn("it is said to have 0 partitions, where 1 to 1024 may be",
                      self.troupe("run", "flow.yaml", "t", status=4)[1])

    def test_nobody_else_makes_one(self):
        locator = self.locator()
        told = (f"has no store in the schema \"troupe\"; make one: troupe store init '{locator}'")
        self.assertIn(told, self.troupe("store", "upgrade", locator, status=2)[1])
        self.write("flow.yaml", "troupe: 1\ntasks: {t: {type: echo}}\n")
        self.store = locator
        self.assertIn(told, self.troupe("run", "flow.yaml", "t", status=4)[1])
        self.assertEqual(self.run_sql("SELECT count(*) FROM pg_namespace WHERE nspname = 'troupe'"),
                         [("0",)])

    def test_the_schema_is_the_first_of_the_search_path(self):
        locator = self.locator(options="-csearch_path=other,public")
        self.troupe("store", "init", locator)
        self.assertEqual(self.run_sql("SELECT incarnation FROM other.fences"), [("0",)])

    def test_upgrade_brings_what_is_missing(self):
        locator = self.locator()
        self.troupe("store", "init", locator)
        self.assertEqual(self.troupe("store", "upgrade", locator)[0],
                         f"the store {locator} has this program's tables already\n")
        self.run_sql("DROP TABLE troupe.record_cache_miss;"
                     "DELETE FROM troupe.record_schemas WHERE name = 'cache_miss'")
        self.assertEqual(self.document("store", "upgrade", locator)["changes"],
                         ["made the table record_cache_miss"])
        [(index, table)] = self.run_sql("SELECT indexname, tablename FROM pg_indexes WHERE"
                                        " schemaname = 'troupe' AND indexname LIKE 'index_%'"
                                        " ORDER BY 1 LIMIT 1")
        self.run_sql(f'DROP INDEX troupe."{index}"; DROP VIEW troupe.executions CASCADE')
        changes = self.document("store", "upgrade", locator)["changes"]
        self.assertIn(f"made the index {index} of the table {table}", changes)
        self.assertIn("made the view executions", changes)
        self.run_sql("ALTER TABLE troupe.record_attempt RESET (fillfactor)")
        self.assertEqual(self.document("store", "upgrade", locator)["changes"],
                         ["made room in the table record_attempt"])
        self.assertEqual(self.document("store", "upgrade", locator)["changes"], [])

    def test_a_store_of_a_later_program_is_refused(self):
        locator = self.locator()
        self.troupe("store", "init", locator)
        self.run_sql("UPDATE troupe.record_schemas SET version = 99 WHERE name = 'attempt'")
        self.assertIn("record attempt has version 99, and this version of the program knows",
                      self.troupe("store", "upgrade", locator, status=4)[1])
        self.run_sql("UPDATE troupe.troupe SET format = 9")
        self.assertIn('the schema "troupe" has format 9, and this version of the program knows 6',
                      self.troupe("store", "upgrade", locator, status=4)[1])


if __name__ == "__main__":
    unittest.main()
