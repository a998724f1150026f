"""Plugins from shared objects: how one is built and loaded, what is refused, and what becomes of
those that crash, do not return, fail, flood or answer nonsense."""

import os
import shutil
import signal
import subprocess
import sys
import threading
import unittest

from program import PROGRAM, ROOT, ProgramTest, ended_by_faults, wait_until

sys.path.insert(0, str(ROOT / "examples/plugins"))

import job_server  # noqa: E402

NAUGHTY = PROGRAM.parent / "tests/plugins/naughty.so"
JOBS = PROGRAM.parent / "examples/plugins/jobs.so"

MIXED = """\
troupe: 1
tasks:
  bad: {{type: naughty, outputs: {{}}, config: {{how: {how}}}}}
  good: {{type: echo, inputs: {{x: int}}, outputs: {{x: int}}}}
workflows:
  main:
    policy: finish_runnable
    nodes:
      bad: {{task: bad}}
      many: {{map: good, over: [x], with: {{x: [1, 2, 3, 4, 5, 6, 7, 8]}}}}
      last: {{task: good, with: {{x: 9}}, after: [many]}}
    outputs: {{x: $last.x}}
"""

# A plugin that is fine; each refusal changes one thing of it.
MINE = """\
#include "plugins/sdk/plugin.h"

#define TR_MINE_FIELDS(FIELD, ARRAY) FIELD(u64, count, 1, 0)
#define TR_MINE_SCHEMAS(S) S(mine_state, 10002, TR_STATE, 1, 0, TR_MINE_FIELDS)
TR_MINE_SCHEMAS(TR_SCHEMA_DECLARE_ROW)
TR_MINE_SCHEMAS(TR_SCHEMA_DEFINE)

static int handle(struct tr_task_context *task, void *state, const struct tr_task_event *event,
                  struct tr_transition *transition)
{
    (void)task;
    (void)state;
    (void)event;
    return tr_task_succeed(transition);
}

static const char *const task_types[] = {"mine", NULL};

const struct tr_plugin tr_plugin_table = {
    .abi = TR_PLUGIN_ABI,
    .id = "mine",
    .task_types = task_types,
    .state = &tr_mine_state_schema,
    .handle = handle,
};
"""

CC = os.environ.get("CC", "cc")


class PluginsTest(ProgramTest):
    def setUp(self):
        super().setUp()
        self.store.mkdir()

    def settings(self, text):
        (self.store / "settings.yaml").write_text(text)

    def build(self, source, name="mine", include=ROOT, options=()):
        """Builds a shared object beside the definitions, as deploy/README.md says."""
        self.write(f"{name}.c", source)
        subprocess.run([CC, "-shared", "-fPIC", f"-I{include}", *options, "-o", f"{name}.so",
                        f"{name}.c"], cwd=self.folder, check=True, timeout=60)
        return self.folder / f"{name}.so"

    def refusal(self, path, name="mine"):
        """What `plugins` says of settings that name this shared object."""
        self.settings(f"plugins:\n  {name}: {{path: {path}}}\n")
        return self.troupe("plugins", status=2)[1].strip()

    def standing(self, name):
        return next(row for row in self.document("plugins") if row["plugin"] == name)


