#!/usr/bin/env python3
"""The bound of memory of a process task: killed by the kernel where control groups can be made, and
elsewhere said once not to be enforced."""

import os
import pathlib
import re
import unittest

from program import ProgramTest, wait_until

NOT_ENFORCED = "memory bounds of tasks are not enforced here: "

EAT = "import sys; x = bytearray(int(sys.argv[1]) << 20)"


def can_bound():
    """Whether the kernel lets this user bound memory in a group, by what it shows of groups: one
    from our own upwards that hands the controller on, or the root of all. False: perhaps not."""
    mounts = [line.split()[4] for line in open("/proc/self/mountinfo", encoding="utf-8")
              if " - cgroup2 " in line]
    own = [line.strip()[3:] for line in open("/proc/self/cgroup", encoding="utf-8")
           if line.startswith("0::/")]
    if not mounts or not own:
        return False
    mount = pathlib.Path(mounts[0])
    group = pathlib.Path(mounts[0] + own[0])
    if "memory" not in (mount / "cgroup.controllers").read_text().split():
        return False
    if group == mount:
        return not (group / "cgroup.type").exists() and os.access(group, os.W_OK)
    above = group.parent
    is_left = not group.name.endswith(".service") and (group / "memory.max").exists() and \
        (group / "memory.max").read_text() == "max\n"
    return is_left and os.access(above, os.W_OK) and \
        "memory" in (above / "cgroup.subtree_control").read_text().split()


class MemoryTest(ProgramTest):
    def flow(self, *run, memory="64Mi", retries=0, **keys):
        words = ", ".join(f"{key}: {value}" for key, value in keys.items())
        self.write("flow.yaml", "troupe: 1\ntasks:\n  t:\n"
                   f"    run: {list(run)}\n    retries: {retries}\n"
                   f"    resources: {{memory: {memory}}}\n" + (f"    {words}\n" if words else "") +
                   "workflows: {main: {nodes: {a: {task: t}, b: {task: t, after: [a]}}},\n"
                   "            one: {nodes: {a: {task: t}}}}\n")

    def enforced(self):
        """Whether bounds hold here, by what the program says; it may not say no where they do."""
        self.flow("true")
        _, stderr = self.troupe("run", "flow.yaml", "one", "--name", "asked")
        is_enforced = NOT_ENFORCED not in stderr
        self.assertTrue(is_enforced or not can_bound(), stderr)
        row = self.document("get", "asked/a")["attempts"][0]
        self.assertEqual(row["is_bound_enforced"], is_enforced)
        self.assertEqual(row["memory_bound_bytes"], 64 << 20)
        return is_enforced

    def bounded(self):
        if not self.enforced():
            self.skipTest("memory cannot be bounded here")

    def killed(self, *run, bound="64 MiB", **keys):
        """Runs a task that is killed for its bound; gives its only attempt."""
        self.flow(*run, **keys)
        error = self.document("run", "flow.yaml", "one", "--name", "it", "-q", status=1)["error"]
        self.assertEqual(error["code"], "RetriesExhausted|OOMKilled")
        self.assertIn(f"killed by the kernel for memory: used its bound of {bound}",
                      error["message"])
        return self.document("get", "it/a")["attempts"][-1]

    # ------------------------------------------------------------------ where bounds hold

    def test_what_uses_its_bound_is_killed(self):
        self.bounded()
        row = self.killed("python3", "-c", EAT, "400")
        self.assertTrue(row["is_bound_enforced"])
        self.assertLessEqual(row["memory_bytes_max"], 64 << 20)
        out, _ = self.troupe("explain", "it")
        self.assertIn("killed by the kernel for memory: used its bound of 64 MiB", out)
        self.assertIn(" MiB at most (the bound of 64.0 MiB was enforced)", out)

    def test_its_processes_are_bounded_together(self):
        """Two of them stay below the bound each; the shell, which uses little, ends with them."""
        self.bounded()
        hold = EAT + "; import time; time.sleep(600)"
        row = self.killed("sh", "-c", f"python3 -c '{hold}' 40 & python3 -c '{hold}' 40 & wait")
        self.assertEqual((row["signal"], row["exit_status"]), (9, 0))

    def test_what_fits_succeeds(self):
        self.bounded()
        self.flow("python3", "-c", EAT, "100", memory="256Mi")
        self.troupe("run", "flow.yaml", "one", "--name", "it", "-q")
        row = self.document("get", "it/a")["attempts"][0]
        self.assertGreater(row["memory_bytes_max"], 100 << 20)
        self.assertLess(row["memory_bytes_max"], 256 << 20)
        self.assertEqual((row["memory_bound_bytes"], row["is_bound_enforced"]), (256 << 20, True))

    def test_it_is_tried_again_by_its_code(self):
        self.bounded()
        self.flow("python3", "-c", EAT, "400", retries=2, retry_on="[OOMKilled]")
        self.troupe("run", "flow.yaml", "one", "--name", "it", "-q", status=1)
        codes = [row["error"]["code"] for row in self.document("get", "it/a")["attempts"]]
        self.assertEqual([code.split("|")[-1] for code in codes], ["OOMKilled"] * 3)

    def test_no_group_is_left(self):
        self.bounded()
        own = pathlib.Path((self.store / "keeper.cgroup").read_text())
        self.assertEqual([path.name for path in own.iterdir() if path.is_dir()], ["keeper"])
        self.end_keeper()
        self.assertFalse(own.exists())

    # ------------------------------------------------------------------ where they do not

    def test_that_they_are_not_enforced_is_said_once(self):
        if self.enforced():
            self.skipTest("memory is bounded here")
        self.flow("true", retries=1)
        _, stderr = self.troupe("run", "flow.yaml", "main")
        self.assertEqual(stderr.count(NOT_ENFORCED), 1, stderr)
        why = stderr.partition(NOT_ENFORCED)[2].partition("\n")[0]
        self.assertRegex(why, r"(; (boot with|start the engine by) |; add Delegate=yes )")
        # Who asks for no bound is told nothing.
        self.write("flow.yaml", "troupe: 1\ntasks: {t: {run: [\"true\"]}}\n"
                   "workflows: {main: {nodes: {a: {task: t}}}}\n")
        _, stderr = self.troupe("run", "flow.yaml", "main")
        self.assertNotIn(NOT_ENFORCED, stderr)

    def test_explain_says_it_of_an_attempt(self):
        if self.enforced():
            self.skipTest("memory is bounded here")
        self.flow("sh", "-c", "touch $TROUPE_FOLDER/begun; "
                  "until [ -e $TROUPE_FOLDER/go ]; do sleep 0.02; done; exit 3")
        running = self.start("run", "flow.yaml", "one", "--name", "it")
        self.await_file("begun")
        running.wait_for(NOT_ENFORCED)
        # It is said before the task's own actor has heard of the start.
        said = re.compile(r"process \d+, whose bound of memory is not enforced: \S+")
        wait_until(lambda: said.search(self.troupe("explain", "it")[0]), said.pattern)
        (self.folder / "go").touch()
        self.assertEqual(running.end()[0], 1)
        out, _ = self.troupe("explain", "it")
        self.assertIn(" MiB at most (the bound of 64.0 MiB was not enforced)", out)
        cause = self.document("explain", "it")["causes"][-1]
        self.assertEqual((cause["memory_bound_bytes"], cause["is_bound_enforced"]),
                         (64 << 20, False))


if __name__ == "__main__":
    unittest.main()
