#!/usr/bin/env python3
"""Executions through Flyte's API: begun, followed and ended by flytekit's own clients, asked about
by gRPC and REST, and the same ones at the command line. The entities are those of a package that
was applied.
"""

import json
import re
import signal
import subprocess
import unittest

from flyte_clients import CLIENT, ClientTest
from program import LIMIT_S, wait_until
from pypi import KIT_PYTHON
from test_flyte import DECIDE

# Each kind of node, with its default launch plans.
FLOWS = """
task("flows.add", "i['a'] + i['b']", {"a": INTEGER, "b": INTEGER})
task("flows.double", "i['a'] * 2", {"a": INTEGER})
task("flows.fail", "1 // 0", {})
task("flows.env", "len(os.environ.get('GIVEN', ''))", {})
task("flows.say", "print('said', i['a'], flush=True) or 1 // i['a']", {"a": INTEGER})
deciding = task("flows.decide", "", {"size": INTEGER},
                args=["python3", "@DECIDE@", "{{.outputPrefix}}", "{{.inputs.size}}"])
deciding.template.container.env.add(key="_F_SS_C", value="as flytekit tells it apart")
members[-1] = (members[-1][0], deciding.SerializeToString())
workflow("flows.twice", {"a": INTEGER}, [node("n0", "flows.double", a=promise("", "a"))],
         {"o0": promise("n0")})
plan("flows.twice", "flows.twice", {"a": 7})
plan("flows.five", "flows.twice", fixed={"a": 5})
mapped = array("n3", "flows.double", a=numbers(1, 2, 3))
branch = core_workflow_pb2.Node(id="n5", inputs=bind({"o": promise("n0")}),
                                upstream_node_ids=["n0"])
case = branch.branch_node.if_else.case
case.condition.comparison.operator = condition_pb2.ComparisonExpression.GT
case.condition.comparison.left_value.var = "o"
case.condition.comparison.right_value.primitive.integer = 3
case.then_node.CopyFrom(node("n0", "flows.double", a=promise("n0")))
branch.branch_node.if_else.else_node.CopyFrom(node("n1", "flows.double", a=scalar(0)))
LIST = types_pb2.LiteralType(collection_type=INTEGER)
workflow("flows.main", {"x": INTEGER, "y": INTEGER}, [
    node("n0", "flows.add", a=promise("", "x"), b=promise("", "y")),
    node("n1", "flows.twice", identifier_pb2.WORKFLOW, a=promise("n0")),
    node("n2", "flows.five", identifier_pb2.LAUNCH_PLAN),
    mapped,
    node("n4", "flows.decide", size=scalar(3)),
    branch],
    {"o0": promise("n1"), "o1": promise("n2"), "o2": promise("n3"), "o3": promise("n4"),
     "o4": promise("n5")},
    {"o0": INTEGER, "o1": INTEGER, "o2": LIST, "o3": INTEGER, "o4": INTEGER})
plan("flows.main", "flows.main", {"y": 1}, required=["x"])
workflow("flows.more", {}, [node("n4", "flows.decide", size=scalar(4))],
         {"o0": promise("n4")})
plan("flows.more", "flows.more")
workflow("flows.broken", {}, [node("n0", "flows.fail")], {"o0": promise("n0")})
plan("flows.broken", "flows.broken")
workflow("flows.saying", {}, [node("n0", "flows.say", a=scalar(7)),
                              array("n1", "flows.say", a=numbers(1, 2, 3)),
                              node("n2", "flows.say", a=scalar(0), after=["n0", "n1"])],
         {"o0": promise("n0")})
plan("flows.saying", "flows.saying")
workflow("flows.half", {}, [node("n0", "flows.double", a=scalar(1)),
                            node("n1", "flows.fail", after=["n0"])], {"o0": promise("n0")})
plan("flows.half", "flows.half")
workflow("flows.given", {}, [node("n0", "flows.env")], {"o0": promise("n0")})
plan("flows.given", "flows.given")
ship = core_workflow_pb2.Node(id="n0", gate_node={"approve": {"signal_id": "ship"}})
limit = core_workflow_pb2.Node(id="n1")
limit.gate_node.signal.signal_id = "limit"
limit.gate_node.signal.type.CopyFrom(INTEGER)
limit.gate_node.signal.output_variable_name = "o0"
workflow("flows.gates", {}, [ship, limit], {"o0": promise("n1")})
plan("flows.gates", "flows.gates")
alone = plan("flows.alone", "flows.gates")
alone.spec.concurrency_policy.max = 1
again(alone)
nap = core_workflow_pb2.Node(id="n0")
nap.gate_node.sleep.duration.FromMilliseconds(1)
workflow("flows.empty", {}, [nap], {})
plan("flows.empty", "flows.empty")
"""

DECIDES = DECIDE + """
task("inner", "i['a'] + 1", {"a": INTEGER})
node("d0", "inner", a=scalar(size))
node("d1", "inner", a=promise("d0"))
if size == 4:
    task("sum", "sum(i['a'])", {"a": types_pb2.LiteralType(collection_type=INTEGER)})
    branch = node("d2", o=promise("d1"))
    case = branch.branch_node.if_else.case
    case.condition.conjunction.operator = condition_pb2.ConjunctionExpression.OR
    for side, limit in (("left_expression", 9), ("right_expression", 2)):
        less = getattr(case.condition.conjunction, side).comparison
        less.operator = condition_pb2.ComparisonExpression.LT
        less.left_value.var = "o"
        less.right_value.primitive.integer = limit
    arm = case.then_node
    arm.id = "n0"
    arm.task_node.reference_id.CopyFrom(task_id("inner"))
    bind(arm, a=promise("d1"))
    branch.branch_node.if_else.else_node.CopyFrom(arm)
    branch.branch_node.if_else.else_node.id = "n1"
    node("d3", "sum", a={"collection": {"bindings": [
        literals_pb2.BindingData(**scalar(3)), literals_pb2.BindingData(**promise("d0"))]}})
output("o0", **promise("d1"))
(out / 'futures.pb').write_bytes(spec.SerializeToString())
"""