class LoadingTest(PluginsTest):
    def test_one_is_built_with_the_installed_headers_and_serves_its_tasks(self):
        subprocess.run(["cmake", "--install", PROGRAM.parent, "--prefix", self.folder / "usr"],
                       check=True, capture_output=True, timeout=60)
        self.build(MINE, include=self.folder / "usr/include/troupe", options=["-Wall", "-Werror"])
        self.settings("plugins: {mine: {path: ../mine.so}}\n")
        self.write("flow.yaml", "troupe: 1\ntasks: {t: {type: mine, outputs: {}}}\n"
                   "workflows: {main: {nodes: {t: {task: t}}}}\n")
        self.troupe("run", "flow.yaml")
        row = self.standing("mine")
        self.assertEqual(os.path.realpath(row["path"]), str(self.folder.resolve() / "mine.so"))
        self.assertEqual((row["task_types"], row["is_quarantined"]), (["mine"], False))

    def test_what_is_no_plugin_is_refused_with_words(self):
        place = f"{self.store}/settings.yaml:2:16: the plugin 'mine': "
        refused = self.refusal("/no/such.so")
        self.assertEqual(refused, place + "/no/such.so cannot be read: No such file or directory; "
                         "name the shared object of a plugin")
        text = self.write("text.so", "this is text\n")
        self.assertIn("it cannot be loaded: ", self.refusal(text))
        self.assertTrue(self.refusal(text).endswith(
            "build it with `cc -shared -fPIC` and the headers of this troupe"))
        path = self.build("int nothing;\n")
        self.assertEqual(self.refusal(path), place + f"{path} has no symbol `tr_plugin_table`; "
                         "export the plugin's table: const struct tr_plugin tr_plugin_table")

    def test_a_table_that_makes_no_sense_is_refused_with_words(self):
        rows = [
            (".abi = TR_PLUGIN_ABI", ".abi = 99", "{path} is built for version 99 of the plugins' "
             "interface, and this troupe has version {abi}; build it again with the headers of "
             "this troupe"),
            ('.id = "mine"', '.id = "yours"', "it is called 'yours'; name it so in the settings"),
            (".handle = handle", ".abort = 0", "the table has no `handle`; a plugin of the core "
             "shape needs it"),
            (".task_types = task_types", ".finalize = 0", "it has no task types; give it a list "
             "that ends with NULL, which may be empty"),
            ("10002, TR_STATE", "200, TR_STATE", "its state is a state with the id 200; make it a "
             "state with an id from 10000 to 60000, which no other plugin of yours has"),
            ("10002, TR_STATE", "10002, TR_MESSAGE", "its state is a message with the id 10002; "
             "make it a state with an id from 10000 to 60000, which no other plugin of yours has"),
        ]
        header = (ROOT / "schemas/engine/plugin.h").read_text()
        abi = header.split("#define TR_PLUGIN_ABI ")[1].split()[0]
        for number, (before, after, words) in enumerate(rows):
            name = f"mine{number}"  # a path that was loaded once gives the same again
            path = self.build(MINE.replace(before, after), name, options=["-w"])
            self.assertEqual(self.refusal(path), f"{self.store}/settings.yaml:2:16: the plugin "
                             "'mine': " + words.format(path=path, abi=abi))

    def test_one_of_an_older_interface_works(self):
        path = self.build(MINE.replace("TR_PLUGIN_ABI", "TR_PLUGIN_ABI_OLDEST"))
        self.settings(f"plugins:\n  mine: {{path: {path}}}\n")
        self.assertEqual(self.standing("mine")["task_types"], ["mine"])

    def test_two_may_not_have_the_same_name_or_state(self):
        path = self.build(MINE.replace('"mine"', '"echo"'), "echo")
        self.assertTrue(self.refusal(path, "echo").endswith(
            "there is a plugin 'echo' already; give one of them another id"))
        other = self.build(MINE.replace('.id = "mine"', '.id = "other"'), "other")
        mine = self.build(MINE)
        self.settings(f"plugins:\n  mine: {{path: {mine}}}\n  other: {{path: {other}}}\n")
        self.assertTrue(self.troupe("plugins", status=2)[1].strip().endswith(
            "its state has the id 10002, and so has that of 'mine'; give it another one, which no "
            "other plugin of yours has"))

    def test_a_symbol_that_is_not_there_is_named(self):
        path = self.build(MINE.replace("(void)task;", "extern int tr_nowhere(void); tr_nowhere();"),
                          options=["-w"])
        self.assertIn("undefined symbol: tr_nowhere", self.refusal(path))


