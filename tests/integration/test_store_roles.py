#!/usr/bin/env python3
"""The roles of a store in PostgreSQL: the blocks of SQL in deploy/POSTGRESQL.md are run as they
stand there, and are enough for what each role does, and too little for what it may not do."""

import re
import unittest

import postgres
from program import ROOT, ProgramTest

BLOCKS = re.findall(r"^```sql\n(.*?)^```$", (ROOT / "deploy/POSTGRESQL.md").read_text(),
                    re.MULTILINE | re.DOTALL)

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

TABLES = "SELECT tablename FROM pg_tables WHERE schemaname = 'troupe' ORDER BY 1"


class RolesTest(ProgramTest):
    def setUp(self):
        super().setUp()
        self.server = postgres.Server()
        self.addCleanup(self.server.stop)
        roles, owner, engine, reader = BLOCKS
        for statement in re.findall(r"[^;]+;", roles):  # a database is made by a command alone
            self.server.run(statement)
        for block in (owner, engine, reader):
            self.server.run(block, self.locator("postgres"))

    def locator(self, role):
        return self.server.locator(role, "troupe")

    def environment(self):
        return super().environment() | {"XDG_DATA_HOME": str(self.folder / "data")}

    def refused(self, *words, status=4):
        return self.troupe(*words, status=status)[1]

    def test_each_role_does_its_work(self):
        owner, engine, reader = map(self.locator, ("troupe_owner", "troupe_engine",
                                                   "troupe_reader"))
        self.troupe("store", "init", owner)
        for role in (owner, engine, reader):
            self.assertIn("is well", self.troupe("store", "check", role)[0])
        self.write("flow.yaml", FLOW)
        self.troupe("run", "flow.yaml", "-i", "a=1", "--store", engine)
        self.assertEqual(self.server.run("SELECT count(*) FROM troupe.record_execution",
                                         self.locator("troupe_reader")), [("1",)])
        self.assertEqual(len(self.document("list", "--store", reader)), 1)
        for role in (engine, reader):
            self.assertIn("is well", self.troupe("store", "check", role)[0])

    def test_nobody_but_the_owner_makes_tables(self):
        for role in ("troupe_engine", "troupe_reader"):
            said = self.refused("store", "init", self.locator(role))
            self.assertIn('permission denied for schema troupe, while making the tables; as the '
                          'owner of the schema "troupe" type troupe store init', said)
        self.assertEqual(self.server.run(TABLES, self.locator("postgres")), [])

    def test_an_older_store_waits_for_its_owner(self):
        self.troupe("store", "init", self.locator("troupe_owner"))
        tables = self.server.run(TABLES, self.locator("postgres"))
        self.server.run("DROP TABLE troupe.record_attempt CASCADE;"
                        "DELETE FROM troupe.record_schemas WHERE name = 'attempt'",
                        self.locator("troupe_owner"))
        self.write("flow.yaml", FLOW)
        told = 'as the owner of the schema "troupe" type troupe store upgrade'
        engine = self.locator("troupe_engine")
        self.assertIn(told, self.refused("store", "upgrade", engine))
        self.assertIn(told, self.refused("run", "flow.yaml", "-i", "a=1", "--store", engine))
        # What is made later is everybody's at once.
        self.troupe("store", "upgrade", self.locator("troupe_owner"))
        self.assertEqual(self.server.run(TABLES, self.locator("postgres")), tables)
        self.troupe("run", "flow.yaml", "-i", "a=1", "--store", engine)
        self.assertIn("is well", self.troupe("store", "check", self.locator("troupe_reader"))[0])

    def test_a_reader_writes_nothing(self):
        self.troupe("store", "init", self.locator("troupe_owner"))
        self.write("flow.yaml", FLOW)
        said = self.refused("run", "flow.yaml", "-i", "a=1", "--store",
                            self.locator("troupe_reader"))
        self.assertIn("permission denied for table cluster", said)
        self.assertIn('GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA "troupe" TO '
                      '"troupe_reader"', said)

    def test_rights_that_are_missing_are_findings(self):
        self.troupe("store", "init", self.locator("troupe_owner"))
        self.server.run("REVOKE INSERT, DELETE ON troupe.meta FROM troupe_engine;"
                        "REVOKE EXECUTE ON FUNCTION troupe.fence FROM troupe_engine, PUBLIC;"
                        "REVOKE SELECT ON troupe.actors FROM troupe_reader",
                        self.locator("troupe_owner"))
        document = self.document("store", "check", self.locator("troupe_engine"), status=1)
        self.assertEqual(document["findings"], [
            {"place": "fence()", "what": "this role may not call it",
             "remedy": "as its owner type GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA \"troupe\" TO "
             "\"troupe_engine\""},
            {"place": "meta", "what": "the role \"troupe_engine\" may not INSERT, DELETE",
             "remedy": "as its owner type GRANT INSERT, DELETE ON \"troupe\".\"meta\" TO "
             "\"troupe_engine\""}])
        document = self.document("store", "check", self.locator("troupe_reader"), status=1)
        found = {finding["place"]: finding["what"] for finding in document["findings"]}
        self.assertEqual(found["actors"], "the role \"troupe_reader\" may not SELECT")
        self.assertNotIn("meta", found)


if __name__ == "__main__":
    unittest.main()
