#!/usr/bin/env python3
"""What launch plans of Flyte's say of how their executions run: it acts as in Flyte."""

import unittest

from program import wait_until
from test_flyte_packages import PackageTest

# A task that says what it finds, and a workflow of it.
FINDS = """
spec = task("m.find", "' '.join(os.environ.get(name, '-') for name in ('A', 'B', 'C'))", {},
            output=STRING)
spec.template.container.env.add(key="A", value="task")
spec.template.container.env.add(key="B", value="task")
again(spec)
workflow("m.inner", {}, [node("n0", "m.find")], {"o0": promise("n0")}, types={"o0": STRING})
workflow("m.flow", {}, [node("n0", "m.inner", identifier_pb2.WORKFLOW)], {"o0": promise("n0")},
         types={"o0": STRING})

def variables_of(made, **values):
    for name, value in values.items():
        made.spec.envs.values.add(key=name, value=value)
    again(made)
"""

# Three tasks beside each other, each of which says when it begins and ends.
BESIDE = """
LINE = "open('@FOLDER@/lines', 'a').write({!r})"
task("m.t", LINE.format("b") + " and " + LINE.format("e"), {})
workflow("m.flow", {}, [node(f"n{i}", "m.t") for i in range(3)], {"o0": promise("n0")})
made = plan("m.one", "m.flow")
made.spec.max_parallelism = 1
again(made)
"""

# A task that counts its runs, and whose results are cached.
CACHED = """
spec = task("m.t", "open('@FOLDER@/lines', 'a').write('r')", {})
spec.template.metadata.discoverable = True
spec.template.metadata.discovery_version = "1"
again(spec)
workflow("m.flow", {}, [node("n0", "m.t")], {"o0": promise("n0")})
made = plan("m.again", "m.flow")
made.spec.overwrite_cache = True
again(made)
"""

# A task that waits for a file.
WAITS = """
PROGRAM = '''
import json, os, time
while not os.path.exists("@FOLDER@/go"):
    time.sleep(0.01)
json.dump({"o0": 1}, open(os.environ["TROUPE_OUTPUTS"], "w"))
'''
task("m.t", "", {}, args=["python3", "-c", PROGRAM])
workflow("m.flow", {}, [node("n0", "m.t")], {"o0": promise("n0")})
made = plan("m.one", "m.flow")
made.spec.concurrency_policy.max = 1
again(made)
workflow("m.launches", {}, [node("n0", "m.one", identifier_pb2.LAUNCH_PLAN)],
         {"o0": promise("n0")})
"""

RAW = """
PROGRAM = '''
import json, os, sys
os.makedirs(sys.argv[1], exist_ok=True)
path = os.path.join(sys.argv[1], "made")
open(path, "w").write("text")
json.dump({"o0": path}, open(os.environ["TROUPE_OUTPUTS"], "w"))
'''
task("m.t", "", {}, output=STRING, args=["python3", "-c", PROGRAM, "{{.rawOutputDataPrefix}}"])
workflow("m.flow", {}, [node("n0", "m.t")], {"o0": promise("n0")}, types={"o0": STRING})
made = plan("m.raw", "m.flow")
made.spec.raw_output_data_config.output_location_prefix = "@FOLDER@/raw/"
again(made)
"""