class QuarantineTest(PluginsTest):
    def environment(self):
        return ended_by_faults(super().environment())

    def setUp(self):
        super().setUp()
        shutil.copy(NAUGHTY, self.folder / "naughty.so")
        self.settings("plugins: {naughty: {path: ../naughty.so}}\n")

    def go_on(self, how):
        """Runs the mixed workflow until the engine stays: the ends on the way, and the status."""
        self.write("mixed.yaml", MIXED.format(how=how))
        ends = []
        while len(ends) < 4:
            running = self.start("run", "mixed.yaml", "--name", "first", "--if-new")
            status, _, stderr = running.end()
            if status >= 0:
                return ends, status, stderr
            ends.append(-status)
        self.fail(f"the engine never stays: {ends}")

    def assert_ended_by(self, how, number, words):
        ends, status, stderr = self.go_on(how)
        self.assertEqual((ends, status), ([number, number], 1), stderr)
        self.assertIn("bad: failed", stderr)
        self.assertIn("[PluginQuarantined]", stderr)
        self.assertIn("the plugin 'naughty' is in quarantine: it has ended the "
                      f"engine 2 times (the last time: {words}); a changed ", stderr)
        nodes = {node["node"]: node for node in self.document("get", "first")["nodes"]}
        self.assertEqual(nodes["last"]["phase"], "succeeded")
        self.assertEqual(nodes["many"]["phase"], "succeeded")
        self.assertIn("[PluginQuarantined]", stderr)
        self.assertIn("the plugin 'naughty' is in quarantine", self.troupe("explain", "first")[0])
        self.assertTrue(self.standing("naughty")["is_quarantined"])
        self.assertEqual(self.standing("naughty")["how"], words)

    def test_one_that_crashes_is_not_called_a_third_time(self):
        self.assert_ended_by("crash", signal.SIGSEGV, "SIGSEGV in `handle`")

    def test_one_that_aborts_is_not_called_a_third_time(self):
        self.assert_ended_by("abort", signal.SIGABRT, "SIGABRT in `handle`")

    def test_one_that_does_not_return_is_not_called_a_third_time(self):
        self.assert_ended_by("loop", signal.SIGABRT, "`handle` did not return")

    def test_a_release_and_a_changed_file_lift_the_quarantine(self):
        self.go_on("crash")
        self.assertIn("is called again by engines that start from now on",
                      self.troupe("plugins", "--release", "naughty")[1])
        self.assertEqual(self.standing("naughty")["ends"], 0)
        self.write("mixed.yaml", MIXED.format(how="nothing"))
        self.troupe("run", "mixed.yaml", "--name", "second")
        self.write("mixed.yaml", MIXED.format(how="crash"))
        for _ in range(3):
            self.start("run", "mixed.yaml", "--name", "third", "--if-new").end()
        self.assertTrue(self.standing("naughty")["is_quarantined"])
        with open(self.folder / "naughty.so", "ab") as file:
            file.write(b"mended")
        self.assertFalse(self.standing("naughty")["is_quarantined"])
        self.assertIn("there is no plugin 'nobody'",
                      self.troupe("plugins", "--release", "nobody", status=2)[1])

    def test_a_live_engine_releases_it_for_the_next_one(self):
        self.go_on("crash")
        engine = self.start("serve")
        engine.wait_for("serves")
        self.assertIn("is called again by engines that start from now on",
                      self.troupe("plugins", "--release", "naughty")[1])
        self.assertEqual(self.standing("naughty")["ends"], 0)
        self.write("mixed.yaml", MIXED.format(how="nothing"))
        self.assertIn("is in quarantine", self.troupe("run", "mixed.yaml", "--name", "second",
                                                      status=1)[1])
        engine.signal(signal.SIGTERM)
        self.assertEqual(engine.end()[0], 0)
        self.troupe("run", "mixed.yaml", "--name", "third")

    def is_in_hand(self):
        """Whether a call of the plugin is under way."""
        try:
            return b"naughty" in (self.store / "in-hand").read_bytes()
        except FileNotFoundError:
            return False

    def test_kill_is_attributed_to_nobody(self):
        """SIGKILL says nothing of who was at work: no plugin is counted for it."""
        self.write("mixed.yaml", MIXED.format(how="loop"))
        for _ in range(3):
            running = self.start("run", "mixed.yaml", "--name", "first", "--if-new")
            wait_until(self.is_in_hand, "the plugin is called")
            running.signal(signal.SIGKILL)
            running.end()
        self.assertEqual(self.standing("naughty")["ends"], 0)

    def test_a_second_sigterm_waits_for_nobody(self):
        self.write("mixed.yaml", MIXED.format(how="loop"))
        running = self.start("run", "mixed.yaml", "--name", "first")
        wait_until(self.is_in_hand, "the plugin is called")
        running.signal(signal.SIGTERM)
        wait_until(lambda: running.process.poll() is not None or running.signal(signal.SIGTERM),
                   "the engine ends")
        status, _, stderr = running.end()
        self.assertEqual(status, 4, stderr)
        self.assertIn("told to end again: leaving at once", stderr)

    def assert_hurts_only_itself(self, how, code):
        self.write("mixed.yaml", MIXED.format(how=how))
        self.troupe("run", "mixed.yaml", "--name", how, status=0 if code is None else 1)
        nodes = {node["node"]: node for node in self.document("get", how)["nodes"]}
        self.assertEqual(nodes["last"]["phase"], "succeeded")
        if code is not None:
            self.assertIn(code, self.troupe("explain", how)[0])
        self.assertEqual(self.standing("naughty")["ends"], 0)

    def test_errors_hurt_only_its_own_tasks(self):
        self.assert_hurts_only_itself("fail", "the plugin 'naughty' failed: ")

    def test_nonsense_hurts_only_its_own_tasks(self):
        self.assert_hurts_only_itself("nonsense",
                                      "the plugin 'naughty' gave a phase that is none")

    def test_a_flood_hurts_only_its_own_tasks(self):
        self.assert_hurts_only_itself("flood", None)


