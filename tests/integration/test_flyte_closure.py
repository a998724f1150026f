#!/usr/bin/env python3
"""Workflows as Flyte's compiler leaves them: `troupe inspect -o proto`, and back.

What is expected is what Flyte's own compiler does (start and end nodes, names of arms, edges).
"""

import json
import subprocess
import unittest

from program import PROGRAM
from pypi import PYTHON
from test_flyte_packages import SUMS, PackageTest

# A workflow with a branch, one in it, a sub-workflow, a plan, a map and a handler.
WHOLE = SUMS + """
def condition(value):
    return condition_pb2.BooleanExpression(comparison={
        "operator": 2, "left_value": {"var": ".a"},
        "right_value": {"primitive": {"integer": value}}})

def branch(id, first, other, after=(), **bindings):
    made = core_workflow_pb2.Node(id=id, inputs=bind(bindings), upstream_node_ids=after)
    block = made.branch_node.if_else
    block.case.condition.CopyFrom(condition(5))
    block.case.then_node.CopyFrom(first)
    block.else_node.CopyFrom(other)
    return made

workflow("c.inner", {"a": INTEGER}, [node("n0", "flows.more.double", a=promise("", "a"))],
         {"o0": promise("n0")})
workflow("c.launched", {"a": INTEGER, "b": INTEGER},
         [node("n0", "flows.more.add", a=promise("", "a"), b=promise("", "b"))],
         {"o0": promise("n0")})
plan("c.plan", "c.launched", {"a": 3}, {"b": 1})
spec = workflow("c.whole", {"a": INTEGER}, [
    node("n0", "flows.more.double", a=promise("", "a")),
    branch("n1", node("n0", "flows.more.double", a=promise("n0")),
           branch("n1", node("n0", "flows.more.double", a=promise("", "a")),
                  node("n1", "flows.more.add", a=promise("n0"), b=scalar(1)),
                  **{".a": promise("", "a")}), after=["n0"], **{".a": promise("n0")}),
    node("n2", "c.inner", identifier_pb2.WORKFLOW, a=promise("n1")),
    node("n3", "c.plan", identifier_pb2.LAUNCH_PLAN, after=["n2"]),
    node("n4", "flows.more.add", a=scalar(1), b=scalar(2))],
    {"o0": promise("n2"), "o1": promise("", "a")})
handler = node("fn0", "flows.more.double", a=promise("", "a"))
spec.template.failure_node.CopyFrom(handler)
members[-1] = (members[-1][0], spec.SerializeToString())
"""

READ = """
import json, sys
from flyteidl.core import compiler_pb2
from google.protobuf import json_format
closure = compiler_pb2.CompiledWorkflowClosure.FromString(open(sys.argv[1], "rb").read())
print(json.dumps(json_format.MessageToDict(closure)))
"""


