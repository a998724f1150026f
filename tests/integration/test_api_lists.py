#!/usr/bin/env python3
"""The lists of Flyte's API find their rows by an index, whatever they are chosen and sorted by: the
database says how it would find those of each statement that a list makes, with SQLite and with
PostgreSQL.

Nothing is measured. An index gives the rows in their order, or few enough of them, which are those
of one execution, name or version; a list that sorts or reads all that there is fails. Only archived
executions are all read where somebody asks for these.
"""

import http.client
import itertools
import json
import re
import unittest
import urllib.parse

import postgres
from program import PROGRAM
from test_api import ServedTest

WHERE = "default/development"
STATEMENTS = PROGRAM.parent / "tests/statements.so"

FLOW = """
troupe: 1
tasks: {t: {run: ["true"]}}
workflows:
  main: {nodes: {a: {task: t}, ok: {approve: go}}}
"""

DATE = "2026-08-20T09:30:00Z"
EXECUTION_FILTERS = [
    "", "eq(phase,FAILED)", "value_in(phase,FAILED;ABORTED)", "ne(phase,SUCCEEDED)",
    "eq(name,a)", "value_in(name,a;b)", "contains(name,a)", "ne(name,a)",
    "eq(workflow.name,a)", "contains(workflow.name,a)", "eq(launch_plan.name,a)",
    "value_in(launch_plan.name,a;b)", "ne(launch_plan.name,a)", "eq(error_code,a)",
    "eq(project,default)+eq(domain,development)", "eq(state,1)", "eq(state,0)", "ne(state,1)",
    f"gt(created_at,{DATE})", f"lte(created_at,{DATE})", f"gt(started_at,{DATE})",
    f"lt(updated_at,{DATE})", "eq(phase,FAILED)+eq(workflow.name,a)",
    f"value_in(phase,FAILED;ABORTED)+eq(launch_plan.name,a)+gt(created_at,{DATE})"]
ENTITY_FILTERS = ["", "eq(name,a)", "eq(version,a)", "contains(name,a)", "eq(name,a)+eq(version,a)",
                  f"gt(created_at,{DATE})", "eq(state,1)"]
NODE_FILTERS = ["", "eq(phase,FAILED)", "eq(node_id,a)", f"gt(started_at,{DATE})"]

# A list: its path, what it is sorted by, what it is chosen by, and tokens of each kind.
TOKENS = ["", "5~5", "a~5", "5~a", "a~a"]
ENTITY_TOKENS = [""]  # and those that pages give
LISTS = [
    (f"executions/{WHERE}", ["created_at", "started_at", "updated_at", "name", "workflow.name",
                             "launch_plan.name"], EXECUTION_FILTERS, TOKENS),
    (f"node_executions/{WHERE}/one", ["created_at", "started_at", "node_id"], NODE_FILTERS, TOKENS),
    (f"task_executions/{WHERE}/one/a", [""], [""], TOKENS),
    (f"signals/{WHERE}/one", ["created_at"], ["", "eq(signal_id,go)"], TOKENS),
    *((f"{path}/{WHERE}{name}", ["created_at", "updated_at", "name", "version"], ENTITY_FILTERS,
       ENTITY_TOKENS) for path in ("tasks", "workflows", "launch_plans") for name in ("", "/a")),
    (f"active_launch_plans/{WHERE}", ["created_at", "updated_at", "name", "version"], [""],
     ENTITY_TOKENS),
    *((f"{path}/{WHERE}", ["name"], [""], ENTITY_TOKENS)
      for path in ("task_ids", "workflow_ids", "launch_plan_ids", "named_entities/TASK")),
    (f"description_entities/WORKFLOW/{WHERE}", ["created_at", "name"], ENTITY_FILTERS,
     ENTITY_TOKENS)]

# What leads to few rows, which a page may sort: those of an execution, or with a name or a version.
FEW = re.compile(r'"?(execution|name|version)"? ?= ?(\?|\$\d|\'|\d)')

ARCHIVED = re.compile('FROM "record_execution_archive" AS l0')

# A server that reads all rows or sorts them only where there is no other way, and says how it did.
SETTINGS = {"session_preload_libraries": "auto_explain", "auto_explain.log_min_duration": "0",
            "enable_seqscan": "off", "enable_sort": "off", "enable_bitmapscan": "off",
            "max_parallel_workers_per_gather": "0"}


