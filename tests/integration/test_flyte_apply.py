#!/usr/bin/env python3
"""Packages of Flyte's that are applied: their entities are kept for references in other packages,
and their schedules armed.

Packages are put together with Flyte's own library; with TROUPE_TEST_LONG flytekit writes them
itself, with its own references.
"""

import json
import os
import shutil
import subprocess
import unittest
import urllib.request

from program import ProgramTest, free_port
import test_flyte_packages
from pypi import KIT, KIT_PYTHON, have_library
from test_flyte import DECIDE
from test_flyte_packages import SUMS, PackageTest

# What is applied, and what refers to it: each kind of reference.
APPLIED = SUMS + """
workflow("flows.twice", {"a": INTEGER}, [node("n0", "flows.more.double", a=promise("", "a"))],
         {"o0": promise("n0")})
plan("flows.twice", "flows.twice", {"a": 7})
plan("flows.five", "flows.twice", {"a": 5})
"""
REFERENCE = """
def reference(id, name, kind=identifier_pb2.TASK, version="v1", domain="development", **bindings):
    made = node(id, name, kind, **bindings)
    for field in (made.task_node.reference_id, made.workflow_node.sub_workflow_ref,
                  made.workflow_node.launchplan_ref):
        if field.name:
            field.project, field.domain, field.version = "default", domain, version
    return made
"""
REFERRING = REFERENCE + """
task("flows.more.double", "i['a'] * 100", {"a": INTEGER})
workflow("user.main", {"a": INTEGER}, [
    reference("n0", "flows.more.double", a=promise("", "a")),
    node("n1", "flows.more.double", a=promise("", "a")),
    reference("n2", "flows.twice", identifier_pb2.WORKFLOW, a=promise("n0")),
    reference("n3", "flows.twice", identifier_pb2.LAUNCH_PLAN),
    reference("n4", "flows.five", identifier_pb2.LAUNCH_PLAN)],
    {f"o{i}": promise(f"n{i}") for i in range(5)})
"""
OUTPUTS = {"o0": 4, "o1": 200, "o2": 8, "o3": 14, "o4": 10}


