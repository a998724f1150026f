#!/usr/bin/env python3
"""Packages of Flyte's: what flytekit writes for a cluster is run as it is.

Packages are put together with Flyte's own library (support/flyte_package.py). With TROUPE_TEST_LONG
flytekit writes some itself; most of what it writes test_flyte_flows.py runs.
"""

import glob
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import unittest

import stores
from program import PROGRAM, ROOT, ProgramTest
from pypi import KIT, KIT_PYTHON, PYTHON, have_library
from test_flyte import LibraryTest

SUPPORT = ROOT / "tests/support"

# Two tasks, and a workflow whose inputs and nodes are called as the language would not have it.
SUMS = """
task("flows.more.add", "i['a'] + i['b']", {"a": INTEGER, "b": INTEGER})
task("flows.more.double", "i['a'] * 2", {"a": INTEGER})
workflow("flows.main.sums", {"n0": INTEGER, "err": INTEGER, "o0": INTEGER}, [
    node("n0", "flows.more.add", a=promise("", "n0"), b=promise("start-node", "err")),
    node("n1.x", "flows.more.double", a=promise("n0"), after=["n0"]),
    node("o0", "flows.more.add", a=promise("n1.x"), b=promise("", "o0"), after=["n1.x"])],
    {"o0": promise("o0"), "n0": promise("n0")})
"""

# A program that stands for pyflyte-execute: it runs `main` of the module that it is given.
EXECUTE = """#!/bin/sh
exec python3 -c 'import importlib, sys; importlib.import_module(sys.argv[1]).main()' "$1"
"""


# One that stands for a Python: it says what it is asked whether it has.
PYTHON_SAYS = "#!/bin/sh\necho asked >>asked\nprintf '{}'\n"
HAS_ALL = "version\\t1.16.24\\nend\\n"


class PackageTest(LibraryTest):
    """Tests that write packages."""

    def make_python(self, folder, says=HAS_ALL):
        """A folder of programs that stand for those of an environment with flytekit."""
        programs = self.folder / folder / "bin"
        programs.mkdir(parents=True, exist_ok=True)
        for name, text in (("pyflyte-execute", EXECUTE), ("python", PYTHON_SAYS.format(says))):
            (programs / name).write_text(text)
            (programs / name).chmod(0o755)
        return programs

    def package(self, script, write="write()"):
        self.write("package.py", (SUPPORT / "flyte_package.py").read_text() + script + "\n" + write)
        subprocess.run([PYTHON, "package.py"], cwd=self.folder, check=True)

    def environment(self):
        environment = super().environment()
        environment.pop("VIRTUAL_ENV", None)
        return environment

    def told(self, *words, name="flows.tgz"):
        """What `check` tells of a package that is wrong, and `run` as well."""
        stdout, _ = self.troupe("check", name, *words, status=2)
        _, stderr = self.troupe("run", name, *words, status=2)
        self.assertEqual(stderr, stdout)
        self.assertEqual(stores.contents(self.store), [])
        return stdout


