#!/usr/bin/env python3
"""FlyteWorkflow resources of Kubernetes: what Flyte makes of a compiled workflow for propeller.

support/flyteworkflow.py makes them as Flyte does, of what its compiler leaves of packages. With
TROUPE_TEST_LONG all workflows that flytekit writes for test_flyte_flows.py are tried as well.
"""

import json
import os
import pathlib
import shutil
import subprocess
import unittest

from program import ROOT
from pypi import KIT, KIT_PYTHON, PYTHON, have_library
from test_flyte_closure import WHOLE, ClosurePackageTest

LONG = os.environ.get("TROUPE_TEST_LONG")

# A workflow of everything that a resource has no place of its own for in Flyte's messages, whose
# inputs have no types there: of one only a condition says it, of one the workflow around, of one
# nothing but the value.
ALL = WHOLE.replace(
    '''    node("n3", "c.plan", identifier_pb2.LAUNCH_PLAN, after=["n2"]),\n''', "") + """
LIST = types_pb2.LiteralType(collection_type=INTEGER)
BOOLEAN = types_pb2.LiteralType(simple=types_pb2.BOOLEAN)
task("r.sum", "sum(i['xs'])", {"xs": LIST})
task("r.upper", "i['text'].upper()", {"text": STRING}, STRING)
workflow("r.inner", {"text": STRING, "unused": INTEGER},
         [node("n0", "r.upper", text=promise("", "text"))], {"o0": promise("n0")}, {"o0": STRING})
sleep = core_workflow_pb2.Node(id="nap", upstream_node_ids=["n1"])
sleep.gate_node.sleep.duration.nanos = 1000000
set = node("n1", "r.sum", xs=literals_pb2.BindingData(
    collection={"bindings": [promise("", "a"), scalar(2)]}))
set.metadata.name = "sum"
set.metadata.retries.retries = 2
set.metadata.timeout.seconds = 90
set.metadata.interruptible = True
set.task_node.overrides.resources.requests.add(name=tasks_pb2.Resources.CPU, value="1")
set.task_node.overrides.resources.limits.add(name=tasks_pb2.Resources.MEMORY, value="200Mi")
chosen = branch("n2", node("n0", "flows.more.double", a=promise("n1")),
                node("n1", "flows.more.double", a=scalar(1)), **{".a": promise("", "b")})
chosen.branch_node.if_else.case.condition.comparison.operator = 0
elements = array("n3", "flows.more.double", a=promise("", "xs"))
elements.array_node.min_success_ratio = 0.5
elements.array_node.parallelism = 3
inputs = {"a": INTEGER, "b": INTEGER, "xs": LIST, "text": STRING, "left": BOOLEAN}
spec = workflow("r.all", inputs, [
    set, sleep, chosen, elements, node("n4", "flows.more.double", a=promise("n1"), after=["nap"]),
    node("n5", "r.inner", identifier_pb2.WORKFLOW, text=promise("", "text"),
         unused=promise("n1"))],
    {"o0": promise("n1"), "o1": promise("n2"), "o2": promise("n3"), "o3": promise("n5"),
     "o4": promise("", "xs")},
    {"o0": INTEGER, "o1": INTEGER, "o2": LIST, "o3": STRING, "o4": LIST})
spec.template.metadata.on_failure = 1
spec.template.metadata_defaults.interruptible = True
again(spec)
"""

GIVEN = {"a": 5, "b": 7, "xs": [1, 2], "text": "hi", "left": True}

LITERALS = """
import sys, json
from flyteidl.core import literals_pb2
def literal(value):
    if isinstance(value, list):
        return literals_pb2.Literal(collection={"literals": [literal(each) for each in value]})
    kind = {bool: "boolean", int: "integer", str: "string_value"}[type(value)]
    return literals_pb2.Literal(scalar={"primitive": {kind: value}})
made = literals_pb2.LiteralMap(literals={key: literal(value) for key, value in
                                         json.loads(sys.argv[1]).items()})
sys.stdout.buffer.write(made.SerializeToString())
"""


