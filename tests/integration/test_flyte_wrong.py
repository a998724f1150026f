#!/usr/bin/env python3
"""Packages of Flyte's that are wrong: archives, entities, what refers to nothing, types that do not
fit, programs and Pythons that are not there. Each is told in words, with a place and a remedy, all
that is wrong at once."""

import gzip
import io
import random
import re
import resource
import tarfile
import unittest

from test_flyte_packages import PackageTest


class WrongTest(PackageTest):
    def archive(self, data):
        (self.folder / "flows.tgz").write_bytes(data)

    def tar(self, *members):
        stream = io.BytesIO()
        with tarfile.open(fileobj=stream, mode="w:gz") as archive:
            for info in members:
                archive.addfile(info, io.BytesIO(bytes(info.size)) if info.isreg() else None)
        return stream.getvalue()

    def member(self, name, kind=tarfile.REGTYPE, size=0, link=""):
        info = tarfile.TarInfo(name)
        info.type, info.size, info.linkname = kind, size, link
        return info

    def test_what_is_wrong_is_told(self):
        entry = "flows.tgz: the archive's entry "
        for members, words in (
                ([self.member("../0_a_1.pb")], "'../0_a_1.pb' leads out of the archive"),
                ([self.member("/0_a_1.pb")], "'/0_a_1.pb' leads out of the archive"),
                ([self.member("a/../../b_1.pb")], "'a/../../b_1.pb' leads out of the archive"),
                ([self.member("0_a_1.pb", tarfile.SYMTYPE, link="/etc/passwd")],
                 "'0_a_1.pb' is a link or a device; put the file itself into the archive"),
                ([self.member("0_b_1.pb"), self.member("0_a_1.pb", tarfile.LNKTYPE,
                                                       link="0_b_1.pb")],
                 "'0_a_1.pb' is a link or a device"),
                ([self.member("0_a_1.pb", tarfile.CHRTYPE)], "'0_a_1.pb' is a link or a device"),
                ([self.member("0_a_1.pb", tarfile.FIFOTYPE)], "'0_a_1.pb' is a link or a device")):
            self.archive(self.tar(*members))
            self.assertIn(entry + words, self.told())

    def test_archives_that_are_none(self):
        cannot = "flows.tgz: the archive cannot be read: "
        whole = self.tar(self.member("0_a_1.pb", size=70000))
        for data in (b"\x1f\x8b" + b"x" * 100, whole[:len(whole) // 2], b"no archive at all" * 99,
                     gzip.compress(b"no tar" * 1000), whole[:40] + b"\xff" * 20 + whole[60:]):
            self.archive(data)
            self.assertIn(cannot, self.told())
        for data in (self.tar(), self.tar(self.member("readme.txt", size=3))):
            self.archive(data)
            self.assertEqual(self.told(), "flows.tgz: there are no tasks, workflows or launch "
                             "plans in it; make it with `pyflyte package` or `pyflyte serialize`\n")

    def test_bombs(self):
        huge = tarfile.TarInfo("0_a_1.pb")
        huge.size = 1 << 40
        header = huge.tobuf(tarfile.GNU_FORMAT)
        self.archive(gzip.compress(header + bytes(4096)))
        self.assertEqual(self.told(), "flows.tgz: the archive's entry '0_a_1.pb' makes it more "
                         "than 1 GiB unpacked; package less\n")
        # Zeros by the gigabyte in a small file, without any header of a tar.
        self.archive(gzip.compress(bytes(64 << 20), 1))
        self.assertIn("no tasks, workflows or launch plans", self.told())

    def test_entities_that_are_none(self):
        for name, data, words in (
                ("0_a_1.pb", b"\xff\xff", "0_a_1.pb: the file is no TaskSpec of Flyte's"),
                ("0_a_2.pb", b"\x0a\x7f", "0_a_2.pb: the file is no WorkflowSpec of Flyte's"),
                ("0_a_3.pb", b"\x0a\x05abc", "0_a_3.pb: the file is no LaunchPlan of Flyte's"),
                ("0_a_1.pb", b"", "0_a_1.pb: the entity has no id; serialize it with a name"),
                ("0_a_4.pb", b"", "0_a_4.pb: the file's name does not say what it holds; let it "
                                  "end with _1.pb for a task, _2.pb for a workflow, _3.pb for a "
                                  "launch plan"),
                ("a.pb", b"", "a.pb: the file's name does not say what it holds"),
                ("0_a_1.pb", b"\x0a\x7f" * 200, "0_a_1.pb: the file is no TaskSpec")):
            self.package(f"add({name!r}, {data!r})")
            self.assertIn(f"flows.tgz: {words}", self.told())
        self.package("plan('t.a', 't.b'); members[0] = ('0_t.a_2.pb', members[0][1])")
        self.assertIn("0_t.a_2.pb: the file is no WorkflowSpec of Flyte's", self.told())
        self.package("spec = task('t.a', '1', {})\n"
                     "spec.template.id.resource_type = identifier_pb2.WORKFLOW\n"
                     "members[0] = ('0_t.a_1.pb', spec.SerializeToString())")
        self.assertIn("0_t.a_1.pb: the file holds an entity of another kind than its name says",
                      self.told())

    def test_what_refers_to_nothing(self):
        for script, words in (
                ("workflow('f.w', {}, [node('n0', 'f.gone')], {'o0': promise('n0')})",
                 "f.w.n0: there is no task 'f.gone'; put it into the package, too "
                 "[TaskReferenceNotFound]"),
                ("workflow('f.w', {}, [node('n0', 'f.gone', identifier_pb2.WORKFLOW)], "
                 "{'o0': promise('n0')})", "there is no workflow 'f.gone'"),
                ("workflow('f.w', {}, [node('n0', 'f.gone', identifier_pb2.LAUNCH_PLAN)], "
                 "{'o0': promise('n0')})", "there is no launch plan or workflow 'f.gone'"),
                ("plan('f.p', 'f.gone')", "f.gone"),
                ("workflow('f.w', {}, [node('n0', 'f.w', identifier_pb2.WORKFLOW)], "
                 "{'o0': promise('n0')})", "f.w.n0: the workflow 'f.w' holds itself"),
                ("task('f.t', '1', {'a': STRING})\n"
                 "workflow('f.w', {'a': INTEGER}, [node('n0', 'f.t', a=promise('', 'a'))], "
                 "{'o0': promise('n0')})", "[MismatchingTypes]"),
                ("task('f.t', '1', {'a': INTEGER})\n"
                 "workflow('f.w', {}, [node('n0', 'f.t', a=promise('n9'))], {'o0': promise('n0')})",
                 "[NodeReferenceNotFound]"),
                ("task('f.t', '1', {'a': INTEGER})\n"
                 "workflow('f.w', {}, [node('n0', 'f.t')], {'o0': promise('n0')})",
                 "[ParameterNotBound]"),
                ("task('f.t', '1', {})\nworkflow('f.t', {}, [node('n0', 'f.t')], "
                 "{'o0': promise('n0')})", "a task, a workflow and a launch plan are "
                                           "called 'f.t'; give each a name of its own")):
            self.package(script)
            self.assertIn(words, self.told(), script)

    def test_all_is_told_at_once(self):
        self.package("workflow('f.w', {}, [node('n0', 'f.gone'), node('n1', 'f.away')], "
                     "{'o0': promise('n0')})")
        self.assertEqual(self.told(), """\
flows.tgz: Collected Errors: 2
\tError 0: Code: TaskReferenceNotFound, Node Id: f.w.n1, Description: there is no task 'f.away'; \
put it into the package, too
\tError 1: Code: TaskReferenceNotFound, Node Id: f.w.n0, Description: there is no task 'f.gone'; \
put it into the package, too
""")
        told = self.document("check", "flows.tgz", status=2)
        self.assertEqual([(each["subject"], each["code"]) for each in told],
                         [("f.w.n1", "TaskReferenceNotFound"), ("f.w.n0", "TaskReferenceNotFound")])

    def test_what_was_told_is_not_told_again(self):
        """What refers to something that cannot be read is judged as far as it can be."""
        self.package("""
spec = task("f.bad", "1", {"a": INTEGER})
spec.template.interface.inputs.variables["a"].type.Clear()
members[-1] = (members[-1][0], spec.SerializeToString())
task("f.good", "1", {"a": INTEGER})
workflow("f.w", {}, [
    core_workflow_pb2.Node(id="n0", gate_node={}),
    node("n1", "f.good", a=promise("n0", "gone")),
    node("n2", "f.bad", b=promise("n1")),
    node("n3", "f.good", a=promise("n2"), after=["n0"]),
    node("n4", "f.good")], {"o0": promise("n0"), "o1": promise("n2")})
workflow("f.v", {"x": INTEGER}, [node("n0", "f.good", a=promise("", "x"))],
         {"o0": literals_pb2.BindingData()})
plan("f.v", "f.v", {"x": 1})
plan("f.p", "f.v", {"y": 1})
workflow("f.u", {}, [node("n0", "f.v", identifier_pb2.WORKFLOW, z=scalar(1)),
                     node("n1", "f.p", identifier_pb2.LAUNCH_PLAN, z=scalar(1))],
         {"o0": promise("n0")})
""")
        self.assertEqual(sorted(re.findall("Code: (.*), Description", self.told())), [
            "MismatchingBindings, Node Id: f.v.outputs.o0", "MismatchingTypes, Node Id: "
            "f.bad.inputs.a", "NoConditionFound, Node Id: f.w.n0", "ParameterNotBound, Node Id: "
            "f.w.n4"])

    def test_codes_are_those_of_flytes_compiler(self):
        """Each of these in a workflow of its own, all in one package and one report."""
        self.package(self.MORE + """
def flow(name, *nodes, **outputs):
    return workflow("f." + name, {"i": INTEGER, "s": STRING, "d": CLASS}, nodes, outputs)
""" + "\n".join(f"flow({name!r}, {rest})" for name, _, rest in self.CODES))
        told = self.told()
        self.assertTrue(told.startswith(f"flows.tgz: Collected Errors: {len(self.CODES)}\n"), told)
        for name, code, _ in self.CODES:
            self.assertRegex(told, rf"\tError \d+: Code: {code}, Node Id: f\.{name}[.,]")

    # Of each workflow its name, the code of Flyte's compiler, and its nodes.
    CODES = (
        ("target", "ValueRequired", "core_workflow_pb2.Node(id='n0')"),
        ("value", "MismatchingBindings", "node('n0', 'f.t', a=literals_pb2.BindingData())"),
        ("gate", "NoConditionFound", "core_workflow_pb2.Node(id='n0', gate_node={})"),
        ("branch", "BranchNodeIdNotFound", "core_workflow_pb2.Node(id='n0', branch_node={})"),
        ("task", "TaskReferenceNotFound", "node('n0', 'f.gone')"),
        ("flow", "WorkflowReferenceNotFound", "node('n0', 'f.gone', identifier_pb2.WORKFLOW)"),
        ("node", "NodeReferenceNotFound", "node('n0', 'f.t', a=promise('n9'))"),
        ("var", "VariableNameNotFound", "node('n0', 'f.t', a=promise('', 'gone'))"),
        ("unbound", "ParameterNotBound", "node('n0', 'f.t')"),
        ("types", "MismatchingTypes", "node('n0', 'f.t', a=promise('', 's'))"),
        ("cycle", "CycleDetected", "node('n0', 'f.t', a=promise('n1')), "
                                   "node('n1', 'f.t', a=promise('n0'))"),
        ("after", "NodeReferenceNotFound", "node('n0', 'f.t', after=['n9'], a=scalar(1))"),
        ("twice", "DuplicateId", "*[node('n0', 'f.t', a=scalar(1)) for _ in range(2)]"),
        ("empty", "NoNodesFound", ""),
        ("color", "IllegalEnumValue", "node('n0', 'f.paint', c=text('green'))"),
        ("unclear", "AmbiguousBindingUnionValue", "node('n0', 'f.either', u=promise('', 's'))"),
        ("neither", "IncompatibleBindingUnionValue", "node('n0', 'f.either', u=promise('', 'i'))"),
        ("else", "BranchNodeHasNoDefault", "branch(has_else=False)"),
        ("when", "BranchNodeHasNoCondition", "branch(has_condition=False)"),
        ("asks", "VariableNameNotFound", "branch(var='gone')"),
        ("listed", "MismatchingBindings", "node('n0', 'f.t', a=numbers(1))"),
        ("field", "FieldNotFound", "node('n0', 'f.t', a=promise('', 'd', 'gone'))"),
    )

    # What these nodes are made of.
    MORE = """
COLOR = types_pb2.LiteralType(enum_type={"values": ["red", "blue"]})
EITHER = types_pb2.LiteralType(union_type={"variants": [
    types_pb2.LiteralType(simple=types_pb2.STRING, structure={"tag": tag}) for tag in "ab"]})
CLASS = types_pb2.LiteralType(simple=types_pb2.STRUCT,
                              structure={"dataclass_type": {"x": INTEGER}})
CLASS.metadata.update({"properties": {"x": {"type": "integer"}}, "title": "C"})
task("f.t", "1", {"a": INTEGER})
task("f.paint", "1", {"c": COLOR})
task("f.either", "1", {"u": EITHER})

def text(value):
    return literals_pb2.BindingData(scalar={"primitive": {"string_value": value}})

whole = promise

def promise(node, var="o0", field=None):
    made = whole(node, var)
    if field:
        made.promise.attr_path.add(string_value=field)
    return made

def branch(has_else=True, has_condition=True, var="i"):
    made = core_workflow_pb2.Node(id="n0", inputs=bind({"i": whole("", "i")}))
    block = made.branch_node.if_else
    if has_condition:
        comparison = block.case.condition.comparison
        comparison.left_value.var = var
        comparison.right_value.primitive.integer = 1
    block.case.then_node.CopyFrom(node("n0", "f.t", a=scalar(1)))
    if has_else:
        block.else_node.CopyFrom(node("n1", "f.t", a=scalar(1)))
    return made
"""

    def test_entities_that_lack_something(self):
        for script, words in (
                ("spec = task('f.t', '1', {})\nspec.template.ClearField('container')\n"
                 "spec.template.type = ''\nagain(spec)",
                 "f.t: the task does not say what it runs; give it a container, or the type of a "
                 "plugin [ValueRequired]"),
                ("spec = task('f.t', '1', {'a': INTEGER})\nspec.template.ClearField('interface')\n"
                 "again(spec)\nworkflow('f.w', {}, [node('n0', 'f.t', a=scalar(1))], "
                 "{'o0': promise('n0')})",
                 "Node Id: f.w.n0, Description: 'f.t' has no input 'a'; it has none: remove it"),
                ("spec = workflow('f.w', {'a': INTEGER}, [], {'o0': promise('', 'a')})\n"
                 "spec.template.ClearField('interface')\nagain(spec)", "[NoNodesFound]"),
                ("made = plan('f.p', 'f.w')\nmade.spec.ClearField('workflow_id')\nagain(made)",
                 "f.p: the launch plan does not say which workflow it starts [ValueRequired]"),
                ("task('f.t', '1', {}, args=['sh', '-c', 'true', '{{.inputs.gone}}'])",
                 "f.t: the template {{.inputs.gone}} names no input of the task; declare it under "
                 "inputs, or name another [VariableNameNotFound]"),
                ("for name, other in (('f.v', 'f.w'), ('f.w', 'f.v')):\n"
                 "    workflow(name, {}, [node('n0', other, identifier_pb2.WORKFLOW)], "
                 "{'o0': promise('n0')})", "holds itself")):
            with self.subTest(words):
                self.package(script)
                self.assertIn(words, self.told())

    def test_what_is_deep_or_random(self):
        self.package("""
kind = INTEGER
for _ in range(90):
    kind = types_pb2.LiteralType(collection_type=kind)
task("f.t", "1", {"a": kind})
""")
        self.assertEqual(self.told(), "flows.tgz: f.t.inputs.a: a type is none of the language's "
                                      "[MismatchingTypes]\n")
        draw = random.Random(18)
        for _ in range(30):
            data = draw.randbytes(draw.randrange(200))
            self.package(f"add('0_a_{draw.randrange(1, 4)}.pb', {data!r})")
            self.assertIn("flows.tgz: 0_a_", self.told())

    def test_what_nobody_runs(self):
        """A package that cannot run here is told before anything begins."""
        self.package("""
spec = task("f.t", "1", {})
spec.template.type = "spark"
spec.template.ClearField("container")
again(spec)
workflow("f.w", {}, [node("n0", "f.t")], {"o0": promise("n0")})
""")
        words = "flows.tgz: f.t: no plugin here runs tasks of type 'spark'; use one of process, "
        self.assertIn(words, self.troupe("check", "flows.tgz", status=2)[0])
        self.assertIn(words, self.troupe("run", "flows.tgz", "f.w", status=2)[1])
        self.troupe("check", "flows.tgz", "--without-plugins")

    def test_secrets_that_are_missing(self):
        self.package("""
spec = task("f.t", "1", {})
spec.template.security_context.secrets.add(group="g", key="k")
again(spec)
""")
        error = self.document("run", "flows.tgz", status=1)["error"]
        self.assertIn("SecretNotFound", error["code"])
        self.assertRegex(error["message"], "^secret g/k: \\$TROUPE_SECRET_G_K is not set; there is "
                                           "no file .*/g/k$")

    def test_much_is_told_quickly(self):
        """300 entities, each of which has an error: all of them, within a second of CPU."""
        self.package("""
task("f.t", "1", {"a": INTEGER})
for i in range(300):
    workflow(f"f.w{i}", {}, [node("n0", "f.gone"), node("n1", "f.t")], {"o0": promise("n0")})
""")
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        stdout, _ = self.troupe("check", "flows.tgz", status=2)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        self.assertTrue(stdout.startswith("flows.tgz: Collected Errors: 600\n"), stdout[:200])
        self.assertLess(after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime, 1)

    def test_a_file_that_is_not_there(self):
        _, stderr = self.troupe("run", "gone.tgz", status=2)
        self.assertIn("gone.tgz: the file cannot be read", stderr)


if __name__ == "__main__":
    unittest.main()
