"""What the tests of the Kubernetes plugin share: the double, a store beside it, what both say.

The double (tests/doubles/kubernetes) counts on its side what reaches it, which is what these tests
hold the engine against. Pods run for no time and succeed, unless the test runs their commands
(`--execute`) or decides otherwise through control.
"""

import json
import os
import signal
import sys

from program import LIMIT_S, ROOT, ProgramTest

sys.path.insert(0, str(ROOT / "tests/doubles/kubernetes"))

from kubernetes_client import Double  # noqa: E402

IS_LONG = bool(os.environ.get("TROUPE_TEST_LONG"))
SIZE = 5000 if IS_LONG else 500
RUN_SIZE = 500 if IS_LONG else 40
LONG_S = 10 * LIMIT_S

ARRAY = """
troupe: 1
tasks:
  to_list: {type: echo, inputs: {items: [int]}, outputs: {items: [int]}}
  work: {inputs: {a: int}, run: ["true"], TASK}
workflows:
  main:
    inputs: {items: [int]}
    nodes:
      list: {task: to_list, with: {items: $items}}
      work: {map: work, with: {a: $list.items}}
"""


class KubernetesTest(ProgramTest):
    double_options = ()

    def setUp(self):
        super().setUp()
        self.double = Double("--share", str(self.folder), "--share", str(ROOT),
                             *self.double_options)
        self.addCleanup(self.double.stop)
        self.store.mkdir()
        self.settle()

    def settle(self, **keys):
        """Writes the settings: every process task goes to the double."""
        kubernetes = {"endpoint": self.double.endpoint, "image": "debian:12",
                      "share": str(self.folder), "keep": {"failed": "0s"}, **keys}
        document = {"task_types": {"process": "kubernetes"},
                    "plugins": {"kubernetes": {key: value for key, value in kubernetes.items()
                                               if value is not None}}}
        (self.store / "settings.yaml").write_text(json.dumps(document))

    def write_array(self, size=SIZE, task="timeout: 1h"):
        self.write("flow.yaml", ARRAY.replace("TASK", task))
        self.write("inputs.json", json.dumps({"items": list(range(size))}))

    def begin(self, name="it"):
        return self.start("run", "flow.yaml", "--inputs", "inputs.json", "--name", name, "-q",
                          "-o", "json")

    def finish(self, running, status=0):
        """Waits for the end of what was begun: the document it printed."""
        ended, stdout, stderr = running.end(LONG_S)
        self.assertEqual(ended, status, f"{stdout}\n{stderr}")
        return json.loads(stdout)

    def run_all(self, name="it", status=0):
        return self.finish(self.begin(name), status)

    def all_gone(self, others=0):
        """What is left of a run when it has ended: nothing but `others`, which are no pods."""
        counters = self.double.counters()
        self.assertEqual(counters["objects"], others)
        return counters

    def serve_until(self, **figures):
        """An engine serves until the double has come to these figures."""
        engine = self.start("serve")
        counters = self.double.wait(**figures)
        engine.signal(signal.SIGTERM)
        engine.end(LONG_S)
        return counters

    def failures(self):
        """(element, attempt, failure, code, message) of every attempt that failed."""
        return self.query("SELECT element, attempt, failure, code, message FROM record_attempt "
                          "WHERE failure != 0 ORDER BY element, attempt")
