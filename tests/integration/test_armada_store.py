#!/usr/bin/env python3
"""Armada with an object store in the place of a share: documents come back by s3://.

Jobs really run (the Armada double's `--execute`), unchanged, and what they write reaches the
object store's double by curl, which signs by itself; the engine reads it there with a signature of
its own.
"""

import json
import re
import shutil
import sys
import unittest

from program import EXAMPLES, ROOT, ProgramTest, wait_until

sys.path[:0] = [str(ROOT / "tests/doubles/armada"), str(ROOT / "tests/doubles/s3")]

from armada_client import QUEUE, Double  # noqa: E402
from s3_client import ACCESS, BUCKET, REGION, SECRET, ObjectStore  # noqa: E402

KEY = f"{ACCESS}:{SECRET}"

FLOW = """\
troupe: 1
tasks:
  work:
    inputs: {a: int}
    outputs: {OUTPUTS}
    run: [/bin/sh, -c, 'SCRIPT']
workflows:
  main:
    nodes: {work: {task: work, with: {a: 7}}}
"""

WRITES = 'echo "{\\"b\\": 49}" >"$TROUPE_OUTPUTS"'


class StoreTest(ProgramTest):
    key = KEY           # of the engine; None: nothing is signed
    pods_key = KEY      # of the pods
    store_options = ()

    def setUp(self):
        super().setUp()
        self.objects = ObjectStore(*self.store_options, key=KEY if self.key else None)
        self.addCleanup(self.objects.stop)
        self.double = Double("--execute", "--slots", "4", "--share", str(self.folder), "--share",
                             str(ROOT), "--secret", f"store/key={self.pods_key}")
        self.addCleanup(self.double.stop)
        self.store.mkdir()
        self.settle()

    def environment(self):
        environment = super().environment()
        if self.key:
            environment["TROUPE_SECRET_STORE_KEY"] = self.key
        return environment

    def settle(self, **keys):
        """Settings with which every process task is a job whose documents go to the store."""
        where = {"outputs": f"s3://{BUCKET}/runs",
                 "object_store": {"endpoint": self.objects.endpoint, "region": REGION,
                                  "secret": "store/key"}}
        if not self.key:
            where = {"outputs": f"{self.objects.endpoint}/{BUCKET}/runs"}
        armada = {"endpoint": self.double.endpoint, "queue": QUEUE, "image": "debian:12",
                  "interval": "1s", **where, **keys}
        (self.store / "settings.yaml").write_text(
            json.dumps({"task_types": {"process": "armada"}, "plugins": {"armada": armada}}))

    def flow(self, script=WRITES, outputs="b: int"):
        self.write("flow.yaml", FLOW.replace("OUTPUTS", outputs).replace("SCRIPT", script))

    def run_it(self, script=WRITES, status=0, **flow):
        self.flow(script, **flow)
        return self.document("run", "flow.yaml", "--name", "it", status=status)

    def node(self):
        return self.document("get", "it/work")

    def jobs_created(self):
        return self.double.counters()["jobs_created"]

    def count(self, answer):
        return self.objects.counters().get(answer, 0)


