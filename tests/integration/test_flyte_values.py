#!/usr/bin/env python3
"""Literals of Flyte's on their way through a workflow: what one task writes the next one reads,
with all that came beside the value.

Tasks are programs that use Flyte's own library (support/flyte_package.py puts packages together).
"""

import unittest

from test_flyte_packages import PackageTest

# Two tasks: one that writes a literal, one that tells what it was given.
MAKE = """
from google.protobuf import text_format
STRUCT = types_pb2.LiteralType(simple=types_pb2.STRUCT)
FILE = types_pb2.LiteralType(blob=types_pb2.BlobType(format="csv"))
BYTES = types_pb2.LiteralType(simple=types_pb2.BINARY)

def make(name, kind, literal, **inputs):
    program = ("import sys; from flyteidl.core import literals_pb2 as l; "
               "from google.protobuf import text_format as t; "
               f"open(sys.argv[1] + '/outputs.pb', 'wb').write(l.LiteralMap(literals={{'o0': "
               f"t.Parse({literal!r}, l.Literal())}}).SerializeToString())")
    return task(name, "", inputs, kind, args=["python3", "-c", program, "{{.outputPrefix}}"])

def tell(name, kind, **more):
    program = ("import json, os, sys; from flyteidl.core import literals_pb2 as l; "
               "from google.protobuf import text_format as t; "
               "m = l.LiteralMap.FromString(open(sys.argv[1], 'rb').read()); "
               "json.dump({'o0': t.MessageToString(m.literals['a'], as_one_line=True)}, "
               "open(os.environ['TROUPE_OUTPUTS'], 'w'))")
    return task(name, "", {"a": kind} | more, STRING, args=["python3", "-c", program, "{{.input}}"])

def pass_on(name, kind, literal):
    make(f"v.make_{name}", kind, literal)
    tell(f"v.tell_{name}", kind)
    workflow(f"v.{name}", {}, [node("n0", f"v.make_{name}"),
                               node("n1", f"v.tell_{name}", a=promise("n0"))],
             {"o0": promise("n1")}, {"o0": STRING})
"""


class PassedOnTest(PackageTest):
    """What goes from task to task is what came."""

    def assert_passed_on(self, kind, literal):
        self.package(MAKE + f"pass_on('flow', {kind}, {literal!r})")
        done = self.document("run", "flows.tgz", "v.flow")
        self.assertEqual(done["outputs"]["o0"], literal)

    def test_a_struct_stays_in_its_form(self):
        self.assert_passed_on("STRUCT", 'scalar { generic { fields { key: "a" value { '
                                        'number_value: 3.0 } } } }')
        self.assert_passed_on("STRUCT", 'scalar { binary { value: "\\201\\241a\\003" '
                                        'tag: "msgpack" } }')

    def test_hash_and_words_stay(self):
        self.assert_passed_on("INTEGER", 'scalar { primitive { integer: 1 } } hash: "abc" '
                                         'metadata { key: "k" value: "v" }')
        self.assert_passed_on("BYTES", 'scalar { binary { value: "x" tag: "own" } }')

    def test_numbers_that_are_none(self):
        self.assert_passed_on("STRUCT", 'scalar { generic { fields { key: "a" value { '
                                        'number_value: nan } } } }')

    def test_elements_of_a_list_may_lie_in_files(self):
        self.package("""
program = '''
import pathlib, sys
from flyteidl.core import literals_pb2 as l
out = pathlib.Path(sys.argv[1])
def integer(value):
    return l.Literal(scalar={"primitive": {"integer": value}})
(out / "e.pb").write_bytes(integer(5).SerializeToString())
items = [integer(4), l.Literal(offloaded_metadata={"uri": str(out / sys.argv[2])}), integer(6)]
(out / "outputs.pb").write_bytes(l.LiteralMap(literals={"o0": l.Literal(
    collection={"literals": items})}).SerializeToString())
'''
LIST = types_pb2.LiteralType(collection_type=INTEGER)
for name in ("e", "gone"):
    task(f"v.{name}", "", {}, LIST,
         args=["python3", "-c", program, "{{.outputPrefix}}", f"{name}.pb"])
""")
        self.assertEqual(self.document("run", "flows.tgz", "v.e")["outputs"], {"o0": [4, 5, 6]})
        error = self.document("run", "flows.tgz", "v.gone", status=1)["error"]
        self.assertIn("the outputs cannot be opened", error["message"])

    def test_a_hash_stands_for_the_value_in_the_cache(self):
        self.package(MAKE + """
for name, number, word in (("one", 1, "x"), ("two", 2, "x"), ("three", 2, "y"), ("four", 2, "")):
    make(f"v.{name}", INTEGER, "scalar { primitive { integer: %d } } hash: '%s'" % (number, word))
spec = task("v.ten", "i['a'] * 10", {"a": INTEGER})
spec.template.metadata.discoverable, spec.template.metadata.discovery_version = True, "1"
members[-1] = (members[-1][0], spec.SerializeToString())
for name in ("one", "two", "three", "four"):
    workflow(f"v.of_{name}", {}, [node("n0", f"v.{name}"), node("n1", "v.ten", a=promise("n0"))],
             {"o0": promise("n1")})
""")
        given = [self.document("run", "flows.tgz", f"v.of_{name}")["outputs"]["o0"]
                 for name in ("one", "two", "three", "four")]
        self.assertEqual(given, [10, 10, 20, 20])
        caches = [row["cache"] for row in self.document("get", "@last")["nodes"]
                  if row["node"] == "n1"]
        self.assertEqual(caches, ["populated"])