class ResourcePackageTest(ClosurePackageTest):
    """Tests that make resources."""

    def resource(self, package, name, given, file="flow.json", *words):
        """Makes one of a package's workflow, with the inputs of an execution."""
        closure = self.closure(package, name, *words, noted=None)
        (self.folder / "closure.pb").write_bytes(closure)
        (self.folder / "inputs.pb").write_bytes(subprocess.run(
            [PYTHON, "-c", LITERALS, json.dumps(given)], check=True, capture_output=True).stdout)
        made = subprocess.run(
            [PYTHON, ROOT / "tests/support/flyteworkflow.py", pathlib.Path(file).suffix[1:],
             "closure.pb", "inputs.pb"], cwd=self.folder, check=True, capture_output=True).stdout
        (self.folder / file).write_bytes(made)

    def changed(self, change, file="changed.json"):
        """The resource with something else in it, and what is told of that."""
        resource = json.loads((self.folder / "flow.json").read_text())
        change(resource)
        self.write(file, json.dumps(resource))
        return self.told(name=file)

    def shape(self, file, name):
        """What is shown of a workflow, without the defaults and what is for people."""
        found, = self.document("inspect", file, name)
        for each in found["inputs"]:
            each["has_default"] = each["default"] = None
        found["nodes"].sort(key=lambda node: node["node"])  # Kubernetes has a map of them
        return found


