#!/usr/bin/env python3
"""An execution whose jobs run on Armada goes from one store to another: the same jobs go on,
watched by the store that they are in, and the other lets them be.
"""

import json
import os
import signal
import sys
import threading
import unittest

from program import LIMIT_S, ROOT, ProgramTest

sys.path.insert(0, str(ROOT / "tests/doubles/armada"))

from armada_client import QUEUE, Double  # noqa: E402

SIZE = 20

# For what the store that they have left might still do to its jobs.
MOMENT_S = 2

# A job set bears its store's name: the stream of the new one is silent, and jobs are asked about.
ASKED_S = LIMIT_S + 120

FLOW = """
troupe: 1
tasks:
  work: {inputs: {a: int}, run: ["true"]}
workflows:
  main:
    inputs: {items: [int]}
    nodes: {work: {map: work, with: {a: $items}}}
"""


class MovesArmadaTest(ProgramTest):
    def setUp(self):
        super().setUp()
        self.double = Double()
        self.addCleanup(self.double.stop)
        self.other = self.folder / "other"
        armada = {"endpoint": self.double.endpoint, "queue": QUEUE, "image": "debian:12",
                  "share": str(self.folder), "interval": "1s"}
        settings = {"task_types": {"process": "armada"}, "plugins": {"armada": armada}}
        for store in (self.store, self.other):
            store.mkdir()
            (store / "settings.yaml").write_text(json.dumps(settings))
        self.write("flow.yaml", FLOW)
        self.write("inputs.json", json.dumps({"items": list(range(SIZE))}))

    def move(self):
        """An execution whose jobs run is packed here and taken there."""
        self.double.control("hold", is_held=True)
        engine = self.start("run", "flow.yaml", "--inputs", "inputs.json", "--name", "it", "-q")
        self.double.wait(running=SIZE, timeout_s=LIMIT_S)
        engine.signal(signal.SIGTERM)
        engine.end()
        path = self.troupe("export", "it")[0].strip()
        self.troupe("import", path, "--store", self.other)

    def serve_here(self):
        """The store that they have left gets an engine for a moment."""
        engine = self.start("serve")
        threading.Event().wait(MOMENT_S)
        engine.signal(signal.SIGTERM)
        engine.end()

    def test_the_store_that_they_have_left_lets_them_be(self):
        self.move()
        self.serve_here()
        counters = self.double.counters()
        self.assertEqual((counters["live"], counters["jobs_created"]), (SIZE, SIZE))

    @unittest.skipUnless(os.environ.get("TROUPE_TEST_LONG"), "takes more than a minute")
    def test_the_same_jobs_end_there(self):
        self.move()
        resumed = self.start("resume", "it", "-q", "-o", "json", "--store", self.other)
        self.double.control("hold", is_held=False)
        status, out, err = resumed.end(ASKED_S)
        self.assertEqual((status, json.loads(out)["phase"]), (0, "succeeded"), err)
        counters = self.double.counters()
        self.assertEqual((counters["jobs_created"], counters["duplicates"]), (SIZE, 0))
        self.assertEqual(counters["ended"], {"succeeded": SIZE})


if __name__ == "__main__":
    unittest.main()
