#!/usr/bin/env python3
"""A key that is none, in every mapping of the language: where no key of the place is near it, all
of them are listed, and those are exactly the keys that the place takes."""

import json
import re
import unittest

from program import ROOT, ProgramTest

LANGUAGE = ROOT / "actors/graph/language"
ODD = "qqqqqq"  # near to none
CHUNK = 10  # of keys in one document, since the message of a failure ends somewhere

TASKS = "tasks: {t: {run: [x]}}\n"
W = "workflows: {w: {nodes: {n: {sleep: 1s}}}}\n"
TASK = "tasks: {t: {run: [x], KEYS}}\n" + W
PLAN = W + "launch_plans: {p: {workflow: w, KEYS}}\n"
NODE = TASKS + "workflows: {w: {nodes: {n: {KEYS}}}}\n"
ARM = TASKS + ("workflows: {w: {inputs: {a: int}, nodes: {n: {switch: [{when: $a > 1, KEYS}, "
               "{else: skip}]}}}}\n")
NOTIFY = "workflows: {w: {nodes: {n: {sleep: 1s}}, notify: [{on: failed, KEYS}]}}\n"
LAST = ARM.replace("{when: $a > 1, KEYS}, {else: skip}", "{fail: no, KEYS}")

# What a place is called, the keys that stand there already, and a file with room for KEYS.
PLACES = [
    ("a definition", "troupe", "KEYS\n"),
    ("a task", "run", TASK),
    ("a declaration", "type", TASK.replace("KEYS", "inputs: {a: {type: int, KEYS}}")),
    ("backoff", "first", TASK.replace("KEYS", "retries: 1, backoff: {first: 1s, KEYS}")),
    ("cache", "version", TASK.replace("KEYS", "cache: {version: v1, KEYS}")),
    ("resources", "cpu", TASK.replace("KEYS", "resources: {cpu: 1, KEYS}")),
    ("a secret", "file", TASK.replace("KEYS", "secrets: {S: {file: g/k, KEYS}}")),
    ("venv", "requirements", TASK.replace("KEYS", "venv: {requirements: [], KEYS}")),
    ("container", "image", TASK.replace("KEYS", "container: {image: x, KEYS}")),
    ("a pool", "at_once", "pools: {p: {at_once: 1, KEYS}}\n"),
    ("a workflow", "nodes", "workflows: {w: {nodes: {n: {sleep: 1s}}, KEYS}}\n"),
    ("a launch plan", "workflow", PLAN),
    ("a schedule", "every", PLAN.replace("KEYS", "schedule: {every: 1h, KEYS}")),
    ("the last arm", "fail", LAST),
    ("a notification", "on", NOTIFY),
    ("http", "url", NOTIFY.replace("KEYS", "http: {url: 'https://h', KEYS}")),
    ("authorization", "bearer", NOTIFY.replace(
        "KEYS", "http: {url: 'https://h', authorization: {bearer: g/k, KEYS}}")),
    ("mail", "to", NOTIFY.replace("KEYS", "mail: {to: a@b.c, KEYS}")),
]
BODIES = {"task": "t", "map": "t", "workflow": "w", "launch": "w", "dynamic": "t",
          "switch": "[{else: skip}]", "approve": "g", "signal": "g", "sleep": "1s"}

DYNAMIC = """
troupe: 1
tasks: {d: {run: [sh, -c, 'cp "$TROUPE_FOLDER/plan.json" "$TROUPE_OUTPUTS"']}}
workflows: {main: {nodes: {n: {dynamic: d}}}}
"""


def tables():
    """The keys of each table in the sources of the language."""
    found = []
    for path in sorted(LANGUAGE.glob("*.c")):
        text = path.read_text()
        for table in re.findall(r"struct tri_key \w*keys\[\] = \{(.*?)\};", text, re.DOTALL):
            keys = frozenset(re.findall(r'\{"(\w+)",', table))
            if keys:
                found.append(keys)
    return found


TABLES = tables()
ALL = sorted(frozenset().union(*TABLES))
FLYTES = {"signature"}  # which no definition of people's has, only what comes from Flyte


class UnknownKeysTest(ProgramTest):
    def check(self, text, keys):
        """What is said of those of the keys that do not belong there: that, and the remedy."""
        separator = ", " if "{" in text else "\n"
        self.write("flow.yaml", "troupe: 1\n" + text.replace(
            "KEYS", separator.join(f"{key}: 1" for key in keys)))
        return {match[1]: (match[2], problem["remedy"])
                for problem in self.document("check", "flow.yaml", status=2)
                if (match := re.match(r"'(\w+)' (is no key of .*|does not go with .*)$",
                                      problem["rule"]))}

    def listed(self, text, what):
        """The keys that an odd one's remedy lists."""
        said, remedy = self.check(text, [ODD])[ODD]
        self.assertEqual(said, f"is no key of {what}")
        self.assertTrue(remedy.startswith("its keys are "), remedy)
        keys = remedy.removeprefix("its keys are ").split(", ")
        self.assertEqual(len(keys), len(set(keys)))
        return set(keys)

    def taken(self, text, candidates):
        """Those of some keys that the place takes."""
        refused = set(self.check(text, [*sorted(candidates), ODD]))
        self.assertIn(ODD, refused)
        return set(candidates) - refused

    def test_each_place(self):
        covered = []
        for what, own, text in PLACES:
            with self.subTest(what):
                listed = self.listed(text, what)
                covered.append(listed)
                others = set(ALL) - {own, "when"}  # which makes another arm of the last one
                self.assertEqual(listed, self.taken(text, others) | {own})
        covered += [self.listed(NODE, "a node"), self.listed_of_a_document([ODD])]
        for keys in TABLES:
            of_people = keys - {"when"} - FLYTES
            self.assertTrue(any(of_people <= listed for listed in covered), sorted(keys))

    def test_nodes_by_what_they_are(self):
        others = set(ALL) - set(BODIES)
        for what, text, more in (("node", NODE, set()), ("arm", ARM, {"when"})):
            of_all = set()
            for body, value in BODIES.items():
                with self.subTest(f"{what} {body}"):
                    own = text.replace("KEYS", f"{body}: {value}, KEYS")
                    listed = self.listed(own, "a node")
                    taken = self.taken(own, others - more)
                    self.assertEqual(listed, taken | {body} | more)
                    of_all |= listed
            self.assertEqual(self.listed(text, "a node"), of_all, what)

    def listed_of_a_document(self, keys):
        """The same of the document that a dynamic task gives, which only a run reads."""
        self.write("dynamic.yaml", DYNAMIC)
        self.write("plan.json", json.dumps({"nodes": {}, **{key: 1 for key in keys}}))
        message = self.document("run", "dynamic.yaml", "-q", status=1)["error"]["message"]
        what = "is no key of a dynamic task's document"
        listed = re.search(rf"'{ODD}' {what}; its keys are (.*?) \[", message)[1].split(", ")
        refused = re.findall(rf"'(\w+)' {what}", message)
        self.assertEqual(set(keys) - set(refused), set(keys) & set(listed) - {"nodes"}, message)
        return set(listed)

    def test_the_document_of_a_dynamic_task(self):
        candidates = sorted(set(ALL) - {"nodes"})
        for at in range(0, len(candidates), CHUNK):
            self.listed_of_a_document([ODD, *candidates[at:at + CHUNK]])


if __name__ == "__main__":
    unittest.main()
