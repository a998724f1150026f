#!/usr/bin/env python3
"""Texts with references in braces when a workflow runs: where they go, what shows them, and that
recoveries, edited inputs and the cache see what they came to."""

import json
import unittest

from program import ProgramTest

TASKS = """\
troupe: 1
tasks:
  say:
    type: echo
    inputs: {t: string}
    outputs: {t: string}
  once:
    inputs: {t: string}
    outputs: {t: string}
    run: [sh, -c, 'echo "$1" >> "$TROUPE_FOLDER/runs";
          printf "{\\"t\\": \\"%s\\"}" "$1" > $TROUPE_OUTPUTS', sh, "{{.inputs.t}}"]
  make:
    outputs: {v: struct}
    run: [python3, -c, 'import json, os; json.dump({"v": {"field": ["first", 2],
          "fill": "x" * 300000}}, open(os.environ["TROUPE_OUTPUTS"], "w"))']
  decide:
    inputs: {day: datetime, n: int}
    outputs: {t: string}
    run: [python3, -c, 'import json, os; json.dump({"nodes": {"in": {"task": "say", "with":
          {"t": "{$day}/{$n}"}}}, "outputs": {"t": "<{$in.t}>"}},
          open(os.environ["TROUPE_OUTPUTS"], "w"))']
"""

FLOW = TASKS + """\
workflows:
  main:
    inputs:
      day: {type: datetime, default: 2026-08-20}
      n: {type: int, default: 3}
      name: {type: string, default: Ada}
    nodes:
      whole: {task: say, with: {t: "{$day}/{$name}-{$n}.csv"}}
      each: {map: say, with: {t: ["{$name}", $whole.t, "{$$n}"]}}
      inner: {workflow: inside, with: {t: "in {$whole.t}"}}
      decided: {dynamic: decide, with: {day: $day, n: $n}}
      chosen:
        switch:
          - when: $name == "Ad{$inner.t}" or $name == "Ada{$inner.none}"
            task: say
            with: {t: no}
          - {when: '$whole.t == "{$day}/Ada-{$n}.csv"', task: say, with: {t: "{$each.t[0]}!"}}
          - fail: "{$n} of {$name}"
    outputs:
      whole: $whole.t
      each: $each.t
      inner: "<{$inner.t}>"
      decided: $decided.t
      chosen: $chosen.t
  inside:
    inputs: {t: string}
    nodes: {n: {task: say, with: {t: "({$t})"}}}
    outputs: {t: $n.t, none: "{$n.t}?"}
"""


