#!/usr/bin/env python3
"""The stores of tests are where they should be, and the tests that are about SQLite's file are
listed: each row of the table names what there is."""

import ast
import sqlite3
import unittest
from unittest import mock

import only_sqlite
import stores
from program import EXAMPLES, ROOT, ProgramTest


def names_of(program):
    """PROGRAM, PROGRAM.CLASS and PROGRAM.CLASS.TEST of the test programs of that name."""
    paths = [ROOT / "tests" / folder / f"{program}.py" for folder in ("integration", "stress")]
    nodes = [node for path in paths if path.exists() for node in ast.parse(path.read_text()).body]
    found = {program} if nodes else set()
    for node in nodes:
        if isinstance(node, ast.ClassDef):
            found.add(f"{program}.{node.name}")
            found |= {f"{program}.{node.name}.{part.name}" for part in node.body
                      if isinstance(part, ast.FunctionDef) and part.name.startswith("test_")}
    return found


class TableTest(unittest.TestCase):
    def test_each_row_names_a_test(self):
        for name, reason in only_sqlite.ROWS.items():
            with self.subTest(name):
                self.assertIn(name, names_of(name.split(".")[0]))
                self.assertNotEqual(reason, "")

    def test_the_longest_name_is_not_needed(self):
        self.assertEqual(only_sqlite.reason_of("test_backup.AnyTest.test_any"),
                         only_sqlite.ROWS["test_backup"])
        self.assertIsNone(only_sqlite.reason_of("test_run.AnyTest.test_any"))


class StoresTest(ProgramTest):
    def test_a_store_is_where_the_tests_have_theirs(self):
        self.troupe("run", EXAMPLES / "hello.yaml", "-i", "name=Ada", "--name", "it", "-q")
        self.assertEqual(stores.locator_of(self.store) is not None, stores.SERVER is not None)
        self.assertEqual((self.store / "troupe.db").exists(), stores.SERVER is None)
        self.assertEqual(self.query("SELECT name, 1 = 1 AS yes FROM record_execution"),
                         [("it", 1)])

    def test_bytes_are_read_and_changed(self):
        self.troupe("run", EXAMPLES / "hello.yaml", "-i", "name=Ada", "--name", "it", "-q")
        self.end_keeper()
        data = bytes(range(256))
        stores.change(self.store, "DELETE FROM meta",
                      f"INSERT INTO meta VALUES(1, {stores.literal(self.store, data)}, 0)")
        self.assertEqual(self.query("SELECT cell, data FROM meta"), [(1, data)])
        with self.assertRaises(sqlite3.Error):
            stores.change(self.store, "DELETE FROM meta", "DELETE FROM no_table")
        self.assertEqual(self.query("SELECT count(*) FROM meta"), [(1,)])

    def test_a_store_elsewhere_is_found(self):
        self.write("troupe.db", "")
        with mock.patch.object(stores, "SERVER", "postgresql:///postgres"):
            self.assertEqual(stores.strays(self.folder), [self.folder / "troupe.db"])
        (self.folder / "troupe.db").unlink()


if __name__ == "__main__":
    unittest.main()
