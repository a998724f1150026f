#!/usr/bin/env python3
"""`troupe elements`: the elements of a map, a page of them and all in numbers, at the command line
and by HTTP; and an array of many elements, whose rows a test writes.
"""

import json
import re
import sqlite3
import unittest

from asking import BASE, AskingTest

ARRAY = """
troupe: 1
tasks:
  list:
    outputs: {x: '[int]'}
    run: [echo, '{"x": [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]}']
    stdout: outputs
  fails:
    inputs: {x: int}
    run: [sh, -c, 'case $1 in 3|7) exit 3;; 5) exit 4;; esac', sh, '{{.inputs.x}}']
workflows:
  main:
    nodes:
      list: {task: list}
      each: {map: fails, with: {x: $list.x}, min_successes: 1}
      ok: {approve: go, after: [each]}
      none: {map: fails, with: {x: $list.x}, after: [ok]}
"""
MANY = 200_000


class ElementsTest(AskingTest):
    def setUp(self):
        super().setUp()
        self.write("array.yaml", ARRAY)

    def elements(self, *words, node="it/each"):
        return self.document("elements", node, *words)

    def document(self, *words):
        return json.loads(self.troupe(*words, "-o", "json")[0])

    def run_array(self):
        self.address, = self.serve()
        self.troupe("submit", "array.yaml", "--name", "it")
        self.wait_for_gate("it")

    def test_pages(self):
        self.run_array()
        rows = self.elements()
        self.suits("elements", rows)
        self.assertEqual([row["element"] for row in rows], list(range(10)))
        self.assertEqual({row["element"]: row["phase"] for row in rows if row["error"]},
                         {3: "failed", 5: "failed", 7: "failed"})
        self.assertIn("exit status 4", rows[5]["error"]["message"])
        self.assertLess(rows[0]["started_at"], rows[0]["ended_at"] + "x")
        code = rows[3]["error"]["code"]
        for words, wanted in [(("--phase", "failed"), [3, 5, 7]),
                              (("--phase", "failed,succeeded", "--from", "4"), list(range(4, 10))),
                              (("--phase", "running"), []), (("--from", "8"), [8, 9]),
                              (("--from", "10"), []), (("--limit", "2"), [0, 1]),
                              (("--code", code, "--limit", "2"), [3, 5]),
                              (("--code", "none"), [])]:
            with self.subTest(words):
                got = self.elements(*words)
                self.assertEqual([row["element"] for row in got], wanted)
        text, said = self.troupe("elements", "it/each", "--phase", "failed")
        self.assertRegex(text, r"^ELEMENT +PHASE +ATTEMPT +TOOK +ERROR\n3 +failed +0 +\S+ +exit")
        self.assertEqual(self.elements(node="it/none"), [])

    def test_a_summary(self):
        self.run_array()
        document = self.elements("--summary", "--ranges", "5")
        self.suits("elements_summary", document)
        self.assertEqual(document["phases"], [{"phase": "succeeded", "count": 7},
                                              {"phase": "failed", "count": 3}])
        self.assertEqual((document["range_size"], document["ranges"]),
                         (2, [[2, 0], [1, 1], [1, 1], [1, 1], [2, 0]]))
        self.assertEqual([(group["count"], group["elements"]) for group in document["errors"]],
                         [(3, [3, 5, 7])])
        self.assertEqual(document["durations"]["count"], 10)
        self.assertEqual(sum(bucket["count"] for bucket in document["durations"]["buckets"]), 10)
        self.assertEqual(len(document["slowest"]), 10)
        part = self.elements("--summary", "--from", "3", "--count", "3", "--ranges", "4096")
        self.assertEqual((part["first"], part["count"], part["ranges"]),
                         (3, 3, [[0, 1], [1, 0], [0, 1]]))
        text, _ = self.troupe("elements", "it/each", "--summary", "--ranges", "2")
        self.assertIn("7 of 10 succeeded, 3 failed", text)
        self.assertRegex(text, r"\n0-4 +4 +1\n5-9 +3 +2\n")
        empty = self.elements("--summary", node="it/none")
        self.suits("elements_summary", empty)
        self.assertEqual((empty["total"], empty["ranges"]), (0, []))

    def test_what_is_wrong_is_said(self):
        self.run_array()
        for words, wanted in [(("it/each", "--phase", "x"), "--phase: 'x' is no phase"),
                              (("it/each", "--from", "x"), "--from: 'x' is no number from 0"),
                              (("it/each", "--limit", "-1"), "--limit: '-1' is no number"),
                              (("it/each", "--ranges", "2"), "--ranges needs --summary"),
                              (("it/each", "--count", "2"), "--count needs --summary"),
                              (("it/each", "--summary", "--code", "x"),
                               "--code cannot be given with --summary"),
                              (("it/each", "--summary", "--ranges", "4097"),
                               "--ranges: '4097' is no number from 1 to 4096"),
                              (("it/each", "--summary", "--count", "0"), "--count: '0' is no"),
                              (("it/list",), "'list' is no map, and has no elements"),
                              (("it",), "name an array"), (("it/each[1]",), "name an array"),
                              (("it/no",), "has no node 'no'")]:
            with self.subTest(words):
                self.assertIn(wanted, self.troupe("elements", *words, status=2)[1])

    def test_by_http(self):
        self.run_array()
        where = "executions/default/development/it/elements"
        self.assertEqual(self.gives("elements", f"{where}?node=each"), self.elements())
        self.assertEqual(self.gives("elements_summary", f"{where}/summary?node=each&ranges=5"),
                         self.elements("--summary", "--ranges", "5"))
        seen, path = [], f"{BASE}/{where}?node=each&limit=2&phase=succeeded&from=1"
        while path:
            status, headers, rows = self.ask(path)
            self.assertEqual(status, 200, rows)
            seen.append([row["element"] for row in rows])
            link = re.fullmatch(r'<(.*)>; rel="next"', headers.get("link", ""))
            path = link and link[1]
        self.assertEqual(seen, [[1, 2], [4, 6], [8, 9]])
        self.refuses(404, "not-found", "has no elements", f"{where}?node=list")
        self.refuses(400, "invalid", "name an array", where)
        self.refuses(400, "invalid", "'x' is no phase", f"{where}?node=each&phase=x")
        self.refuses(400, "invalid", "from 1 to 4096", f"{where}/summary?node=each&ranges=9999")
        self.refuses(400, "invalid", "is nothing that", f"{where}/summary?node=each&limit=3")
        stream = self.events(f"{BASE}/{where}/summary?node=each")
        self.suits("elements_summary", stream.next()[2])

    def test_many_elements(self):
        """Counted from rows, by hand: three attempts, codes, texts with quotes."""
        self.run_array()
        self.stop()
        wanted = write_many(self.store / "troupe.db")
        document = self.elements("--summary", "--ranges", "100")
        self.suits("elements_summary", document)
        self.assertEqual({row["phase"]: row["count"] for row in document["phases"]},
                         {"succeeded": MANY - len(wanted) - 1, "failed": len(wanted),
                          "running": 1})
        self.assertEqual(len(document["ranges"]), 100)
        self.assertEqual(sum(map(sum, document["ranges"])), MANY)
        (odd,) = [group for group in document["errors"] if group["code"] == 'odd "][']
        self.assertEqual((odd["count"], odd["elements"]), (1, [777]))
        self.assertEqual(document["slowest"][0]["element"], MANY - 1)
        self.assertIsNone(document["slowest"][0]["ended_at"])
        rows = self.elements("--phase", "failed", "--limit", "0")
        self.assertEqual([row["element"] for row in rows], wanted)
        row, = self.elements("--code", 'odd "][')
        self.assertEqual((row["element"], row["attempt"], row["error"]["message"]),
                         (777, 2, 'a "]" \\ here\nand there'))


