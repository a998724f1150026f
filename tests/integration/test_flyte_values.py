#!/usr/bin/env python3
"""Literals of Flyte's on their way through a workflow: what one task writes the next one reads,
with all that came beside the value.

Tasks are programs that use Flyte's own library (support/flyte_package.py puts packages together).
"""

import json
import shutil
import unittest

from test_flyte_packages import SUPPORT, PackageTest

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


class KeysTest(PackageTest):
    """Keys of cached results, as propeller and datacatalog make them of the same literals."""

    # What is put behind a package: what Flyte makes of it, as the names of files in the cache.
    FLYTES = """
sys.path.insert(0, SUPPORT)
import base64, json
from flyte_hashes import flytes, hashed
def letters(digest):
    return base64.urlsafe_b64encode(digest).decode()
def bare(message):
    for part in (message.inputs, message.outputs):
        for variable in part.variables.values():
            variable.description = ""
            variable.type.ClearField("metadata")
            variable.type.ClearField("annotation")
    return message
def version_of(interface, version):
    bare(interface)
    whole = "-".join([version, *(letters(flytes(part))[:8]
                                 for part in (interface.inputs, interface.outputs))])
    return hashlib.sha256(whole.encode()).hexdigest()[:16]
def key_of(spec, **literals):
    tag = flytes(hashed(literals_pb2.LiteralMap(literals=literals)))
    return [tag.hex()[:32], version_of(spec.template.interface,
                                       spec.template.metadata.discovery_version)]
def cached(name, kinds, **options):
    spec = task(name, "1", kinds)
    spec.template.metadata.discoverable, spec.template.metadata.discovery_version = True, "1.0"
    for key in options.get("ignored", ()):
        spec.template.metadata.cache_ignore_input_vars.append(key)
    for key in kinds:
        spec.template.interface.inputs.variables[key].description = "said " + key
        spec.template.interface.inputs.variables[key].type.metadata.update({"title": key})
    members[-1] = (members[-1][0], spec.SerializeToString())
    return spec
def kind(text):
    return text_format.Parse(text, types_pb2.LiteralType())
def literal(text):
    return text_format.Parse(text, literals_pb2.Literal())
keys = {}
"""

    def keys(self, script):
        self.package(MAKE + self.FLYTES.replace("SUPPORT", repr(str(SUPPORT))) + script
                     + "\nopen('keys.json', 'w').write(json.dumps(keys))")
        return json.loads((self.folder / "keys.json").read_text())

    def entries(self):
        """The two parts of each name in the cache that depend on literals and on interfaces."""
        found = []
        for path in (self.store / "cache").glob("*/*"):
            inputs, _, version = path.name.split("-")
            found.append([inputs, version])
        return sorted(found)

    def test_keys_are_flytes(self):
        keys = self.keys("""
for name, type_text, literal_text in (
        ("int", "simple: INTEGER", "scalar { primitive { integer: 7 } }"),
        ("zero", "simple: INTEGER", "scalar { primitive { integer: 0 } }"),
        ("float", "simple: FLOAT", "scalar { primitive { float_value: 2.5 } }"),
        ("string", "simple: STRING", "scalar { primitive { string_value: 'a \\\\303\\\\274' } }"),
        ("bool", "simple: BOOLEAN", "scalar { primitive { boolean: true } }"),
        ("datetime", "simple: DATETIME",
         "scalar { primitive { datetime { seconds: 1553860800 nanos: 5000000 } } }"),
        ("duration", "simple: DURATION",
         "scalar { primitive { duration { seconds: 3 nanos: 1000 } } }"),
        ("bytes", "simple: BINARY", "scalar { binary { value: 'x' tag: 'own' } }"),
        ("struct", "simple: STRUCT",
         "scalar { binary { value: '\\\\201\\\\241a\\\\003' tag: 'msgpack' } }"),
        ("generic", "simple: STRUCT",
         "scalar { generic { fields { key: 'a' value { number_value: 3 } } } }"),
        ("path", "simple: STRUCT", "scalar { generic { fields { key: 'a' value { "
         "string_value: '/there/is/no/such/file' } } } }"),
        ("list", "collection_type { simple: INTEGER }",
         "collection { literals { scalar { primitive { integer: 1 } } } "
         "literals { scalar { primitive { integer: 2 } } hash: 'two' } }"),
        ("map", "map_value_type { simple: STRING }",
         "map { literals { key: 'k' value { scalar { primitive { string_value: 'v' } } } } }"),
        ("enum", "enum_type { values: 'a' values: 'b' }",
         "scalar { primitive { string_value: 'b' } }"),
        ("union", "union_type { variants { simple: INTEGER structure { tag: 'int' } } "
         "variants { simple: NONE structure { tag: 'none' } } }",
         "scalar { union { value { scalar { primitive { integer: 1 } } } "
         "type { simple: INTEGER structure { tag: 'int' } } } }"),
        ("hashed", "simple: INTEGER", "scalar { primitive { integer: 1 } } hash: 'h'")):
    make(f"k.make_{name}", kind(type_text), literal_text)
    spec = cached(f"k.{name}", {"a": kind(type_text)})
    keys[name] = key_of(spec, a=literal(literal_text))
    workflow(f"k.of_{name}", {}, [node("n0", f"k.make_{name}"),
                                  node("n1", f"k.{name}", a=promise("n0"))], {"o0": promise("n1")})
""")
        for name, key in keys.items():
            shutil.rmtree(self.store / "cache", ignore_errors=True)
            self.document("run", "flows.tgz", f"k.of_{name}")
            self.assertEqual(self.entries(), [key], name)

    def test_ignored_inputs_are_not_in_keys(self):
        keys = self.keys("""
spec = cached("k.t", {"a": INTEGER, "b": STRING}, ignored=["b"])
keys["t"] = key_of(spec, a=integer(3))
""")
        self.document("run", "flows.tgz", "k.t", "-i", "a=3", "-i", "b=x")
        self.document("run", "flows.tgz", "k.t", "-i", "a=3", "-i", "b=y")
        self.assertEqual(self.entries(), [keys["t"]])

    def test_files_of_this_machine_count_by_content(self):
        self.keys("cached('k.t', {'a': kind('blob { format: \"\" }')})")
        for name, content in (("one", "x"), ("two", "x"), ("three", "y"), ("one", "z")):
            self.write(name, content)
            self.document("run", "flows.tgz", "k.t", "-i", f"a={name}")
        self.assertEqual(len(self.entries()), 3)


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