class ApplyTest(PackageTest):
    def apply(self, *words, status=0):
        return self.troupe("apply", "flows.tgz", *words, status=status)[1]

    def test_references_are_looked_up(self):
        self.package(APPLIED)
        self.assertIn("default/development has the package's 2 tasks, 2 workflows and 2 launch "
                      "plans: 6 of them changed", self.apply("--version", "v1"))
        self.package(REFERRING)
        self.assertIn("no errors", self.troupe("check", "flows.tgz")[1])
        done = self.document("run", "flows.tgz", "user.main", "-i", "a=2")
        self.assertEqual(done["outputs"], OUTPUTS)
        stdout, _ = self.troupe("inspect", "flows.tgz", "user.main")
        self.assertIn("n0  task      flows.more.double:v1\n", stdout)
        self.assertIn("n1  task      flows.more.double\n", stdout)

    def test_docstrings_are_kept(self):
        """Flyte's clients read them as they were."""
        self.package("""
spec = task("t.said", "1", {})
spec.description.short_description = "Says one."
spec.description.source_code.link = "https://example.org/t.py"
again(spec)
""")
        self.apply("--version", "v1")
        port = free_port()
        self.start("serve", "--http", str(port)).wait_for("insecure: ")
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/api/v1/description_entities/TASK/"
                                    "default/development/t.said/v1") as answer:
            said = json.load(answer)
        self.assertEqual((said["short_description"], said["source_code"]["link"]),
                         ("Says one.", "https://example.org/t.py"))

    def test_of_another_domain(self):
        self.package(APPLIED)
        self.apply("--version", "v1", "--domain", "shared")
        self.package(REFERENCE + """
workflow("user.main", {}, [reference("n0", "flows.five", identifier_pb2.LAUNCH_PLAN,
                                     domain="shared")], {"o0": promise("n0")})
""")
        self.assertEqual(self.document("run", "flows.tgz", "user.main")["outputs"], {"o0": 10})
        self.assertIn("default:shared:flows.five:v1", self.troupe("inspect", "flows.tgz")[0])

    def test_references_to_references(self):
        """What was applied may refer to what was applied before."""
        self.package(APPLIED)
        self.apply("--version", "v1")
        self.package(REFERRING)
        self.apply("--version", "v2")
        self.package(REFERENCE + """
workflow("top", {}, [reference("n0", "user.main", identifier_pb2.WORKFLOW, "v2", a=scalar(2))],
         {"o0": promise("n0", "o2"), "o1": promise("n0", "o1")})
""")
        self.assertEqual(self.document("run", "flows.tgz", "top")["outputs"],
                         {"o0": 8, "o1": 200})

    def test_what_a_dynamic_task_decides_refers_to_it(self):
        self.package(APPLIED)
        self.apply("--version", "v1")
        self.write("decide.py", DECIDE + """
def refer(id, name):
    id.name, id.project, id.domain, id.version = name, "default", "development", "v1"
refer(node("n0", a=scalar(size)).task_node.reference_id, "flows.more.double")
refer(node("n1", a=promise("n0")).workflow_node.sub_workflow_ref, "flows.twice")
refer(node("n2").workflow_node.launchplan_ref, "flows.five")
refer(node("n3").workflow_node.launchplan_ref, "flows.twice")
for i in range(4):
    output(f"o{i}", **promise(f"n{i}"))
if size == 4:
    for name in ("flows.gone", "flows.away"):
        refer(node(name, a=scalar(1)).task_node.reference_id, name)
(out / 'futures.pb').write_bytes(spec.SerializeToString())
""")
        self.write("flow.yaml", """troupe: 1
tasks:
  decide:
    inputs: {size: int}
    outputs: {o0: int, o1: int, o2: int, o3: int}
    run: [python3, ./decide.py, "{{.outputPrefix}}", "{{.inputs.size}}"]
workflows:
  main:
    inputs: {size: int}
    nodes: {d: {dynamic: decide, with: {size: $size}}}
    outputs: {o0: $d.o0, o1: $d.o1, o2: $d.o2, o3: $d.o3}
""")
        done = self.document("run", "flow.yaml", "-i", "size=3")
        self.assertEqual(done["outputs"], {"o0": 6, "o1": 12, "o2": 10, "o3": 14})
        error = self.document("run", "flow.yaml", "-i", "size=4", status=1)["error"]
        self.assertIn("DynamicWorkflowBuildFailed", error["code"])
        for words in ("futures.pb: Collected Errors: 2\n",
                      "Code: TaskReferenceNotFound, Node Id: decide.flows.gone, Description: there "
                      "is no task 'flows.gone' of version v1 in project default, domain "
                      "development; apply the package that has it: troupe apply PACKAGE"):
            self.assertIn(words, error["message"])

    def test_a_missing_reference(self):
        self.package(APPLIED)
        self.apply("--version", "v1")
        self.package(REFERENCE + """
workflow("user.main", {"a": INTEGER}, [
    reference("n0", "flows.more.double", version="v2", a=promise("", "a")),
    reference("n1", "flows.gone", identifier_pb2.LAUNCH_PLAN, domain="far")],
    {f"o{i}": promise(f"n{i}") for i in range(2)})
made = plan("user.plan", "flows.away")
made.spec.workflow_id.version = "v3"
members[-1] = (members[-1][0], made.SerializeToString())
""")
        told = self.troupe("check", "flows.tgz", status=2)[0]
        for words in (
                "flows.tgz: Collected Errors: 3\n",
                "Code: TaskReferenceNotFound, Node Id: user.main.n0, Description: there is no task "
                "'flows.more.double' of version v2 in project default, domain development; apply "
                "the package that has it: troupe apply PACKAGE --project default --domain "
                "development --version v2\n",
                "Code: WorkflowReferenceNotFound, Node Id: user.main.n1, Description: there is no "
                "launch plan 'flows.gone' of version v1 in project default, domain far; apply the "
                "package that has it: troupe apply PACKAGE --project default --domain far "
                "--version v1\n",
                "Code: WorkflowReferenceNotFound, Node Id: user.plan, Description: there is no "
                "workflow 'flows.away' of version v3 in"):
            self.assertIn(words, told)
        self.assertEqual(self.troupe("run", "flows.tgz", "user.main", status=2)[1], told)

    def test_a_version_never_changes(self):
        self.package(APPLIED)
        self.apply("--version", "v1")
        self.assertIn("2 launch plans: 0 of them changed", self.apply("--version", "v1"))
        self.package(APPLIED.replace("* 2", "* 3"))
        self.assertEqual(self.apply("--version", "v1", status=2),
                         "troupe apply: the task 'flows.more.double' is kept of version v1 "
                         "already, with other content; apply this one as another version: "
                         "--version [ValueCollision]\n")
        self.assertIn("6 of them changed", self.apply("--version", "v2"))
        self.package(REFERRING)
        self.assertEqual(self.document("run", "flows.tgz", "user.main", "-i", "a=2")["outputs"],
                         OUTPUTS)

    def test_what_is_deleted_is_forgotten(self):
        self.package(APPLIED)
        self.apply("--version", "v1")
        self.apply("--version", "v1", "--domain", "other")
        self.apply("--version", "v2", "--delete")
        self.package(REFERRING)
        self.assertIn("of version v1", self.troupe("check", "flows.tgz", status=2)[0])
        self.package(APPLIED)
        self.assertIn(": 0 of them", self.apply("--version", "v1", "--domain", "other"))

    def test_by_a_live_engine(self):
        self.package(APPLIED)
        self.start("serve").wait_for("serves")
        self.apply("--version", "v1")
        self.package(APPLIED.replace("* 2", "* 3"))
        self.assertIn("[ValueCollision]", self.apply("--version", "v1", status=2))
        self.package(REFERRING)
        self.troupe("submit", "flows.tgz", "user.main", "-i", "a=2", "--name", "e")
        self.troupe("watch", "e")
        self.assertEqual(self.document("get", "e")["outputs"], OUTPUTS)

    def test_entities_go_along_with_their_store(self):
        self.package(APPLIED)
        self.apply("--version", "v1")
        self.troupe("backup", "saved")
        shutil.rmtree(self.store)
        self.store = self.folder / "elsewhere"
        self.troupe("restore", "saved")
        self.package(REFERRING)
        self.assertEqual(self.document("run", "flows.tgz", "user.main", "-i", "a=2")["outputs"],
                         OUTPUTS)

    def test_schedules_are_armed(self):
        self.package(APPLIED + """
def scheduled(name, **schedule):
    made = plan(name, "flows.twice", fixed={"a": 1})
    for key, value in schedule.items():
        field = getattr(made.spec.entity_metadata.schedule, key)
        for part, given in value.items():
            setattr(field, part, given)
    members[-1] = (members[-1][0], made.SerializeToString())
    return made
scheduled("p.cron", cron_schedule={"schedule": "0 3 * * *"})
scheduled("p.offset", cron_schedule={"schedule": "@daily", "offset": "P1DT2H30M"})
scheduled("p.rate", rate={"value": 5, "unit": 1})
old = scheduled("p.old")
old.spec.entity_metadata.schedule.cron_expression = "0 10 ? * 2 *"
members[-1] = (members[-1][0], old.SerializeToString())
task("flows.day", "int(i['day'][:4])", {"day": types_pb2.LiteralType(simple=types_pb2.DATETIME)})
workflow("flows.daily", {"day": types_pb2.LiteralType(simple=types_pb2.DATETIME)},
         [node("n0", "flows.day", day=promise("", "day"))], {"o0": promise("n0")})
kick = plan("p.kick", "flows.daily")
kick.spec.entity_metadata.schedule.cron_schedule.schedule = "@hourly"
kick.spec.entity_metadata.schedule.kickoff_time_input_arg = "day"
members[-1] = (members[-1][0], kick.SerializeToString())
""")
        self.apply("--version", "v1")
        rows = {row["plan"]: row["schedule"] for row in self.document("schedules")}
        self.assertEqual(rows, {"p.cron": "0 3 * * *", "p.offset": "@daily + 1d2h30m",
                                "p.rate": "every 5h", "p.old": "0 10 * * 1", "p.kick": "@hourly"})
        # A package that refers to one of them does not arm it again.
        self.package(REFERENCE + """
workflow("user.main", {}, [reference("n0", "p.cron", identifier_pb2.LAUNCH_PLAN)],
         {"o0": promise("n0")})
""")
        self.apply("--version", "v2")
        self.assertEqual({row["plan"] for row in self.document("schedules")}, set(rows))
        self.assertEqual(self.document("run", "flows.tgz", "user.main")["outputs"], {"o0": 2})
        self.start("serve").wait_for("serves")
        self.troupe("schedules", "trigger", "p.kick")
        name, = [row["execution"] for row in self.document("list") if row["plan"] == "p.kick"]
        self.troupe("watch", name)
        self.assertGreater(self.document("get", name)["outputs"]["o0"], 2025)

    def test_offsets_that_are_none(self):
        for offset in ("1h", "P", "PT", "P1M", "P1Y", "PT1D", "P1H", "PT1.5H", "PT-1H", "PTT1H"):
            with self.subTest(offset):
                self.package(APPLIED + f"""
made = plan("p.offset", "flows.twice")
made.spec.entity_metadata.schedule.cron_schedule.schedule = "@daily"
made.spec.entity_metadata.schedule.cron_schedule.offset = "{offset}"
members[-1] = (members[-1][0], made.SerializeToString())
""")
                self.assertIn("p.offset: the schedule's offset is no duration of weeks, days, "
                              "hours, minutes and seconds; write it as PT1H30M or P2D "
                              "[InvalidValue]", self.troupe("check", "flows.tgz", status=2)[0])