class ResourceTest(ResourcePackageTest):
    def test_there_and_back(self):
        self.package(ALL)
        for file in ("flow.json", "flow.yaml"):
            for name, given in (("r.all", GIVEN), ("c.whole", {"a": 4})):
                with self.subTest(file, name=name):
                    self.resource("flows.tgz", name, given, file)
                    self.assertIn("no errors", self.troupe("check", file)[1])
                    self.assertEqual(self.shape(file, name), self.shape("flows.tgz", name))
                    self.write("given.json", json.dumps(given))
                    wanted = self.document("run", "flows.tgz", name, "--inputs",
                                           "given.json")["outputs"]
                    self.assertEqual(self.document("run", file, name)["outputs"], wanted)

    def test_inputs_are_defaults(self):
        self.package(ALL)
        self.resource("flows.tgz", "r.all", GIVEN)
        done = self.document("run", "flow.json", "r.all", "-i", "text=other", "-i", "b=5")
        self.assertEqual((done["outputs"]["o3"], done["outputs"]["o1"]), ("OTHER", 14))

    def test_it_is_known_by_what_is_in_it(self):
        self.package(ALL)
        self.resource("flows.tgz", "c.whole", {"a": 4})
        shutil.move(self.folder / "flow.json", self.folder / "resource")
        self.assertEqual(self.document("run", "resource", "c.whole")["phase"], "succeeded")
        self.write("other.yaml", "# apiVersion of flyte.lyft.com/v1alpha1\ntroupe: 1\n"
                   "tasks: {t: {run: [\"true\"]}}\n")
        self.assertIn("no errors", self.troupe("check", "other.yaml")[1])

    def test_older_ones_have_connections_alone(self):
        self.package(ALL)
        self.resource("flows.tgz", "r.all", GIVEN)
        before = self.shape("flow.json", "r.all")
        resource = json.loads((self.folder / "flow.json").read_text())
        for spec in (resource["spec"], *resource["subWorkflows"].values()):
            del spec["edges"]
        self.write("older.json", json.dumps(resource))
        self.assertEqual(self.shape("older.json", "r.all"), before)

    def test_what_the_execution_says(self):
        self.package(ALL)
        self.resource("flows.tgz", "c.whole", {"a": 4})
        resource = json.loads((self.folder / "flow.json").read_text())
        resource["executionConfig"] |= {"MaxParallelism": 3, "Interruptible": True,
                                        "EnvironmentVariables": {"A": "b"}}
        resource["unknown"] = {"is": "passed over"}
        resource["spec"]["nodes"]["n0"]["newer"] = 1
        self.write("flow.json", json.dumps(resource))
        self.assertIn("how its executions run is kept and not acted on here",
                      self.troupe("check", "flow.json")[0])

    # What is changed, and what is told of it.
    WRONG = [
        (lambda made: made.update(kind="Pod"), "this is no FlyteWorkflow with a spec"),
        (lambda made: made.pop("spec"), "this is no FlyteWorkflow with a spec"),
        (lambda made: made.update(spec=[]), "this is no FlyteWorkflow with a spec"),
        (lambda made: made.update(workflowClosureReference="s3://b/k"),
         "workflowClosureReference: the workflow lies elsewhere"),
        (lambda made: made["spec"].pop("id"), "the workflow has no id"),
        (lambda made: made["spec"].update(id="p:d:"), "the workflow has no id"),
        (lambda made: made["spec"].update(nodes=[]), "nodes: this is no mapping"),
        (lambda made: made["spec"]["nodes"].update(n1=5), "nodes.n1: this is no node"),
        (lambda made: made["spec"]["nodes"]["n1"].update(task="gone"),
         "nodes.n1.task: the resource has no task of this key; put it under tasks "
         "[TaskReferenceNotFound]"),
        (lambda made: made["spec"]["nodes"]["n5"]["workflow"].update(subWorkflowRef="gone"),
         "nodes.n5.workflow: the resource has no workflow of this key"),
        (lambda made: made["spec"]["nodes"]["n5"].update(workflow={}),
         "nodes.n5.workflow: the resource has no workflow of this key"),
        (lambda made: made["spec"]["nodes"]["n1"].update(inputBindings=5),
         "nodes.n1.inputBindings: this is no list"),
        (lambda made: made["spec"]["nodes"]["n1"]["inputBindings"][0].update(var=[]),
         "nodes.n1.inputBindings: this is no Binding of Flyte's: var"),
        (lambda made: made["spec"]["nodes"]["n1"]["retry"].update(minAttempts=-1),
         "nodes.n1.retry: this is no number that fits"),
        (lambda made: made["spec"]["nodes"]["n1"].update(executionDeadline="soon"),
         "nodes.n1.executionDeadline: this is no duration; write one such as 1m30s [SyntaxError]"),
        (lambda made: made["spec"]["nodes"]["n1"].update(interruptible="x"),
         "nodes.n1.interruptible: this is no bool"),
        (lambda made: made["spec"]["nodes"]["n1"].update(resources={"limits": {"fpga": "1"}}),
         "nodes.n1.resources: this resource is not known"),
        (lambda made: made["spec"]["nodes"]["n2"]["branch"]["if"].update({"then": "gone"}),
         "nodes.n2.branch: the workflow has no node of this id; put it under nodes "
         "[BranchNodeIdNotFound]"),
        (lambda made: made["spec"]["nodes"]["n2"]["branch"].update({"else": "n2-n0"}),
         "nodes.n2.branch: the node is an arm already"),
        (lambda made: made["spec"]["nodes"]["n2"]["branch"]["if"].update({"then": "n2"}),
         "a branch is an arm of itself; let its arms be other nodes [CycleDetected]"),
        (lambda made: made["spec"]["nodes"]["n2"]["branch"].pop("if"),
         "nodes.n2.branch: the branch has no first arm"),
        (lambda made: made["spec"]["nodes"]["n2"]["branch"]["if"].pop("condition"),
         "nodes.n2.branch: an arm needs a condition"),
        (lambda made: made["spec"]["nodes"]["n3"].update(array={}),
         "nodes.n3.array: the array has no node for its elements"),
        (lambda made: made["spec"]["nodes"]["n3"]["array"].update(MinSuccessRatio=2),
         "nodes.n3.array: this is no number that fits"),
        (lambda made: made["spec"]["nodes"]["nap"]["gate"].update(sleep={"duration": "x"}),
         "nodes.nap.gate: this is no GateNode of Flyte's: sleep.duration"),
        (lambda made: made["spec"]["edges"]["upstream"].update(n1=5), "edges are no list"),
        (lambda made: made["spec"]["edges"].update(upstream={}) or
         made["spec"].update(connections={"start-node": ["gone"]}),
         "connections: an edge leads to no node of the workflow"),
        (lambda made: made["spec"].update(onFailurePolicy="NEVER"),
         "onFailurePolicy: this policy is not known"),
        (lambda made: made["spec"].update(outputs={"variables": 5}), "outputs: this is no "
         "VariableMap of Flyte's: variables"),
        (lambda made: next(iter(made["tasks"].values())).update(type=5),
         "this is no TaskTemplate of Flyte's: type"),
        (lambda made: made.update(inputs=5), "inputs: this is no LiteralMap of Flyte's"),
        (lambda made: made["inputs"]["literals"].update(unused={}),
         "nothing says the type of the input 'unused'"),
    ]

    def test_what_is_wrong_is_told(self):
        self.package(ALL)
        self.resource("flows.tgz", "r.all", GIVEN)
        for change, words in self.WRONG:
            with self.subTest(words):
                self.assertIn(words, self.changed(change))

    def test_yaml_has_places(self):
        self.package(ALL)
        self.resource("flows.tgz", "r.all", GIVEN, "flow.yaml")
        text = (self.folder / "flow.yaml").read_text()
        self.write("flow.yaml",
                   text.replace('executionDeadline: "1m30s"', "executionDeadline: soon"))
        line = next(i for i, each in enumerate(text.splitlines(), 1) if "executionDeadline" in each)
        self.assertIn(f"flow.yaml:{line}:", self.told(name="flow.yaml"))
        self.write("flow.yaml", text[:200] + "\n\t{")
        self.assertIn("flow.yaml:", self.told(name="flow.yaml"))
        self.write("flow.json", '{"apiVersion": "flyte.lyft.com/v1alpha1", "kind": ')
        self.assertIn("this is no JSON", self.told(name="flow.json"))


