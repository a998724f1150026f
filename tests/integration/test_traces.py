#!/usr/bin/env python3
"""Executions as traces: what a collector gets, what tasks know of it, and what happens when it is
slow, fails or is away.
"""

import json
import re
import signal
import sys
import time
import unittest

from program import LIMIT_S, ROOT, ProgramTest, free_port, wait_until

sys.path.insert(0, str(ROOT / "tests/doubles/otlp"))

from collector import Collector, attributes  # noqa: E402: behind where it lies

PARENT = f"00-{32 * 'a'}-{16 * 'b'}-01"
FLOW = """
troupe: 1
tasks:
  list: {outputs: {x: '[int]'}, run: [echo, '{"x": [0, 1, 2]}'], stdout: outputs}
  says:
    inputs: {x: int}
    outputs: {parent: string}
    run: [sh, -c, 'echo "{\\"parent\\": \\"$TRACEPARENT\\"}"']
    stdout: outputs
  fails: {run: [sh, -c, exit 3], retries: 1}
workflows:
  inner:
    nodes: {one: {task: list}, two: {map: says, with: {x: $one.x}}}
    outputs: {p: $two.parent}
  main: {nodes: {sub: {workflow: inner}}, outputs: {p: $sub.p}}
  broken: {nodes: {it: {task: fails}}}
  quick: {nodes: {it: {task: list}}}
"""