class EntitiesTest(PackageTest):
    def test_names_are_flytes(self):
        self.package(SUMS)
        self.assertIn("no errors", self.troupe("check", "flows.tgz")[1])
        words = ["-i", "n0=1", "-i", "err=2", "-i", "o0=4"]
        done = self.document("run", "flows.tgz", "flows.main.sums", *words)
        self.assertEqual(done["outputs"], {"o0": 10, "n0": 3})
        nodes = self.document("get", "@last")["nodes"]
        self.assertEqual({row["node"] for row in nodes if row["kind"] == "task"},
                         {"n0", "n1.x", "o0"})
        self.assertEqual(self.troupe("check", "-o", "name", "flows.tgz")[0].split(),
                         ["flows.main.sums", "flows.more.add", "flows.more.double"])

    def test_what_a_task_finds_in_its_environment(self):
        self.package("""
spec = task("t.env", "' '.join(os.environ.get(n, 'none') for n in " + repr([
    "_FSEC_G_K", "OWN", "FLYTE_INTERNAL_TASK_NAME", "FLYTE_INTERNAL_TASK_VERSION",
    "FLYTE_INTERNAL_IMAGE", "FLYTE_INTERNAL_EXECUTION_PROJECT", "FLYTE_INTERNAL_EXECUTION_ID",
    "FLYTE_ATTEMPT_NUMBER", "TROUPE_WARM"]) + ")", {}, STRING)
spec.template.container.image = "none:1"
spec.template.container.args.append("{{.input}}")
spec.template.security_context.secrets.add(group="g", key="k", env_var="OWN")
members[0] = (members[0][0], spec.SerializeToString())
""")
        environment = self.environment() | {"TROUPE_SECRET_G_K": "hush"}
        self.environment = lambda: environment
        done = self.document("run", "flows.tgz", "--version", "v1", "--name", "It_is")
        self.assertEqual(done["outputs"]["o0"], "hush hush t.env v1 none:1 default it-is 0 none")
        done = self.document("run", "flows.tgz", "--no-warm", "--version", "v1", "--name", "it")
        self.assertEqual(done["outputs"]["o0"], "hush hush t.env v1 none:1 default it 0 off")
        self.package("""
spec = task("t.env", "1", {})
spec.template.security_context.secrets.add(group="g")
members[0] = (members[0][0], spec.SerializeToString())
""")
        self.assertIn("t.env: a secret has no group or no key; name both: Secret(group=..., "
                      "key=...)", self.troupe("check", "flows.tgz", status=2)[0])

    def test_more_than_the_machine_has(self):
        self.package("""
spec = task("t.large", "1", {}, args=["sh", "-c",
            "printf '{\\"o0\\": 1}' >$TROUPE_OUTPUTS", "{{.input}}"])
for name, amount in ((tasks_pb2.Resources.CPU, "4096"), (tasks_pb2.Resources.MEMORY, "64Ti")):
    spec.template.container.resources.requests.add(name=name, value=amount)
members[0] = (members[0][0], spec.SerializeToString())
""")
        _, stderr = self.troupe("run", "flows.tgz")
        self.assertRegex(stderr, "t.large asks for 4096 CPUs, of which this machine has [0-9]+: "
                                 "it begins with all of them")
        self.assertEqual(stderr.count("t.large asks for 67108864 MiB of memory, of which"), 1)
        error = self.document("run", "flows.tgz", "--resources", "strict", status=1)["error"]
        self.assertIn("ResourcesExceedLimits", error["code"])
        self.store.joinpath("settings.yaml").write_text("resources: strict\n")
        error = self.document("run", "flows.tgz", status=1)["error"]
        self.assertIn("ResourcesExceedLimits", error["code"])
        self.document("run", "flows.tgz", "--resources", "cut")

    @unittest.skipIf(glob.glob("/dev/nvidia[0-9]*"), "this machine has GPUs")
    def test_gpus_are_asked_for_where_there_are_some(self):
        self.package("""
spec = task("t.gpu", "1", {})
spec.template.container.resources.requests.add(name=tasks_pb2.Resources.GPU, value="2")
spec.template.extended_resources.gpu_accelerator.device = "nvidia-tesla-t4"
again(spec)
""")
        self.assertEqual(self.document("run", "flows.tgz", "--resources", "strict")["outputs"],
                         {"o0": 1})

    def test_pods(self):
        pod = """
spec = task("t.pod", "1", {}, STRING)
spec.template.ClearField("container")
pod = spec.template.k8s_pod
pod.pod_spec.update({"containers": [
    {"name": "aside", "command": ["false"]},
    {"name": "main", "image": "none:2", "command": ["sh", "-c"], "resources": {
        "requests": {"cpu": "500m", "memory": "1Gi"}, "limits": {"cpu": 1}},
     "env": [{"name": "WHO", "value": "me"}, {"name": "FROM", "valueFrom": {"fieldRef": {}}}],
     "args": ["printf '{\\"o0\\": \\"%s %s\\"}' $WHO $FLYTE_INTERNAL_IMAGE >$TROUPE_OUTPUTS"]}],
    "volumes": [{"name": "data", "emptyDir": {}}]})
spec.template.config["primary_container_name"] = NAME
members[0] = (members[0][0], spec.SerializeToString())
"""
        self.package(pod.replace("NAME", "'main'"))
        stdout, stderr = self.troupe("run", "flows.tgz")
        self.assertEqual(stdout, "o0: me none:2\n")
        shown = self.document("inspect", "flows.tgz", "t.pod")[0]["extra"]["k8sPod"]
        self.assertEqual([each["name"] for each in shown["podSpec"]["containers"]],
                         ["aside", "main"])
        for words in ("without a cluster its pod's primary container runs alone, not aside",
                      "without a cluster there is no volume data",
                      "without a cluster nobody fills in the variable FROM"):
            self.assertEqual(stderr.count(f"t.pod: {words}\n"), 1)
        shutil.rmtree(self.store, ignore_errors=True)
        self.package(pod.replace("NAME", "'gone'"))
        self.assertIn("t.pod: its pod has no container of the primary one's name; call one as "
                      "primary_container_name= says", self.troupe("check", "flows.tgz",
                                                                  status=2)[0])

    def test_names_may_be_long(self):
        self.package("""
long = "x" * 100
task(f"flows.{long}.task", f"i['{long}']", {long: INTEGER})
workflow(f"flows.{long}.flow", {long: INTEGER},
         [node(long, f"flows.{long}.task", **{long: promise("", long)}),
          node("n1", f"flows.{long}.plan", identifier_pb2.LAUNCH_PLAN)],
         {long: promise(long), "o1": promise("n1", "o0")})
workflow(f"flows.{long}.inner", {long: INTEGER},
         [node(long, f"flows.{long}.task", **{long: promise("", long)})], {"o0": promise(long)})
plan(f"flows.{long}.plan", f"flows.{long}.inner", {long: 3})
""")
        name = "x" * 100
        done = self.document("run", "flows.tgz", "flow", "-i", f"{name}=2")
        self.assertEqual(done["outputs"], {name: 2, "o1": 3})
        self.assertIn(name, self.troupe("get", f"@last/{name}")[0])
        for row in self.document("list", "--all"):
            self.assertRegex(row["execution"], "^(flow|plan)-[a-z0-9]+$")
        self.package("task('t.' + 'x' * 255, '1', {})")
        self.assertIn("write a name of 1 to 255 bytes, without blanks and slashes",
                      self.troupe("check", "flows.tgz", status=2)[0])

    def test_what_is_in_it(self):
        self.package(SUMS + """
plan("flows.main.sums", "flows.main.sums", {"n0": 5}, required=["err", "o0"])
plan("flows.ones", "flows.main.sums", {"n0": 1}, {"err": 1})
""")
        stdout, _ = self.troupe("inspect", "flows.tgz")
        self.assertEqual(stdout, """\
workflow flows.main.sums(err: int, n0: int = 5, o0: int) -> (o0: int, n0: int)
launch plan flows.ones(n0: int = 1, o0: int) -> (o0: int, n0: int), of flows.main.sums
task flows.more.add(a: int, b: int) -> (o0: int)
task flows.more.double(a: int) -> (o0: int)
""")
        stdout, _ = self.troupe("inspect", "flows.tgz", "sums")
        self.assertEqual(stdout, """\
workflow flows.main.sums(err: int, n0: int = 5, o0: int) -> (o0: int, n0: int)
  n0    task  flows.more.add
  n1.x  task  flows.more.double
  o0    task  flows.more.add
""")
        sums, = self.document("inspect", "flows.tgz", "flows.main.sums")
        self.assertEqual(sums["inputs"][1],
                         {"name": "n0", "type": "int", "description": "", "has_default": True,
                          "default": 5})
        self.assertEqual(sums["nodes"][1], {"node": "n1.x", "kind": "task",
                                            "target": "flows.more.double", "after": ["n0"],
                                            "extra": None})
        _, stderr = self.troupe("inspect", "flows.tgz", "gone", status=2)
        self.assertEqual(stderr, "troupe inspect: there is no workflow, launch plan or task "
                                 "'gone'\n")

    def test_what_a_package_says_for_people(self):
        """Descriptions of variables, and what a plugin's task says beside its configuration."""
        self.package("""
spec = task("t.kept", "1", {"a": INTEGER})
template = spec.template
template.type = "armada"
template.ClearField("container")
template.interface.inputs.variables["a"].description = "what is \u00fc doubled"
template.interface.outputs.variables["o0"].description = "twice that"
template.config["k"] = "v"
template.custom.update({"queue": "research"})
template.security_context.run_as.iam_role = "somebody"
template.extended_resources.gpu_accelerator.device = "nvidia-tesla-t4"
template.metadata.tags["team"] = "data"
template.metadata.pod_template_name = "large"
members[0] = (members[0][0], spec.SerializeToString())
workflow("t.flow", {"a": INTEGER}, [node("n0", "t.kept", a=promise("", "a"))],
         {"o0": promise("n0")})
made = workflow_pb2.WorkflowSpec.FromString(members[1][1])
made.template.interface.inputs.variables["a"].description = "the number"
members[1] = (members[1][0], made.SerializeToString())
""")
        kept, = self.document("inspect", "flows.tgz", "t.kept")
        self.assertEqual(kept["inputs"][0]["description"], "what is \u00fc doubled")
        self.assertEqual(kept["outputs"][0]["description"], "twice that")
        extra = kept["extra"]
        self.assertEqual(extra["config"], {"k": "v"})
        self.assertEqual(extra["securityContext"]["runAs"]["iamRole"], "somebody")
        self.assertEqual(extra["extendedResources"]["gpuAccelerator"]["device"], "nvidia-tesla-t4")
        self.assertEqual((extra["metadata"]["tags"], extra["metadata"]["podTemplateName"]),
                         ({"team": "data"}, "large"))
        shown = self.troupe("inspect", "flows.tgz", "t.kept")[0].splitlines()
        self.assertEqual(shown[:3], ["task t.kept(a: int) -> (o0: int)",
                                     "  a: what is \u00fc doubled", "  o0: twice that"])
        self.assertIn('  config: {"k": "v"}', shown)
        self.assertIn('  configuration: {"queue": "research"}', shown)
        self.assertEqual(kept["config"], {"queue": "research"})
        flow, = self.document("inspect", "flows.tgz", "t.flow")
        self.assertEqual((flow["inputs"][0]["description"], flow["extra"]), ("the number", None))
        self.assertIn("  a: the number\n", self.troupe("inspect", "flows.tgz", "t.flow")[0])
        closure = subprocess.run([PROGRAM, "inspect", "flows.tgz", "t.flow", "-o", "proto"],
                                 cwd=self.folder, env=self.environment(), check=True,
                                 capture_output=True).stdout
        for words in ("what is \u00fc doubled", "twice that", "the number", "nvidia-tesla-t4"):
            self.assertIn(words.encode(), closure)

    def test_what_is_documented(self):
        """Docstrings, as flytekit writes them; of a task that is a process what else it says."""
        self.package("""
spec = task("t.said", "1", {})
spec.description.short_description = "Says one."
spec.description.long_description.value = "Again and again,\\n\\nas often as it is asked."
spec.template.custom.update({"depth": "deep"})
spec.template.config["k"] = "v"
spec.template.metadata.tags["team"] = "data"
spec.template.security_context.secrets.add(group="g", key="k")
spec.template.extended_resources.gpu_accelerator.device = "nvidia-tesla-t4"
again(spec)
spec = workflow("t.flow", {}, [node("n0", "t.said")], {"o0": promise("n0")})
spec.description.short_description = "Has it said."
spec.template.metadata.quality_of_service.tier = 1
spec.template.metadata.tags["team"] = "data"
again(spec)
""")
        said, = self.document("inspect", "flows.tgz", "t.said")
        words = "Says one.\n\nAgain and again,\n\nas often as it is asked."
        self.assertEqual((said["description"], said["config"]), (words, None))
        self.assertEqual(said["extra"], {
            "metadata": {"tags": {"team": "data"}}, "config": {"k": "v"},
            "custom": {"depth": "deep"},
            "extendedResources": {"gpuAccelerator": {"device": "nvidia-tesla-t4"}}})
        self.assertEqual(self.troupe("inspect", "flows.tgz", "t.said")[0], """\
task t.said() -> (o0: int)
  Says one.

  Again and again,

  as often as it is asked.
  config: {"k": "v"}
  custom: {"depth": "deep"}
  extendedResources: {"gpuAccelerator": {"device": "nvidia-tesla-t4"}}
  metadata: {"tags": {"team": "data"}}
""")
        flow, = self.document("inspect", "flows.tgz", "t.flow")
        self.assertEqual((flow["description"], flow["extra"]["metadata"]),
                         ("Has it said.", {"qualityOfService": {"tier": "HIGH"},
                                           "tags": {"team": "data"}}))

    def test_whose_the_message_of_a_task_is(self):
        self.package("""
spec = task("t.ray", "1", {})
spec.template.type = "ray"
spec.template.task_type_version = 1
spec.template.custom.update({"rayCluster": {}})
again(spec)
workflow("t.flow", {}, [node("n0", "t.ray")], {"o0": promise("n0")})
""")
        ray, = self.document("inspect", "flows.tgz", "t.ray")
        self.assertEqual(ray["extra"], {"type": "ray", "taskTypeVersion": 1,
                                        "custom": {"rayCluster": {}}})

    def test_a_task_runs_alone(self):
        self.package(SUMS)
        done = self.document("run", "flows.tgz", "flows.more.double", "-i", "a=4")
        self.assertEqual(done["outputs"], {"o0": 8})

    def test_inputs_are_a_file_of_flytes(self):
        self.package(SUMS + """
open("inputs.pb", "wb").write(literals_pb2.LiteralMap(
    literals={name: integer(i + 1) for i, name in enumerate(("n0", "err"))}).SerializeToString())
open("more.pb", "wb").write(literals_pb2.LiteralMap(
    literals={"n9": integer(1), "n0": literals_pb2.Literal(collection={})}).SerializeToString())
open("none.pb", "wb").write(b"\\xff")
""")
        words = ("run", "flows.tgz", "sums", "--inputs")
        self.assertEqual(self.document(*words, "inputs.pb", "-i", "o0=5")["outputs"],
                         {"o0": 11, "n0": 3})
        _, stderr = self.troupe(*words, "more.pb", "-i", "o0=1", "-i", "err=1", status=2)
        self.assertIn("more.pb: there is no input 'n9'; did you mean 'n0'?", stderr)
        self.assertIn("n0: a list is no value of type int", stderr)
        _, stderr = self.troupe(*words, "none.pb", status=2)
        self.assertIn("none.pb: the file is no LiteralMap of Flyte's; write inputs as YAML or JSON",
                      stderr)

    def test_short_names_where_they_are_clear(self):
        self.package(SUMS + """
task("flows.other.add", "0", {"a": INTEGER})
""")
        self.assertEqual(self.document("run", "flows.tgz", "double", "-i", "a=4")["outputs"],
                         {"o0": 8})
        self.assertEqual(self.document("run", "flows.tgz", "other.add", "-i", "a=4")["outputs"],
                         {"o0": 0})
        _, stderr = self.troupe("run", "flows.tgz", "add", status=2)
        self.assertEqual(stderr, "troupe run: 'add' may be one of: flows.more.add, "
                                 "flows.other.add\n")
        _, stderr = self.troupe("run", "flows.tgz", "dbl", status=2)
        self.assertIn("there is no workflow, launch plan or task 'dbl'", stderr)

    def test_single_files_and_folders(self):
        self.package(SUMS, """
import pathlib
folder = pathlib.Path("serialized")
folder.mkdir()
for name, data in members:
    (folder / name).write_bytes(data)
""")
        words = ["-i", "n0=1", "-i", "err=2", "-i", "o0=4"]
        self.assertEqual(self.document("run", "serialized", "sums", *words)["outputs"]["o0"], 10)
        self.assertEqual(self.document("run", "serialized/1_flows.more.double_1.pb", "-i", "a=4")
                         ["outputs"], {"o0": 8})

    def test_what_is_there_twice(self):
        twice = """
spec = task("t.a", "1", {"a": INTEGER, "b": INTEGER, "c": INTEGER})
again = task_pb2.TaskSpec.FromString(spec.SerializeToString())
again.template.interface.inputs.Clear()
for name in ("c", "a", "b"):
    again.template.interface.inputs.variables[name].type.CopyFrom(INTEGER)
"""
        self.package(twice + "add('9_t.a_1.pb', again)\n")
        self.assertIn("no errors", self.troupe("check", "flows.tgz")[1])
        self.package(twice + "again.template.metadata.retries.retries = 3\n"
                     "add('9_t.a_1.pb', again)\n")
        self.assertEqual(self.told(), "flows.tgz: t.a: it is there twice, and not the same; "
                         "package one version of it, or give the two different names "
                         "[ValueCollision]\n")
        self.package(twice + "again.template.id.version = 'v9'\nadd('9_t.a_1.pb', again)\n")
        self.assertIn("it is there of two versions, projects or domains", self.told())

    def test_ids_are_filled_in_everywhere(self):
        self.package(SUMS)
        self.troupe("run", "flows.tgz", "double", "-i", "a=4", "--project", "p", "--domain", "d",
                    "--version", "v1")
        self.assertEqual(self.document("list", "--project", "p")[0]["domain"], "d")
        # What says its project itself is another id than what leaves it open.
        self.package(SUMS + """
said = task_pb2.TaskSpec.FromString(members[0][1])
said.template.id.project, said.template.id.domain, said.template.id.version = "p", "d", "v1"
add("9_flows.more.add_1.pb", said)
""")
        words = ["--project", "p", "--domain", "d", "--version", "v1"]
        self.assertIn("no errors", self.troupe("check", "flows.tgz", *words)[1])
        self.assertIn("of two versions", self.troupe("check", "flows.tgz", status=2)[0])

    def test_launch_plans(self):
        self.package(SUMS + """
workflow("flows.twice", {"a": INTEGER}, [node("n0", "flows.more.double", a=promise("", "a"))],
         {"o0": promise("n0")})
plan("flows.twice", "flows.twice", {"a": 7})
plan("flows.five", "flows.twice", {"a": 5})
plan("flows.fixed", "flows.twice", fixed={"a": 4})
workflow("flows.launches", {}, [
    node("n0", "flows.five", identifier_pb2.LAUNCH_PLAN, a=scalar(3)),
    node("n1", "flows.fixed", identifier_pb2.LAUNCH_PLAN),
    node("n2", "flows.twice", identifier_pb2.LAUNCH_PLAN),
    node("n3", "flows.twice", identifier_pb2.WORKFLOW, a=scalar(1))],
    {f"o{i}": promise(f"n{i}") for i in range(4)})
""")
        for name, words, expected in (("flows.twice", (), 14), ("flows.five", (), 10),
                                      ("five", ("-i", "a=6"), 12), ("flows.fixed", (), 8)):
            self.assertEqual(self.document("run", "flows.tgz", name, *words)["outputs"],
                             {"o0": expected}, name)
        _, stderr = self.troupe("run", "flows.tgz", "flows.fixed", "-i", "a=1", status=2)
        self.assertIn("a", stderr)
        self.assertEqual(self.document("run", "flows.tgz", "launches")["outputs"],
                         {"o0": 6, "o1": 8, "o2": 14, "o3": 2})