class DocumentsTest(StoreTest):
    def test_the_fan_out_example_gives_the_same(self):
        """By one line of the settings it is done here, or there without a share."""
        words = ("run", EXAMPLES / "fan_out.yaml", "-i", "size=20")
        there = self.document(*words)
        self.assertEqual(self.jobs_created(), 22)
        self.assertEqual(self.count("PUT 200"), 44)
        (self.store / "settings.yaml").unlink()
        self.assertEqual(there["outputs"], self.document(*words)["outputs"])

    def test_what_is_written_where(self):
        self.run_it()
        names = self.objects.objects()
        self.assertEqual(sorted(name.rsplit("/", 1)[1] for name in names),
                         ["error.json", "outputs.json"])
        for name in names:
            self.assertRegex(name, rf"^{BUCKET}/runs/troupe-it-work-[a-z2-7]{{13}}/[a-z0-9-]+/")
        self.assertEqual(self.node()["outputs"], {"b": 49})

    def test_an_error_document_is_a_failure(self):
        self.run_it('echo "{\\"code\\": \\"Mine\\", \\"message\\": \\"told\\", '
                    '\\"recoverable\\": false}" >"$TROUPE_ERROR"', status=1)
        self.assertEqual(self.node()["error"]["code"], "Mine")
        self.assertEqual(self.node()["error"]["message"], "told")

    def test_an_exit_status_is_that_of_the_words(self):
        self.run_it("exit 7", status=1)
        self.assertIn("7", self.node()["error"]["message"])

    def test_outputs_that_are_missing_are_named(self):
        self.run_it("true", status=1)
        error = self.node()["error"]
        self.assertEqual(error["code"], "RetriesExhausted|OutputsNotFound")
        self.assertRegex(error["message"], r"^nothing was written to \$TROUPE_OUTPUTS: "
                         r"http://\S+/results/runs/\S+/outputs.json is empty$")

    def test_outputs_that_are_wrong_are_named(self):
        self.run_it('echo "{\\"b\\": \\"x\\"}" >"$TROUPE_OUTPUTS"', status=1)
        self.assertEqual(self.node()["error"]["code"], "RetriesExhausted|MismatchingTypes")

    def test_outputs_that_are_too_large_are_refused(self):
        large = 'head -c 600000 /dev/zero | tr "\\0" x'
        self.run_it(f'{{ printf "{{\\"b\\": \\""; {large}; printf "\\"}}"; }} >"$TROUPE_OUTPUTS"',
                    status=1, outputs="b: string")
        error = self.node()["error"]
        self.assertEqual(error["code"], "OutputSizeExceeded", error)
        self.assertRegex(error["message"], r"outputs.json has more than the 524288 bytes that are "
                         "read$")

    def test_pipes_and_variables(self):
        self.flow()
        text = (self.folder / "flow.yaml").read_text().replace(
            "    run:", "    stdin: inputs\n    stdout: outputs\n    run:").replace(
            WRITES, 'read -r a; a=${a##*: }; [ -z "$TROUPE_STORE_KEY" ] && '
            'case $TROUPE_OUTPUTS_URI in http://*/outputs.json) '
            'echo "{\\"b\\": ${a%\\}}}";; esac')
        self.write("flow.yaml", text)
        self.document("run", "flow.yaml", "--name", "it")
        self.assertEqual(self.node()["outputs"], {"b": 7})

    def test_an_abort_reaches_the_words(self):
        self.flow(f'trap "echo ended >{self.folder}/ended; exit 3" TERM; '
                  f"echo >{self.folder}/begun; while :; do sleep 0.05; done")
        running = self.start("run", "flow.yaml", "--name", "it")
        self.await_file("begun")
        running.signal(2)
        self.assertEqual(running.end()[0], 3)
        self.await_file("ended")

    def test_inputs_that_are_too_large_are_refused(self):
        self.flow()
        text = (self.folder / "flow.yaml").read_text()
        self.write("flow.yaml", text.replace("a: int", "a: string")
                   .replace("a: 7", f"a: {'x' * 5000}"))
        self.troupe("run", "flow.yaml", "--name", "it", status=1)
        self.assertIn("more than the 4096 bytes that travel with a job",
                      self.node()["error"]["message"])


    def test_without_curl_nothing_begins(self):
        (self.folder / "bin").mkdir()
        for name in ("rm", "mkdir"):
            (self.folder / "bin" / name).symlink_to(shutil.which(name))
        self.flow(f"echo >{self.folder}/begun")
        text = (self.folder / "flow.yaml").read_text()
        self.write("flow.yaml", text.replace("    run:", f"    env: {{PATH: {self.folder}/bin}}\n"
                                             "    run:"))
        self.troupe("run", "flow.yaml", "--name", "it", status=1)
        self.assertIn("exit status 125", self.node()["error"]["message"])
        self.assertFalse((self.folder / "begun").exists())

    def test_the_settings_of_the_manual(self):
        text = (ROOT / "deploy/README.md").read_text().split("### Armada", 1)[1]
        settings = re.search("```yaml\n(.*?)```", text, re.DOTALL)[1]
        (self.store / "settings.yaml").write_text(settings)
        self.assertIn("armada", self.troupe("plugins")[0])
        (self.store / "settings.yaml").write_text(settings.replace("s3://results", "s4://results"))
        self.assertIn("plugins.armada.outputs has to be s3://BUCKET/PREFIX or https://HOST/PREFIX",
                      self.troupe("plugins", status=2)[1])