# More elements than are told one by one.
MANY = """
troupe: 1
tasks:
  same: {type: echo, inputs: {a: int}, outputs: {o0: int}}
workflows:
  mapped:
    inputs: {items: [int]}
    nodes: {same: {map: same, with: {a: $items}}}
"""
ELEMENTS = 5000

PHASES = {"SUCCEEDED": 4, "FAILED": 6, "ABORTED": 7}
WHERE = {"project": "default", "domain": "development"}


def plan_id(name, version="v1"):
    return dict(WHERE, resource_type="LAUNCH_PLAN", name=name, version=version)


def bare(value):
    """JSON without what stands for nothing."""
    if isinstance(value, dict):
        parts = {key: bare(part) for key, part in value.items()}
        return {key: part for key, part in parts.items()
                if part not in (None, "", [], {}, 0, "0", False)}
    return [bare(part) for part in value] if isinstance(value, list) else value


class ExecutionsTest(ClientTest):
    def setUp(self):
        super().setUp()
        self.write("decide.py", DECIDES)
        self.package(FLOWS.replace("@DECIDE@", str(self.folder / "decide.py")))
        self.troupe("apply", "flows.tgz", "--version", "v1")
        self.address, = self.serve()

    def tearDown(self):
        self.stop()
        super().tearDown()

    def test_every_kind_of_node(self):
        done = self.ask("run", plan="flows.main", inputs={"x": 3}, name="all",
                        labels={"team": "data"})
        self.assertEqual(done, {
            "name": "all", "phase": "SUCCEEDED", "plan": "flows.main", "version": "v1", "mode": 0,
            "workflow": "flows.main", "labels": {"team": "data"}, "error": None, "aborted": None,
            "inputs": {"x": 3, "y": 1},
            "outputs": {"o0": 8, "o1": 10, "o2": [2, 4, 6], "o3": 5, "o4": 8}})
        nodes = {node["id"]: node for node in self.ask("nodes", name="all")}
        self.assertEqual(list(nodes)[0], "start-node")
        self.assertEqual(list(nodes)[-1], "end-node")
        self.assertEqual(set(nodes), {"start-node", "n0", "n1", "n2", "n3", "n4", "n5",
                                      "end-node"})
        self.assertEqual({node["phase"] for node in nodes.values()}, {3})
        self.assertEqual(nodes["start-node"]["outputs"], {"x": 3, "y": 1})
        self.assertEqual(nodes["end-node"]["inputs"], done["outputs"])
        self.assertEqual(nodes["n0"]["tasks"], [["flows.add", "v1", 0, 3]])
        self.assertEqual(nodes["n0"]["inputs"], {"a": 3, "b": 1})
        self.assertEqual(nodes["n0"]["outputs_of_tasks"], [{"o0": 4}])
        self.assertEqual(nodes["n1"]["kind"], ["is_parent_node"])
        inner, = nodes["n1"]["inside"]
        self.assertEqual([inner["id"], inner["spec"], inner["outputs"]],
                         ["n1-0-n0", "n0", {"o0": 8}])
        self.assertEqual(nodes["n3"]["kind"], ["is_array"])
        self.assertEqual(nodes["n3"]["outputs"], {"o0": [2, 4, 6]})
        self.assertEqual(nodes["n3"]["tasks"], [["flows.double", "v1", 0, 3]])
        self.assertEqual(nodes["n4"]["kind"], ["is_parent_node", "is_dynamic"])
        self.assertEqual(nodes["n4"]["decides"], ["start-node", "end-node", "d0", "d1"])
        self.assertEqual([[node["id"], node["outputs"]] for node in nodes["n4"]["inside"]],
                         [["n4-0-d0", {"o0": 4}], ["n4-0-d1", {"o0": 5}]])
        arm, = [node for node in nodes["n5"]["inside"] if node["phase"] == 3]
        self.assertEqual([arm["id"], arm["outputs"]], ["n5-n0", {"o0": 8}])
        child = self.ask("get", name=nodes["n2"]["launched"])
        self.assertEqual([child["plan"], child["version"], child["workflow"], child["mode"],
                          child["inputs"], child["labels"]],
                         ["flows.five", "v1", "flows.twice", 4, {"a": 5}, {"team": "data"}])
        shown = self.document("get", "all")
        self.assertEqual(shown["outputs"], done["outputs"])
        self.assertEqual(shown["cause"], "CreateExecution")
        self.assertEqual(shown["workflow"], "flows.main")

    def test_the_command_line_and_the_api_show_the_same(self):
        self.troupe("submit", "flows.tgz", "flows.main", "-i", "x=2", "--name", "mine", "--wait",
                    "--version", "v1")
        done = self.ask("get", name="mine")
        self.assertEqual([done["phase"], done["plan"], done["version"], done["inputs"]],
                         ["SUCCEEDED", "flows.main", "v1", {"x": 2, "y": 1}])
        self.assertEqual(len(self.ask("nodes", name="mine")), 8)
        self.ask("run", plan="flows.twice", name="theirs")
        names = {each["execution"]: each["phase"] for each in self.document("list")}
        self.assertEqual([names["mine"], names["theirs"]], ["succeeded", "succeeded"])

    def test_many_elements_are_told_in_part(self):
        """One by one so many as a message bears, and of all how many there are of each kind."""
        self.write("many.yaml", MANY)
        self.write("items.json", json.dumps({"items": list(range(ELEMENTS + 2))}))
        self.troupe("submit", "many.yaml", "mapped", "--inputs", "items.json", "--name", "many")
        wait_until(lambda: self.document("get", "many")["phase"] == "succeeded", "it ends")
        listed, = self.ask("answers", calls=[["ListTaskExecutions", {
            "limit": 10, "node_execution_id": {"node_id": "same",
                                               "execution_id": dict(WHERE, name="many")}}]])
        closure, = [each["closure"] for each in listed["task_executions"]]
        told = closure["metadata"]["external_resources"]
        self.assertEqual([each["index"] for each in told], list(range(ELEMENTS)))
        self.assertEqual({each["phase"] for each in told}, {"SUCCEEDED"})
        self.assertIn(f"{ELEMENTS + 2} ", closure["reason"])
        self.assertIn(f"the first {ELEMENTS} are told one by one", closure["reason"])

    def test_what_a_task_decides_has_its_bindings(self):
        """As it has written them, in the node's data and on its own."""
        self.ask("run", plan="flows.more", name="all")
        node = {"node_id": "n4", "execution_id": dict(WHERE, name="all")}
        alone, data = self.ask("answers", calls=[["GetDynamicNodeWorkflow", {"id": node}],
                                                 ["GetNodeExecutionData", {"id": node}]])
        self.assertEqual(data["dynamic_workflow"]["compiled_workflow"],
                         alone["compiled_workflow"])
        template = alone["compiled_workflow"]["primary"]["template"]
        bound = {each["id"]: bare(each["inputs"]) for each in template["nodes"]}

        def promise(node):
            return {"promise": {"node_id": node, "var": "o0"}}

        var, = [each["var"] for each in bound["d2"]]

        def less(limit):
            return {"comparison": {"operator": "LT", "left_value": {"var": var},
                                   "right_value": {"primitive": {"integer": limit}}}}
        three = {"scalar": {"primitive": {"integer": "3"}}}
        four = {"scalar": {"primitive": {"integer": "4"}}}
        self.assertEqual(bound, {
            "start-node": [], "d0": [{"var": "a", "binding": four}],
            "d1": [{"var": "a", "binding": promise("d0")}],
            "d2": [{"var": var, "binding": promise("d1")}],
            "d2-n0": [{"var": "a", "binding": promise("d1")}],
            "d2-n1": [{"var": "a", "binding": promise("d1")}],
            "d3": [{"var": "a", "binding": {"collection": {"bindings": [three, promise("d0")]}}}],
            "end-node": [{"var": "o0", "binding": promise("d1")}]})
        self.assertEqual(bare(template["outputs"]), bound["end-node"])
        branch, = [each["branch_node"]["if_else"] for each in template["nodes"]
                   if each["id"] == "d2"]
        self.assertEqual(bare(branch["case"]["condition"]), {"conjunction": {
            "operator": "OR", "left_expression": less("9"), "right_expression": less("2")}})

    def logs_behind(self, said):
        """The names of links, and what is there, by each of them."""
        def follow(uri):
            self.assertTrue(uri.startswith(f"http://{self.address}/"), uri)
            status, _, body = self.curl(self.address, uri.split(self.address)[1], "-g")
            self.assertEqual(status, 200, body)
            return body
        return [(log["name"], follow(log["uri"])) for log in said]

    def test_links_to_logs(self):
        """What was written to stdout and stderr is behind them, and nothing else is."""
        name = "stdout and stderr"
        self.assertEqual(self.ask("run", plan="flows.saying", name="told")["phase"], "FAILED")
        closures = [answer["task_executions"][0]["closure"] for answer in self.ask(
            "answers", calls=[["ListTaskExecutions", {"limit": 10, "node_execution_id": {
                "node_id": node, "execution_id": dict(WHERE, name="told")}}]
                for node in ("n0", "n1", "n2")])]
        (first,), (array,), (failed,) = (self.logs_behind(each["logs"]) for each in closures)
        self.assertEqual(first, (name, "said 7\n"))
        self.assertEqual(sorted(re.findall(r"said \d", array[1])), ["said 1", "said 2", "said 3"])
        self.assertEqual(failed[0], name)
        self.assertRegex(failed[1], r"(?s)stdout.*\nsaid 0\n.*stderr.*\nZeroDivisionError")
        elements = closures[1]["metadata"]["external_resources"]
        self.assertEqual([self.logs_behind(each["logs"]) for each in elements],
                         [[(name, f"said {number}\n")] for number in (1, 2, 3)])

    def test_a_task_alone(self):
        done = self.ask("run", plan="flows.double", inputs={"a": 4}, kind=1)
        self.assertEqual([done["phase"], done["outputs"], done["plan"]],
                         ["SUCCEEDED", {"o0": 8}, "flows.double"])
        self.assertRegex(done["name"], "^double-[a-z0-9]{12}$")

    def test_one_that_fails_and_recovers(self):
        done = self.ask("run", plan="flows.half", name="half")
        code, words, kind = done["error"]
        self.assertEqual([done["phase"], kind], ["FAILED", 1])
        self.assertIn("exit status 1", words)
        start, first, second = self.ask("nodes", name="half")
        self.assertEqual([first["phase"], second["phase"], second["error"]], [3, 5, code])
        self.assertEqual(second["tasks"], [["flows.fail", "v1", 0, 5]])
        self.assertEqual(self.ask("outcomes", calls=[
            ["RecoverExecution", {"id": dict(WHERE, name="half"), "name": "again"}]]), [["OK", ""]])
        again = self.ask("get", name="again")
        self.assertEqual([again["phase"], again["mode"]], ["FAILED", 5])
        kept = self.ask("nodes", name="again")[1]
        self.assertEqual([kept["phase"], kept["outputs"]], [10, {"o0": 2}])
        listed, = self.ask("answers", calls=[["ListExecutions", {"id": WHERE, "limit": 10}]])
        self.assertEqual([[each["id"]["name"], each["closure"]["error"]["code"]]
                          for each in listed["executions"]], [["again", code], ["half", code]])

    def test_gates_aborts_and_relaunches(self):
        life = self.ask("life", plan="flows.gates")
        self.assertEqual(life["signals"], ["limit", "ship"])
        self.assertEqual([life["done"]["phase"], life["done"]["outputs"]],
                         ["SUCCEEDED", {"o0": 5}])
        self.assertEqual([life["aborted"]["phase"], life["aborted"]["aborted"]],
                         ["ABORTED", "not needed"])
        self.assertEqual([life["again"], life["third"]["mode"], life["third"]["phase"]],
                         ["third", 3, "ABORTED"])
        self.assertEqual(life["recent"], ["third", "second", "first"])
        listed, = self.ask("answers", calls=[
            ["ListSignals", {"workflow_execution_id": dict(WHERE, name="first")}]])
        self.assertEqual({each["id"]["signal_id"]: each["value"]["scalar"]["primitive"]
                          for each in listed["signals"]},
                         {"limit": {"integer": "5"}, "ship": {"boolean": True}})
        self.assertEqual(self.document("get", "second")["phase"], "aborted")

    def test_flyte_remote(self):
        """FlyteRemote reads every kind of node at any moment of a run."""
        done = self.ask("remote_run", plan="flows.main", inputs={"x": 3}, name="all")
        self.assertEqual([done["phase"], done["inputs"], done["outputs"]],
                         ["SUCCEEDED", {"x": 3, "y": 1},
                          {"o0": 8, "o1": 10, "o2": [2, 4, 6], "o3": 5, "o4": 8}])
        self.assertGreater(done["looks"], 1)
        nodes = done["nodes"]
        self.assertEqual(sorted(nodes), ["n0", "n1", "n2", "n3", "n4", "n5"])
        self.assertEqual([len(nodes["n2"]["launched"]), nodes["n3"]["tasks"]], [1, [3]])
        self.assertEqual(nodes["n3"]["outputs"], {"o0": [2, 4, 6]})
        inside = {**nodes["n1"]["inside"], **nodes["n4"]["inside"], **nodes["n5"]["inside"]}
        self.assertEqual({key: node["outputs"] for key, node in inside.items()},
                         {"n1-0-n0": {"o0": 8}, "n4-0-d0": {"o0": 4}, "n4-0-d1": {"o0": 5},
                          "n5-n0": {"o0": 8}, "n5-n1": {}})
        failed = self.ask("remote_run", plan="flows.half", inputs={}, name="half")
        self.assertEqual([failed["phase"], failed["nodes"]["n1"]["phase"]], ["FAILED", 5])
        self.assertIn("exit status 1", failed["error"])

    def test_what_a_spec_says(self):
        done = self.ask("with_spec", plan="flows.given")
        told = done.pop("told")
        self.assertEqual(done, {
            "annotations": {"why": "test it"}, "envs": {"GIVEN": "here"}, "max_parallelism": 3,
            "overwrite_cache": True, "interruptible": True, "raw": "s3://results/prefix",
            "principal": ""})
        self.assertEqual([told["outputs"], told["labels"]], [{"o0": 4}, {"team": "data"}])

    def test_lists_hold_while_rows_are_added(self):
        for i in range(7):
            self.ask("run", plan="flows.empty", name=f"e{i}")
        pages = self.ask("pages", limit=3, plan="flows.empty")
        self.assertEqual(pages, [["e6", "e5", "e4"], ["e3", "e2", "e1"], ["e0"]])
        pages = self.ask("pages", limit=4, key="name", direction=1)
        self.assertEqual([name for page in pages for name in page][:7],
                         [f"e{i}" for i in range(7)])
        chosen = [
            ("eq(name,e3)", ["e3"]), ("value_in(name,e1;e2)", ["e2", "e1"]),
            ("contains(name,e0)", ["e0"]), ("value_in(phase,FAILED;ABORTED)", []),
            ("eq(phase,4)+eq(name,e0)", ["e0"]), ("ne(state,1)+eq(name,e0)", ["e0"]),
            ("eq(state,1)", []), ("eq(workflow.name,flows.empty)+value_in(name,e0;x)", ["e0"]),
            ("gt(created_at,2000-01-01T00:00:00Z)+eq(execution.name,e0)", ["e0"]),
            ("lt(created_at,2000-01-01T00:00:00Z)", []), ("value_not_in(phase,SUCCEEDED)", [])]
        answers = self.ask("answers", calls=[
            ["ListExecutions", {"id": WHERE, "limit": 100, "filters": filters}]
            for filters, _ in chosen])
        self.check_archive("e3", [f"e{i}" for i in (6, 5, 4, 2, 1, 0)])
        for (filters, names), answer in zip(chosen, answers):
            found = [each["id"]["name"] for each in answer.get("executions", [])]
            self.assertEqual(found, names, filters)

    def listed(self, limit, **more):
        """Names, page by page."""
        token, found = "", []
        while True:
            page, = self.ask("answers", calls=[
                ["ListExecutions", {"id": WHERE, "limit": limit, "token": token, **more}]])
            found.append([each["id"]["name"] for each in page.get("executions", [])])
            token = page.get("token", "")
            if not token:
                return found

    def test_pages_of_several_phases_are_merged(self):
        """In the order of creation each phase comes by an index of its own."""
        plans = ["empty", "broken", "gates"]
        for i in range(9):
            plan = plans[i % 3]
            name = f"{plan}{i}"
            if plan != "gates":
                self.ask("run", plan=f"flows.{plan}", name=name)
            else:
                self.assertEqual(self.ask("outcomes", calls=[
                    ["CreateExecution", dict(WHERE, name=name,
                                             spec={"launch_plan": plan_id(f"flows.{plan}")})],
                    ["TerminateExecution", {"id": dict(WHERE, name=name)}]]), 2 * [["OK", ""]])
        newest = [f"{plans[i % 3]}{i}" for i in reversed(range(9))]
        wanted = [name for name in newest if not name.startswith("empty")]
        oldest = {"sort_by": {"key": "created_at", "direction": "ASCENDING"}}
        for filters in ("value_in(phase,FAILED;ABORTED;ABORTING)", "ne(phase,SUCCEEDED)"):
            for limit in (1, 2, 3, 6, 7):
                pages = [wanted[i:i + limit] for i in range(0, 6, limit)]
                self.assertEqual(self.listed(limit, filters=filters), pages)
            self.assertEqual(self.listed(4, filters=filters, **oldest),
                             [wanted[::-1][:4], wanted[::-1][4:]])
            self.assertEqual(self.listed(9, filters=filters + "+eq(launch_plan.name,flows.gates)"),
                             [[name for name in wanted if name.startswith("gates")]])
        others = [name for name in newest if not name.startswith("gates")]
        self.assertEqual(self.listed(4, filters="value_in(phase,FAILED;SUCCEEDED)",
                                     sort_by={"key": "started_at"}), [others[:4], others[4:]])

    def test_lists_know_the_default_plan(self):
        """Its name is the workflow's, whether one chooses by it or sorts by it."""
        for i, plan in enumerate(("twice", "five", "empty", "five", "twice")):
            self.ask("run", plan=f"flows.{plan}", name=f"{plan}{i}")
        key = "launch_plan.name"
        chosen = [
            (f"eq({key},flows.twice)", ["twice4", "twice0"]),
            (f"eq({key},flows.five)", ["five3", "five1"]),
            (f"ne({key},flows.five)", ["twice4", "empty2", "twice0"]),
            (f"value_in({key},flows.five;flows.empty)", ["five3", "empty2", "five1"]),
            (f"contains({key},t)+eq(workflow.name,flows.twice)", ["twice4", "twice0"]),
            (f"eq({key},flows.empty)+eq(phase,FAILED)", [])]
        for filters, names in chosen:
            self.assertEqual(sum(self.listed(1, filters=filters), []), names, filters)
        for direction, names in (("ASCENDING", ["empty2", "five1", "five3", "twice0", "twice4"]),
                                 ("DESCENDING", ["twice4", "twice0", "five3", "five1", "empty2"])):
            order = {"key": key, "direction": direction}
            self.assertEqual(sum(self.listed(1, sort_by=order), []), names)
            self.assertEqual(self.listed(3, sort_by=order), [names[:3], names[3:]])
        # Those of one workflow, however they were started, by when they were created.
        names = ["empty2", "twice0", "five1", "five3", "twice4"]
        for limit in (1, 2, 4):
            for direction, expected in (("ASCENDING", names), ("DESCENDING", names[::-1])):
                order = {"key": "workflow.name", "direction": direction}
                self.assertEqual(sum(self.listed(limit, sort_by=order), []), expected)

    def test_as_many_conditions_as_there_can_be(self):
        """With a token, several phases, and a place that is added to them."""
        begin = "value_in(phase,FAILED;ABORTED)+ne(launch_plan.name,x)+"
        wanted = [begin + f"value_not_in(name,{';'.join(f'x{i}' for i in range(count))})"
                  for count in range(1, 16)]
        wanted += [begin + "+".join(count * ["ne(name,x)"]) for count in range(1, 14)]
        outcomes = self.ask("outcomes", calls=[
            ["ListExecutions", {"id": dict(WHERE, name="n"), "limit": 1, "token": "5~5",
                                "filters": filters}] for filters in wanted])
        self.assertEqual({code for code, _ in outcomes}, {"OK", "INVALID_ARGUMENT"})
        self.assertEqual(outcomes[:10] + outcomes[15:25], 20 * [["OK", ""]])

    def check_archive(self, name, others):
        """One that is archived is left out by who wants it so, and may be taken back."""
        def listed(filters):
            return ["ListExecutions", {"id": WHERE, "limit": 100,
                                       "filters": f"{filters}+value_in(name,{name};"
                                                  f"{';'.join(others)})"}]
        execution = dict(WHERE, name=name)
        archive = ["UpdateExecution", {"id": execution, "state": "EXECUTION_ARCHIVED"}]
        got = self.ask("answers", calls=[
            archive, archive, listed("ne(state,1)"), listed("eq(state,1)"),
            ["GetExecution", {"id": execution}],
            ["UpdateExecution", {"id": execution, "state": "EXECUTION_ACTIVE"}],
            listed("eq(state,1)")])
        names = [[each["id"]["name"] for each in answer.get("executions", [])] for answer in got]
        self.assertEqual([names[2], names[3], names[6]], [others, [name], []])
        self.assertEqual(got[4]["closure"]["state_change_details"]["state"], "EXECUTION_ARCHIVED")

    def test_names_of_any_length(self):
        for size in (8, 15, 16, 24, 31, 32, 33, 48, 63):
            name = "n" * size
            done = self.ask("run", plan="flows.empty", name=name)
            self.assertEqual((done["name"], done["plan"]), (name, "flows.empty"))
            row, = self.ask("answers", calls=[["ListExecutions", {
                "id": WHERE, "limit": 9, "filters": f"eq(name,{name})"}]])
            self.assertEqual([each["id"]["name"] for each in row["executions"]], [name])

    def test_one_of_many_gets_a_name(self):
        codes = self.ask("same_name", plan="flows.empty", name="wanted", count=12)
        self.assertEqual(codes, 11 * ["ALREADY_EXISTS"] + ["OK"])

    def test_a_plan_that_runs_often_enough(self):
        """Its concurrency is no name that is taken, which clients take for success."""
        def create(name, code=("OK", "")):
            fields = dict(WHERE, name=name, spec={"launch_plan": plan_id("flows.alone")})
            return ("CreateExecution", fields), list(code)

        def again(method, name, code):
            return (method, {"id": dict(WHERE, name="first"), "name": name}), list(code)
        first = {"id": dict(WHERE, name="first")}
        words = "as many executions of its launch plan run as its concurrency policy lets run"
        used_up = ("RESOURCE_EXHAUSTED", words)
        rows = [create("first"), create("second", used_up), create("second", used_up),
                create("", used_up), again("RelaunchExecution", "third", used_up)]
        self.assertEqual(self.ask("outcomes", calls=[call for call, _ in rows]),
                         [outcome for _, outcome in rows])
        self.assertEqual([each["execution"] for each in self.document("list")], ["first"])
        status, _, body = self.curl(
            self.address, "/api/v1/executions", "-d", json.dumps(rows[1][0][1]),
            "-H", "content-type: application/json")
        self.assertEqual([status, json.loads(body)["code"]], [429, 8])
        self.assertEqual(self.ask("outcomes", calls=[["TerminateExecution", first]]),
                         [["OK", ""]])
        wait_until(lambda: self.ask("outcomes", calls=[create("second")[0]]) == [["OK", ""]],
                   "the plan has room again")

    def test_what_was_acknowledged_is_there_after_a_kill(self):
        for _ in range(3):
            asking = subprocess.Popen([KIT_PYTHON, CLIENT, self.address, "create_until_lost",
                                       json.dumps({"plan": "flows.gates"})],
                                      stdout=subprocess.PIPE, text=True, env=self.environment())
            begun = [asking.stdout.readline().strip() for _ in range(40)]
            self.serving.signal(signal.SIGKILL)
            self.serving.end()
            begun += asking.stdout.read().split()
            self.assertEqual(asking.wait(LIMIT_S), 0)
            asking.stdout.close()
            names = [each["execution"] for each in self.document("list", "--limit", "0")]
            self.assertEqual(len(set(names)), len(names))
            self.assertLessEqual(set(begun), set(names))
            self.address, = self.serve()

    def test_a_wait_goes_on_after_a_restart(self):
        """flytekit's own, whose engine leaves, and later is killed, between two of its looks."""
        self.ask("outcomes", calls=[["CreateExecution", dict(
            WHERE, name="waited", spec={"launch_plan": plan_id("flows.gates")})]])
        waiting = subprocess.Popen([KIT_PYTHON, CLIENT, self.address, "wait_and_say",
                                    json.dumps({"name": "waited"})], text=True,
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.addCleanup(waiting.communicate)
        self.addCleanup(waiting.kill)

        def look_again():
            waiting.stdin.write("\n")
            waiting.stdin.flush()
        for number in (signal.SIGTERM, signal.SIGKILL):
            self.assertEqual(waiting.stdout.readline(), "looked\n")
            self.serving.signal(number)
            self.serving.end()
            self.address, = self.serve("--http", self.address.rpartition(":")[2])
            look_again()
        self.assertEqual(waiting.stdout.readline(), "looked\n")
        for signal_id, value in (("ship", {"boolean": True}), ("limit", {"integer": 5})):
            self.assertEqual(self.ask("outcomes", calls=[["SetSignal", {
                "id": {"signal_id": signal_id, "execution_id": dict(WHERE, name="waited")},
                "value": {"scalar": {"primitive": value}}}]]), [["OK", ""]])
        wait_until(lambda: self.document("get", "waited")["phase"] == "succeeded", "it ends")
        look_again()
        self.assertEqual(json.loads(waiting.stdout.readline()), ["SUCCEEDED", {"o0": 5}])

    def test_work_goes_on_without_its_client(self):
        """Whether its deadline has passed, or it has cancelled the call."""
        found = self.ask("given_up", plan="flows.empty")
        self.assertEqual(set(found), {"DEADLINE_EXCEEDED", "CANCELLED"})
        for name in found.values():
            self.assertEqual(self.ask("get", name=name)["phase"], "SUCCEEDED")

    # A call, the code and the beginning of the words.
    WRONG = [
        ("CreateExecution", {}, "INVALID_ARGUMENT", "the request does not say what to run"),
        ("CreateExecution", dict(WHERE, spec={"launch_plan": plan_id("flows.gone")}), "NOT_FOUND",
         "there is no launch plan 'flows.gone' of version 'v1' in project 'default', domain "
         "'development'"),
        ("CreateExecution", dict(WHERE, spec={"launch_plan": plan_id("flows.main", "v2")}),
         "NOT_FOUND", "there is no launch plan 'flows.main' of version 'v2'"),
        ("CreateExecution", dict(WHERE, spec={"launch_plan": plan_id("flows.main")}),
         "INVALID_ARGUMENT", "x: the input is missing; give a value for it"),
        ("CreateExecution", dict(WHERE, spec={"launch_plan": plan_id("flows.main")},
                                 inputs={"literals": {"x": {"scalar": {"primitive": {
                                     "string_value": "three"}}}}}), "INVALID_ARGUMENT", "x: "),
        ("CreateExecution", dict(WHERE, spec={"launch_plan": plan_id("flows.twice")},
                                 inputs={"literals": {"b": {}}}), "INVALID_ARGUMENT",
         "b: there is no such input"),
        ("CreateExecution", dict(WHERE, spec={"launch_plan": plan_id("flows.five")},
                                 inputs={"literals": {"a": {}}}), "INVALID_ARGUMENT",
         "a: the input is fixed by the launch plan 'flows.five'; leave it out"),
        ("CreateExecution", dict(WHERE, name="9", spec={"launch_plan": plan_id("flows.twice")}),
         "INVALID_ARGUMENT", "'9' is no name for an execution"),
        ("CreateExecution", dict(WHERE, domain="a/b",
                                 spec={"launch_plan": plan_id("flows.twice")}),
         "INVALID_ARGUMENT", "'default' and 'a/b' are no project and domain"),
        ("CreateExecution", dict(WHERE, spec={"launch_plan": plan_id("flows.twice"),
                                              "labels": {"values": {"a b": "c"}}}),
         "INVALID_ARGUMENT", "labels: 'a b' is no key of a label"),
        ("CreateExecution", dict(WHERE, spec={"launch_plan": plan_id("flows.twice"),
                                              "max_parallelism": -1}),
         "INVALID_ARGUMENT", "spec.max_parallelism is -1"),
        ("CreateExecution", dict(WHERE, spec={"launch_plan": plan_id("flows.twice"),
                                              "annotations": {"values": {"a": 40000 * "x"}}}),
         "INVALID_ARGUMENT", "what is asked beside the inputs has 40"),
        ("GetExecution", {}, "INVALID_ARGUMENT", "the request names no execution: id is empty"),
        ("GetExecution", {"id": dict(WHERE, name="gone")}, "NOT_FOUND",
         "there is no execution 'gone' in project 'default', domain 'development'"),
        ("GetExecutionData", {"id": dict(WHERE, name="gone")}, "NOT_FOUND", "there is no"),
        ("RelaunchExecution", {"id": dict(WHERE, name="gone")}, "NOT_FOUND", "there is no"),
        ("UpdateExecution", {"id": dict(WHERE, name="gone")}, "NOT_FOUND", "there is no"),
        ("ListExecutions", {"id": WHERE, "filters": "eq(state,2)"}, "INVALID_ARGUMENT",
         "'2' is no state; write 0, active, or 1, archived"),
        ("RecoverExecution", {"id": dict(WHERE, name="done")}, "FAILED_PRECONDITION",
         "'done' is succeeded; what has failed or was aborted can be recovered"),
        ("TerminateExecution", {"id": dict(WHERE, name="done")}, "FAILED_PRECONDITION",
         "'done' is over: it is succeeded"),
        ("TerminateExecution", {"id": dict(WHERE, name="done")}, "FAILED_PRECONDITION",
         "'done' is over: it is succeeded"),
        ("ListExecutions", {"id": WHERE, "filters": "eq(name)"}, "INVALID_ARGUMENT",
         "the filter 'eq(name)' is not written as eq(FIELD,VALUE)"),
        ("ListExecutions", {"id": WHERE, "filters": "is(name,a)"}, "INVALID_ARGUMENT",
         "the filter 'is(name,a)' has no comparison that there is"),
        ("ListExecutions", {"id": WHERE, "filters": "eq(colour,a)"}, "INVALID_ARGUMENT",
         "'colour' is no field to choose by; there are created_at, "),
        ("ListExecutions", {"id": WHERE, "filters": "eq(phase,HAPPY)"}, "INVALID_ARGUMENT",
         "'HAPPY' is no phase"),
        ("ListExecutions", {"id": WHERE, "filters": "gt(created_at,now)"}, "INVALID_ARGUMENT",
         "'now' is no time"),
        ("ListExecutions", {"id": WHERE, "sort_by": {"key": "phase"}}, "INVALID_ARGUMENT",
         "'phase' is no field to sort by"),
        ("ListExecutions", {"id": WHERE, "token": "5"}, "INVALID_ARGUMENT",
         "'5' is no token of this list"),
        ("GetNodeExecution", {"id": {"node_id": "n9", "execution_id": dict(WHERE, name="done")}},
         "NOT_FOUND", "the execution 'done' has no node 'n9', or it has not begun"),
        ("GetNodeExecution", {"id": {"node_id": "n0-0-n0",
                                     "execution_id": dict(WHERE, name="done")}},
         "NOT_FOUND", "the execution 'done' has no node 'n0-0-n0'"),
        ("GetNodeExecution", {}, "INVALID_ARGUMENT", "the request names no node: id is empty"),
        ("GetTaskExecution", {"id": {"retry_attempt": 1, "node_execution_id": {
            "node_id": "n0", "execution_id": dict(WHERE, name="done")}}},
         "NOT_FOUND", "the node 'n0' has no attempt 1"),
        ("GetDynamicNodeWorkflow", {"id": {"node_id": "n0",
                                           "execution_id": dict(WHERE, name="done")}},
         "NOT_FOUND", "the node 'n0' has decided no workflow"),
        ("SetSignal", {"id": {"signal_id": "x", "execution_id": dict(WHERE, name="done")}},
         "NOT_FOUND", "the execution has no signal 'x'"),
        ("SetSignal", {}, "INVALID_ARGUMENT", "the request names no signal: id is empty"),
    ]

    def test_what_is_wrong_is_told(self):
        self.ask("run", plan="flows.twice", name="done")
        outcomes = self.ask("outcomes", calls=[row[:2] for row in self.WRONG])
        for (method, fields, code, words), outcome in zip(self.WRONG, outcomes):
            self.assertEqual(outcome[0], code, (method, fields, outcome))
            self.assertTrue(outcome[1].startswith(words), (method, fields, outcome))
        self.assertEqual([each["execution"] for each in self.document("list")], ["done"])

    def test_an_engine_that_leaves_tidies_its_store_up(self):
        self.assertEqual(self.curl(self.address, "/api/v1/executions/default/development")[0], 200)
        self.assertTrue((self.store / "troupe.db-wal").exists())
        self.stop()
        self.assertEqual([file.name for file in self.store.glob("troupe.db*")], ["troupe.db"])
        self.serve()

    def test_rest_says_the_same(self):
        self.ask("run", plan="flows.main", inputs={"x": 1}, name="all")
        execution = dict(WHERE, name="all")
        node = {"node_id": "n0", "execution_id": execution}
        task = {"node_execution_id": node, "retry_attempt": 0,
                "task_id": dict(WHERE, resource_type="TASK", name="flows.add", version="v1")}
        below = "default/development/all"
        of_task = f"{below}/n0/default/development/flows.add/v1/0"
        calls = [
            ("GetExecution", {"id": execution}, f"executions/{below}"),
            ("GetExecutionData", {"id": execution}, f"data/executions/{below}"),
            ("ListExecutions", {"id": WHERE, "limit": 1, "filters": "eq(name,all)"},
             "executions/default/development?limit=1&filters=eq(name,all)"),
            ("ListNodeExecutions", {"workflow_execution_id": execution, "limit": 3,
                                    "sort_by": {"key": "created_at", "direction": "ASCENDING"}},
             f"node_executions/{below}?limit=3&sort_by.key=created_at"
             "&sort_by.direction=ASCENDING"),
            ("ListNodeExecutions", {"workflow_execution_id": execution, "limit": 3,
                                    "unique_parent_id": "n1"},
             f"node_executions/{below}?limit=3&unique_parent_id=n1"),
            ("GetNodeExecution", {"id": node}, f"node_executions/{below}/n0"),
            ("GetNodeExecutionData", {"id": node}, f"data/node_executions/{below}/n0"),
            ("GetDynamicNodeWorkflow", {"id": dict(node, node_id="n4")},
             f"node_executions/{below}/n4/dynamic_workflow"),
            ("ListTaskExecutions", {"node_execution_id": node}, f"task_executions/{below}/n0"),
            ("GetTaskExecution", {"id": task}, f"task_executions/{of_task}"),
            ("GetTaskExecutionData", {"id": task}, f"data/task_executions/{of_task}"),
            ("ListNodeExecutionsForTask",
             {"task_execution_id": dict(task, node_execution_id=dict(node, node_id="n4"))},
             "children/task_executions/" + of_task.replace("/n0/", "/n4/")),
        ]
        answers = self.ask("answers", calls=[row[:2] for row in calls])
        for (method, _, path), answer in zip(calls, answers):
            status, _, body = self.curl(self.address, f"/api/v1/{path}", "-g")
            self.assertEqual(status, 200, (path, body))
            self.assertEqual(bare(json.loads(body.encode("latin-1"))), bare(answer), path)
            self.assertTrue(bare(answer), path)

    def test_rest_begins_and_ends(self):
        def post(path, body, method="POST"):
            status, _, text = self.curl(self.address, f"/api/v1/{path}", "-X", method, "-d",
                                        json.dumps(body), "-H", "content-type: application/json")
            return status, json.loads(text)
        begun = post("executions", dict(WHERE, name="r", spec={
            "launch_plan": plan_id("flows.gates")}))
        self.assertEqual(begun, (200, {"id": dict(WHERE, name="r", org="")}))
        status, told = post("executions", dict(WHERE, name="r", spec={
            "launch_plan": plan_id("flows.gates")}))
        self.assertEqual([status, told["code"]], [409, 6])
        signal = {"id": {"signal_id": "limit", "execution_id": dict(WHERE, name="r")},
                  "value": {"scalar": {"primitive": {"string_value": "much"}}}}
        status, told = post("signals", signal)
        self.assertEqual([status, told["code"]], [400, 3])
        self.assertEqual(post("executions/default/development/r", {"cause": "enough"}, "DELETE"),
                         (200, {}))
        self.assertEqual(self.ask("get", name="r")["aborted"], "enough")
        status, told = post("executions/default/development/r", {}, "DELETE")
        self.assertEqual([status, told["code"]], [400, 9])
        self.assertEqual(post("executions/relaunch", {"id": dict(WHERE, name="r"), "name": "s"}),
                         (200, {"id": dict(WHERE, name="s", org="")}))


if __name__ == "__main__":
    unittest.main()