@unittest.skipUnless(LONG, "needs flytekit, which is large")
class AllFlowsTest(ResourcePackageTest):
    """Of each workflow that flytekit writes the resource is the same graph; launch plans are not
    in it, but are looked up."""

    def test_there_and_back(self):
        have_library(KIT_PYTHON, KIT)
        shutil.copytree(ROOT / "tests/integration/flyte/flows", self.folder / "flows",
                        ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copy(ROOT / "tests/support/flytekit_packages.py", self.folder / "flows/all.py")
        (self.folder / "flows/refer.py").unlink()
        (self.folder / "flows/cases.py").unlink()
        subprocess.run([KIT_PYTHON.parent / "pyflyte", "--pkgs", "flows", "package", "--image",
                        "none:1", "--source", ".", "-o", "flows.tgz", "-f"], cwd=self.folder,
                       check=True, capture_output=True, env=self.environment() | {
                           "PATH": f"{KIT_PYTHON.parent}:{os.environ['PATH']}"})
        entities = self.document("inspect", "flows.tgz")
        for name in (each["name"] for each in entities if each["kind"] == "workflow"):
            with self.subTest(name):
                self.resource("flows.tgz", name, {}, "flow.yaml")
                if "launchPlanRefId" in (self.folder / "flow.yaml").read_text():
                    # An input that goes to a launch plan alone has its type there.
                    self.assertRegex(self.troupe("check", "flow.yaml", status=2)[0],
                                     "there is no launch plan|nothing says the type of the input")
                    continue
                self.assertEqual(self.bare(self.shape("flow.yaml", name)),
                                 self.bare(self.shape("flows.tgz", name)))

    def bare(self, shown):
        """Without what Flyte leaves out of resources: JSON schemas and words for people."""
        return [[each["node"], each["kind"], each.get("target"), each.get("after")]
                for each in shown.get("nodes", [])]


if __name__ == "__main__":
    unittest.main()