class NodesTest(PackageTest):
    """What nodes and maps say about how they run."""

    MAP = """
LIST = types_pb2.LiteralType(collection_type=INTEGER)
task("m.odd", "(open('MARKS/%d' % i['a'], 'w'), 1 // (i['a'] % 2))[1]", {"a": INTEGER})
map = array("n0", "m.odd", a=numbers(1, 2, 3, 4, 5))
map.array_node.parallelism = 1
def flow():
    workflow("m.flow", {}, [map], {"o0": promise("n0")}, {"o0": LIST})
"""

    def marks(self, script):
        """Which elements have begun."""
        marks = self.folder / "marks"
        shutil.rmtree(marks, ignore_errors=True)
        marks.mkdir()
        self.package(self.MAP.replace("MARKS", str(marks)) + script + "\nflow()")
        error = self.document("run", "flows.tgz", "m.flow", status=1)["error"]
        self.assertIn("integer", error["message"])
        return sorted(int(path.name) for path in marks.iterdir())

    def test_all_elements_of_a_map_run(self):
        self.assertEqual(self.marks(""), [1, 2])
        self.assertEqual(self.marks("map.array_node.run_all_sub_nodes = True"), [1, 2, 3, 4, 5])

    def test_a_maps_timeout_bounds_all_of_it(self):
        slow = "import time; time.sleep(60)"
        self.package(f"""
task("m.slow", "", {{"a": INTEGER}}, args=["python3", "-c", {slow!r}])
map = array("n0", "m.slow", a=numbers(1, 2))
map.metadata.timeout.nanos = 300000000
map.array_node.node.metadata.timeout.seconds = 50
workflow("m.flow", {{}}, [map], {{}})
""")
        error = self.document("run", "flows.tgz", "m.flow", status=1)["error"]
        self.assertIn("deadline", error["message"])


    def test_what_is_not_acted_on_stays(self):
        self.package("""
task("m.t", "i['a']", {"a": INTEGER})
LIST = types_pb2.LiteralType(collection_type=INTEGER)
one = node("n0", "m.t", a=scalar(1))
overrides = one.task_node.overrides
overrides.container_image = "other:1"
overrides.extended_resources.gpu_accelerator.device = "a100"
overrides.extended_resources.gpu_accelerator.unpartitioned = True
overrides.pod_template.pod_spec.update({"priority": 5})
overrides.resources.requests.add(name=tasks_pb2.Resources.CPU, value="500m")
one.metadata.config["k"] = "v"
one.metadata.retries.retries = 2
two = array("n1", "m.t", a=numbers(1))
two.array_node.execution_mode = core_workflow_pb2.ArrayNode.FULL_STATE
two.array_node.data_mode = core_workflow_pb2.ArrayNode.INDIVIDUAL_INPUT_FILES
two.array_node.parallelism = 0
two.array_node.run_all_sub_nodes = True
two.array_node.node.task_node.overrides.container_image = "other:2"
three = array("n2", "m.t", a=numbers(1))
workflow("m.flow", {}, [one, two, three], {"o0": promise("n0")})
""")
        nodes = self.document("inspect", "flows.tgz", "m.flow")[0]["nodes"]
        self.assertEqual([each["extra"] for each in nodes], [
            {"metadata": {"config": {"k": "v"}}, "taskNode": {"overrides": {
                "containerImage": "other:1", "podTemplate": {"podSpec": {"priority": 5}},
                "extendedResources": {"gpuAccelerator": {"device": "a100", "unpartitioned": True}},
                "resources": {"requests": [{"name": "CPU", "value": "500m"}]}}}},
            {"arrayNode": {"executionMode": "FULL_STATE", "dataMode": "INDIVIDUAL_INPUT_FILES",
                           "parallelism": 0,
                           "node": {"taskNode": {"overrides": {"containerImage": "other:2"}}}}},
            None])
        self.assertEqual(self.document("run", "flows.tgz", "m.flow")["outputs"], {"o0": 1})