class FieldsTest(PackageTest):
    """What is referred to inside of a dataclass is known before anything runs."""

    POINT = """
POINT = types_pb2.LiteralType(simple=types_pb2.STRUCT, structure={"dataclass_type": {
    "x": INTEGER, "inner": types_pb2.LiteralType(
        simple=types_pb2.STRUCT, structure={"dataclass_type": {"y": STRING}})}})
def into(*path):
    data = promise("n0")
    for step in path:
        data.promise.attr_path.add(**({"int_value": step} if isinstance(step, int)
                                      else {"string_value": step}))
    return data
task("f.point", "{'x': 3, 'inner': {'y': 'z'}}", {}, POINT)
task("f.points", "[{'x': 3, 'inner': {'y': 'z'}}]", {},
     types_pb2.LiteralType(collection_type=POINT))
task("f.add", "i['a'] + 1", {"a": INTEGER})
task("f.say", "i['a']", {"a": STRING}, STRING)
"""

    def flow(self, made, *nodes):
        lines = ", ".join(f"node('n{i + 1}', '{task}', a=into{path!r})"
                          for i, (task, path) in enumerate(nodes))
        self.package(self.POINT + f"workflow('f.w', {{}}, [node('n0', '{made}'), {lines}], "
                     "{'o0': promise('n1')})")

    def test_fields_that_are_there(self):
        self.flow("f.point", ("f.add", ("x",)), ("f.say", ("inner", "y")))
        self.assertEqual(self.document("run", "flows.tgz", "f.w")["outputs"], {"o0": 4})
        self.flow("f.points", ("f.add", (0, "x")))
        self.assertEqual(self.document("run", "flows.tgz", "f.w")["outputs"], {"o0": 4})

    def test_fields_that_are_not(self):
        self.flow("f.point", ("f.add", ("z",)), ("f.say", ("inner", "x")))
        told = self.told()
        code = "Code: FieldNotFound, Node Id: "
        self.assertIn(code + "f.w.n1.inputs.a, Description: Variable [o0] (type [struct]) doesn't "
                      "have field [z].; it has inner, x\n", told)
        self.assertIn(code + "f.w.n2.inputs.a, Description: Variable [o0] (type [struct]) doesn't "
                      "have field [x].; it has y\n", told)

    def test_fields_of_another_type(self):
        self.flow("f.point", ("f.add", ("inner", "y")))
        self.assertIn("f.w.n1.inputs.a: The output variable 'o0' has type [string], but it's "
                      "assigned to the input variable 'a' which has type [int]. "
                      "[MismatchingTypes]", self.told())


class TablesTest(PackageTest):
    """Columns of tables, by Flyte's rules for both of their kinds."""

    TABLES = """
COLUMNS = {"a": types_pb2.INTEGER, "b": types_pb2.STRING}
def dataset(names, format=""):
    return types_pb2.LiteralType(structured_dataset_type={"format": format, "columns": [
        {"name": name, "literal_type": {"simple": kind}} for name, kind in names.items()]})
def schema(names):
    kinds = {types_pb2.INTEGER: 0, types_pb2.STRING: 2}
    return types_pb2.LiteralType(schema={"columns": [
        {"name": name, "type": kinds[kind]} for name, kind in names.items()]})
def flow(given, wanted):
    task("f.make", "'/x'", {}, given)
    task("f.read", "1", {"t": wanted})
    workflow("f.w", {}, [node("n0", "f.make"), node("n1", "f.read", t=promise("n0"))],
             {"o0": promise("n1")})
A, B = {"a": types_pb2.INTEGER}, {"b": types_pb2.INTEGER}
"""

    def test_tables_that_fit(self):
        for given, wanted in (
                ("dataset(COLUMNS)", "dataset(A)"), ("dataset({})", "dataset(A)"),
                ("dataset(A)", "dataset({})"), ("schema(COLUMNS)", "dataset(A, 'parquet')"),
                ("dataset(COLUMNS, 'Parquet')", "schema(A)"), ("schema(COLUMNS)", "schema(A)")):
            self.package(self.TABLES + f"flow({given}, {wanted})")
            self.assertIn("no errors", self.troupe("check", "flows.tgz")[1], (given, wanted))

    def test_tables_that_do_not(self):
        for given, wanted in (
                ("dataset(A)", "dataset(COLUMNS)"), ("dataset(COLUMNS)", "dataset(B)"),
                ("schema(A)", "dataset({}, 'csv')"), ("dataset(A, 'csv')", "schema({})"),
                ("dataset(A)", "schema(B)"), ("schema(A)", "schema(COLUMNS)")):
            self.package(self.TABLES + f"flow({given}, {wanted})")
            self.assertIn("f.w.n1.inputs.t: The output variable 'o0' has type [dataset], but it's "
                          "assigned to the input variable 't' which has type [dataset].; let it "
                          "have the columns and the format that are asked for [MismatchingTypes]",
                          self.told(), (given, wanted))


if __name__ == "__main__":
    unittest.main()
