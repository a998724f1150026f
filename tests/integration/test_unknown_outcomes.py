#!/usr/bin/env python3
"""What becomes of a job whose request got no answer, by the idempotency of its back end.

The plugin is that of examples/plugins/jobs.c, built with each level; its server loses the first
request that makes a job, before the work or after it.
"""

import subprocess
import sys
import threading
import unittest

from program import ROOT, ProgramTest

sys.path.insert(0, str(ROOT / "examples/plugins"))

import job_server  # noqa: E402

FLOW = """\
troupe: 1
tasks:
  add:
    type: jobs
    inputs: {a: int}
    outputs: {sum: int}
    config: {work: sum, in_doubt: POLICY}
workflows:
  main:
    nodes: {add: {task: add, with: {a: 7}}}
"""


class Handler(job_server.Handler):
    """Loses requests to make jobs while there are some to be lost."""

    def do_POST(self):
        is_lost = self.path == "/jobs" and self.server.losses > 0
        if not is_lost:
            return super().do_POST()
        self.server.losses -= 1
        if self.server.does_the_work:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            self.server.jobs.answer(self.path, job_server.json.loads(body))
        self.close_connection = True
        return None


class UnknownTest(ProgramTest):
    def setUp(self):
        super().setUp()
        self.store.mkdir()
        self.server = job_server.http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.jobs, self.server.losses = job_server.Jobs(), 1
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.addCleanup(self.server.server_close)
        self.addCleanup(self.server.shutdown)

    def run_it(self, idempotency, policy, does_the_work, status=0):
        """One execution; gives its only attempt, and how many jobs were made for it."""
        level = f"IDEMPOTENCY_{idempotency},"
        if idempotency == "TAG":
            level += "\n    .find = {JOBS_AT_ONCE, write_status, read_list},"
        source = (ROOT / "examples/plugins/jobs.c").read_text().replace("IDEMPOTENCY_EXACT,", level)
        subprocess.run(["cc", "-shared", "-fPIC", f"-I{ROOT}", "-w", "-o", self.folder / "jobs.so",
                        self.write("jobs.c", source)], check=True, timeout=60)
        port = self.server.server_address[1]
        (self.store / "settings.yaml").write_text(
            f"plugins:\n  jobs: {{path: {self.folder}/jobs.so, interval: 1s, "
            f"endpoint: 'http://127.0.0.1:{port}'}}\n")
        self.write("flow.yaml", FLOW.replace("POLICY", policy))
        self.server.does_the_work = does_the_work
        self.troupe("run", "flow.yaml", "--name", "it", status=status)
        attempt, = self.document("get", "it/add")["attempts"]
        return attempt, self.server.jobs.made

    def assert_unknown(self, attempt, words):
        self.assertTrue(attempt["is_unknown"])
        self.assertIn(f"outcome    unknown: {words}", self.troupe("get", "it/add")[0])

    def test_exact_makes_it_again(self):
        attempt, made = self.run_it("EXACT", "fail", does_the_work=True)
        self.assertEqual((attempt["is_unknown"], made), (False, 1))

    def test_by_tag_what_is_found_goes_on(self):
        attempt, made = self.run_it("TAG", "fail", does_the_work=True)
        self.assertEqual((attempt["is_unknown"], made), (False, 1))

    def test_by_tag_what_is_not_found_fails(self):
        attempt, made = self.run_it("TAG", "fail", does_the_work=False, status=1)
        self.assertEqual(made, 0)
        self.assertEqual(attempt["error"]["code"], "OutcomeUnknown")
        self.assert_unknown(attempt, "nobody can say whether it was done")
        self.assertIn("outcome unknown: nobody can say whether the job was made",
                      self.troupe("explain", "it")[0])

    def test_by_tag_what_is_not_found_is_repeated(self):
        attempt, made = self.run_it("TAG", "repeat", does_the_work=False)
        self.assertEqual(made, 1)
        self.assert_unknown(attempt, "it may have been done more than once")

    def test_with_none_the_policy_decides_at_once(self):
        attempt, _ = self.run_it("NONE", "fail", does_the_work=True, status=1)
        self.assertEqual(attempt["error"]["code"], "OutcomeUnknown")
        self.assert_unknown(attempt, "nobody can say whether it was done")


if __name__ == "__main__":
    unittest.main()