class CodeTest(PackageTest):
    """Fast packages, which bring the code of their tasks along."""

    FAST = """
ARGS = ["pyflyte-fast-execute", "--additional-distribution", "{{ .remote_package_path }}",
        "--dest-dir", "/root", "--", "pyflyte-execute", "flows.code"]
task("flows.code.main", "", {}, args=ARGS)
"""
    CODE = """
code([("flows/__init__.py", b""), ("flows/code.py", b'''
import json, os, pathlib
def main():
    json.dump({"o0": %d}, open(os.environ["TROUPE_OUTPUTS"], "w"))
    pathlib.Path(os.environ["TROUPE_TMP"], "where").write_text(__file__)
''')])
"""

    def setUp(self):
        super().setUp()
        self.programs = self.make_python("venv")

    def run_main(self, *words, status=0):
        return self.document("run", "flows.tgz", "main", "--python", "venv/bin/python", *words,
                             status=status)

    def test_code_is_unpacked_once(self):
        self.package(self.FAST + self.CODE % 1)
        self.assertEqual(self.run_main()["outputs"], {"o0": 1})
        self.assertEqual(self.run_main()["outputs"], {"o0": 1})
        folders = list((self.store / "code").glob("[!.]*"))
        self.assertEqual(len(folders), 1)
        module = folders[0] / "flows/code.py"
        self.assertEqual(module.stat().st_mode & 0o777, 0o444)
        self.package(self.FAST + self.CODE % 2)
        self.assertEqual(self.run_main()["outputs"], {"o0": 2})
        self.assertEqual(len(list((self.store / "code").glob("[!.]*"))), 2)

    def test_code_goes_along_with_its_store(self):
        """Graphs name it by its content: a backup has it, and another place of the store does."""
        self.package(self.FAST + self.CODE % 3)
        self.assertEqual(self.run_main("--name", "e")["outputs"], {"o0": 3})
        self.end_keeper()
        self.troupe("backup", "saved")
        (self.folder / "flows.tgz").unlink()
        shutil.rmtree(self.store)
        self.store = self.folder / "elsewhere"
        self.troupe("restore", "saved")
        done = self.document("rerun", "e", "--name", "again", "--from", "flows.code.main")
        self.assertEqual(done["outputs"], {"o0": 3})

    def test_code_goes_along_with_an_export(self):
        """What has not begun yet finds its modules in the other store, which may have them."""
        self.package(self.FAST + self.CODE % 4 + """
gate = core_workflow_pb2.Node(id="ok")
gate.gate_node.approve.signal_id = "ok"
workflow("flows.wait", {}, [gate, node("n0", "flows.code.main", after=["ok"])],
         {"o0": promise("n0")})
""")
        words = ["flows.tgz", "flows.wait", "--python", "venv/bin/python"]
        there = self.folder / "there"
        there.mkdir()
        for name in ("e", "f"):
            engine = self.start("run", *words, "--name", name)
            engine.wait_for("waits for approval")
            engine.signal(signal.SIGTERM)
            self.assertEqual(engine.end()[0], 4)
            path = self.troupe("export", name)[0].strip()
            self.troupe("import", path, "--store", there)
        self.end_keeper()
        shutil.rmtree(self.store / "code")
        code, = (there / "code").iterdir()
        module, = code.glob("flows/code.py")
        self.assertEqual((module.stat().st_mode & 0o777, code.stat().st_mode & 0o777),
                         (0o444, 0o755))
        for name in ("e", "f"):
            engine = self.start("resume", name, "--store", there)
            engine.wait_for("waits for approval")
            self.troupe("approve", name, "ok", "--store", there)
            self.assertEqual(engine.end()[0], 0)
            self.assertEqual(self.document("get", name, "--store", there)["outputs"], {"o0": 4})
        self.troupe("prune", "e", "f", "--unnamed-older-than", "0s", "--yes", "--store", there)
        self.assertEqual(list((there / "code").iterdir()), [])

    def test_code_is_pruned_with_its_graphs(self):
        for number in (1, 2):
            self.package(self.FAST + self.CODE % number)
            self.run_main("--name", f"e{number}")
        self.assertEqual(len(list((self.store / "code").glob("[!.]*"))), 2)
        (self.store / "code/.new-left").mkdir()
        now = ["--unnamed-older-than", "0s", "--yes"]
        self.troupe("prune", "e1", "--dry-run", *now[:2])
        self.assertTrue((self.store / "code/.new-left").exists())
        self.troupe("prune", "e1", *now)
        folder, = (self.store / "code").iterdir()
        self.assertIn("2}", (folder / "flows/code.py").read_text())
        done = self.document("rerun", "e2", "--name", "e3", "--from", "flows.code.main")
        self.assertEqual(done["outputs"], {"o0": 2})
        self.troupe("prune", "e2", "e3", *now)
        self.assertEqual(list((self.store / "code").iterdir()), [])

    def test_code_from_a_folder(self):
        self.package(self.FAST)
        self.assertEqual(self.told(), "flows.tgz: flows.code.main: the task runs code of a fast "
                         "package, which is not in this one; give the folder with its modules: "
                         "--code FOLDER\n")
        (self.folder / "src/flows").mkdir(parents=True)
        self.write("src/flows/code.py", "import json, os\ndef main():\n    json.dump({'o0': 9}, "
                   "open(os.environ['TROUPE_OUTPUTS'], 'w'))\n")
        self.assertEqual(self.run_main("--code", "src")["outputs"], {"o0": 9})
        _, stderr = self.troupe("run", "flows.tgz", "main", "--code", "none", status=2)
        self.assertIn("--code names no folder; name the one with the modules", stderr)

    def test_which_flytekit(self):
        self.package(self.FAST + self.CODE % 1)
        _, stderr = self.troupe("run", "flows.tgz", "main", status=2)
        self.assertIn("there is no pyflyte-execute, which runs its tasks; activate the environment "
                      "that has flytekit, or name its Python: --python venv/bin/python", stderr)
        _, stderr = self.troupe("run", "flows.tgz", "main", "--python", "python3", status=2)
        self.assertIn("--python names no path", stderr)
        _, stderr = self.troupe("run", "flows.tgz", "main", "--python", "venv/python", status=2)
        self.assertIn("--python names no program; name the Python that has flytekit", stderr)
        environment = self.environment() | {"VIRTUAL_ENV": str(self.programs.parent)}
        self.environment = lambda: environment
        self.assertEqual(self.document("run", "flows.tgz", "main")["outputs"], {"o0": 1})

    def test_a_python_for_an_image(self):
        """--python is before the settings, the first pattern that suits, and that $VIRTUAL_ENV."""
        self.package("""
for name, image in (("flows.one", "ghcr.io/team/gpu:1"), ("flows.two", "ghcr.io/team/cpu:1"),
                    ("flows.three", "other")):
    spec = task(name, "", {}, STRING, args=["pyflyte-execute", name])
    spec.template.container.image = image
    members[-1] = (members[-1][0], spec.SerializeToString())
nodes = [node(f"n{i}", f"flows.{name}") for i, name in
         enumerate(("one", "two", "three", "three"))]
nodes[3].task_node.overrides.container_image = "ghcr.io/team/gpu:9"
workflow("flows.all", {}, nodes,
         {f"o{i}": promise(f"n{i}") for i in range(4)}, {f"o{i}": STRING for i in range(4)})
""")
        for name in ("gpu", "all", "active", "venv"):
            (self.make_python(name) / "pyflyte-execute").write_text(
                f"#!/bin/sh\nprintf '{{\"o0\": \"{name}\"}}' >$TROUPE_OUTPUTS\n")
        self.store.mkdir()
        self.store.joinpath("settings.yaml").write_text(
            "python: {'ghcr.io/*/gpu:*': ../gpu/bin/python, 'ghcr.io/*': ../all/bin/python}\n")
        environment = self.environment() | {"VIRTUAL_ENV": str(self.folder / "active")}
        self.environment = lambda: environment
        done = self.document("run", "flows.tgz", "flows.all")
        self.assertEqual(done["outputs"], {"o0": "gpu", "o1": "all", "o2": "active",
                                           "o3": "gpu"})
        done = self.document("run", "flows.tgz", "flows.all", "--python", "venv/bin/python")
        self.assertEqual(done["outputs"], {f"o{i}": "venv" for i in range(4)})

    def test_a_python_is_asked_once(self):
        self.package(self.FAST + self.CODE % 1)
        self.run_main()
        self.run_main()
        self.assertEqual((self.folder / "asked").read_text(), "asked\n")
        self.package(self.FAST + self.CODE % 2)
        self.run_main()
        self.assertEqual((self.folder / "asked").read_text(), "asked\nasked\n")

    def test_what_a_python_does_not_have(self):
        self.package(self.FAST + self.CODE % 1)
        python = self.programs / "python"
        for says, words in (
                ("flytekit\\tflytekit\\tNo module named flytekit\\n",
                 f"flows.tgz: {python} cannot import flytekit: No module named flytekit; install "
                 f"it there: {python} -m pip install flytekit\n"),
                ("version\\t2.0.1\\nend\\n",
                 f"flows.tgz: {python} has flytekit 2.0.1, which is not that of Flyte 1; install "
                 f"that: {python} -m pip install 'flytekit<2'\n"),
                ("version\\t1.16.24\\nmodule\\tflows.code\\tflows\\tNo module named flows\\nend\\n",
                 f"flows.tgz: flows.code: {python} does not find the module of its tasks; package "
                 "it with --fast, or give the folder with its modules: --code FOLDER\n"),
                ("version\\t1.16.24\\nmodule\\tflows.code\\tscipy\\tNo module named scipy\\nend\\n",
                 f"flows.tgz: flows.code: {python} cannot import the module: No module named "
                 f"scipy; install what it needs: {python} -m pip install scipy\n")):
            self.make_python("venv", says)
            _, stderr = self.troupe("run", "flows.tgz", "main", "--python", "venv/bin/python",
                                    status=2)
            self.assertTrue(stderr.endswith(words), stderr)
        # What is no answer is no reason, and is asked again.
        self.make_python("venv", "it is a strange one")
        self.run_main()
        self.make_python("venv")
        self.run_main()

    def test_paths_are_no_patterns(self):
        self.package("""
args = ["pyflyte-execute", "flows.paths"] + ["{{.%s}}" % name for name in (
    "input", "outputPrefix", "rawOutputDataPrefix", "checkpointOutputPrefix")]
task("flows.paths.main", "", {}, args=args)
""")
        module = self.folder / "src" / "flows" / "paths.py"
        module.parent.mkdir(parents=True)
        module.write_text("import json, os, sys\ndef main():\n    json.dump({'o0': "
                          "len(set(' '.join(sys.argv[1:])) & set('[]*?'))}, "
                          "open(os.environ['TROUPE_OUTPUTS'], 'w'))\n")
        self.assertEqual(self.run_main("--code", "src")["outputs"], {"o0": 0})
        self.store = self.folder / "store[1]"
        _, stderr = self.troupe("run", "flows.tgz", "main", "--python", "venv/bin/python",
                                "--code", "src", status=2)
        self.assertIn("the store's path holds one of []*?, which flytekit takes for a pattern; "
                      "name another store: --store FOLDER", stderr)

    def test_code_that_leads_out(self):
        self.package(self.FAST + "code([('../x.py', b'')])")
        _, stderr = self.troupe("run", "flows.tgz", "main", "--python", "venv/bin/python", status=2)
        self.assertIn("the archive's entry '../x.py' leads out of the archive", stderr)
        self.assertEqual([path.name for path in (self.store / "code").iterdir()], [])