class EndpointTest(PluginsTest):
    """The plugin of examples/plugins, and its server beside it."""

    def setUp(self):
        super().setUp()
        self.jobs = job_server.Jobs(0.5)
        self.server = job_server.Server(0, self.jobs)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.configure()
        self.write("jobs.yaml", (ROOT / "examples/plugins/jobs.yaml").read_text())

    def tearDown(self):
        self.server.shutdown()
        self.server.server_close()
        super().tearDown()

    def hold(self, is_held):
        """Whether jobs go on for ever."""
        self.jobs.seconds = 3600 if is_held else 0

    def configure(self, more=""):
        self.settings(f"plugins:\n  jobs:\n    path: {JOBS}\n"
                      f"    endpoint: http://127.0.0.1:{self.port}\n    interval: 100ms\n{more}")

    def endpoint(self):
        return self.standing("jobs")["endpoints"][0]

    def made(self):
        return self.jobs.made

    def test_how_an_endpoint_stands_is_shown(self):
        self.assertEqual((self.endpoint()["calls"], self.endpoint()["at"]), (0, None))
        self.troupe("run", "jobs.yaml")
        self.troupe("run", "jobs.yaml")  # it is on record a second later, or when an engine begins
        endpoint = self.endpoint()
        self.assertGreaterEqual(endpoint["calls"], 2)
        self.assertEqual((endpoint["circuit"], endpoint["url"]),
                         ("closed", f"http://127.0.0.1:{self.port}"))
        self.assertIn(f"http://127.0.0.1:{self.port}", self.troupe("plugins")[0])

    def test_an_endpoint_that_is_new_has_its_actor_before_what_is_unfinished_goes_on(self):
        self.settings(f"plugins:\n  jobs: {{path: {JOBS}}}\n")
        self.write("later.yaml", (self.folder / "jobs.yaml").read_text().replace(
            "nodes:\n", "nodes:\n      rest: {approve: go}\n").replace(
                "b: 10}", "b: 10}, after: [rest]"))
        running = self.start("run", "later.yaml", "--name", "it")
        running.wait_for("rest: waits for approval")
        running.process.kill()
        running.end()
        self.configure()
        running = self.start("run", "later.yaml", "--name", "it", "--if-new")
        running.wait_for("rest: waits for approval")
        self.troupe("approve", "it", "go")
        self.assertEqual(running.end()[0], 0)
        self.assertEqual(self.made(), 4)

    def test_a_quota_bounds_what_is_outside(self):
        """Four jobs, one at a time, over a kill in the middle."""
        self.configure("quotas: {jobs: 1}\n")
        self.hold(True)
        running = self.start("run", "jobs.yaml", "--name", "it")
        running.wait_for("it begins")
        wait_until(lambda: "slot in 'jobs' (1 of 1 in use" in self.troupe("explain", "-v", "it")[0],
                   "one has the slot")
        wait_until(lambda: self.made() == 1, "its job")
        running.process.kill()
        running.end()
        resumed = self.start("run", "jobs.yaml", "--name", "it", "--if-new")
        wait_until(lambda: "slot in 'jobs' (1 of 1 in use" in self.troupe("explain", "-v", "it")[0],
                   "it has it again")
        self.assertEqual(self.made(), 1)
        self.hold(False)
        self.assertEqual(resumed.end()[0], 0)
        self.assertEqual(self.made(), 4)

    def test_a_project_has_its_share(self):
        """Two at once for all, one for each project: nobody waits for another project's turn."""
        self.configure("quotas: {jobs: {slots: 2, per_project: 1}}\n")
        text = (self.folder / "jobs.yaml").read_text()
        self.write("other.yaml", text.replace("troupe: 1", "troupe: 1\nproject: other"))
        self.hold(True)
        running = [self.start("run", "jobs.yaml", "--name", "it")]
        wait_until(lambda: self.made() == 1, "one of the first project")
        running.append(self.start("run", "other.yaml", "--name", "them"))
        wait_until(lambda: self.made() == 2, "one of the second")
        wait_until(lambda: "slot in 'jobs/default' (1 of 1 in use" in
                   self.troupe("explain", "-v", "default/development/it")[0], "its share is used")
        self.hold(False)
        for one in running:
            self.assertEqual(one.end()[0], 0)
        self.assertEqual(self.made(), 8)


if __name__ == "__main__":
    unittest.main()