class TracesTest(ProgramTest):
    def setUp(self):
        super().setUp()
        self.write("flow.yaml", FLOW)
        self.more = {}
        self.collector = Collector()
        self.addCleanup(self.collector.close)
        self.store.mkdir()

    def environment(self):
        return {**super().environment(), **self.more}

    def serve(self, more="", url=None):
        (self.store / "settings.yaml").write_text(
            f"traces: {{endpoint: '{url or self.collector.url}'{more}}}\n")
        self.serving = self.start("serve", "--no-warm")
        self.serving.wait_for("sends traces to")

    def leave(self):
        self.serving.signal(signal.SIGTERM)
        self.assertEqual(self.serving.end()[0], 0)

    def spans(self, name):
        """Those of an execution, when its root is there."""
        def found():
            return [span for span in self.collector.spans
                    if attributes(span)["troupe.execution"].endswith(f"/{name}")]
        wait_until(found, f"the trace of {name} came")
        return found()

    def metric(self, name):
        text = self.troupe("metrics", "--prometheus")[0]
        return float(re.search(rf"(?m)^{name} (\S+)$", text)[1])

    # ------------------------------------------------------------------ what is sent

    def test_an_execution_is_a_trace(self):
        self.serve(", service: nightly")
        done = json.loads(self.troupe("submit", "flow.yaml", "main", "--name", "it", "--wait",
                                      "--label", "team=data", "-o", "json")[0])
        spans = self.spans("it")
        self.assertEqual(self.collector.mistakes, [])
        self.assertEqual(len({span["traceId"] for span in spans}), 1)
        by_id = {span["spanId"]: span for span in spans}
        self.assertEqual(len(by_id), len(spans))
        root, = [span for span in spans if "parentSpanId" not in span]
        self.assertEqual((root["name"], root["status"], attributes(root)["troupe.labels"]),
                         ("main", {"code": 1}, "team=data"))
        def names(span):
            """From the root to it."""
            parent = span.get("parentSpanId")
            return (names(by_id[parent]) if parent else []) + [span["name"]]
        self.assertEqual(sorted(map(names, spans)),
                         [["main"], ["main", "sub"], ["main", "sub", "sub/one"],
                          ["main", "sub", "sub/one", "attempt 0"], ["main", "sub", "sub/two"]] +
                         3 * [["main", "sub", "sub/two", "attempt 0"]])
        for span in spans:
            for end in ("startTimeUnixNano", "endTimeUnixNano"):
                self.assertLess(abs(int(span[end]) / 1e9 - time.time()), LIMIT_S)
        elements = {attributes(span)["troupe.element"]: span for span in spans
                    if "troupe.element" in attributes(span)}
        # What each task was told is its own span.
        self.assertEqual(done["outputs"]["p"],
                         [f"00-{root['traceId']}-{elements[str(i)]['spanId']}-01"
                          for i in range(3)])
        self.assertEqual({each["service.name"] for each in self.collector.resources}, {"nightly"})
        wait_until(lambda: self.metric("troupe_traces_sent_total") == 1, "it is counted")
        self.leave()

    def test_a_failure_is_told(self):
        self.serve()
        self.troupe("submit", "flow.yaml", "broken", "--name", "it", "--wait", status=1)
        spans = self.spans("it")
        self.assertEqual([span["status"]["code"] for span in spans], 4 * [2])
        attempts = [span for span in spans if span["name"].startswith("attempt")]
        self.assertEqual([attributes(span)["troupe.attempt"] for span in attempts], ["0", "1"])
        self.assertIn("exit status 3", attempts[0]["status"]["message"])
        self.assertIn("error.type", attributes(attempts[0]))
        self.leave()

    def test_nothing_is_sent_unless_it_is_asked_for(self):
        self.more = {"TRACEPARENT": PARENT}
        engine = self.start("serve")
        engine.wait_for("serves")
        done = json.loads(self.troupe("submit", "flow.yaml", "main", "--wait", "-o", "json")[0])
        self.assertEqual(done["outputs"]["p"], ["", "", ""])
        engine.signal(signal.SIGTERM)
        self.assertEqual(engine.end()[0], 0)
        done = json.loads(self.troupe("run", "flow.yaml", "main", "-q", "-o", "json")[0])
        self.assertEqual(done["outputs"]["p"], 3 * [PARENT])
        self.assertEqual(self.collector.requests, [])

    def test_ids_are_the_same_after_a_restart(self):
        """What ended in the last minute comes again, and is known by its ids."""
        self.serve()
        self.troupe("submit", "flow.yaml", "quick", "--name", "it", "--wait")
        first = self.spans("it")
        self.serving.signal(signal.SIGKILL)
        self.serving.end()
        self.serve()
        wait_until(lambda: len(self.spans("it")) == 2 * len(first), "it comes again")
        again = self.spans("it")[len(first):]
        self.assertEqual([span["spanId"] for span in again], [span["spanId"] for span in first])
        self.leave()

    def test_many_spans_go_in_several_documents(self):
        nodes = ", ".join(f"n{i}: {{task: t}}" for i in range(600))
        self.write("wide.yaml", f"troupe: 1\ntasks: {{t: {{type: echo}}}}\nworkflows:\n  main: "
                   f"{{nodes: {{{nodes}}}}}\n")
        self.serve()
        self.troupe("submit", "wide.yaml", "--name", "it", "--wait")
        wait_until(lambda: self.metric("troupe_traces_sent_total") == 1, "all spans came")
        self.assertEqual(len({span["name"] for span in self.spans("it")} - {"attempt 0"}), 601)
        self.assertEqual(len(self.collector.requests), -(-len(self.spans("it")) // 500))
        self.assertEqual(self.collector.mistakes, [])
        self.leave()

    # -------------------------------------------------------------- a collector that fails

    def test_what_was_not_taken_comes_again(self):
        self.collector.answers = [(503, {"retry-after": "1"}), (429, {})]
        self.serve()
        self.troupe("submit", "flow.yaml", "quick", "--name", "it", "--wait")
        spans = self.spans("it")
        self.assertEqual((len(self.collector.requests), len(spans)), (3, 3))
        self.serving.wait_for("the answer is HTTP 503; they are tried again")
        self.assertEqual(self.metric("troupe_traces_lost_total"), 0)
        self.leave()

    def test_what_is_refused_is_lost_and_counted(self):
        self.collector.answers = [(400, {})]
        self.serve()
        self.troupe("submit", "flow.yaml", "quick", "--name", "it", "--wait")
        self.serving.wait_for("the trace of an execution is lost, 1 so far")
        self.assertEqual(self.metric("troupe_traces_lost_total"), 1)
        self.troupe("submit", "flow.yaml", "quick", "--name", "other", "--wait")
        self.spans("other")
        self.leave()

    def test_one_that_is_away_or_hangs_delays_nothing(self):
        port = free_port()
        self.serve(url=f"http://127.0.0.1:{port}")
        for i in range(5):
            self.troupe("submit", "flow.yaml", "quick", "--name", f"it{i}", "--wait")
        self.serving.wait_for("traces cannot be sent to")
        begin = time.monotonic()
        self.leave()
        self.assertLess(time.monotonic() - begin, LIMIT_S / 4)
        late = Collector(port)
        self.addCleanup(late.close)
        late.answers = [None]
        self.serve(url=late.url)
        self.troupe("submit", "flow.yaml", "quick", "--name", "last", "--wait")
        wait_until(lambda: late.requests, "it is asked")
        self.troupe("ping")
        begin = time.monotonic()
        self.leave()
        self.assertLess(time.monotonic() - begin, LIMIT_S / 4)

    # ------------------------------------------------------------------- settings

    def test_a_token_is_shown(self):
        self.serve(", authorization: {bearer: otel/token}}\nsecrets: [{folder: ./secrets}]\n#")
        folder = self.store / "secrets/otel"
        folder.mkdir(parents=True)
        (folder / "token").write_text("sesame")
        self.troupe("submit", "flow.yaml", "quick", "--name", "it", "--wait")
        self.spans("it")
        headers = {name.lower(): value for name, value in self.collector.requests[-1][1].items()}
        self.assertEqual(headers["authorization"], "Bearer sesame")
        self.leave()

    def test_mistakes_of_the_settings_are_named(self):
        for text, words in [
                ("traces: {service: a}", ":1:9: traces have no 'endpoint'; write the URL of a"),
                ("traces: {endpoint: collector}", ":1:20: 'collector' is no URL"),
                ("traces: {endpoint: 'http://a', service: [a]}", ":1:41: a list is no value for"),
                ("traces: {endpoint: 'http://a', ca_file: none.pem}", ":1:41: "),
                ("traces: {endpoint: 'http://a', authorization: x}",
                 ":1:47: this is no value for 'authorization'"),
                ("traces: {endpoint: 'http://a', url: b}", "'url' is no key of traces"),
                ("traces: here", ":1:9: traces is a mapping, and this is text")]:
            with self.subTest(text):
                (self.store / "settings.yaml").write_text(text + "\n")
                self.assertIn(words, self.troupe("serve", status=2)[1])


if __name__ == "__main__":
    unittest.main()