class TextsTest(ProgramTest):
    def test_everywhere(self):
        self.write("flow.yaml", FLOW)
        result = self.document("run", "flow.yaml", "--name", "one")
        self.assertEqual(result["outputs"], {
            "whole": "2026-08-20T00:00:00Z/Ada-3.csv",
            "each": ["Ada", "2026-08-20T00:00:00Z/Ada-3.csv", "{$n}"],
            "inner": "<(in 2026-08-20T00:00:00Z/Ada-3.csv)>",
            "decided": "<2026-08-20T00:00:00Z/3>",
            "chosen": "Ada!",
        })
        node = self.document("get", "one/whole")
        self.assertEqual(node["inputs"], {"t": "2026-08-20T00:00:00Z/Ada-3.csv"})
        self.assertEqual(node["bindings"], {"t": '"{$day}/{$name}-{$n}.csv"'})
        node = self.document("get", "one/each")
        self.assertEqual(node["bindings"], {"t": '["{$name}", $whole.t, "{$$n}"]'})
        self.assertIn('bound to   t: "{$day}/{$n}"', self.troupe("get", "-v", "one/decided/in")[0])
        failed = self.document("run", "flow.yaml", "-i", "name=Bob", status=1)["error"]
        self.assertEqual(failed["message"], "3 of Bob")

    def test_a_part_of_a_large_value(self):
        self.write("flow.yaml", TASKS + """\
workflows:
  main:
    nodes:
      made: {task: make}
      told: {task: say, with: {t: "{$made.v.field[0]}-{$made.v.field[1]}"}}
      far: {task: say, with: {t: "{$made.v.fill}"}, optional: true}
      list: {task: say, with: {t: "{$made.v.field}"}, optional: true}
    outputs: {t: $told.t}
""")
        result = self.document("run", "flow.yaml", "--name", "one")
        self.assertEqual(result["outputs"], {"t": "first-2"})
        error = self.document("get", "one/far")["error"]
        self.assertEqual(error["code"], "InlineSizeExceeded")
        self.assertIn("the text is larger than TR_INLINE_BYTES_MAX (256 KiB)", error["message"])
        error = self.document("get", "one/list")["error"]
        self.assertEqual((error["code"], error["message"]), (
            "BindingResolutionError",
            "'t' gets $made.v.field, which has no form as text: it is none, a list or a mapping"))
        self.assertIn(error["message"], self.troupe("explain", "one/list")[0])

    CACHED = TASKS + """\
workflows:
  main:
    inputs: {a: {type: int, default: 1}, b: {type: int, default: 2}}
    nodes:
      first: {task: once, with: {t: "first {$a}"}, cache: v1}
      second: {task: once, with: {t: "second {$b} of {$first.t}"}}
      last:
        after: [second]
        switch: [{when: $a == 99, task: say, with: {t: x}}, {fail: "{$a} is no end"}]
"""

    def runs(self):
        """What ran since the last time."""
        path = self.folder / "runs"
        lines = path.read_text().splitlines() if path.exists() else []
        path.unlink(missing_ok=True)
        return lines

    def test_recoveries_edits_and_the_cache(self):
        self.write("flow.yaml", self.CACHED)
        error = self.document("run", "flow.yaml", "--name", "one", status=1)["error"]
        self.assertEqual((error["node"], error["message"]), ("last", "1 is no end"))
        self.assertEqual(self.runs(), ["first 1", "second 2 of first 1"])
        # An input that is edited makes the node run whose text it stands in, and those behind it.
        _, told = self.troupe("rerun", "one", "-i", "b=5", "--name", "two", status=1)
        self.assertRegex(told, "second .*uses the input b, which is edited")
        self.assertEqual(self.runs(), ["second 5 of first 1"])
        self.document("rerun", "one", "--set", "second.t=other", "--name", "three", status=1)
        self.assertEqual(self.runs(), ["other"])
        # Another text with the same references is another definition.
        self.write("other.yaml", self.CACHED.replace("second {$b} of", "second {$b} after"))
        self.document("recover", "one", "--file", "other.yaml", "--name", "four", status=1)
        self.assertEqual(self.runs(), ["second 2 after first 1"])
        self.document("recover", "one", "--file", "flow.yaml", "--name", "five", status=1)
        self.assertEqual(self.runs(), [])
        # For the cache a text counts as what it came to.
        self.document("run", "flow.yaml", "--name", "six", status=1)
        self.assertEqual(self.runs(), ["second 2 of first 1"])
        self.document("run", "flow.yaml", "-i", "a=7", "--name", "seven", status=1)
        self.assertEqual(self.runs(), ["first 7", "second 2 of first 7"])

    def test_what_check_shows(self):
        self.write("flow.yaml", FLOW)
        shown, _ = self.troupe("check", "-v", "flow.yaml")
        for line in ('workflow main', '  whole: task say', '    t: "{$day}/{$name}-{$n}.csv"',
                     '    t: ["{$name}", $whole.t, "{$$n}"], one element each',
                     '  chosen-n1: task say', '    "Ad{$inner.t}"', '    t: "{$each.t[0]}!"',
                     '    fail: "{$n} of {$name}"', '  outputs', '    inner: "<{$inner.t}>"',
                     'workflow inside', '    t: "({$t})"'):
            self.assertIn(line, shown.splitlines())
        self.assertEqual(self.troupe("check", "flow.yaml")[0], "")
        self.assertEqual(json.loads(self.troupe("check", "-o", "json", "-v", "flow.yaml")[0]), [])


if __name__ == "__main__":
    unittest.main()