@unittest.skipUnless(os.environ.get("TROUPE_TEST_LONG"), "needs flytekit, which is large")
class FlytekitTest(ProgramTest):
    """flytekit's own packages, beside what test_flyte_flows.py runs of them."""

    @classmethod
    def setUpClass(cls):
        have_library(KIT_PYTHON, KIT)

    def setUp(self):
        super().setUp()
        folder = self.folder / "src/flows"
        folder.mkdir(parents=True)
        (folder / "__init__.py").touch()
        shutil.copy(SUPPORT / "flytekit_packages.py", folder / "all.py")

    def environment(self):
        environment = super().environment()
        environment["PATH"] = f"{KIT_PYTHON.parent}:{environment['PATH']}"
        environment["VIRTUAL_ENV"] = str(KIT_PYTHON.parent.parent)
        return environment

    def package(self, *words):
        subprocess.run([KIT_PYTHON.parent / "pyflyte", "--pkgs", "flows", "package", "--image",
                        "none:1", "--source", ".", "-o", "../flows.tgz", "-f", *words],
                       cwd=self.folder / "src", env=self.environment(), check=True,
                       capture_output=True)

    def test_a_module_that_needs_more(self):
        """flytekit's own Python says what is missing."""
        folder = self.folder / "src/flows"
        (folder / "all.py").write_text("from flytekit import task\nimport flows.part\n"
                                       "@task\ndef one() -> int:\n    return 1\n")
        (folder / "part.py").touch()
        self.package("--fast")
        self.assertEqual(self.document("run", "flows.tgz", "one")["outputs"], {"o0": 1})
        self.package()
        _, stderr = self.troupe("run", "flows.tgz", "one", status=2)
        self.assertIn("flows.tgz: flows.all: ", stderr)
        self.assertIn(" does not find the module of its tasks; package it with --fast", stderr)
        (folder / "part.py").write_text("import gone_package\n")
        _, stderr = self.troupe("run", "flows.tgz", "one", "--code", "src", status=2)
        self.assertIn("cannot import the module: No module named 'gone_package'; install what it "
                      "needs: ", stderr)

    def test_the_page(self):
        """What its readers type, and what they see."""
        page = (ROOT / "examples/flyte/README.md").read_text()
        commands, shown = re.search("```sh\n(.*?)```\n```text\n(.*?)```", page, re.S).groups()
        shutil.copy(ROOT / "examples/flyte/map_reduce.py", self.folder)
        environment = self.environment()
        environment["PATH"] = f"{PROGRAM.parent}:{environment['PATH']}"
        done = subprocess.run(["bash", "-ec", commands], cwd=self.folder, env=environment,
                              text=True, capture_output=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(done.stdout.endswith(shown), done.stdout)
        done = self.document("run", "flows.tgz", "map_reduce", "-i", "size=3")
        self.assertEqual(done["outputs"], {"o0": 5})

    def test_what_tasks_have_written_is_kept(self):
        """It outlives the folders of their attempts, also what a pickle or a dataclass names."""
        shutil.copy(SUPPORT / "flytekit_files.py", self.folder / "src/flows/all.py")
        self.package("--fast")
        done = self.document("run", "flows.tgz", "files_of_all_kinds", "--name", "e")
        self.assertEqual(done["outputs"], {"o0": "one 0 1 2 H K a below 7 3"})
        made = json.dumps(self.document("get", "e/n0")["outputs"])
        paths = re.findall(re.escape(str(self.store)) + '[^"]*', made)
        self.assertEqual(len(paths), 8, made)
        self.assertEqual({pathlib.Path(path).parent.name for path in paths}, {"blobs"})

    def test_keys_of_the_cache_are_flytes(self):
        shutil.copy(SUPPORT / "flytekit_keys.py", self.folder / "src/flows/all.py")
        self.package("--fast")
        environment = self.environment() | {"PYTHONPATH": str(SUPPORT)}
        key = json.loads(subprocess.run([KIT_PYTHON, "-m", "flows.all", "../flows.tgz"],
                                        cwd=self.folder / "src", env=environment, check=True,
                                        text=True, capture_output=True).stdout.splitlines()[-1])
        for skip in ("one", "two"):
            done = self.document("run", "flows.tgz", "flows.all.main", "-i", f"skip={skip}")
            self.assertEqual(done["outputs"], {"o0": 3})
        entry, = (self.store / "cache").glob("*/*")
        inputs, _, version = entry.name.split("-")
        self.assertEqual([inputs, version], key)


if __name__ == "__main__":
    unittest.main()
