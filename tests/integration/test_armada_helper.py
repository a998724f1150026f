#!/usr/bin/env python3
"""Tasks in Python whose pods have the helper from their image or from the share, as the page says;
and what a pod says of its progress.
"""

import json
import os
import re
import shutil
import unittest

from armada import ArmadaTest
from program import ROOT, wait_until

HELPER = ROOT / "deploy/authoring/share/python/troupe.py"
PAGE = (ROOT / "examples/README.md").read_text().split("\n### Tasks in pods\n")[1]
SETTINGS = re.search("```yaml\n(.*?)```", PAGE, re.DOTALL)[1]
SHARE = "/shared/troupe"  # as the page has it

FLOW = """
troupe: 1
tasks:
  count: {inputs: {text: string}, outputs: {words: int}, run: [python3, ./count.py], retries: 0ENV}
workflows:
  main:
    inputs: {text: string}
    nodes: {count: {task: count, with: {text: $text}}}
    outputs: {words: $count.words}
"""

COUNT = """
import os, time
import troupe

def count(text: str):
    troupe.progress("counting", 40)
    troupe.save("seen", text)
    if not text:
        troupe.fail("Empty", "it has no words")
    while text == "wait" and not os.path.exists(os.environ["TROUPE_FOLDER"] + "/go"):
        time.sleep(0.05)
    return {"words": len(troupe.load("seen").split())}

troupe.run(count)
"""


class HelperTest(ArmadaTest):
    double_options = ("--execute",)

    def setUp(self):
        super().setUp()
        self.image = self.folder / "image"
        self.image.mkdir()
        shutil.copy(HELPER, self.image)
        self.write("count.py", COUNT)
        self.write_flow(f", env: {{PYTHONPATH: {self.image}}}")

    def write_flow(self, env):
        self.write("flow.yaml", FLOW.replace("ENV", env))

    def begin_counting(self, text):
        return self.start("run", "flow.yaml", "-i", f"text={text}", "--name", "it", "-q", "-o",
                          "json")

    def count(self, text, status=0):
        return self.finish(self.begin_counting(text), status)

    def attempt(self):
        return self.document("get", "it/count")["attempts"][0]

    def test_an_image_with_the_helper(self):
        self.assertEqual(self.count("to be or not")["outputs"], {"words": 4})

    def test_its_errors_are_the_tasks(self):
        self.assertEqual(self.count("", 1)["error"]["code"], "RetriesExhausted|Empty")

    def test_an_image_without_it(self):
        self.write_flow("")
        self.count("a", 1)
        self.assertIn("No module named 'troupe'", self.troupe("logs", "it/count")[0])

    def test_the_share_as_the_page_has_it(self):
        """The settings of the page, at this test's share."""
        self.write_flow("")
        folder = self.folder / "python"
        self.image.rename(folder)
        settings = SETTINGS.replace(SHARE, str(self.folder))
        name, value = re.search(r"name: (\w+), value: (\S+?)}", settings).groups()
        self.assertEqual((name, value), ("PYTHONPATH", str(folder)))
        self.settle(pod={"containers": [{"env": [{"name": name, "value": value}]}]})
        self.assertEqual(self.count("to be")["outputs"], {"words": 2})

    def test_progress_is_shown_while_it_runs(self):
        running = self.begin_counting("wait")
        wait_until(lambda: self.double.counters()["running"] == 1 and self.attempt()["progress"],
                   "the pod has said how far it has come")
        shown = self.attempt()["progress"]
        self.assertEqual((shown["text"], shown["percent"]), ("40 %, counting", 40))
        (waits,) = [row for row in self.document("explain", "it")["waiting"]
                    if row["node"] == "count"]
        self.assertEqual(waits["progress"], shown)
        self.write("go", "")
        self.finish(running)

    def test_a_link_is_no_progress(self):
        secret = self.write("secret", "nobody's business\n")
        self.write("count.py", f"import os\nos.symlink({json.dumps(str(secret))}, "
                   "os.environ['TROUPE_PROGRESS'])\nraise SystemExit(1)\n")
        self.count("a", 1)
        folder = self.attempt()["folder"]
        self.assertTrue(os.path.islink(f"{folder}/progress"))
        self.assertIsNone(self.attempt()["progress"])

    def test_without_a_share_it_is_in_the_pods_log(self):
        self.settle(share=None)
        self.write("flow.yaml", "troupe: 1\ntasks: {count: {run: [python3, ./say.py], env: "
                   f"{{PYTHONPATH: {self.image}}}}}}}\n"
                   "workflows: {main: {nodes: {count: {task: count}}}}\n")
        self.write("say.py", "import troupe\ntroupe.progress('counting', 40)\n")
        self.finish(self.start("run", "flow.yaml", "--name", "it", "-q", "-o", "json"))
        self.assertIsNone(self.attempt()["progress"])
        job, = self.double.jobs()
        answer = self.double.ask("/v1/binoculars/log", {"jobId": job["job_id"]}, part="binoculars")
        self.assertIn("progress: 40 %, counting",
                      [line["line"] for line in answer.document.get("log", [])])


if __name__ == "__main__":
    unittest.main()
