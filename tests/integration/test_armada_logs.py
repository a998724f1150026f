#!/usr/bin/env python3
"""What jobs of Armada print: on the share, where `troupe logs` finds it, and in the pod's own log;
where it cannot be had here, that is said.
"""

import pathlib
import shutil
import unittest

from armada import ArmadaTest, until

FLOW = """
troupe: 1
tasks:
  say: {run: [/bin/sh, ./say.sh], OPTIONS}
workflows:
  main: {nodes: {say: {task: say}}}
"""

HINT = "1 of the attempts ran at 'armada' and have no logs here"


class LogsTest(ArmadaTest):
    double_options = ("--execute",)

    def begin_saying(self, script, options="retries: 0"):
        self.write("flow.yaml", FLOW.replace("OPTIONS", options))
        self.write("say.sh", script)
        return self.start("run", "flow.yaml", "--name", "it", "-q", "-o", "json")

    def say(self, script, options="retries: 0", status=0):
        self.finish(self.begin_saying(script, options), status)
        return self.troupe("logs", "it/say")

    def attempt_folder(self):
        return pathlib.Path(self.document("get", "it/say")["attempts"][0]["folder"])

    def pod_log(self):
        job, = self.double.jobs()
        answer = self.double.ask("/v1/binoculars/log", {"jobId": job["job_id"]}, part="binoculars")
        return [line["line"] for line in answer.document.get("log", [])]

    def test_both_are_printed_and_kept(self):
        out, err = self.say("echo one; echo two >&2; echo x >x")
        self.assertEqual(out, "==> it/say@0 stdout <==\none\n\n==> it/say@0 stderr <==\ntwo\n")
        self.assertEqual(err, "")
        self.assertEqual(sorted(self.pod_log()), ["one", "two"])
        folder = self.attempt_folder()
        until(lambda: not (folder / "work").exists())  # a success keeps its logs alone
        self.assertEqual((folder / "stdout").read_text(), "one\n")

    def test_of_a_failure_too(self):
        out, _ = self.say("echo begun; exit 3", status=1)
        self.assertEqual(out, "begun\n")
        self.assertEqual(self.document("get", "it/say")["attempts"][0]["exit_status"], 3)

    def test_much_of_it(self):
        out, _ = self.say("i=0; while [ $i -lt 100000 ]; do echo line $i; i=$((i + 1)); done")
        self.assertEqual(out.splitlines(), [f"line {number}" for number in range(100000)])

    def test_it_is_followed(self):
        running = self.begin_saying("echo first; while [ ! -e \"$TROUPE_FOLDER/go\" ]; do "
                                    "sleep 0.05; done; echo last")
        self.double.wait(running=1)
        followed = self.start("logs", "-f", "it/say")
        followed.wait_for("first", stream="stdout")
        self.assertNotIn("last", followed.lines["stdout"])
        self.write("go", "")
        self.finish(running)
        self.assertEqual(followed.end()[:2], (0, "first\nlast"))

    def test_what_is_said_on_the_way_out(self):
        running = self.begin_saying("trap 'echo over; exit 0' TERM; echo begun; sleep 60 & wait")
        until(lambda: self.double.counters()["running"] == 1)
        until(lambda: "begun\n" in [each.read_text() for each in
                                    self.folder.glob("troupe-*/*/stdout")])  # so the trap is set
        self.troupe("abort", "it")
        self.finish(running, 3)
        until(lambda: self.troupe("logs", "it/say")[0] == "begun\nover\n")

    def test_a_daemon_holds_nobody_up(self):
        out, _ = self.say("echo begun; sleep 1000 &")
        self.assertEqual(out, "begun\n")

    def test_outputs_that_are_printed_are_no_log(self):
        out, _ = self.say("echo '{\"n\": 1}'; echo said >&2",
                          "outputs: {n: int}, stdout: outputs")
        self.assertEqual(out, "said\n")

    def test_an_image_without_tee(self):
        (self.folder / "bin").mkdir()
        for name in ("mkdir", "rm"):
            (self.folder / "bin" / name).symlink_to(shutil.which(name))
        out, err = self.say("echo alone", f"env: {{PATH: {self.folder}/bin}}")
        self.assertEqual(out, "")
        self.assertIn(HINT, err)
        self.assertEqual(self.pod_log(), ["alone"])

    def test_a_job_that_says_nothing(self):
        out, err = self.say("exit 0")
        self.assertEqual(out, "")
        self.assertIn(f"{HINT}: they printed nothing, or it is in the job's own log alone, where "
                      "plugins.armada.logs says; with plugins.armada.share, a shell and tee", err)

    def test_without_a_share_it_is_said_where_they_are(self):
        self.settle(share=None)
        self.assertIn(HINT, self.say("echo alone")[1])
        self.assertEqual(self.pod_log(), ["alone"])
        self.settle(share=None, logs="https://lookout.example.org/?job={job}")
        self.finish(self.start("run", "flow.yaml", "--name", "again", "-q", "-o", "json"))
        out, err = self.troupe("logs", "again/say")
        self.assertEqual(out, "")
        self.assertRegex(err, r'say@0 has logs at .*https://lookout.example.org/\?job=01')

    def test_a_link_is_no_log(self):
        secret = self.write("secret", "nobody's business\n")
        out, _ = self.say('a=${TROUPE_OUTPUTS%/*}; until [ -e "$a/stdout" ]; do sleep 0.01; done; '
                          f'rm "$a/stdout"; ln -s {secret} "$a/stdout"')
        self.assertNotIn("nobody's business", out)


if __name__ == "__main__":
    unittest.main()