class AppliedCodeTest(PackageTest):
    """The code of a fast package is kept as long as its entities are."""

    def setUp(self):
        super().setUp()
        self.make_python("venv")

    def test_code_is_that_of_its_own_package(self):
        fast, code = test_flyte_packages.CodeTest.FAST, test_flyte_packages.CodeTest.CODE
        python = ["--python", "venv/bin/python"]
        now = ["--unnamed-older-than", "0s", "--yes"]
        self.package(fast + code % 1)
        self.troupe("apply", "flows.tgz", "--version", "v1", *python)
        self.package(fast + code % 2)
        self.assertIn("[ValueCollision]", self.troupe("apply", "flows.tgz", "--version", "v1",
                                                      *python, status=2)[1])
        self.troupe("prune", *now)
        kept, = (self.store / "code").glob("[!.]*")
        self.package(fast + code % 3 + REFERENCE + """
workflow("user.main", {}, [reference("n0", "flows.code.main"), node("n1", "flows.code.main")],
         {"o0": promise("n0"), "o1": promise("n1")})
""")
        done = self.document("run", "flows.tgz", "user.main", *python)
        self.assertEqual(done["outputs"], {"o0": 1, "o1": 3})
        self.assertTrue(kept.exists())


@unittest.skipUnless(os.environ.get("TROUPE_TEST_LONG"), "needs flytekit, which is large")
class FlytekitTest(ProgramTest):
    """flytekit's own references and schedules; it cannot write a reference to a workflow."""

    APPLIED = """
from datetime import datetime
from flytekit import CronSchedule, FixedRate, LaunchPlan, task, workflow
from datetime import timedelta
@task
def double(a: int) -> int:
    return 2 * a
@workflow
def twice(a: int = 7) -> int:
    return double(a=a)
@workflow
def daily(day: datetime, a: int = 1) -> int:
    return double(a=a)
five = LaunchPlan.get_or_create(twice, name="five", default_inputs={"a": 5})
LaunchPlan.get_or_create(twice, name="cron", schedule=CronSchedule(schedule="0 3 * * *"))
LaunchPlan.get_or_create(twice, name="later",
                         schedule=CronSchedule(schedule="0 3 * * *", offset="PT2H"))
LaunchPlan.get_or_create(twice, name="rate", fixed_inputs={"a": 2},
                         schedule=FixedRate(duration=timedelta(hours=2)))
LaunchPlan.get_or_create(daily, name="day", schedule=CronSchedule(
    schedule="@daily", kickoff_time_input_arg="day"))
"""
    REFERRING = """
import typing
from flytekit import reference_launch_plan, reference_task, workflow
WHERE = {"project": "default", "domain": "development", "version": "v1"}
@reference_task(name="applied.all.double", **WHERE)
def double(a: int) -> int:
    return a
@reference_launch_plan(name="applied.all.twice", **WHERE)
def twice(a: int) -> int:
    return a
@reference_launch_plan(name="five", **WHERE)
def five(a: int) -> int:
    return a
@workflow
def main(a: int) -> typing.Tuple[int, int, int]:
    return double(a=a), twice(a=double(a=a)), five(a=a)
"""

    @classmethod
    def setUpClass(cls):
        have_library(KIT_PYTHON, KIT)

    def environment(self):
        environment = super().environment()
        environment["PATH"] = f"{KIT_PYTHON.parent}:{environment['PATH']}"
        environment["VIRTUAL_ENV"] = str(KIT_PYTHON.parent.parent)
        return environment

    def package(self, name, text):
        folder = self.folder / "src" / name
        folder.mkdir(parents=True)
        (folder / "__init__.py").touch()
        (folder / "all.py").write_text(text)
        subprocess.run([KIT_PYTHON.parent / "pyflyte", "--pkgs", name, "package", "--image",
                        "none:1", "--source", ".", "-o", f"../{name}.tgz", "-f", "--fast"],
                       cwd=self.folder / "src", env=self.environment(), check=True,
                       capture_output=True)

    def test_references(self):
        self.package("applied", self.APPLIED)
        self.troupe("apply", "applied.tgz", "--version", "v1")
        rows = {row["plan"]: row["schedule"] for row in self.document("schedules")}
        self.assertEqual(rows, {"cron": "0 3 * * *", "later": "0 3 * * * + 2h",
                                "rate": "every 2h", "day": "@daily"})
        self.package("referring", self.REFERRING)
        done = self.document("run", "referring.tgz", "main", "-i", "a=3")
        self.assertEqual(done["outputs"], {"o0": 6, "o1": 12, "o2": 6})


if __name__ == "__main__":
    unittest.main()
