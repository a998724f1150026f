#!/usr/bin/env python3
"""The double of a collector, by itself: what it takes, refuses, and answers as it was told."""

import json
import unittest
import urllib.error
import urllib.request

from collector import Collector, attributes

SPAN = {"traceId": 32 * "a", "spanId": 16 * "b", "name": "n", "kind": 1,
        "startTimeUnixNano": "1", "endTimeUnixNano": "2",
        "attributes": [{"key": "k", "value": {"intValue": "7"}}]}


class CollectorTest(unittest.TestCase):
    def setUp(self):
        self.collector = Collector()
        self.addCleanup(self.collector.close)

    def send(self, span, path="/v1/traces", type="application/json"):
        body = {"resourceSpans": [{"resource": {"attributes": []},
                                   "scopeSpans": [{"spans": [span]}]}]}
        request = urllib.request.Request(self.collector.url + path, json.dumps(body).encode(),
                                         {"content-type": type})
        try:
            with urllib.request.urlopen(request, timeout=10) as answer:
                return answer.status
        except urllib.error.HTTPError as answer:
            return answer.code

    def test_spans_are_kept(self):
        self.assertEqual(self.send(SPAN), 200)
        self.assertEqual(self.collector.spans, [SPAN])
        self.assertEqual(attributes(SPAN), {"k": "7"})
        self.assertEqual(self.collector.mistakes, [])

    def test_what_breaks_a_rule_is_refused(self):
        for wrong in ({"traceId": 32 * "A"}, {"traceId": 32 * "0"}, {"spanId": "b"},
                      {"parentSpanId": ""}, {"name": ""}, {"kind": 0},
                      {"startTimeUnixNano": 1}, {"startTimeUnixNano": "3"},
                      {"status": {"code": 3}},
                      {"attributes": [{"key": "k", "value": {"intValue": 7}}]},
                      {"attributes": 2 * SPAN["attributes"]}):
            with self.subTest(wrong):
                self.assertEqual(self.send({**SPAN, **wrong}), 400)
        self.assertEqual(self.send(SPAN, path="/"), 400)
        self.assertEqual(self.send(SPAN, type="text/plain"), 400)
        self.assertEqual((len(self.collector.mistakes), self.collector.spans), (13, []))

    def test_it_answers_as_it_was_told(self):
        self.collector.answers = [(503, {"retry-after": "1"}), (400, {})]
        self.assertEqual([self.send(SPAN) for _ in range(3)], [503, 400, 200])
        self.assertEqual(len(self.collector.spans), 1)


if __name__ == "__main__":
    unittest.main()