class FilesTest(PackageTest):
    """Literals that lie in files of their own, wherever they stand."""

    # A task that leaves five in e.pb, and whose output is what an expression makes of `here`.
    WRITE = """
LIST = types_pb2.LiteralType(collection_type=INTEGER)
LISTS = types_pb2.LiteralType(collection_type=LIST)
MAP = types_pb2.LiteralType(map_value_type=LIST)
MAYBE = types_pb2.LiteralType(union_type={"variants": [
    {"simple": types_pb2.INTEGER, "structure": {"tag": "int"}},
    {"simple": types_pb2.NONE, "structure": {"tag": "none"}}]})
def writes(name, kind, literal):
    program = f'''
import pathlib, sys
from flyteidl.core import literals_pb2 as l, types_pb2
out = pathlib.Path(sys.argv[1])
def many(*literals):
    return l.Literal(collection={{"literals": literals}})
def integer(value):
    return l.Literal(scalar={{"primitive": {{"integer": value}}}})
def here(name="e.pb", **more):
    return l.Literal(offloaded_metadata={{"uri": str(out / name), **more}})
(out / "e.pb").write_bytes(integer(5).SerializeToString())
(out / "l.pb").write_bytes(many(integer(5), here()).SerializeToString())
made = {literal}
(out / "outputs.pb").write_bytes(l.LiteralMap(literals={{"o0": made}}).SerializeToString())
'''
    return task(name, "", {}, kind, args=["python3", "-c", program, "{{.outputPrefix}}"])
"""

    def outputs(self, kind, literal):
        self.package(self.WRITE + f"writes('v.flow', {kind}, {literal!r})")
        return self.document("run", "flows.tgz", "v.flow")["outputs"]["o0"]

    def test_in_outputs(self):
        for kind, literal, value in (
                ("INTEGER", "here(size_bytes=6)", 5),
                ("LIST", "many(integer(4), here(), integer(6))", [4, 5, 6]),
                ("LIST", "here('l.pb')", [5, 5]),
                ("LISTS", "many(many(here()), here('l.pb'))", [[5], [5, 5]]),
                ("MAP", "l.Literal(map={'literals': {'k': here('l.pb'), 'm': many(here())}})",
                 {"k": [5, 5], "m": [5]}),
                ("MAYBE", "l.Literal(scalar={'union': {'value': here(), 'type': {'simple': 1, "
                 "'structure': {'tag': 'int'}}}})", 5)):
            self.assertEqual(self.outputs(kind, literal), value, literal)

    def test_files_that_are_not(self):
        for kind, literal, words in (
                ("LIST", "many(here('gone'))", "the output 'o0': [0]: a literal names '/"),
                ("LIST", "many(here('gone'))", "gone': the outputs cannot be opened: No such file"),
                ("MAP", "l.Literal(map={'literals': {'k': many(l.Literal(offloaded_metadata={"
                 "'uri': 's3://bucket/a.pb'}))}})", "the output 'o0': a literal names "
                 "'s3://bucket/a.pb': it lies elsewhere; keep it on this machine"),
                ("INTEGER", "here(size_bytes=7)", "e.pb' has 7 bytes, and the file has 6; write "
                 "the file anew, whole"),
                ("LIST", "here('l.pb', size_bytes=7)", "l.pb' has 7 bytes, and the file has ")):
            self.package(self.WRITE + f"writes('v.flow', {kind}, {literal!r})")
            error = self.document("run", "flows.tgz", "v.flow", status=1)["error"]
            self.assertIn(words, error["message"])

    def test_the_hash_beside_a_file_counts(self):
        """flytekit hashes a literal that it puts into a file, and says it beside its name."""
        self.package(self.WRITE + """
def hashed(name, number, word):
    writes(f"v.{name}", INTEGER, f"l.Literal(hash={word!r}, offloaded_metadata={{'uri': "
           f"str(out / 'n.pb'), 'size_bytes': (out / 'n.pb').write_bytes("
           f"integer({number}).SerializeToString())}})")
    workflow(f"v.of_{name}", {}, [node("n0", f"v.{name}"), node("n1", "v.ten", a=promise("n0"))],
             {"o0": promise("n1")})
spec = task("v.ten", "i['a'] * 10", {"a": INTEGER})
spec.template.metadata.discoverable, spec.template.metadata.discovery_version = True, "1"
members[-1] = (members[-1][0], spec.SerializeToString())
for name, number, word in (("one", 1, "x"), ("two", 2, "x"), ("three", 2, "y")):
    hashed(name, number, word)
""")
        given = [self.document("run", "flows.tgz", f"v.of_{name}")["outputs"]["o0"]
                 for name in ("one", "two", "three")]
        self.assertEqual(given, [10, 10, 20])

    # A workflow whose inputs are bound to files, and have defaults in files.
    BOUND = """
import pathlib
pathlib.Path("five.pb").write_bytes(integer(5).SerializeToString())
pathlib.Path("text.pb").write_bytes(
    literals_pb2.Literal(scalar={"primitive": {"string_value": "$n0.o0"}}).SerializeToString())
LIST = types_pb2.LiteralType(collection_type=INTEGER)
def here(name="five.pb", **more):
    return {"uri": str(pathlib.Path(name).absolute()), **more}
def bound(**more):
    return literals_pb2.BindingData(offloaded_metadata=here(**more))
many = literals_pb2.BindingData(collection={"bindings": [scalar(1), bound()]})
task("f.t", "sum(i['a']) + i['b']", {"a": LIST, "b": INTEGER})
task("f.s", "i['a']", {"a": STRING}, STRING)
workflow("f.w", {"x": INTEGER}, [node("n0", "f.t", a=many, b=promise("", "x")),
                                 node("n1", "f.s", a=bound(name="text.pb"))],
         {"o0": promise("n0"), "o1": promise("n1"), "o2": bound()},
         {"o0": INTEGER, "o1": STRING, "o2": INTEGER})
made = plan("f.w", "f.w", {"x": 1})
made.spec.default_inputs.parameters["x"].default.CopyFrom(
    literals_pb2.Literal(offloaded_metadata=here(size_bytes=6)))
members[-1] = (members[-1][0], made.SerializeToString())
"""

    def test_in_bindings_and_defaults(self):
        self.package(self.BOUND)
        done = self.document("run", "flows.tgz", "f.w")
        self.assertEqual(done["outputs"], {"o0": 11, "o1": "$n0.o0", "o2": 5})
        flow, = self.document("inspect", "flows.tgz", "f.w")
        self.assertEqual(flow["inputs"][0]["default"], 5)

    def test_bindings_to_files_that_are_not(self):
        self.package(self.BOUND.replace("[scalar(1), bound()]",
                                        "[scalar(1), bound(size_bytes=9)]"))
        self.assertRegex(self.told(), "flows.tgz: f.w.n0.inputs.a: the literal in '.*/five.pb' has "
                         "9 bytes, and the file has 6; write the file anew, whole "
                         r"\[InvalidValue\]")
        self.package(self.BOUND.replace('bound(name="text.pb")', 'bound(name="gone.pb")'))
        self.assertRegex(self.told(), "flows.tgz: f.w.n1.inputs.a: a literal names "
                         r"'.*/gone.pb': there is no such file; check its name \[InvalidValue\]")
        self.package(self.BOUND + "made.spec.default_inputs.parameters['x'].default."
                     "offloaded_metadata.uri = 's3://b/x.pb'\n"
                     "members[-1] = (members[-1][0], made.SerializeToString())")
        self.assertEqual(self.told(), "flows.tgz: f.w.inputs.x: a literal names 's3://b/x.pb': it "
                         "lies elsewhere; keep it on this machine [InvalidValue]\n")


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
