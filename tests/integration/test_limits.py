#!/usr/bin/env python3
"""What grows without bound: it fails in words and by name, whatever of nodes, maps and dynamic
tasks it is made of, and the engine that runs it goes on."""

import json
import signal
import subprocess
import unittest

from program import PROGRAM, ProgramTest, wait_until

# Each workflow calls the one before twice, down to a task that waits; `fork` decides itself twice.
HEIGHT = 18
FLOW = """
troupe: 1
tasks:
  nap: {type: core-sleep, inputs: {duration: {type: duration, default: 60s}}}
  fork:
    inputs: {a: int}
    run: [sh, -c, 'cp "$TROUPE_FOLDER/plan.json" "$TROUPE_OUTPUTS"']
  short: {type: core-sleep, inputs: {duration: {type: duration, default: 1ms}}}
workflows:
  wide:
    inputs: {items: {type: "[int]", default: [ITEMS]}}
    nodes: {m: {map: each, with: {a: $items}}}
  each:
    inputs: {a: int}
    nodes: {n: {task: nap}}
  forks: {nodes: {d: {dynamic: fork, with: {a: 1}}}}
  small: {nodes: {n: {task: short}}}
  w0: {nodes: {n: {task: nap}}}
""".replace("ITEMS", ", ".join(map(str, range(3000)))) + "".join(
    f"  w{i}: {{nodes: {{a: {{workflow: w{i - 1}}}, b: {{workflow: w{i - 1}}}}}}}\n"
    for i in range(1, HEIGHT))

PLAN = {"nodes": {name: {"dynamic": "fork", "with": {"a": 1}} for name in ("one", "two", "three")}}


class LimitsTest(ProgramTest):
    def setUp(self):
        super().setUp()
        self.write("flow.yaml", FLOW)
        self.write("plan.json", json.dumps(PLAN))
        self.store.mkdir()

    def limit(self, **limits):
        (self.store / "settings.yaml").write_text(json.dumps({"jobs": 8, "limits": limits}))

    def serve(self):
        engine = self.start("serve")
        engine.wait_for("serves")
        return engine

    def require_failure(self, workflow, code):
        """It fails by this code, and the engine does other work, as soon as all of it has ended."""
        document = self.document("submit", "flow.yaml", workflow, "--wait", status=1)
        self.assertEqual(document["phase"], "failed")
        self.assertEqual(document["error"]["code"], code)
        self.assertIn("of the settings", document["error"]["message"])
        wait_until(self.does_other_work, "there is room again")

    def does_other_work(self):
        done = subprocess.run([PROGRAM, "submit", "flow.yaml", "small", "--wait"], text=True,
                              cwd=self.folder, env=self.environment(), capture_output=True)
        if done.returncode != 0:
            self.assertEqual(done.returncode, 4, done.stderr)
            self.assertIn("busy: try again later", done.stderr)
        return done.returncode == 0

    def test_nodes_of_an_execution(self):
        self.limit(execution_nodes=500)
        engine = self.serve()
        for workflow in (f"w{HEIGHT - 1}", "wide", "forks"):
            with self.subTest(workflow):
                self.require_failure(workflow, "ExecutionTooLarge")
        engine.signal(signal.SIGTERM)
        self.assertEqual(engine.end()[0], 0)

    def test_memory(self):
        for limits, code in (({"execution_memory": "16Mi"}, "ExecutionTooLarge"),
                             ({"memory": "24Mi"}, "EngineFull")):
            with self.subTest(code):
                self.limit(**limits)
                engine = self.serve()
                self.require_failure(f"w{HEIGHT - 1}", code)
                engine.signal(signal.SIGTERM)
                self.assertEqual(engine.end()[0], 0)

    def test_what_a_start_finds_above_a_limit_fails(self):
        """It grew under another limit; the engine that finds it goes on."""
        self.limit(execution_nodes=20000)
        engine = self.serve()
        name = self.document("submit", "flow.yaml", f"w{HEIGHT - 1}")["execution"]
        wait_until(lambda: self.query("select count(*) from actors")[0][0] >= 1000, "it grows")
        engine.signal(signal.SIGKILL)
        engine.end()
        self.limit(execution_nodes=100)
        self.serve()
        printed = self.troupe("watch", name, "-o", "json", status=1)[0]
        document = json.loads(printed.splitlines()[-1])
        self.assertEqual(document["error"]["code"], "ExecutionTooLarge")
        self.troupe("submit", "flow.yaml", "small", "--wait")


if __name__ == "__main__":
    unittest.main()
