#!/usr/bin/env python3
"""Flyte's own documents, with Flyte's own library: definitions, golden literals, and whole runs.

The library lies in a folder of the build's, where it is installed once from PyPI. With
TROUPE_TEST_LONG flytekit is, too, and its dynamic workflows are run as they are.
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import unittest

from program import PROGRAM, ROOT, ProgramTest
from pypi import KIT, KIT_PYTHON, PYTHON, have_library

PROTOS = ROOT / "schemas/flyteidl"

# Each field and enumerator of our definitions, as Flyte's library has it.
DESCRIBE = """
import importlib, json, sys
from google.protobuf import (any_pb2, descriptor_pool, duration_pb2, struct_pb2, timestamp_pb2,
                             wrappers_pb2)
for name in sys.argv[1:]:
    importlib.import_module(f"flyteidl.{name}_pb2")
pool = descriptor_pool.Default()
found = {}
for kind, name, member in json.load(sys.stdin):
    if kind == "enum":
        value = pool.FindEnumTypeByName(name).values_by_name.get(member)
        found[f"{name}.{member}"] = [value.number] if value else None
        continue
    field = pool.FindMessageTypeByName(name).fields_by_name.get(member)
    of = field and (field.message_type or field.enum_type)
    is_map = bool(of and of.GetOptions().map_entry) if field and field.message_type else False
    found[f"{name}.{member}"] = field and [field.number, "map" if is_map else of.name if of else ""]
    found[name] = [each.name for each in pool.FindMessageTypeByName(name).fields]
json.dump(found, sys.stdout)
"""

# Messages of random content, of each kind that is read from its standard input: name and bytes.
RANDOM = """
import importlib, random, sys
from google.protobuf import descriptor_pool, message_factory
from google.protobuf.descriptor import FieldDescriptor as F
for name in sys.argv[2:]:
    importlib.import_module(f"flyteidl.{name}_pb2")
pool = descriptor_pool.Default()
draw = random.Random(int(sys.argv[1]))
names = sys.stdin.read().split()
WELL_KNOWN = [f"google.protobuf.{name}" for name in (
    "Any", "BoolValue", "Duration", "ListValue", "Struct", "Timestamp", "Value")]
NUMBERS = {F.CPPTYPE_INT32: (-2**31, 2**31 - 1), F.CPPTYPE_INT64: (-2**63, 2**63 - 1),
           F.CPPTYPE_UINT32: (0, 2**32 - 1), F.CPPTYPE_UINT64: (0, 2**64 - 1)}

def scalar(field):
    kind = field.cpp_type
    if kind in NUMBERS:
        low, high = NUMBERS[kind]
        return draw.choice([0, 1, low, high, draw.randint(low, high)])
    if kind == F.CPPTYPE_ENUM:
        return draw.choice(field.enum_type.values).number
    if kind == F.CPPTYPE_BOOL:
        return draw.random() < 0.5
    if kind == F.CPPTYPE_STRING:
        text = "".join(draw.choice("aZ09 .-_$\u00fc\u20ac") for _ in range(draw.randint(0, 9)))
        return text.encode() if field.type == F.TYPE_BYTES else text
    return draw.choice([0.0, -1.5, 2.0 ** draw.randint(-20, 20)])

