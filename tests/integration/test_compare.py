#!/usr/bin/env python3
"""Two executions side by side: what they got and gave, what is written of their nodes and how these
ran, durations; as text, as a document, and by HTTP.
"""

import unittest

from asking import AskingTest

FLOW = """
troupe: 1
tasks:
  say:
    inputs: {text: string}
    outputs: {said: string, size: int}
    run: [sh, -c, 'sleep WAIT; printf "{\\"said\\": \\"%s\\", \\"size\\": 1}" "$1"', sh,
          '{{.inputs.text}}']
    stdout: outputs
  fails: {run: [sh, -c, 'exit STATUS']}
workflows:
  main:
    inputs: {text: {type: string, default: hello}, same: {type: int, default: 1}}
    nodes:
      begin: {task: say, with: {text: $text}}
      still: {task: say, with: {text: still}}
      MORE
      end: {task: say, with: {text: $begin.said}, after: [AFTER]}
      last: {task: fails}
    outputs: {said: $end.said, size: $end.size}
"""
FIRST = {"WAIT": "0", "STATUS": "0", "MORE": "old: {sleep: 1ms}", "AFTER": "still"}


class Compare(AskingTest):
    def setUp(self):
        super().setUp()
        self.run_one("a")

    def run_one(self, name, *words, status=0, **changes):
        text = FLOW
        for word, value in {**FIRST, **changes}.items():
            text = text.replace(word, value)
        self.write(f"{name}.yaml", text)
        self.troupe("run", f"{name}.yaml", "-q", "--name", name, *words, status=status)

    def compared(self, a, b, *words):
        document = self.document("compare", a, b, *words)
        self.suits("compare", document)
        return document, {row["node"]: row for row in document["nodes"]}

    def test_with_itself(self):
        document, nodes = self.compared("a", "a")
        self.assertTrue(document["is_same_definition"])
        self.assertEqual((document["inputs"], document["outputs"], nodes, document["durations"]),
                         ([], [], {}, []))
        self.assertEqual(document["counts"], {"same": 5, "changed": 0, "added": 0, "removed": 0,
                                              "without_values": 0})
        text = self.troupe("compare", "a", "a")[0]
        for line in ("the definition is the same", "inputs are the same", "outputs are the same",
                     "nodes: 0 differ, 5 are the same"):
            self.assertIn(line, text)

    def test_other_inputs(self):
        """They are followed to all that they have changed, and to nothing else."""
        self.run_one("b", "-i", "text=other")
        document, nodes = self.compared("a", "b")
        self.assertTrue(document["is_same_definition"])
        self.assertEqual(document["inputs"], [
            {"name": "text", "change": "changed", "a": "hello", "b": "other"}])
        self.assertEqual(document["outputs"], [
            {"name": "said", "change": "changed", "a": "hello", "b": "other"}])
        self.assertEqual({name: (row["differs"], row["inputs"], row["outputs"])
                          for name, row in nodes.items()},
                         {name: (["inputs", "outputs"], ["text"], ["said"])
                          for name in ("begin", "end")})
        text = self.troupe("compare", "a", "b")[0]
        for line in ('- text: "hello"', '+ text: "other"', "~ begin: inputs, outputs"):
            self.assertIn(line, text)

    def test_another_definition(self):
        self.run_one("b", MORE="new: {task: fails}", AFTER="begin", WAIT="0.3")
        document, nodes = self.compared("a", "b")
        self.assertFalse(document["is_same_definition"])
        self.assertEqual({name: (row["change"], row["differs"]) for name, row in nodes.items()}, {
            "begin": ("changed", ["definition"]), "still": ("changed", ["definition"]),
            "end": ("changed", ["after", "definition"]), "old": ("removed", []),
            "new": ("added", [])})
        self.assertIsNone(nodes["new"]["a"])
        self.assertIsNone(nodes["old"]["b"])
        self.assertEqual(nodes["new"]["b"]["target"], "fails")
        longer = document["durations"][0]
        self.assertIn(longer["node"], ("begin", "still", "end"))
        self.assertGreater(longer["b_ms"], longer["a_ms"])
        text = self.troupe("compare", "a", "b")[0]
        for line in ("the definition differs", "+ new: task fails", "- old: sleep",
                     "~ end: after, definition", "DIFFERENCE"):
            self.assertIn(line, text)

    def test_another_end(self):
        self.run_one("b", STATUS="7", status=1)
        document, nodes = self.compared("a", "b")
        self.assertEqual((document["a"]["phase"], document["b"]["phase"]), ("succeeded", "failed"))
        self.assertEqual(nodes["last"]["differs"], ["definition", "phase", "error"])
        self.assertIsNone(nodes["last"]["a"]["error"])
        self.assertIn("~ last: definition, phase succeeded -> failed, error",
                      self.troupe("compare", "a", "b")[0])

    def test_pages_of_nodes(self):
        self.run_one("b", "-i", "text=other")
        whole = self.compared("a", "b")[0]["nodes"]
        self.assertEqual(self.compared("a", "b", "--limit", "1")[0]["nodes"], whole[:1])
        self.assertEqual(self.compared("a", "b", "--offset", "1")[0]["nodes"], whole[1:])
        self.assertIn("there are more", self.troupe("compare", "a", "b", "--limit", "1")[1])

    def test_mistakes(self):
        for words, said in ((("a", "none"), "there is no execution 'none'"),
                            (("none", "a"), "there is no execution 'none'"),
                            (("a/begin", "a"), "name executions, without their nodes: 'a/begin'"),
                            (("a",), "usage: troupe compare EXEC OTHER")):
            self.assertIn(said, self.troupe("compare", *words, status=2)[1])

    def test_by_http(self):
        """Both are of one project and domain, where who asks may look."""
        self.run_one("b", "-i", "text=other")
        self.address, = self.serve()
        path = "executions/default/development/a/compare/"
        self.assertEqual(self.gives("compare", path + "b"), self.compared("a", "b")[0])
        self.assertIn('rel="next"', self.ask(path + "b?limit=1")[1]["link"])
        self.refuses(404, "not-found", "there is no execution", path + "none")
        for other in ("..%2F..%2Fa", "%2Fp%2Fd%2Fb", "p%2Fd%2Fb", "*", "@last"):
            self.refuses(404, "not-found", "{other} is no name", path + other.replace("@", "%40"))


if __name__ == "__main__":
    unittest.main()
