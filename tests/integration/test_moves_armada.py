#!/usr/bin/env python3
"""An execution whose jobs run on Armada goes from one store to another: the same jobs go on,
watched by the store that they are in, and the other lets them be.

The job set bears the mark of the store that made it, and is known in the other one: ends come over
its stream, an abort ends the jobs in it, and what they have left is found in its folder.
"""

import json
import pathlib
import signal
import sys
import threading
import time
import unittest

from program import LIMIT_S, ROOT, ProgramTest

sys.path.insert(0, str(ROOT / "tests/doubles/armada"))

from armada_client import QUEUE, Double  # noqa: E402

SIZE = 20

# For what the store that they have left might still do to its jobs.
MOMENT_S = 2

# Who is not heard over a stream is asked about once a minute: what comes by then, came over it.
HEARD_S = 30

FLOW = """
troupe: 1
tasks:
  work: {inputs: {a: int}, run: ["true"]}
workflows:
  main:
    inputs: {items: [int]}
    nodes: {work: {map: work, with: {a: $items}}}
"""


# Jobs that wait for a file before they give something, on the share.
COMPUTE = """
troupe: 1
tasks:
  work:
    inputs: {a: int}
    outputs: {b: file}
    run: [/bin/sh, -c, 'while [ ! -e "$0" ]; do sleep 0.1; done; echo "{{.inputs.a}}" >x;
          echo "{\\"b\\": \\"x\\"}" >"$TROUPE_OUTPUTS"', ./go]
workflows:
  main:
    inputs: {items: [int]}
    nodes: {work: {map: work, with: {a: $items}}}
    outputs: {b: $work.b}
"""


class MovesArmadaTest(ProgramTest):
    double_options = ()

    def setUp(self):
        super().setUp()
        self.double = Double("--share", str(self.folder), *self.double_options)
        self.addCleanup(self.double.stop)
        self.other = self.folder / "other"
        for store in (self.store, self.other):
            store.mkdir()
            self.settle(store)
        self.write("flow.yaml", FLOW)
        self.write("inputs.json", json.dumps({"items": list(range(SIZE))}))

    def settle(self, store, **keys):
        armada = {"endpoint": self.double.endpoint, "queue": QUEUE, "image": "debian:12",
                  "share": str(self.folder), "interval": "1s", **keys}
        settings = {"task_types": {"process": "armada"}, "plugins": {"armada": armada}}
        (store / "settings.yaml").write_text(json.dumps(settings))

    def move(self):
        """An execution whose jobs run is packed here and taken there."""
        engine = self.start("run", "flow.yaml", "--inputs", "inputs.json", "--name", "it", "-q")
        self.double.wait(running=SIZE, timeout_s=LIMIT_S)
        engine.signal(signal.SIGKILL)
        engine.end()
        path = self.troupe("export", "it")[0].strip()
        self.troupe("import", path, "--store", self.other)

    def move_held(self):
        """The same, of jobs that do not end by themselves."""
        self.double.control("hold", is_held=True)
        self.move()

    def resume_there(self):
        return self.start("resume", "it", "-q", "-o", "json", "--store", self.other)

    def serve_here(self):
        """The store that they have left gets an engine for a moment."""
        engine = self.start("serve")
        threading.Event().wait(MOMENT_S)
        engine.signal(signal.SIGTERM)
        engine.end()

    def finish(self, running, status=0):
        """Waits for the end, which has to come over the stream: the document."""
        begun_s = time.monotonic()
        ended, out, err = running.end(LIMIT_S + HEARD_S)
        self.assertEqual(ended, status, f"{out}\n{err}")
        self.assertLess(time.monotonic() - begun_s, HEARD_S)
        return json.loads(out)

    def assert_made_once(self, how):
        counters = self.double.counters()
        self.assertEqual((counters["jobs_created"], counters["duplicates"]), (SIZE, 0))
        self.assertEqual(counters["ended"], {how: SIZE})


class HeldTest(MovesArmadaTest):
    def test_the_store_that_they_have_left_lets_them_be(self):
        self.move_held()
        self.serve_here()
        counters = self.double.counters()
        self.assertEqual((counters["live"], counters["jobs_created"]), (SIZE, SIZE))

    def test_the_same_jobs_end_there_at_once(self):
        self.move_held()
        resumed = self.resume_there()
        self.double.control("hold", is_held=False)
        self.assertEqual(self.finish(resumed)["phase"], "succeeded")
        self.assert_made_once("succeeded")

    def test_other_settings_there_change_nothing_of_them(self):
        self.move_held()
        self.settle(self.other, queue="of-others", job_set="elsewhere")
        resumed = self.resume_there()
        self.double.control("hold", is_held=False)
        self.assertEqual(self.finish(resumed)["phase"], "succeeded")
        self.assert_made_once("succeeded")

    def test_an_abort_there_ends_them(self):
        self.move_held()
        engine = self.start("serve", "--store", self.other)
        engine.wait_for("serves")
        followed = self.start("run", "flow.yaml", "--inputs", "inputs.json", "--name", "it",
                              "--if-new", "-q", "-o", "json", "--store", self.other)
        self.troupe("abort", "it", "--store", self.other)
        self.assertEqual(self.finish(followed, 3)["phase"], "aborted")
        self.assert_made_once("cancelled")
        self.assertLessEqual(self.double.counters()["calls"]["CancelJobSet"]["calls"], 2)
        engine.signal(signal.SIGTERM)
        engine.end()


class ComputedTest(MovesArmadaTest):
    double_options = ("--execute", "--slots", str(SIZE))

    def test_what_they_have_left_is_found(self):
        self.write("flow.yaml", COMPUTE)
        self.move()
        resumed = self.resume_there()
        self.write("go", "")
        paths = self.finish(resumed)["outputs"]["b"]
        self.assertEqual([pathlib.Path(path).read_text() for path in paths],
                         [f"{number}\n" for number in range(SIZE)])
        self.assert_made_once("succeeded")


if __name__ == "__main__":
    unittest.main()