class ClosurePackageTest(PackageTest):
    """Tests that look at closures."""

    def closure(self, file, name, *words, noted=False):
        """What stdout is; with `noted` stderr has warnings, with None it may."""
        done = subprocess.run([PROGRAM, "inspect", file, name, "-o", "proto", *words],
                              cwd=self.folder, env=self.environment(), capture_output=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(noted, (done.stderr != b"", None), done.stderr)
        return done.stdout

    def read(self, data):
        (self.folder / "read.pb").write_bytes(data)
        return json.loads(subprocess.run([PYTHON, "-c", READ, "read.pb"], cwd=self.folder,
                                         check=True, capture_output=True).stdout)

    def edges(self, compiled, direction):
        return {key: value["ids"] for key, value in compiled["connections"][direction].items()}


class ClosureTest(ClosurePackageTest):
    def test_what_the_compiler_adds(self):
        self.package(WHOLE)
        closure = self.read(self.closure("flows.tgz", "c.whole", "--version", "v1"))
        primary = closure["primary"]
        template = primary["template"]
        self.assertEqual(template["id"], {"resourceType": "WORKFLOW", "project": "default",
                                          "domain": "development", "name": "c.whole",
                                          "version": "v1"})
        self.assertEqual([each["id"] for each in template["nodes"]],
                         ["start-node", "end-node", "n0", "n1", "n1-n1-n0", "n1-n1-n1", "n1-n0",
                          "n1-n1", "n2", "n3", "n4"])
        self.assertEqual(self.edges(primary, "upstream"), {
            "n0": ["start-node"], "n1": ["n0"], "n1-n0": ["n0"], "n1-n1": ["start-node"],
            "n1-n1-n0": ["start-node"], "n1-n1-n1": ["n0"], "n2": ["n1"], "n3": ["n2"],
            "n4": ["start-node"], "fn0": ["start-node"],
            "end-node": ["n2", "n3", "n4", "start-node"]})
        self.assertEqual(self.edges(primary, "downstream"), {
            "start-node": ["end-node", "n0", "n4"], "n0": ["n1"], "n1": ["n2"],
            "n2": ["end-node", "n3"], "n3": ["end-node"], "n4": ["end-node"]})
        end = template["nodes"][1]
        self.assertEqual(end["inputs"], template["outputs"])
        self.assertEqual(template["nodes"][2]["inputs"][0]["binding"]["promise"],
                         {"nodeId": "start-node", "var": "a"})
        self.assertEqual(template["nodes"][3]["branchNode"]["ifElse"]["case"]["thenNode"]["id"],
                         "n1-n0")
        self.assertEqual(template["nodes"][3]["upstreamNodeIds"], ["n0"])

    def test_what_it_needs_comes_along(self):
        self.package(WHOLE)
        closure = self.read(self.closure("flows.tgz", "whole"))
        self.assertEqual([each["template"]["id"]["name"] for each in closure["subWorkflows"]],
                         ["c.inner"])
        self.assertEqual([each["template"]["id"]["name"] for each in closure["tasks"]],
                         ["flows.more.add", "flows.more.double"])
        launched, = closure["launchPlans"]
        self.assertEqual(list(launched["template"]["interface"]["inputs"]["variables"]), ["a"])
        self.assertEqual(list(launched["template"]["fixedInputs"]["literals"]), ["b"])
        # A workflow by itself needs no other.
        alone = self.read(self.closure("flows.tgz", "c.inner"))
        self.assertNotIn("subWorkflows", alone)
        self.assertEqual(len(alone["tasks"]), 1)

    # Nodes that say all that they may, a map whose parallelism is 0 and one that leaves it open.
    SAYING = """
task("c.t", "i['a']", {"a": INTEGER})
one = node("n0", "c.t", a=scalar(1))
overrides = one.task_node.overrides
overrides.container_image = "other:1"
overrides.extended_resources.gpu_accelerator.device = "a100"
overrides.pod_template.pod_spec.update({"priority": 5})
overrides.resources.requests.add(name=tasks_pb2.Resources.CPU, value="500m")
one.metadata.config["k"] = "v"
one.metadata.cacheable = False
one.metadata.cache_serializable = False
two = array("n1", "c.t", a=numbers(1))
two.array_node.execution_mode = core_workflow_pb2.ArrayNode.FULL_STATE
two.array_node.data_mode = core_workflow_pb2.ArrayNode.INDIVIDUAL_INPUT_FILES
two.array_node.parallelism = 0
two.array_node.run_all_sub_nodes = True
two.metadata.timeout.seconds = 60
two.array_node.node.metadata.timeout.seconds = 6
two.array_node.node.metadata.interruptible = False
three = array("n2", "c.t", a=numbers(1))
spec = workflow("c.flow", {}, [one, two, three], {"o0": promise("n0")})
spec.template.metadata_defaults.interruptible = True
members[-1] = (members[-1][0], spec.SerializeToString())
"""

    def test_all_that_nodes_say_is_given_back(self):
        self.package(self.SAYING)
        closure = self.closure("flows.tgz", "c.flow", noted=True)
        template = self.read(closure)["primary"]["template"]
        one, two, three = template["nodes"][2:]
        self.assertEqual(one["metadata"], {"config": {"k": "v"}, "cacheable": False,
                                           "cacheSerializable": False})
        self.assertEqual(one["taskNode"]["overrides"], {
            "containerImage": "other:1", "podTemplate": {"podSpec": {"priority": 5.0}},
            "extendedResources": {"gpuAccelerator": {"device": "a100"}},
            "resources": {"requests": [{"name": "CPU", "value": "500m"}]}})
        self.assertEqual(two["metadata"], {"timeout": "60s"})
        array = two["arrayNode"]
        self.assertEqual(array["node"].pop("metadata"), {"timeout": "6s", "interruptible": False})
        del array["node"]
        self.assertEqual(array, {"executionMode": "FULL_STATE", "parallelism": 0,
                                 "dataMode": "INDIVIDUAL_INPUT_FILES", "runAllSubNodes": True})
        self.assertNotIn("parallelism", three["arrayNode"])
        self.assertEqual(template["metadataDefaults"], {"interruptible": True})
        (self.folder / "closure.pb").write_bytes(closure)
        self.assertEqual(self.document("inspect", "closure.pb", "c.flow"),
                         self.document("inspect", "flows.tgz", "c.flow"))

    def test_there_and_back(self):
        self.package(WHOLE.replace('''    node("n3", "c.plan", identifier_pb2.LAUNCH_PLAN, '''
                                   '''after=["n2"]),\n''', ""))
        before = self.document("inspect", "flows.tgz", "c.whole")
        first = self.closure("flows.tgz", "c.whole")
        (self.folder / "closure.pb").write_bytes(first)
        self.assertIn("no errors", self.troupe("check", "closure.pb")[1])
        self.assertEqual(self.document("inspect", "closure.pb", "c.whole"), before)
        self.assertEqual(self.closure("closure.pb", "c.whole"), first)
        for value in (1, 4, 9):
            given = [self.document("run", file, "c.whole", "-i", f"a={value}")["outputs"]
                     for file in ("flows.tgz", "closure.pb")]
            self.assertEqual(given[0], given[1])

    def test_what_is_none(self):
        self.package(WHOLE)
        for name, words in (("flows.more.add", "a message is written of one workflow; name it"),
                            ("gone", "there is no workflow, launch plan or task 'gone'")):
            _, stderr = self.troupe("inspect", "flows.tgz", name, "-o", "proto", status=2)
            self.assertIn(words, stderr)
        _, stderr = self.troupe("inspect", "flows.tgz", "-o", "proto", status=2)
        self.assertIn("a message is written of one workflow; name it", stderr)
        self.write("flow.yaml", "troupe: 1\ntasks: {t: {run: [\"true\"]}}\n"
                   "workflows: {w: {nodes: {n: {task: t}}}}\n")
        _, stderr = self.troupe("inspect", "flow.yaml", "w", "-o", "proto", status=2)
        self.assertIn("only what a package of Flyte's holds is written so", stderr)
        (self.folder / "closure.pb").write_bytes(b"\x0a\x7f")
        self.assertIn("closure.pb: the file is no CompiledWorkflowClosure of Flyte's",
                      self.told(name="closure.pb"))
        (self.folder / "closure.pb").write_bytes(b"")
        self.assertIn("closure.pb: the entity has no id", self.told(name="closure.pb"))


if __name__ == "__main__":
    unittest.main()
