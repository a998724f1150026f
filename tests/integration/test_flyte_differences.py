#!/usr/bin/env python3
"""Where Troupe differs from FlytePropeller on purpose: a test for each row of the table in
examples/flyte/README.md, which names it. And what a failure node is told, which is Flyte's."""

import re
import unittest
from datetime import datetime

from program import ROOT
from pypi import PYTHON
from test_flyte_packages import PackageTest

PAGE = ROOT / "examples/flyte/README.md"

# A task that fails if it is told to, and says that it ran.
TASKS = """
def noted(name, code):
    return f"[open('@FOLDER@/ran', 'a').write({name + ' '!r}), {code}][1]"

def text(value):
    return literals_pb2.BindingData(scalar={"primitive": {"string_value": value}})

task("m.good", noted("good", "i['a']"), {"a": INTEGER})
task("m.late", noted("late", "i['a']"), {"a": INTEGER})
task("m.bad", noted("bad", "1 // (i['a'] - 1)"), {"a": INTEGER})
"""

# Two that fail, the second one behind the first one's end; and a workflow that goes on meanwhile.
GOES_ON = """
spec = workflow("m.inner", {}, [
    node("n0", "m.bad", a=scalar(1)), node("n1", "m.good", a=scalar(2)),
    node("n2", "m.late", a=promise("n1"))], {"o0": promise("n2")})
spec.template.metadata.on_failure = 1
again(spec)
workflow("m.flow", {}, [node("n0", "m.inner", identifier_pb2.WORKFLOW)], {"o0": promise("n0")})
"""

HANDLER = '''
import json, os
i = json.load(open(os.environ["TROUPE_INPUTS"]))
print("HANDLED", json.dumps(i))
from flyteidl.core import literals_pb2
import sys
inputs = literals_pb2.LiteralMap.FromString(open(sys.argv[1], "rb").read())
union = inputs.literals["err"].scalar.union
with open("@FOLDER@/told", "w") as file:
    file.write("|".join([union.type.structure.tag, union.value.scalar.error.failed_node_id,
                         union.value.scalar.error.message]))
sys.exit(int(os.path.exists("@FOLDER@/handler-fails")))
'''

HANDLED = """
ERROR = types_pb2.LiteralType(union_type={"variants": [
    types_pb2.LiteralType(simple=types_pb2.ERROR, structure={"tag": "FlyteError"}),
    types_pb2.LiteralType(simple=types_pb2.NONE, structure={"tag": "none"})]})
HANDLER = '''@HANDLER@'''
made = task("m.clean", "", {"a": INTEGER, "err": ERROR}, args=[
    "@PYTHON@", "-c", HANDLER, "{{.input}}", "{{.outputPrefix}}"])
made.template.interface.outputs.Clear()
again(made)

def none():
    value = literals_pb2.Literal(scalar={"none_type": {}})
    return literals_pb2.BindingData(scalar={"union": literals_pb2.Union(
        value=value, type=ERROR.union_type.variants[1])})

spec = workflow("m.flow", {"a": INTEGER}, [node("n0", "m.bad", a=promise("", "a"))],
                {"o0": promise("n0")})
spec.template.failure_node.CopyFrom(node("fn0", "m.clean", a=promise("", "a"), err=none()))
again(spec)
"""


class FlowTest(PackageTest):
    def packaged(self, script):
        script = (TASKS + script).replace("@HANDLER@", HANDLER).replace("@PYTHON@", str(PYTHON))
        self.package(script.replace("@FOLDER@", str(self.folder)))

    def ran(self):
        path = self.folder / "ran"
        return path.read_text().split() if path.exists() else []


class FailureNodeTest(FlowTest):
    """Bound to none in the template, `err` is filled with the error."""

    def test_what_it_is_told(self):
        self.packaged(HANDLED)
        error = self.document("run", "flows.tgz", "m.flow", "-i", "a=1", status=1)["error"]
        tag, node, message = (self.folder / "told").read_text().split("|")
        self.assertEqual((tag, node), ("FlyteError", "n0"))
        self.assertIn("ZeroDivisionError", message)
        self.assertIn("ZeroDivisionError", error["message"])

    def test_where_nothing_fails_it_does_not_run(self):
        self.packaged(HANDLED)
        self.assertEqual(self.document("run", "flows.tgz", "m.flow", "-i", "a=2")["outputs"],
                         {"o0": 1})
        self.assertFalse((self.folder / "told").exists())


