#!/usr/bin/env python3
"""What `-o json` prints is what schemas/documents.schema.json says, field by field."""

import json
import shutil
import signal
import unittest

import jsonschema

from program import EXAMPLES, ROOT, ProgramTest, wait_until

SCHEMA = json.loads((ROOT / "schemas/documents.schema.json").read_text())


def closed(part):
    """The schema with no other fields than it names: a new field has to be described."""
    if isinstance(part, list):
        return [closed(one) for one in part]
    if not isinstance(part, dict):
        return part
    copy = {key: closed(value) for key, value in part.items()}
    if "required" in copy and "properties" in copy:
        copy["additionalProperties"] = False
    return copy


class DocumentsTest(ProgramTest):
    def setUp(self):
        super().setUp()
        for path in EXAMPLES.glob("*.*"):
            shutil.copy(path, self.folder)
        self.schema = closed(SCHEMA)

    def suits(self, name, document):
        schema = {**self.schema, "$ref": f"#/definitions/{name}"}
        jsonschema.Draft7Validator(schema).validate(document)

    def prints(self, name, *words, status=0):
        document = self.document(*words, status=status)
        self.suits(name, document)
        return document

    def test_the_schema_is_one(self):
        jsonschema.Draft7Validator.check_schema(SCHEMA)
        with self.assertRaises(jsonschema.ValidationError):
            self.suits("version", {"version": "1", "more": 1})
        with self.assertRaises(jsonschema.ValidationError):
            self.suits("version", {})

    def test_runs_and_looks(self):
        self.prints("result", "run", "fan_out.yaml", "--name", "good")
        self.prints("result", "run", "failure.yaml", "-i", "fail=true", "--name", "bad", status=1)
        self.assertEqual(len(self.prints("list", "list")), 2)
        self.assertIn("process", [row["plugin"] for row in self.prints("plugins", "plugins")])
        self.prints("result", "rerun", "good", "--from", "sum", "--name", "again")
        self.prints("result", "run", "notify.yaml", "-i", "name=Ada", "--name", "told")
        self.assertEqual(len(self.prints("get", "get", "told")["notifications"]), 1)
        for name in ("good", "bad", "again"):
            self.prints("get", "get", name)
            self.prints("explain", "explain", name)
        for node in ("good/squares", "good/squares[3]", "good/sum@0", "bad/end", "again/list",
                     "bad/halves[1]@0"):
            self.prints("get_node", "get", node)
        self.prints("compare", "compare", "good", "again")
        self.prints("compare", "compare", "good", "bad")
        self.prints("files", "files", "good")
        self.prints("elements", "elements", "good/squares")
        self.prints("elements_summary", "elements", "bad/halves", "--summary")

    def test_a_miss_of_the_cache(self):
        self.write("flow.yaml", "troupe: 1\ntasks: {t: {type: echo, inputs: {n: int}, outputs: "
                   "{n: int}, cache: v1}}\nworkflows: {main: {inputs: {n: int}, nodes: {t: {task: "
                   "t, with: {n: $n}}}}}\n")
        for number in "12":
            self.troupe("run", "flow.yaml", "-q", "-i", f"n={number}", "--name", f"it{number}")
        self.assertIsNone(self.prints("explain", "explain", "it1/t")["cache"][0]["nearest"])
        self.assertIsNotNone(self.prints("explain", "explain", "it2/t")["cache"][0]["nearest"])

    def test_changes(self):
        self.troupe("run", "failure.yaml", "-i", "fail=true", "--name", "bad", "-q", status=1)
        lines = self.troupe("watch", "bad", "-o", "json", status=1)[0].splitlines()
        for line in lines[:-1]:
            self.suits("change", json.loads(line))
        self.suits("result", json.loads(lines[-1]))

    def test_gates_and_pauses(self):
        self.prints("handed", "run", "approval.yaml", "--name", "it", "--detach")
        self.prints("pause", "pause", "it")
        self.prints("explain", "explain", "it")
        self.prints("get_node", "get", "it/ok")
        self.prints("answer", "approve", "it", "release", "-m", "fine")
        self.prints("result", "resume", "it")

    def test_gates_that_wait(self):
        self.prints("handed", "run", "approval.yaml", "--name", "it", "--detach")
        wait_until(lambda: self.document("gates"), "its gate waits")
        self.assertEqual(len(self.prints("gates", "gates")), 1)
        self.assertEqual(len(self.prints("gates", "list", "--waiting")), 1)
        self.prints("get", "get", "it")
        self.troupe("approve", "it")
        self.troupe("watch", "it", "-q")

    def test_definitions_and_schedules(self):
        self.assertEqual(self.prints("check", "check", "hello.yaml"), [])
        self.assertGreater(len(self.prints("inspect", "inspect", "fan_out.yaml")), 1)
        self.assertGreater(len(self.prints("inspect", "inspect", "nightly.yaml")), 1)
        self.write("wrong.yaml", "troupe: 1\ntasks: {t: {rum: [date]}}\n")
        self.assertGreater(len(self.prints("check", "check", "wrong.yaml", status=2)), 0)
        self.write("odd.yaml", "troupe: 1\ntasks: {t: {inputs: {s: string}, run: [date]}}\n"
                   "workflows: {w: {inputs: {x: int}, nodes: {n: {task: t, with: {s: a$x}}}}}\n")
        self.assertEqual(len(self.prints("check", "check", "odd.yaml")), 1)
        self.prints("apply", "apply", "nightly.yaml")
        self.prints("schedules", "apply")
        self.prints("schedules", "schedules")
        self.prints("change_schedules", "schedules", "pause", "nightly", "-m", "why")
        self.prints("schedules", "schedules")
        self.prints("explain_schedule", "explain", "nightly")
        self.prints("change_schedules", "schedules", "resume", "nightly")
        self.prints("backfill", "backfill", "nightly", "--from", "2026-08-01", "--to", "2026-08-03")

    def test_an_engine_that_stays(self):
        self.store.mkdir()
        engine = self.start("serve", "-o", "json", "-v")
        engine.wait_for("serves")
        self.prints("result", "submit", "hello.yaml", "-i", "name=Ada", "--wait")
        self.prints("handed", "submit", "hello.yaml", "-i", "name=Bob")
        self.troupe("apply", "nightly.yaml")
        self.prints("handed", "schedules", "trigger", "nightly")
        self.prints("actors", "actors")
        self.prints("ping", "ping")
        self.prints("metrics", "metrics")
        engine.wait_for('"event":"ended"')
        engine.signal(signal.SIGTERM)
        lines = [json.loads(line) for line in engine.end()[2].splitlines()]
        for line in lines:
            self.suits("chronicle", line)
        self.assertIn("begins", [line.get("event") for line in lines])

    def test_the_rest(self):
        self.troupe("run", "hello.yaml", "-i", "name=Ada", "-q")
        self.prints("prune", "prune", "--dry-run")
        self.prints("prune", "prune", "@last", "--yes")
        self.prints("audit", "audit")
        self.prints("version", "version")


if __name__ == "__main__":
    unittest.main()