def write_many(path):
    """Makes the array `each` one of MANY elements; the elements that failed."""
    store = sqlite3.connect(path)
    row = store.execute("select * from record_element_block where path = 'each'")
    names = [each[0] for each in row.description]
    one = dict(zip(names, row.fetchone()))
    store.execute("delete from record_element_block where path = 'each'")
    failed = []
    number = 0
    for first in range(0, MANY, 128):
        part = range(first, min(first + 128, MANY))
        begun = [[i, 0, 0, 1, 2] for i in part]
        ended = []
        for i in part:
            if i == 777:
                ended += [[i, 0, 5, 8, "x", "y"], [i, 1, 6, 1, 2], [i, 1, 7, 8], [i, 2, 8, 1, 2],
                          [i, 2, 9, 6, 'odd "][', 'a "]" \\ here\nand there']]
            elif i % 1000 == 999 and i != MANY - 1:
                ended.append([i, 0, 9, 6, "NonZeroExit", "exit status 3"])
            elif i != MANY - 1:
                ended.append([i, 0, i % 700, 5])
            if ended and ended[-1][0] == i and ended[-1][3] == 6:
                failed.append(i)
        for entries in (begun, ended):
            one.update(number=number, element_min=part[0], element_max=part[-1],
                       entry_count=len(entries), entries=json.dumps(entries))
            store.execute(f"insert into record_element_block ({','.join(names)}) values "
                          f"({','.join('?' * len(names))})", [one[name] for name in names])
            number += 1
    store.execute("update record_progress set total = ? where path = 'each'", (MANY,))
    store.commit()
    store.close()
    return failed


if __name__ == "__main__":
    unittest.main()