class ListsTest(ServedTest):
    """What is asked, and by how many rows of each kind a page is followed by another."""

    def begin(self):
        self.write("flow.yaml", FLOW)
        self.address, = self.serve()
        self.troupe("submit", "flow.yaml", "--name", "one")
        self.connection = http.client.HTTPConnection(self.address)
        self.addCleanup(self.connection.close)

    def get(self, path, **given):
        words = urllib.parse.urlencode({key: value for key, value in given.items() if value})
        self.connection.request("GET", f"/api/v1/{path}?{words}")
        response = self.connection.getresponse()
        return response.status, json.loads(response.read())

    def ask_for_all(self):
        """Each list, by each field, in both directions, by each condition, from each token."""
        for path, keys, filters, tokens in LISTS:
            for key, direction, chosen, token in itertools.product(
                    ["", *keys], ("ASCENDING", "DESCENDING"), filters, tokens):
                order = {"sort_by.key": key, "sort_by.direction": direction} if key else {}
                status, said = self.get(path, filters=chosen, token=token, limit=1, **order)
                is_none = token and "is no token" in str(said)
                self.assertTrue(status == 200 or is_none, (path, key, chosen, token, said))
                if status == 200 and said.get("token") and token == "":
                    self.assertEqual(self.get(path, filters=chosen, token=said["token"], limit=1,
                                              **order)[0], 200)


    def check(self, plans):
        wrong = [f"{problem}: {sql.split(' FROM ', 1)[1]}" for sql, steps in plans.items()
                 if (problem := self.problem(steps)) is not None]
        self.assertGreater(len(plans), 200)
        self.assertEqual(wrong, [], "\n" + "\n".join(wrong))


class SqliteTest(ListsTest):
    def environment(self):
        return {**super().environment(), "LD_PRELOAD": str(STATEMENTS),
                "TROUPE_STATEMENTS": str(self.folder / "statements")}

    def plans(self):
        """Each statement about records, and the steps of its plan."""
        plans, steps = {}, []
        for line in (self.folder / "statements").read_text().splitlines():
            if line.startswith("\t"):
                steps.append(line[1:])
            else:
                steps = plans.setdefault(line, [])
                steps.clear()
        return {sql: steps for sql, steps in plans.items()
                if 'FROM "record_' in sql and not ARCHIVED.search(sql)}

    def problem(self, steps):
        """What is wrong with a plan; None: nothing."""
        is_few = any(step.startswith("SEARCH r ") and FEW.search(step) for step in steps)
        for step in steps:
            if step.startswith("SCAN") and "INDEX" not in step:
                return step
            if "TEMP B-TREE" in step and not is_few:
                return step
        return None

    def test_a_scan_is_found(self):
        for wrong in ("SCAN r", "USE TEMP B-TREE FOR ORDER BY",
                      "USE TEMP B-TREE FOR RIGHT PART OF ORDER BY"):
            steps = ["SEARCH r USING INDEX i (workflow=?)", wrong]
            self.assertEqual(self.problem(steps), wrong)
        self.assertIsNone(self.problem(["SEARCH r USING INDEX i (execution=?)",
                                        "USE TEMP B-TREE FOR ORDER BY"]))

    def test_rows_are_found_by_index(self):
        self.begin()
        (self.folder / "statements").write_text("")
        self.ask_for_all()
        self.check(self.plans())


class PostgresTest(ListsTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.server = postgres.Server(SETTINGS)
        cls.addClassCleanup(cls.server.stop)

    def setUp(self):
        super().setUp()
        self.store.mkdir(mode=0o700)
        (self.store / "database").write_text(
            self.server.locator(database=self.server.make_database()) + "\n")
        (self.store / "database").chmod(0o600)
        self.troupe("store", "init", "-q", str(self.store))

    def plans(self, log):
        plans, steps = {}, []
        for line in log.splitlines():
            if match := re.match(r"\tQuery Text: (?:DECLARE .* FOR )?(SELECT .*)", line):
                steps = plans.setdefault(match[1], [])
                steps.clear()
            elif line.startswith("\t"):
                steps.append(line.strip())
            else:
                steps = []
        return {sql: steps for sql, steps in plans.items()
                if 'FROM "record_' in sql and not ARCHIVED.search(sql)}

    def problem(self, steps):
        is_few = any("Index Cond" in step and FEW.search(step) for step in steps)
        for step in steps:
            if "Seq Scan" in step or (re.match(r"(-> +)?Sort  \(", step) and not is_few):
                return step
            # Rows of the same value are sorted, which are few where that is a time or a name.
            is_sorted = re.match(r"Presorted Key: .*(_ms|name)$", step)
            if step.startswith("Presorted Key:") and not is_sorted and not is_few:
                return step
        return None

    def test_a_scan_is_found(self):
        for wrong in ("->  Seq Scan on record_execution r  (cost=1)", "Sort  (cost=1)",
                      "Presorted Key: workflow"):
            self.assertEqual(self.problem(["Limit", wrong, "Index Cond: (workflow = $1)"]), wrong)

    def test_rows_are_found_by_index(self):
        self.begin()
        begin = len(self.server.log())
        self.ask_for_all()
        self.check(self.plans(self.server.log()[begin:]))


if __name__ == "__main__":
    unittest.main()
