"""What the tests of the Armada plugin share: the double, a store beside it, and what both say.

The double (tests/doubles/armada) counts on its side what reaches it, which is what these tests
hold the engine against. Jobs run for no time and succeed, unless the test runs their commands
(`--execute`) or decides otherwise through control.
"""

import json
import math
import os
import sys
import unittest

from program import LIMIT_S, ROOT, ProgramTest, slowness

sys.path.insert(0, str(ROOT / "tests/doubles/armada"))

from armada_client import QUEUE, Double, until  # noqa: E402, F401

IS_LONG = bool(os.environ.get("TROUPE_TEST_LONG"))

# The width of an array; of one where a few full batches show what many do; and of one whose commands
# are run, where the machine is the bound.
SIZE = 50000 if IS_LONG else 5000
NARROW = SIZE if IS_LONG else 1000
RUN_SIZE = 5000 if IS_LONG else 100

# Of a whole array, on a machine that does other things too.
LONG_S = 10 * LIMIT_S

# What one call takes.
SUBMIT_MAX = 200
STATUS_MAX = 500


def submits_more():
    """How many submissions beyond the fewest there may be: a machine that stalls for a fifth of a
    second makes one call more, and one so slow that a batch does not fill in time makes many."""
    return round(3 * slowness())


# Elements without outputs: what is counted is what is asked of the server.
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
      work: {map: work, with: {a: $list.items}, MAP}
"""

# Elements that compute.
SQUARES = """
troupe: 1
tasks:
  square:
    inputs: {a: int}
    outputs: {b: int}
    run: [/bin/sh, ./square.sh]
workflows:
  main:
    inputs: {items: [int]}
    nodes: {squares: {map: square, with: {a: $items}}}
    outputs: {b: $squares.b}
"""

SQUARE = r"""
read -r line <"$TROUPE_INPUTS"
a=${line##*:}
a=${a%\}}
echo "{\"b\": $((a * a))}" >"$TROUPE_OUTPUTS"
"""


# Tests that wait for a minute and more, for what Armada may show late, or for a sweep.
slow = unittest.skipUnless(IS_LONG, "TROUPE_TEST_LONG is not set")


class ArmadaTest(ProgramTest):
    double_options = ()
    own_settings = {}  # keys of the plugin beside those that every test needs

    def setUp(self):
        super().setUp()
        self.double = Double("--share", str(self.folder), "--share", str(ROOT),
                             *self.double_options)
        self.addCleanup(self.double.stop)
        self.store.mkdir()
        self.settle(**self.own_settings)

    def settle(self, **keys):
        """Writes the settings: every process task goes to the double."""
        armada = {"endpoint": self.double.endpoint, "queue": QUEUE, "image": "debian:12",
                  "share": str(self.folder), "interval": "1s", **keys}
        document = {"task_types": {"process": "armada"},
                    "plugins": {"armada": {key: value for key, value in armada.items()
                                           if value is not None}}}
        (self.store / "settings.yaml").write_text(json.dumps(document))

    def write_array(self, size=SIZE, task="", where=""):
        self.write("flow.yaml", ARRAY.replace(", TASK", f", {task}" if task else "")
                   .replace(", MAP", f", {where}" if where else ""))
        self.write("inputs.json", json.dumps({"items": list(range(size))}))

    def write_squares(self, size=RUN_SIZE):
        self.write("flow.yaml", SQUARES)
        self.write("square.sh", SQUARE)
        self.write("inputs.json", json.dumps({"items": list(range(size))}))

    def begin(self, *words):
        return self.start("run", "flow.yaml", "--inputs", "inputs.json", "--name", "it", "-q",
                          "-o", "json", *words)

    def finish(self, running, status=0):
        """Waits for the end of what was begun: the document it printed."""
        ended, stdout, stderr = running.end(LONG_S)
        self.assertEqual(ended, status, f"{stdout}\n{stderr}")
        return json.loads(stdout)

    def run_all(self, *words, status=0):
        return self.finish(self.begin(*words), status)

    def kill(self, running, number):
        running.signal(number)
        return running.end(LONG_S)

    # What the server saw.

    def assert_each_once(self, size, counters=None):
        """So many jobs, none of them twice, and as few submissions as can be."""
        counters = counters or self.double.counters()
        self.assertEqual(counters["jobs_created"], size, counters)
        self.assertEqual(counters["duplicates"], 0, counters["duplicate_client_ids"])
        self.assertEqual(counters["client_ids"], size)
        self.assertEqual(counters["live"], 0)
        self.assertEqual(counters["cancels_without_ids"], 0)

    def assert_batched(self, size, counters=None):
        """Submissions of 200, questions of 500, and nothing for each element."""
        calls = (counters or self.double.counters())["calls"]
        submits = calls["SubmitJobs"]
        self.assertLessEqual(submits["calls"], 
                             math.ceil(size / SUBMIT_MAX) + submits_more(), calls)
        self.assertEqual(submits["ids_max"], min(size, SUBMIT_MAX))
        for method in ("GetJobStatus", "GetJobErrors", "GetJobDetails"):
            if method in calls:
                self.assertLessEqual(calls[method]["ids_max"], STATUS_MAX)
                self.assertLessEqual(calls[method]["calls"], 2 * math.ceil(size / STATUS_MAX))

    def calls(self):
        return {name: figures["calls"] for name, figures in self.double.counters()["calls"].items()}

    # What the store says.

    def elements(self, phase):
        """How many elements are in it, as people are told."""
        document = self.document("get", "it")
        return sum(node["array"][phase] for node in document["nodes"] if node["array"])

    def succeeded(self):
        return self.elements("succeeded")

    def running(self):
        return self.elements("running")

    def attempts_failed(self):
        """(element, attempt, failure, code) of every attempt that failed."""
        return self.query("SELECT element, attempt, failure, code FROM record_attempt "
                          "WHERE failure != 0 ORDER BY element, attempt")