class DifferencesTest(FlowTest):
    def test_each_row_has_a_test(self):
        """And each test below that the table names is there."""
        table = PAGE.read_text().partition("### Where it differs from FlytePropeller\n")[2]
        rows = [line for line in table.partition("\n### ")[0].splitlines()
                if line.startswith("| ")][2:]
        self.assertGreaterEqual(len(rows), 6)
        for row in rows:
            for name in re.findall(r"`(test_\w+)`", row) or [row]:
                self.assertTrue(hasattr(self, name), name)

    def test_no_rounds(self):
        """A chain of a hundred nodes that are no processes takes less than a round of Flyte's."""
        self.packaged("""
nodes = [core_workflow_pb2.Node(id="n0")]
for i in range(100):
    made = core_workflow_pb2.Node(id=f"n{i}", upstream_node_ids=[f"n{i - 1}"] if i else [])
    made.gate_node.sleep.duration.nanos = 1
    nodes.append(made)
workflow("m.flow", {}, nodes[1:], {})
""")
        done = self.document("run", "flows.tgz", "m.flow")
        self.assertEqual(done["phase"], "succeeded")
        row = self.document("get", done["execution"])
        begin, end = (datetime.fromisoformat(row[key].replace("Z", "+00:00"))
                      for key in ("started_at", "ended_at"))
        self.assertLess((end - begin).total_seconds(), 10)

    def test_a_sub_workflows_own_policy(self):
        """The outer one fails at once, what is inside goes on first."""
        self.packaged(GOES_ON)
        self.document("run", "flows.tgz", "m.flow", status=1)
        self.assertEqual(sorted(self.ran()), ["bad", "good", "late"])

    def test_the_first_failure_stays(self):
        """Also when the failure node fails as well, or another node after it."""
        self.packaged(HANDLED + """
spec = workflow("m.two", {}, [
    node("n0", "m.bad", a=scalar(1)), node("n1", "m.bad", a=scalar(1), after=["n2"]),
    node("n2", "m.good", a=scalar(1))], {"o0": promise("n0")})
spec.template.metadata.on_failure = 1
again(spec)
""")
        error = self.document("run", "flows.tgz", "m.two", status=1)["error"]
        self.assertEqual(error["node"], "n0")
        (self.folder / "handler-fails").touch()
        error = self.document("run", "flows.tgz", "m.flow", "-i", "a=1", status=1)["error"]
        self.assertEqual(error["node"], "n0")
        self.assertIn("ZeroDivisionError", error["message"])
        self.assertTrue((self.folder / "told").exists())

    def test_parallelism_is_a_workflows(self):
        """The bound is the root's; elements of maps, and what is inside, do not count."""
        self.packaged("""
workflow("m.inner", {}, [node("n0", "m.good", a=scalar(1)), node("n1", "m.good", a=scalar(2))],
         {"o0": promise("n0")})
task("m.meets", "[open(f'@FOLDER@/here{i[\\"a\\"]}', 'w').close(), [None for _ in iter(lambda: "
     "len([f for f in os.listdir('@FOLDER@') if f.startswith('here')]) >= 2, True)], 1][2]",
     {"a": INTEGER})
workflow("m.flow", {}, [array("n0", "m.meets", a=numbers(1, 2)),
                        node("n1", "m.inner", identifier_pb2.WORKFLOW)], {"o1": promise("n1")})
made = plan("m.one", "m.flow")
made.spec.max_parallelism = 1
again(made)
""")
        self.assertEqual(self.document("run", "flows.tgz", "m.one")["phase"], "succeeded")

    def test_conditions_stop_early(self):
        """Flyte evaluates both sides; here the second one, which could not be, is not looked at."""
        self.packaged("""
LIST = types_pb2.LiteralType(collection_type=INTEGER)
made = core_workflow_pb2.Node(id="n0", inputs=bind({
    "a": promise("", "a"), "b": promise("", "b")}))
block = made.branch_node.if_else
for operand, name in ((block.case.condition.conjunction.left_expression, "a"),
                      (block.case.condition.conjunction.right_expression, "b")):
    operand.comparison.operator = 0
    operand.comparison.left_value.var = name
    operand.comparison.right_value.primitive.integer = 1
made.branch_node.if_else.case.condition.conjunction.operator = 1
reference = made.inputs[1].binding.promise.attr_path.add()
reference.int_value = 0
block.case.then_node.CopyFrom(node("n0", "m.good", a=scalar(1)))
block.else_node.CopyFrom(node("n1", "m.good", a=scalar(2)))
workflow("m.flow", {"a": INTEGER, "b": LIST}, [made], {"o0": promise("n0")})
""")
        self.assertEqual(self.document("run", "flows.tgz", "m.flow", "-i", "a=1", "-i", "b=[]")
                         ["outputs"], {"o0": 1})

    def test_elements_keep_their_outputs(self):
        """What succeeded is there beside what failed, which is none."""
        self.packaged("""
LIST = types_pb2.LiteralType(collection_type=types_pb2.LiteralType(union_type={"variants": [
    INTEGER, types_pb2.LiteralType(simple=types_pb2.NONE)]}))
made = array("n0", "m.bad", a=numbers(1, 2, 3))
made.array_node.min_success_ratio = 0.5
workflow("m.flow", {}, [made], {"o0": promise("n0")}, types={"o0": LIST})
""")
        self.assertEqual(self.document("run", "flows.tgz", "m.flow")["outputs"],
                         {"o0": [None, 1, 0]})


if __name__ == "__main__":
    unittest.main()