class FaultsTest(StoreTest):
    def test_a_busy_store_is_asked_again(self):
        self.objects.fault("busy", method="GET", times=2)
        self.run_it()
        self.assertEqual(self.count("GET 503"), 2)
        self.assertEqual(self.jobs_created(), 1)

    def test_answers_that_break_off_are_asked_for_again(self):
        self.objects.fault("half", method="GET", name="*/outputs.json", times=1)
        self.objects.fault("lost", method="GET", name="*/error.json", times=1)
        self.run_it()
        self.assertEqual(self.node()["outputs"], {"b": 49})
        self.assertEqual(self.jobs_created(), 1)

    def test_pods_put_again(self):
        self.objects.fault("busy", method="PUT", times=1)
        self.run_it()
        self.assertEqual(self.count("PUT 503"), 1)
        self.assertEqual(self.jobs_created(), 1)

    def test_explain_says_what_is_waited_for(self):
        self.objects.fault("busy", method="GET")
        self.flow()
        running = self.start("run", "flow.yaml", "--name", "it")
        wait_until(lambda: self.count("GET 503") >= 2, "it asks again")
        words = self.troupe("explain", "it")[0]
        self.assertIn("its outcome is asked for again: 503 SlowDown is the answer to GET", words)
        self.objects.control("faults/clear", {})
        self.assertEqual(running.end()[0], 0)

    def test_a_crash_between_the_end_and_reading(self):
        """The job has ended, and the engine dies while it waits for the store: nothing is twice."""
        self.objects.fault("slow", method="GET", ms=20000, times=1)
        self.flow()
        running = self.start("run", "flow.yaml", "--name", "it")
        wait_until(lambda: self.objects.control("faults").get("slow") == 1, "a slow answer")
        running.signal(9)
        running.end()
        self.troupe("resume", "it")
        self.assertEqual(self.node()["outputs"], {"b": 49})
        self.assertEqual(self.jobs_created(), 1)


class WrongSecretTest(StoreTest):
    key = f"{ACCESS}:another"

    def test_the_reference_and_the_store_are_named(self):
        self.run_it(status=1)
        error = self.node()["error"]
        self.assertEqual(error["code"], "StorageDenied")
        self.assertRegex(error["message"], r"^what the job left cannot be read: 403 "
                         r"SignatureDoesNotMatch is the answer to GET "
                         rf"{self.objects.endpoint}/results/runs/\S+/error.json, signed with the "
                         r"secret store/key;")
        self.assertEqual(self.jobs_created(), 1)
        self.assertNotIn("another", json.dumps(self.node()))


class NoSecretTest(StoreTest):
    def environment(self):
        environment = super().environment()
        environment.pop("TROUPE_SECRET_STORE_KEY")
        return environment

    def test_a_secret_that_is_not_there(self):
        self.run_it(status=1)
        error = self.node()["error"]
        self.assertEqual(error["code"], "StorageDenied")
        self.assertIn("store/key", error["message"])


class PodsWrongSecretTest(StoreTest):
    pods_key = f"{ACCESS}:another"

    def test_outputs_that_cannot_be_put_are_a_failure(self):
        self.run_it(status=1)
        self.assertIn("125", self.node()["error"]["message"])
        self.assertEqual(self.objects.objects(), {})


class NoListTest(StoreTest):
    store_options = ("--no-list",)

    def test_nobody_has_to_list(self):
        self.run_it()
        self.assertEqual(self.node()["outputs"], {"b": 49})


class UnsignedTest(StoreTest):
    key = None

    def test_a_url_is_a_place_too(self):
        self.run_it()
        self.assertEqual(self.node()["outputs"], {"b": 49})


if __name__ == "__main__":
    unittest.main()