class PlansTest(PackageTest):
    def packaged(self, script):
        self.package(script.replace("@FOLDER@", str(self.folder)))

    def output(self, name, *words):
        return self.document("run", "flows.tgz", name, *words)["outputs"]["o0"]

    def lines(self):
        path = self.folder / "lines"
        return path.read_text() if path.exists() else ""

    def test_variables(self):
        """They win over a task's own, are taken as they are, and go on to what is launched, whose
        plan wins."""
        self.packaged(FINDS + """
variables_of(plan("m.says", "m.flow"), B="{{.input}}", C="plan")
workflow("m.launches", {}, [node("n0", "m.says", identifier_pb2.LAUNCH_PLAN)],
         {"o0": promise("n0")}, types={"o0": STRING})
variables_of(plan("m.outer", "m.launches"), A="outer", C="outer")
""")
        self.assertEqual(self.output("m.flow"), "task task -")
        self.assertEqual(self.output("m.says"), "task {{.input}} plan")
        self.assertEqual(self.output("m.outer"), "outer {{.input}} plan")

    def test_variables_reach_elements(self):
        self.packaged(FINDS + """
LIST = types_pb2.LiteralType(collection_type=STRING)
spec = task("m.each", "os.environ['C'] + str(i['a'])", {"a": INTEGER}, output=STRING)
workflow("m.map", {}, [array("n0", "m.each", a=numbers(1, 2))], {"o0": promise("n0")},
         types={"o0": LIST})
variables_of(plan("m.says", "m.map"), C="c")
""")
        self.assertEqual(self.output("m.says"), ["c1", "c2"])

    def test_how_many_nodes_run_at_once(self):
        self.packaged(BESIDE)
        self.output("m.one")
        self.assertEqual(self.lines(), "bebebe")

    def test_results_are_made_again(self):
        self.packaged(CACHED)
        for name, runs in (("m.flow", 1), ("m.flow", 1), ("m.again", 2), ("m.flow", 2)):
            self.output(name)
            self.assertEqual(self.lines(), "r" * runs)

    def test_where_tasks_leave_what_they_make(self):
        self.packaged(RAW)
        self.assertIn(str(self.store), self.output("m.flow"))
        made = self.output("m.raw", "--name", "e")
        self.assertRegex(made, f"^{self.folder}/raw/default/development/e/[a-z0-9-]+/made$")
        with open(made, encoding="ascii") as file:
            self.assertEqual(file.read(), "text")

    def test_how_many_executions_run_at_once(self):
        self.packaged(WAITS)
        self.start("serve").wait_for("serves")
        self.troupe("submit", "flows.tgz", "m.one", "--name", "first", "-q")
        words = "as many executions of its launch plan run as its concurrency policy lets run"
        _, stderr = self.troupe("submit", "flows.tgz", "m.one", "--name", "second", status=2)
        self.assertIn(words, stderr)
        launches = self.document("submit", "flows.tgz", "m.launches", "--wait", status=1)
        self.assertIn(words, launches["error"]["message"])
        self.troupe("submit", "flows.tgz", "m.flow", "--name", "other", "-q")
        (self.folder / "go").touch()
        wait_until(lambda: self.document("get", "first")["phase"] == "succeeded", "it has ended")
        self.troupe("submit", "flows.tgz", "m.one", "--name", "second", "--wait", "-q")

    def test_it_is_shown_and_given_back(self):
        self.packaged(WAITS + """
made = plan("m.more", "m.flow")
made.spec.envs.values.add(key="A", value="1")
made.spec.annotations.values["note"] = "kept"
made.spec.quality_of_service.tier = 1
again(made)
""")
        shown, = self.document("inspect", "flows.tgz", "m.more")
        self.assertEqual(shown["extra"], {
            "annotations": {"values": {"note": "kept"}}, "envs": {"values": [
                {"key": "A", "value": "1"}]}, "qualityOfService": {"tier": "HIGH"}})
        self.assertIn('  qualityOfService: {"tier": "HIGH"}\n',
                      self.troupe("inspect", "flows.tgz", "m.more")[0])
        stdout, _ = self.troupe("check", "flows.tgz")
        for part in ("annotations", "quality of service"):
            self.assertIn(f"m.more: a launch plan's {part} is kept and not acted on here", stdout)
        self.assertNotIn("environment", stdout)

    def test_a_default_plan_that_says_something(self):
        """It has its workflow's name here, and is gone."""
        self.packaged(WAITS + """
made = plan("m.flow", "m.flow")
made.spec.max_parallelism = 2
again(made)
""")
        self.assertIn("m.flow: how its executions run is kept and not acted on here, since the "
                      "launch plan has its workflow's name; give it another name",
                      self.troupe("check", "flows.tgz")[0])

    def test_what_is_wrong(self):
        self.packaged(WAITS + """
made = plan("m.wrong", "m.flow")
made.spec.envs.values.add(key="A", value="1")
made.spec.envs.values.add(key="A", value="2")
made.spec.max_parallelism = -1
made.spec.raw_output_data_config.output_location_prefix = "here"
again(made)
""")
        told = self.told()
        for words in ("the variable 'A' is there twice",
                      "max_parallelism is less than 0",
                      "the raw output prefix is no absolute path and no URI"):
            self.assertIn(words, told)


del PackageTest  # its tests are run where they are

if __name__ == "__main__":
    unittest.main()