def fill(message, depth):
    if message.DESCRIPTOR.full_name in ("google.protobuf.Duration", "google.protobuf.Timestamp"):
        message.seconds = draw.choice([0, 1, -1, 1755682200, -315576000000 // 16])
        sign = -1 if message.seconds < 0 and "Duration" in message.DESCRIPTOR.full_name else 1
        message.nanos = sign * draw.choice([0, 1, 1000, 500000000, 999999999])
        return
    if message.DESCRIPTOR.full_name == "google.protobuf.Any":
        kind = pool.FindMessageTypeByName(draw.choice([draw.choice(names), *WELL_KNOWN]))
        inner = message_factory.GetMessageClass(kind)()
        fill(inner, max(0, depth - 1))
        message.Pack(inner, draw.choice(["type.googleapis.com/", "/"]), deterministic=True)
        return
    if message.DESCRIPTOR.full_name == "google.protobuf.Value":
        message.bool_value = False  # JSON has none without a kind
    oneofs = {each.name: draw.choice(each.fields) for each in message.DESCRIPTOR.oneofs}
    for field in message.DESCRIPTOR.fields:
        one = field.containing_oneof
        if draw.random() < 0.4 or (one is not None and oneofs[one.name] is not field):
            continue
        of = field.message_type
        if of is not None and depth == 0:
            continue
        value = getattr(message, field.name)
        if of is not None and of.GetOptions().map_entry:
            for _ in range(draw.randint(0, 3)):
                # Flyte's library writes defaults here, and ours leaves them out as elsewhere.
                key = scalar(of.fields_by_name["key"]) or "k"
                inside = of.fields_by_name["value"]
                if inside.message_type is None:
                    value[key] = scalar(inside) or "v"
                else:
                    fill(value[key], depth - 1)
        elif field.is_repeated:
            for _ in range(draw.randint(0, 3)):
                if of is None:
                    value.append(scalar(field))
                else:
                    fill(value.add(), depth - 1)
        elif of is not None:
            value.SetInParent()
            fill(value, depth - 1)
        else:
            setattr(message, field.name, scalar(field))

for name in names:
    message = message_factory.GetMessageClass(pool.FindMessageTypeByName(name))()
    fill(message, draw.randint(1, 7))
    print(name, message.SerializeToString(deterministic=True).hex())
"""

# Of lines with a name and either digits or JSON: the JSON that protobuf's library makes of it, and
# the digits, an object a line.
JSON = """
import importlib, json, sys
from google.protobuf import descriptor_pool, json_format, message_factory
for name in sys.argv[1:]:
    importlib.import_module(f"flyteidl.{name}_pb2")
pool = descriptor_pool.Default()

def tidy(message):
    # Puts what is packed into the order that bytes are compared in.
    if message.DESCRIPTOR.full_name == "google.protobuf.Any" and message.type_url:
        kind = pool.FindMessageTypeByName(message.type_url.split("/")[-1])
        inner = message_factory.GetMessageClass(kind).FromString(message.value)
        message.value = tidy(inner).SerializeToString(deterministic=True)
        return message
    for field, value in message.ListFields():
        is_map = field.message_type is not None and field.message_type.GetOptions().map_entry
        if is_map and field.message_type.fields_by_name["value"].message_type is None:
            continue
        if field.message_type is not None:
            for each in value.values() if is_map else value if field.is_repeated else [value]:
                tidy(each)
    return message

for line in sys.stdin:
    name, rest = line.rstrip("\\n").split(" ", 1)
    message = message_factory.GetMessageClass(pool.FindMessageTypeByName(name))()
    if rest.startswith("{"):
        json_format.Parse(rest, message)
    else:
        message.ParseFromString(bytes.fromhex(rest))
    forms = [json_format.MessageToDict(message, preserving_proto_field_name=True,
                                       always_print_fields_with_no_presence=True),
             json_format.MessageToDict(message)]
    print(json.dumps([*forms, tidy(message).SerializeToString(deterministic=True).hex()]))
"""

METADATA = "admin.LaunchPlanMetadata"

# What is no JSON of a message, and what is said of it.
NO_JSON = [
    ("admin.EmailMessage", "[]", "a list is no value here; write an object"),
    ("admin.EmailMessage", "", "none"),
    ("admin.EmailMessage", '{"bodi": ""}', "'bodi' is no field of flyteidl.admin.EmailMessage"),
    ("admin.EmailMessage", '{"body": 3}', "body: an integer is no value here; write text"),
    ("admin.EmailMessage", '{"subject_line": "", "subjectLine": ""}',
     "'subjectLine' is there twice"),
    ("admin.EmailMessage", '{"recipientsEmail": ["", 3]}',
     "recipientsEmail[1]: an integer is no value here; write text"),
    ("admin.EmailMessage", '{"recipientsEmail": [null]}',
     "recipientsEmail[0]: nothing is no value here; write a value"),
    ("admin.EmailMessage", '{"body": "a\\u0000b"}', "body: this text must not hold a zero byte"),
    ("core.ErrorDocument", '{"error": {"kind": "FATAL"}}',
     "error.kind: 'FATAL' is no value here; write one of Kind"),
    ("core.TaskExecutionIdentifier", '{"retryAttempt": -1}', "retryAttempt: an integer is no value "
     "here; write a whole number from 0 to 4294967295"),
    ("core.TaskExecutionIdentifier", '{"retryAttempt": 1.5}', "retryAttempt: a number is no value "
     "here; write a whole number from 0 to 4294967295"),
    ("core.TaskLog", '{"ttl": "5"}',
     "ttl: '5' is no value here; write a duration in seconds such as 1.5s"),
    ("admin.TaskClosure", '{"created_at": "yesterday"}', "created_at: 'yesterday' is no value "
     "here; write a time such as 2026-08-20T09:30:00Z"),
    ("service.UserInfoResponse", '{"additional_claims": 3}',
     "additional_claims: an integer is no value here; write an object"),
    ("core.ArtifactQuery", '{"uri": "a", "artifact_id": {}}',
     "artifact_id: 'artifact_id' excludes another field that is there, too"),
    (METADATA, '{"launch_conditions": 3}', "an integer is no value here; write an object"),
    (METADATA, '{"launch_conditions": {"uri": "a"}}',
     "launch_conditions: '@type' is missing, the name of the message's type"),
    (METADATA, '{"launch_conditions": {"@type": 3}}', "an integer is no value here; write text"),
    (METADATA, '{"launch_conditions": {"@type": "x/y.Z", "a": 1}}', "launch_conditions: 'x/y.Z' is "
     "no type that is known here; write its bytes in base64 as 'value'"),
    (METADATA, '{"launch_conditions": {"@type": "y.Z", "value": "!"}}', "write base64"),
    (METADATA, '{"launch_conditions": {"@type": "/google.protobuf.Duration", "seconds": 1}}',
     "'value' is all that stands beside '@type' for a message of this type"),
    (METADATA, '{"launch_conditions": {"@type": "/google.protobuf.Duration", "value": "5"}}',
     "'5' is no value here; write a duration in seconds such as 1.5s"),
    (METADATA, '{"launch_conditions": {"@type": "/flyteidl.admin.EmailMessage", "bodi": ""}}',
     "'bodi' is no field of flyteidl.admin.EmailMessage"),
    (METADATA, '{"launch_conditions": ' + 9 * '{"@type": "/google.protobuf.Any", "value": ' + "{}" +
     9 * "}" + "}", "this nests too deeply"),
]

def module_of(path):
    """Flyte's own file; those of its packages admin, event and service have that in front of
    their names here."""
    package, _, name = path.stem.partition("_")
    return f"{package}.{name}" if package in ("admin", "event", "service") else f"core.{path.stem}"


# Not of flyteidl; no client would understand us otherwise (integration/api_entities).
OTHERS = ("grpc_descriptor", "grpc_health", "grpc_reflection", "rpc_status")

MODULES = [module_of(path) for path in sorted(PROTOS.glob("*.proto"))
           if path.stem not in ("well_known", *OTHERS)]

# Takes all inputs from inputs.pb, prints them, and gives them back.
ECHO = """
import pathlib, sys
from flyteidl.core import literals_pb2
data = pathlib.Path(sys.argv[1]).read_bytes()
inputs = literals_pb2.LiteralMap.FromString(data)
pathlib.Path(sys.argv[2], "outputs.pb").write_bytes(inputs.SerializeToString())
"""


def declared():
    """What our definitions declare: (kind, message, member) and its number and type."""
    for path in sorted(PROTOS.glob("*.proto")):
        if path.stem in OTHERS:
            continue
        package, inside = "", []
        for line in path.read_text().splitlines():
            line = line.split("//")[0].strip()
            name = ".".join([package] + [word for kind, word in inside if kind != "oneof"])
            if match := re.fullmatch(r"package (.*);", line):
                package = match[1]
            elif match := re.fullmatch(r"(message|enum|oneof) (\w+) \{", line):
                inside.append(match.groups())
            elif line == "}":
                inside.pop()
            elif match := re.fullmatch(r"(?:repeated )?(\S+|map<.*>) (\w+) = (\d+);", line):
                yield ("message", name, match[2]), int(match[3]), match[1].split(".")[-1]
            elif match := re.fullmatch(r"(\w+) = (\d+);", line):
                yield ("enum", name, match[1]), int(match[2]), None


class LibraryTest(ProgramTest):
    """A test whose tasks find Flyte's library."""

    @classmethod
    def setUpClass(cls):
        have_library(PYTHON)

    def environment(self):
        environment = super().environment()
        environment["PATH"] = f"{PYTHON.parent}:{environment['PATH']}"
        return environment


class FlyteTest(LibraryTest):
    def python(self, *words, stdin=None):
        done = subprocess.run([PYTHON, *words], input=stdin, text=True, capture_output=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_definitions_are_flytes(self):
        ours = list(declared())
        theirs = json.loads(self.python("-c", DESCRIBE, *MODULES,
                                        stdin=json.dumps([row[0] for row in ours])))
        self.assertGreater(len(ours), 500)
        scalars = {"int32", "int64", "uint32", "uint64", "double", "float", "bool", "string",
                   "bytes"}
        for (_, name, member), number, kind in ours:
            found = theirs[f"{name}.{member}"]
            self.assertIsNotNone(found, f"{name}.{member}")
            self.assertEqual(found[0], number, f"{name}.{member}")
            if kind is not None:
                expected = "map" if kind.startswith("map<") else "" if kind in scalars else kind
                self.assertEqual(found[1], expected, f"{name}.{member}")
        # And none is missing.
        for message in {name for (kind, name, _), _, _ in ours if kind == "message"}:
            self.assertEqual(sorted(theirs[message]), sorted(
                member for (_, name, member), _, _ in ours if name == message), message)

    def test_every_message_is_known(self):
        """Those that are declared are those that calls and packages are made of."""
        names = {name for (kind, name, _), _, _ in declared()
                 if kind == "message" and name.startswith("flyteidl.")}
        self.assertEqual(names - set(self.names()), set())
        self.assertGreater(len(self.names()), 250)

    def names(self):
        return self.again("names", "")

    def test_random_messages_stay_as_they_are(self):
        """Byte for byte, as both libraries write fields in their order, and maps as they came."""
        many = 40 if os.environ.get("TROUPE_TEST_LONG") else 4
        for seed in range(many):
            names = " ".join(self.names() * 2)
            made = self.python("-c", RANDOM, str(seed), *MODULES, stdin=names)
            again = subprocess.run([PROGRAM.parent / "tests/flyteidl_again"], input=made, text=True,
                                   capture_output=True, check=True).stdout
            self.assertEqual(again.splitlines(),
                             [line.split(" ")[1] for line in made.splitlines()], seed)

    def again(self, mode, lines):
        done = subprocess.run([PROGRAM.parent / "tests/flyteidl_again", mode], input=lines,
                              text=True, capture_output=True, check=True)
        return done.stdout.splitlines()

    def test_json_is_protobufs(self):
        """Ours has null where a message is not set, as Flyte's gateway, and theirs leaves it out;
        read again, by either library and in either form, it is the same message."""
        def without_null(value):
            if isinstance(value, dict):
                return {key: without_null(each) for key, each in value.items() if each is not None}
            return [without_null(each) for each in value] if isinstance(value, list) else value
        many = 20 if os.environ.get("TROUPE_TEST_LONG") else 2
        for seed in range(many):
            made = self.python("-c", RANDOM, str(seed), *MODULES, stdin=" ".join(self.names()))
            ours = self.again("json", made)
            kinds = [line.split(" ")[0] for line in made.splitlines()]
            rows = [json.loads(line) for line in
                    self.python("-c", JSON, *MODULES, stdin=made).splitlines()]
            self.assertEqual(len(rows), len(ours))
            for text, (theirs, _, _) in zip(ours, rows):
                self.assertEqual(without_null(json.loads(text)), without_null(theirs))
            again = self.python("-c", JSON, *MODULES, stdin="".join(
                f"{kind} {text}\n" for kind, text in zip(kinds, ours)))
            self.assertEqual([json.loads(line)[2] for line in again.splitlines()],
                             [row[2] for row in rows])
            for form in (0, 1):
                lines = "".join(f"{kind} {json.dumps(row[form])}\n"
                                for kind, row in zip(kinds, rows))
                self.assertEqual(self.same(kinds, self.again("read", lines)),
                                 [row[2] for row in rows])

    def test_a_type_that_nobody_knows_stays_as_it_is(self):
        """Its bytes stand for it, as do those that are no message of their type."""
        for kind, value in (("x/y.Z", "AAE="), ("x/y.Z", ""), ("", "/w==")):
            text = f'{{"launch_conditions": {{"@type": "{kind}", "value": "{value}"}}}}'
            digits, = self.again("read", f"flyteidl.{METADATA} {text}\n")
            shown, = self.again("json", f"flyteidl.{METADATA} {digits}\n")
            self.assertEqual(json.loads(shown)["launch_conditions"],
                             {"@type": kind, "value": value} if kind or value else {})
        broken = b"\x12\x0a\x01a"  # ends too early for an EmailMessage
        packed = b"\x0a\x1c/flyteidl.admin.EmailMessage\x12\x04" + broken
        digits = (bytes([26, len(packed)]) + packed).hex()
        shown, = self.again("json", f"flyteidl.{METADATA} {digits}\n")
        self.assertEqual(json.loads(shown)["launch_conditions"],
                         {"@type": "/flyteidl.admin.EmailMessage", "value": "EgoBYQ=="})

    def same(self, kinds, digits):
        """The same messages with their maps in order, which have none."""
        made = "".join(f"{kind} {each}\n" for kind, each in zip(kinds, digits))
        return [json.loads(line)[2] for line in
                self.python("-c", JSON, *MODULES, stdin=made).splitlines()]

    def test_what_is_no_json_is_told(self):
        for kind, text, words in NO_JSON:
            with self.subTest(kind=kind, text=text):
                said, = self.again("read", f"flyteidl.{kind} {text}\n")
                self.assertTrue(said.startswith("none"), said)
                self.assertIn(words, said)

    def test_golden_literals_are_what_the_library_writes(self):
        for name in ("literals", "hashes"):
            written = self.python("-B", ROOT / f"tests/support/flyte_{name}.py")
            golden = (ROOT / f"tests/golden/flyte/{name}.txt").read_text()
            self.assertEqual(written, golden)

    def echo(self, types, values):
        """Values through a task that only knows Flyte's library."""
        declared = json.dumps(types)
        names = ", ".join(f"{name}: ${name}" for name in types)
        self.write("echo.py", ECHO)
        self.write("values.json", json.dumps(values))
        self.write("flow.yaml", f"""troupe: 1
tasks:
  echo:
    inputs: {declared}
    outputs: {declared}
    run: [python3, ./echo.py, "{{{{.input}}}}", "{{{{.outputPrefix}}}}"]
workflows:
  main:
    inputs: {declared}
    nodes: {{n: {{task: echo, with: {{{names}}}}}}}
    outputs: {{{", ".join(f"{name}: $n.{name}" for name in types)}}}
""")
        return self.document("run", "flow.yaml", "--inputs", "values.json")["outputs"]

    def test_values_of_all_types_pass_through_a_process(self):
        rows = [line.split("\t")
                for line in (ROOT / "tests/golden/flyte/literals.txt").read_text().splitlines()]
        rows = [row for row in rows if row[4] == "both" and not row[0].startswith(("file", "dir"))
                and row[0] not in ("union_file", "none")]
        values = {row[0]: json.loads(row[2]) for row in rows}
        self.assertEqual(self.echo({row[0]: row[1] for row in rows}, values), values)

    def test_large_values_pass_in_files(self):
        values = {"many": list(range(200000)), "long": "x" * 700000, "small": 1}
        types = {"many": "[int]", "long": "string | none", "small": "int"}
        self.assertEqual(self.echo(types, values), values)

    def test_a_file_is_copied_as_in_json(self):
        path = self.write("data.txt", "hello\n")
        self.write("make.py", """
import pathlib, sys
from flyteidl.core import literals_pb2, types_pb2
pathlib.Path("made.txt").write_text("made")
blob = literals_pb2.Blob(uri="made.txt", metadata={"type": {"format": "txt"}})
literal = literals_pb2.Literal(scalar=literals_pb2.Scalar(blob=blob))
outputs = literals_pb2.LiteralMap(literals={"f": literal})
pathlib.Path(sys.argv[1], "outputs.pb").write_bytes(outputs.SerializeToString())
""")
        self.write("flow.yaml", """troupe: 1
tasks:
  make: {outputs: {f: file}, run: [python3, ./make.py, "{{.outputPrefix}}"]}
workflows:
  main: {nodes: {n: {task: make}}, outputs: {f: $n.f}}
""")
        made = pathlib.Path(self.document("run", "flow.yaml")["outputs"]["f"])
        self.assertEqual(made.read_text(), "made")
        self.assertIn(str(self.store), str(made))
        self.assertTrue(path.exists())

    def test_datasets_and_schemas_are_kept(self):
        self.write("make.py", """
import pathlib, sys
from flyteidl.core import literals_pb2, types_pb2
raw = pathlib.Path(sys.argv[1])
(raw / "table").mkdir()
(raw / "table/part").write_text("rows")
(raw / "old").write_text("old")
dataset = literals_pb2.StructuredDataset(uri=str(raw / "table"), metadata={
    "structured_dataset_type": types_pb2.StructuredDatasetType(format="parquet")})
schema = literals_pb2.Schema(uri=f"file://{raw}/old", type=types_pb2.SchemaType())
def literal(**scalar):
    return literals_pb2.Literal(scalar=literals_pb2.Scalar(**scalar))
listed = literals_pb2.LiteralCollection(literals=[literal(structured_dataset=dataset)])
outputs = literals_pb2.LiteralMap(literals={
    "all": literals_pb2.Literal(collection=listed), "old": literal(schema=schema)})
pathlib.Path(sys.argv[2], "outputs.pb").write_bytes(outputs.SerializeToString())
""")
        self.write("flow.yaml", """troupe: 1
tasks:
  make:
    outputs: {all: [dataset], old: dataset}
    run: [python3, ./make.py, "{{.rawOutputDataPrefix}}", "{{.outputPrefix}}"]
workflows:
  main: {nodes: {n: {task: make}}, outputs: {all: $n.all, old: $n.old}}
""")
        outputs = self.document("run", "flow.yaml")["outputs"]
        table, old = pathlib.Path(outputs["all"][0]["uri"]), pathlib.Path(outputs["old"]["uri"])
        self.assertEqual((table.parent, old.parent), 2 * (self.store / "blobs",))
        self.assertEqual(outputs["all"][0]["format"], "parquet")
        self.assertEqual(((table / "part").read_text(), old.read_text()), ("rows", "old"))

    def run_script(self, script, outputs="{a: int}", retries=0, status=1):
        self.write("task.py", "import os, pathlib, sys\n"
                   "from flyteidl.core import errors_pb2, literals_pb2\n"
                   "out = pathlib.Path(sys.argv[1])\n"
                   "def integer(value):\n"
                   "    primitive = literals_pb2.Primitive(integer=value)\n"
                   "    return literals_pb2.Literal(scalar={'primitive': primitive})\n" + script)
        self.write("flow.yaml", f"""troupe: 1
tasks:
  t:
    outputs: {outputs}
    retries: {retries}
    run: [python3, ./task.py, "{{{{.outputPrefix}}}}"]
workflows:
  main: {{nodes: {{n: {{task: t}}}}, outputs: {{a: $n.a}}}}
""")
        return self.document("run", "flow.yaml", status=status)

    ERROR = """
import errno
document = errors_pb2.ErrorDocument(error=errors_pb2.ContainerError(
    code="USER:X", message="wrong", kind=errors_pb2.ContainerError.%s))
(out / "error.pb").write_bytes(document.SerializeToString())
(out / "outputs.pb").write_bytes(
    literals_pb2.LiteralMap(literals={"a": integer(1)}).SerializeToString())
pathlib.Path(os.environ["TROUPE_FOLDER"], "tries").open("a").write("x")
"""

    def test_an_error_document_wins_and_says_whether_to_try_again(self):
        error = self.run_script(self.ERROR % "NON_RECOVERABLE", retries=2)["error"]
        self.assertEqual((error["code"], (self.folder / "tries").read_text()), ("USER:X", "x"))
        self.assertIn("wrong", error["message"])
        (self.folder / "tries").unlink()
        error = self.run_script(self.ERROR % "RECOVERABLE", retries=2)["error"]
        self.assertIn("USER:X", error["code"])
        self.assertEqual((self.folder / "tries").read_text(), "xxx")

    WORKERS = """
import subprocess
WORKER = '''
import pathlib, sys
from flyteidl.core import errors_pb2
worker, seconds, out = sys.argv[1], int(sys.argv[2]), pathlib.Path(sys.argv[3])
error = errors_pb2.ContainerError(code="USER:" + worker, message="wrong", worker=worker)
error.timestamp.seconds = seconds
(out / f"error-{worker}.pb").write_bytes(
    errors_pb2.ErrorDocument(error=error).SerializeToString())
'''
workers = [subprocess.Popen([sys.executable, "-c", WORKER, name, seconds, out])
           for name, seconds in (("w0", "20"), ("w1", "10"), ("w2", "30"))]
for each in workers:
    each.wait()
"""

    def test_of_several_workers_the_earliest_error_counts(self):
        error = self.run_script(self.WORKERS)["error"]
        self.assertEqual(error["code"], "USER:w1")
        self.assertIn("worker w1: wrong", error["message"])
        error = self.run_script(self.WORKERS + "(out / 'error-w3.pb').write_bytes(b'\\x0a\\x09')")
        self.assertIn("ErrorDocumentMalformed", error["error"]["code"])

    def test_flytes_outputs_win_over_json(self):
        done = self.run_script("""
pathlib.Path(os.environ["TROUPE_OUTPUTS"]).write_text('{"a": 1}')
(out / "outputs.pb").write_bytes(
    literals_pb2.LiteralMap(literals={"a": integer(2)}).SerializeToString())
""", status=0)
        self.assertEqual(done["outputs"], {"a": 2})
        done = self.run_script("""
pathlib.Path(os.environ["TROUPE_OUTPUTS"]).write_text('{"a": 1}')
""", status=0)
        self.assertEqual(done["outputs"], {"a": 1})

    def test_what_is_wrong_is_named(self):
        for script, code, words in (
                ("", "OutputsNotFound", "nothing was written to $TROUPE_OUTPUTS or outputs.pb: the "
                                        "output 'a' is missing"),
                ("(out / 'outputs.pb').write_bytes(b'\\xff')", "OutputsNotFound",
                 "the outputs: outputs.pb is no LiteralMap of Flyte's"),
                ("(out / 'outputs.pb').write_bytes(literals_pb2.LiteralMap(literals={'a': "
                 "literals_pb2.Literal(collection={})}).SerializeToString())", "MismatchingTypes",
                 "the output 'a': a list is no value of type int"),
                ("(out / 'error.pb').write_bytes(b'\\xff')", "ErrorDocumentMalformed",
                 "its error.pb is no ErrorDocument")):
            error = self.run_script(script)["error"]
            self.assertIn(code, error["code"])
            self.assertIn(words, error["message"])

    def test_a_literal_may_lie_in_a_file(self):
        done = self.run_script("""
(out / "a.pb").write_bytes(integer(7).SerializeToString())
literal = literals_pb2.Literal(offloaded_metadata={"uri": "file://%s" % (out / "a.pb")})
(out / "outputs.pb").write_bytes(
    literals_pb2.LiteralMap(literals={"a": literal}).SerializeToString())
""", status=0)
        self.assertEqual(done["outputs"], {"a": 7})
        error = self.run_script("""
literal = literals_pb2.Literal(offloaded_metadata={"uri": "s3://bucket/a.pb"})
(out / "outputs.pb").write_bytes(
    literals_pb2.LiteralMap(literals={"a": literal}).SerializeToString())
""")["error"]
        self.assertIn("the output 'a': a literal names 's3://bucket/a.pb': it lies elsewhere",
                      error["message"])

    def test_the_example(self):
        for path in (ROOT / "examples/flyte").iterdir():
            shutil.copy(path, self.folder)
        done = self.document("run", "greet.yaml", "-i", "name=Ada")
        self.assertEqual(done["outputs"], {"greetings": ["Hello, Ada!"] * 2})
        error = self.document("run", "greet.yaml", "-i", "name=Ada", "-i", "times=0",
                              status=1)["error"]
        self.assertEqual(error["code"], "USER:ValueError")
        self.assertIn("0 is no number of times", error["message"])


# Writes futures.pb: `spec` is made by what a test puts behind this.
DECIDE = """
import pathlib, sys
from flyteidl.core import (condition_pb2, dynamic_job_pb2, identifier_pb2, literals_pb2,
    tasks_pb2, types_pb2, workflow_pb2)
out, size = pathlib.Path(sys.argv[1]), int(sys.argv[2])
spec = dynamic_job_pb2.DynamicJobSpec()
INTEGER = types_pb2.LiteralType(simple=types_pb2.INTEGER)

def scalar(value):
    kind = "integer" if isinstance(value, int) else "string_value"
    return {"scalar": {"primitive": {kind: value}}}

def promise(node, var="o0"):
    return {"promise": {"node_id": node, "var": var}}

def task_id(name):
    return identifier_pb2.Identifier(resource_type=identifier_pb2.TASK, name=name)

def task(name, code, inputs, output=INTEGER):
    program = ("import json, os; i = json.load(open(os.environ['TROUPE_INPUTS'])); "
               f"o = {code}; json.dump({{'o0': o}}, open(os.environ['TROUPE_OUTPUTS'], 'w'))")
    template = spec.tasks.add(id=task_id(name), type="python-task")
    for var, kind in inputs.items():
        template.interface.inputs.variables[var].type.CopyFrom(kind)
    template.interface.outputs.variables["o0"].type.CopyFrom(output)
    template.container.args.extend(["python3", "-c", program])

def bind(node, **inputs):
    for var, binding in inputs.items():
        node.inputs.add(var=var, binding=literals_pb2.BindingData(**binding))
    return node

def node(id, name=None, where=None, **inputs):
    made = (spec.nodes if where is None else where).add(id=id)
    if name is not None:
        made.task_node.reference_id.CopyFrom(task_id(name))
    return bind(made, **inputs)

def output(var, **binding):
    spec.outputs.add(var=var, binding=literals_pb2.BindingData(**binding))

"""


class FuturesTest(LibraryTest):
    """Graphs that a task decides with Flyte's library."""

    def decide(self, script, *words, outputs="{o0: int}", size=3, tasks="", status=0):
        self.write("decide.py", DECIDE + script
                   + "\n(out / 'futures.pb').write_bytes(spec.SerializeToString())\n")
        self.write("flow.yaml", f"""troupe: 1
tasks:
  decide:
    inputs: {{size: int}}
    outputs: {outputs}
    run: [python3, ./decide.py, "{{{{.outputPrefix}}}}", "{{{{.inputs.size}}}}"]
  {tasks}
workflows:
  main:
    inputs: {{size: {{type: int, default: {size}}}}}
    nodes: {{d: {{dynamic: decide, with: {{size: $size}}}}}}
    outputs: {{o0: $d.o0}}
""")
        return self.document("run", "flow.yaml", "main", *words, status=status)

    def test_nodes_of_all_kinds(self):
        done = self.decide("""
task("m.double", "i['a'] * 2", {"a": INTEGER})
task("m.total", "sum(i['xs'])", {"xs": types_pb2.LiteralType(collection_type=INTEGER)})
STRING = types_pb2.LiteralType(simple=types_pb2.STRING)
task("m.text", "i['s'] + str(i['n'])", {"s": STRING, "n": INTEGER}, STRING)
node("one", "m.double", a=promise("", "size"))
many = node("many", a={"collection": {"bindings": [scalar(1), promise("one"), scalar(3)]}})
many.array_node.node.task_node.reference_id.CopyFrom(task_id("m.double"))
many.array_node.parallelism = 2
node("total", "m.total", xs=promise("many"))
inner = spec.subworkflows.add()
inner.id.name, inner.id.resource_type = "m.inner", identifier_pb2.WORKFLOW
inner.interface.inputs.variables["a"].type.CopyFrom(INTEGER)
inner.interface.outputs.variables["o0"].type.CopyFrom(INTEGER)
node("x", "m.double", where=inner.nodes, a=promise("start-node", "a"))
inner.outputs.add(var="o0", binding=literals_pb2.BindingData(**promise("x")))
below = node("below", a=promise("total"))
below.workflow_node.sub_workflow_ref.CopyFrom(inner.id)
nap = node("nap")
nap.gate_node.sleep.duration.nanos = 1000000
choice = node("choice")
choice.upstream_node_ids.append("nap")
bind(choice, **{".t": promise("below")})
case = getattr(choice.branch_node.if_else, "case")
case.condition.comparison.operator = condition_pb2.ComparisonExpression.GT
case.condition.comparison.left_value.var = ".t"
case.condition.comparison.right_value.primitive.integer = 30
case.then_node.id = "big"
case.then_node.task_node.reference_id.CopyFrom(task_id("m.text"))
bind(case.then_node, s=scalar("${$n} {$$} "), n=promise("below"))
choice.branch_node.if_else.error.message = "too small: {$n}"
output("o0", **promise("choice"))
""", outputs="{o0: string}")
        self.assertEqual(done["outputs"], {"o0": "${$n} {$$} 40"})
        rows = {row["node"]: row["kind"] for row in self.document("get", "@last")["nodes"]}
        self.assertEqual(rows["d/many"], "map")
        self.assertEqual(rows["d/below"], "workflow")
        self.assertEqual(rows["d/nap"], "sleep")

    def test_bindings_may_lie_in_files(self):
        script = """
task("m.total", "sum(i['xs'])", {"xs": types_pb2.LiteralType(collection_type=INTEGER)})
five = literals_pb2.Literal(scalar={"primitive": {"integer": 5}})
(out / "five.pb").write_bytes(five.SerializeToString())
here = {"offloaded_metadata": {"uri": str(out / "five.pb"), "size_bytes": SIZE}}
node("total", "m.total", xs={"collection": {"bindings": [scalar(1), here]}})
output("o0", **promise("total"))
"""
        self.assertEqual(self.decide(script.replace("SIZE", "6"))["outputs"], {"o0": 6})
        error = self.decide(script.replace("SIZE", "7"), status=1)["error"]
        self.assertIn("DynamicWorkflowBuildFailed", error["code"])
        self.assertRegex(error["message"], "futures.pb: decide.total.inputs.xs: the literal in "
                         "'.*/five.pb' has 7 bytes, and the file has 6")

    def test_people_are_asked(self):
        script = """
task("m.double", "i['a'] * 2", {"a": INTEGER})
asked = node("asked")
asked.gate_node.signal.signal_id = "how_many"
asked.gate_node.signal.type.CopyFrom(INTEGER)
asked.gate_node.signal.output_variable_name = "o0"
agreed = node("agreed", o0=promise("asked"))
agreed.gate_node.approve.signal_id = "fine"
node("last", "m.double", a=promise("agreed"))
output("o0", **promise("last"))
"""
        self.decide(script, "--detach")
        name = self.document("list")[0]["execution"]
        running = self.start("resume", name)
        running.wait_for("asked")
        self.troupe("signal", name, "how_many", "21")
        self.troupe("approve", name, "fine")
        running.end()
        self.assertEqual(self.document("get", name)["outputs"], {"o0": 42})

    def test_what_is_wrong_names_the_node(self):
        for script, words in (
                ("node('n0', 'm.unknown', a=scalar(1)); output('o0', **promise('n0'))", "unknown"),
                ("task('m.t', '1', {'a': INTEGER}); node('n0', 'm.t'); "
                 "output('o0', **promise('n0'))", "n0"),
                ("task('m.t', '1', {'a': INTEGER}); node('n0', 'm.t', a=promise('n9')); "
                 "output('o0', **promise('n0'))", "n9"),
                ("node('n0'); output('o0', **promise('n0'))",
                 "n0: the node is of a kind that is not known")):
            error = self.decide(script, status=1)["error"]
            self.assertIn("DynamicWorkflowBuildFailed", error["code"])
            self.assertIn(words, error["message"])
        error = self.decide("", status=1)["error"]
        self.assertIn("the task declares the output 'o0', and the document does not give it",
                      error["message"])
        self.write("decide.py", "import pathlib, sys\n"
                   "pathlib.Path(sys.argv[1], 'futures.pb').write_bytes(b'\\xff')\n")
        error = self.document("run", "flow.yaml", "main", status=1)["error"]
        self.assertIn("futures.pb is no DynamicJobSpec of Flyte's", error["message"])

    def test_a_large_graph_passes_in_a_file(self):
        done = self.decide("""
task("m.same", "i['a']", {"a": INTEGER})
for i in range(size):
    nap = node(f"n{i}")
    nap.metadata.name = "a nap " * 50
    nap.gate_node.sleep.duration.nanos = 1000
assert spec.ByteSize() > 1 << 20
node("last", "m.same", a=scalar(size))
output("o0", **promise("last"))
""", size=4000)
        self.assertEqual(done["outputs"], {"o0": 4000})


@unittest.skipUnless(os.environ.get("TROUPE_TEST_LONG"), "needs flytekit, which is large")
class FlytekitTest(ProgramTest):
    """flytekit's own dynamic workflows, run as flytekit runs them."""

    @classmethod
    def setUpClass(cls):
        have_library(KIT_PYTHON, KIT)

    def environment(self):
        environment = super().environment()
        environment["PATH"] = f"{KIT_PYTHON.parent}:{environment['PATH']}"
        environment["PYTHONPATH"] = str(self.folder)
        return environment

    def test_dynamic_workflows(self):
        for name in ("flytekit_flow.py", "flytekit_graphs.py"):
            shutil.copy(ROOT / "tests/support" / name, self.folder)
        flow = subprocess.run([KIT_PYTHON, self.folder / "flytekit_graphs.py", "--flow"],
                              check=True, text=True, capture_output=True).stdout
        self.write("flow.yaml", flow)
        for name, outputs in (("plain", {"o0": 5}), ("fan", {"o0": 14}), ("outer", {"o0": 14}),
                              ("gates", {"o0": 16}),
                              ("mixed", {"o0": 256, "o1": "big14", "o2": [0, 1, 4, 9]})):
            done = self.document("run", "flow.yaml", f"run_{name}")
            self.assertEqual(done["outputs"], outputs, name)


if __name__ == "__main__":
    unittest.main()
