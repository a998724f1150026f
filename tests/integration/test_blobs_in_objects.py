#!/usr/bin/env python3
"""Files and large values in an object store: the double of tests/doubles/s3, which checks by itself
who signed a request, and fails on demand."""

import hashlib
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import unittest

import test_blobs
from program import PROGRAM, ROOT, ProgramTest, wait_until

sys.path[:0] = [str(ROOT / "tests/doubles/s3")]

from s3_client import ACCESS, BUCKET, REGION, SECRET, ObjectStore  # noqa: E402

PREFIX = "teams/data"

# What goes in parts of 8 MiB, and how many they are.
PARTS = 3 if os.environ.get("TROUPE_TEST_LONG") else 2
LARGE_BYTES = ((PARTS - 1) * 8 + 2) << 20


class InObjects:
    """A store whose blobs are in a double."""

    def settle(self):
        self.key = f"{ACCESS}:{SECRET}"
        self.objects = ObjectStore()
        self.addCleanup(self.objects.stop)
        self.place()

    def place(self, blobs=f"s3://{BUCKET}/{PREFIX}", **entry):
        entry = {"endpoint": self.objects.endpoint, "region": REGION, "secret": "store/key"} | entry
        (self.store / "settings.yaml").write_text(
            json.dumps({"blobs": blobs, "object_stores": {"s3://": entry}}))

    def environment(self):
        return super().environment() | {"TROUPE_SECRET_STORE_KEY": self.key}

    def there(self):
        """The names of all blobs in the object store."""
        return sorted(name.removeprefix(f"{BUCKET}/{PREFIX}/") for name in self.objects.objects()
                      if "/.store-" not in name)

    def empty_cache(self):
        for path in (self.store / "blobs").iterdir():
            if path.name[0] != ".":
                shutil.rmtree(path) if path.is_dir() else path.unlink()


class ObjectsTest(InObjects, test_blobs.FolderTest):
    """All that holds of a folder, in an object store; and what is its own."""

    def blobs(self):
        return self.there()

    def lose_blobs(self, part=""):
        self.empty_cache()
        for name in self.there():
            if part in name:
                self.objects.signed("DELETE", f"/{BUCKET}/{PREFIX}/{name}")

    def spoil_large(self):
        self.empty_cache()
        sizes = self.objects.objects()
        large, = (name for name, size in sizes.items() if size > 100_000)
        self.objects.signed("PUT", f"/{large}", b"other")

    def run_it(self, name="it"):
        return self.document("run", "flow.yaml", "main", "--name", name)["outputs"]

    def test_a_blob_that_is_missing_fails_its_node_in_words(self):
        error = self.error_of("read", lambda: self.lose_blobs("-a.txt"))
        self.assertIn("InputsNotFoundError", error["code"])
        self.assertRegex(error["message"], "the input 'blob:[0-9a-f]{64}-a.txt': GET "
                         f"{self.objects.endpoint}/{BUCKET}/{PREFIX}/[0-9a-f]{{64}}-a.txt: the "
                         "server answers with status 404 NoSuchKey, signed with the secret "
                         "store/key; the object was removed there: put it back, or run again what "
                         "made it")

    def test_what_names_no_blob_is_refused(self):
        digest = "0" * 64
        self.document("run", "flow.yaml", "reads", "-i", f"f=blob:{digest}", "--name", "it",
                      status=1)
        error = self.document("get", "it/read")["error"]
        self.assertIn("InputsNotFoundError", error["code"])

    def test_a_large_value_that_is_damaged_fails_its_node_in_words(self):
        error = self.error_of("sum", self.spoil_large)
        self.assertIn("StorageError", error["code"])
        self.assertIn("what the object store has under this name is another content or damaged",
                      error["message"])

    def test_they_are_there_and_come_back(self):
        outputs = self.run_it()
        names = self.there()
        self.assertGreater(len(names), 5)
        self.assertEqual(self.objects.uploads(), [])
        self.empty_cache()
        self.assertEqual(self.document("get", "it")["outputs"], outputs)
        self.assertEqual(pathlib.Path(outputs["f"]).read_text(), "content")
        self.assertEqual((pathlib.Path(outputs["d"]) / test_blobs.INSIDE).read_text(), "inside")
        self.empty_cache()
        uri = "blob:" + pathlib.Path(outputs["f"]).name
        self.assertEqual(self.document("run", "flow.yaml", "reads", "-i",
                                       f"f={uri}")["outputs"], {"text": "content"})
        # Without its settings a store finds them, too.
        self.empty_cache()
        (self.store / "settings.yaml").unlink()
        self.assertEqual(self.run_it("again")["text"], outputs["text"])
        self.assertEqual(self.there(), names)

    def test_several_stores_remove_nothing_of_each_other(self):
        self.troupe("run", "flow.yaml", "main", "--name", "it", "-q")
        names = self.there()
        first, self.store = self.store, self.folder / "other"
        self.store.mkdir()
        self.place()
        self.troupe("run", "flow.yaml", "main", "--name", "it", "-q")
        self.troupe("prune", "it", "--unnamed-older-than", "0s", "--yes")
        _, stderr = self.troupe("prune", "--unnamed-older-than", "0s", "--yes")
        self.assertRegex(stderr, f"s3://{BUCKET}/{PREFIX} holds blobs of another store, too, and "
                         "nothing is removed there; give each store a prefix of its own, or remove "
                         r"\.store-[0-9a-f]{16} there if that store is gone")
        self.store = first
        self.empty_cache()
        self.assertEqual(len(self.document("get", "it")["outputs"]["l"]), 90000)
        self.assertLessEqual(set(names), set(self.there()))

    def test_an_export_and_a_backup_hold_them(self):
        outputs = self.run_it()
        self.empty_cache()
        self.troupe("export", "it", "--file", "moved.troupe")
        self.empty_cache()
        self.troupe("backup", "store.tar")
        self.store = self.folder / "restored"
        self.troupe("restore", "store.tar")
        (self.store / "settings.yaml").unlink()
        self.assertEqual(self.document("get", "it")["outputs"]["l"], outputs["l"])
        # What is imported is in the object store of its new store.
        self.store = self.folder / "imported"
        self.store.mkdir()
        self.place(f"s3://{BUCKET}/else")
        self.troupe("run", "flow.yaml", "reads", "-i", f"f={self.folder}/make.py", "-q")
        self.troupe("import", "moved.troupe")
        self.empty_cache()
        given = self.document("get", "it")["outputs"]
        self.assertEqual(given["l"], outputs["l"])
        self.assertEqual(pathlib.Path(given["f"]).read_text(), "content")

    def test_a_store_that_has_blobs_sends_them(self):
        (self.store / "settings.yaml").unlink()
        outputs = self.run_it()
        self.place()
        self.run_it("again")
        self.empty_cache()
        self.assertEqual(self.document("get", "it")["outputs"], outputs)

    def test_another_place_is_refused(self):
        self.run_it()
        self.place("s3://elsewhere/x")
        _, stderr = self.troupe("run", "flow.yaml", "main", "-q", status=4)
        self.assertIn(f"the blobs of {self.store} are in s3://{BUCKET}/{PREFIX}, and `blobs` of "
                      "the settings is s3://elsewhere/x; copy the objects there, and then remove "
                      f"{self.store}/blobs/.remote", stderr)
        (self.folder / "shared").mkdir()
        (self.store / "settings.yaml").write_text("blobs: ../shared\n")
        _, stderr = self.troupe("run", "flow.yaml", "main", "-q", status=4)
        self.assertIn(f"the blobs of {self.store} are in s3://{BUCKET}/{PREFIX}", stderr)

    def refused(self, words):
        _, stderr = self.troupe("run", "flow.yaml", "main", "-q", status=4)
        self.assertIn(words, stderr)
        self.assertNotIn(SECRET, stderr)

    def test_a_place_that_takes_nothing_is_told_at_the_start(self):
        self.place("s3://missing/x")
        self.refused("s3://missing/x of `blobs` in the settings cannot be used: PUT "
                     f"{self.objects.endpoint}/missing/x/.store-")
        self.refused("the server answers with status 404 NoSuchBucket, signed with the secret "
                     "store/key; make the bucket, or name another one in `blobs` of the settings")
        self.place(secret="store/gone")
        self.refused("store/gone")
        self.place(endpoint="http://127.0.0.1:1")
        self.refused("no whole answer: ")
        self.place()
        self.key = f"{ACCESS}:wrong"
        self.refused("the server answers with status 403 SignatureDoesNotMatch, signed with the "
                     "secret store/key; grant permission to get, put, list and delete objects "
                     "there, or set another endpoint, region or secret under object_stores of the "
                     "settings")


LARGE = """
troupe: 1
tasks:
  make:
    outputs: {f: file, d: directory}
    run: [python3, ROOT/large.py]
  read:
    inputs: {f: file, d: directory}
    outputs: {text: string}
    run: [python3, ROOT/sums.py]
workflows:
  main:
    nodes:
      make: {task: make}
      wait: {approve: ship, after: [make]}
      read: {task: read, with: {f: $make.f, d: $make.d}, after: [wait]}
    outputs: {text: $read.text}
"""

MAKE_LARGE = f"""
import json, os, random
random.seed(1)
os.mkdir("d")
for name in ("f", "d/x"):
    open(name, "wb").write(random.randbytes({LARGE_BYTES}))
json.dump({{"f": "f", "d": "d"}}, open(os.environ["TROUPE_OUTPUTS"], "w"))
"""

SUMS = """
import hashlib, json, os
inputs = json.load(open(os.environ["TROUPE_INPUTS"]))
digests = [hashlib.sha256(open(path, "rb").read()).hexdigest()
           for path in (inputs["f"], inputs["d"] + "/x")]
json.dump({"text": " ".join(digests)}, open(os.environ["TROUPE_OUTPUTS"], "w"))
"""

WAITING = """
import os, time
open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "began"), "w")
go = os.path.join(os.path.dirname(os.path.abspath(__file__)), "go")
while not os.path.exists(go):
    time.sleep(0.01)
""" + SUMS


def sums():
    random.seed(1)
    return " ".join(hashlib.sha256(random.randbytes(LARGE_BYTES)).hexdigest() for _ in range(2))


class LargeTest(InObjects, ProgramTest):
    """Objects that go in parts, and come in pieces; faults and kills in the middle."""

    def setUp(self):
        super().setUp()
        self.store.mkdir()
        self.settle()
        self.write("flow.yaml", LARGE.replace("ROOT", str(self.folder)))
        self.write("large.py", MAKE_LARGE)
        self.write("sums.py", SUMS)

    def begin(self):
        return self.start("run", "flow.yaml", "main", "--name", "it")

    def approve(self, running):
        running.wait_for("wait: waits for approval")
        self.empty_cache()
        self.troupe("approve", "it", "ship")

    def finish(self, running):
        """What never ended, as its answer was lost, is dropped by the next sweep."""
        status, _, stderr = running.end()
        self.assertEqual(status, 0, stderr)
        self.assertEqual(self.document("get", "it")["outputs"]["text"], sums())
        self.troupe("prune", "--unnamed-older-than", "0s", "--yes")
        self.assertEqual(self.objects.uploads(), [])

    def explained(self):
        """What an execution waits for; "" before it is there."""
        return subprocess.run([PROGRAM, "explain", "it"], cwd=self.folder, text=True, check=False,
                              env=self.environment(), capture_output=True).stdout

    def write_other(self):
        """Another definition, whose file is called g."""
        self.write("other.py", MAKE_LARGE.replace(str(LARGE_BYTES), str(2 << 20))
                   .replace('"f"', '"g"').replace('{"g"', '{"f"').replace("seed(1)", "seed(2)"))
        self.write("other.yaml", LARGE.replace("ROOT/large.py", f"{self.folder}/other.py")
                   .replace("ROOT", str(self.folder)))

    def here(self):
        """The names of the blobs in the cache."""
        return sorted(name for name in os.listdir(self.store / "blobs") if name[0] != ".")

    def bound_cache(self):
        path = self.store / "settings.yaml"
        path.write_text(json.dumps(json.loads(path.read_text()) | {"blobs_cache": "1Mi"}))

    def test_the_cache_is_bounded(self):
        running = self.begin()
        self.approve(running)
        self.assertEqual(running.end()[0], 0)
        names = self.there()
        self.assertLessEqual({name for name in names if name[-2:] in ("-f", "-d")},
                             set(self.here()))
        self.bound_cache()
        engine = self.start("serve")
        wait_until(lambda: not any(name[-2:] in ("-f", "-d") for name in self.here()),
                   "large ones are gone")
        engine.signal(15)
        self.assertEqual(engine.end()[0], 0)
        self.assertEqual(self.there(), names)
        self.assertEqual(self.document("get", "it")["outputs"]["text"], sums())

    def test_a_run_bounds_the_cache_too(self):
        running = self.begin()
        self.approve(running)
        self.assertEqual(running.end()[0], 0)
        self.bound_cache()
        self.write_other()
        other = self.start("run", "other.yaml", "main", "--name", "other")
        wait_until(lambda: not any(name.endswith("-f") for name in self.here()),
                   "what has ended is gone")
        other.wait_for("wait: waits for approval")
        self.assertEqual(len([name for name in self.here() if name.endswith("-g")]), 1)
        self.troupe("abort", "other")
        self.assertNotEqual(other.end()[0], 0)

    def test_what_a_running_attempt_may_open_stays(self):
        self.write("sums.py", WAITING)
        self.write_other()
        other = self.start("run", "other.yaml", "main", "--name", "other")
        other.wait_for("wait: waits for approval")
        self.troupe("abort", "other")
        other.end()
        others = {name for name in self.there() if name[-2:] in ("-g", "-d")}
        engine = self.start("serve")
        engine.wait_for("serves")
        self.troupe("submit", "flow.yaml", "main", "--name", "it")
        wait_until(lambda: "waits for approval" in self.explained(), "it waits")
        self.troupe("approve", "it", "ship")
        self.await_file("began")
        engine.signal(9)
        engine.end()
        self.bound_cache()
        engine = self.start("serve")
        wait_until(lambda: not others & set(self.here()), "what nobody uses is gone")
        self.assertEqual(len([name for name in self.here() if name[-2:] in ("-f", "-d")]), 2)
        self.write("go", "")
        wait_until(lambda: self.document("get", "it")["phase"] == "succeeded", "it has ended")
        self.assertEqual(self.document("get", "it")["outputs"]["text"], sums())
        engine.signal(15)
        self.assertEqual(engine.end()[0], 0)

    def test_they_go_in_parts(self):
        running = self.begin()
        self.approve(running)
        self.finish(running)
        self.assertGreaterEqual(self.objects.counters()["PUT 200"], 1 + 2 * PARTS)

    def test_what_fails_for_the_moment_is_tried_again(self):
        for fault, fields in (("busy", {"method": "PUT", "times": 2, "skip": 2}),
                              ("broken", {"method": "POST", "times": 2}),
                              ("lost", {"method": "POST", "times": 4, "skip": 1}),
                              ("half", {"method": "GET", "times": 2})):
            self.objects.fault(fault, **fields)
        running = self.begin()
        self.approve(running)
        self.finish(running)
        self.assertEqual(self.objects.control("faults"),
                         {"busy": 2, "broken": 2, "lost": 4, "half": 2})

    def test_a_place_that_is_away_is_waited_for(self):
        self.objects.fault("busy", method="PUT", skip=1)
        running = self.begin()
        words = "the server answers with status 503 SlowDown"
        wait_until(lambda: words in self.explained(), "explain names it")
        self.assertIn(f"PUT {self.objects.endpoint}/{BUCKET}/{PREFIX}/", self.explained())
        self.objects.control("faults/clear", {})
        running.wait_for("wait: waits for approval")
        self.objects.fault("busy", method="GET")
        self.empty_cache()
        self.troupe("approve", "it", "ship")
        wait_until(lambda: words in self.explained(), "explain names it")
        self.objects.control("faults/clear", {})
        self.finish(running)

    def kill_while_slow(self, running):
        """kill -9 while a request is not answered."""
        wait_until(lambda: self.objects.control("faults").get("slow", 0) > 0, "it is asked for")
        running.signal(9)
        running.end()
        self.objects.control("faults/clear", {})

    def test_a_kill_in_the_middle_of_sending_loses_nothing(self):
        self.objects.fault("slow", method="PUT", ms=2000, skip=PARTS)
        running = self.begin()
        self.kill_while_slow(running)
        self.assertEqual(self.there(), [])
        self.assertEqual(len(self.objects.uploads()), 1)
        running = self.start("resume", "it")
        self.approve(running)
        self.finish(running)

    def test_a_kill_in_the_middle_of_fetching_loses_nothing(self):
        running = self.begin()
        running.wait_for("wait: waits for approval")
        self.empty_cache()
        self.objects.fault("slow", method="GET", ms=2000)
        self.troupe("approve", "it", "ship")
        self.kill_while_slow(running)
        self.finish(self.start("resume", "it"))
        self.assertEqual(os.listdir(self.store / "blobs/.new"), [])

    def test_no_secret_is_in_what_is_written(self):
        running = self.begin()
        running.wait_for("wait: waits for approval")
        for pid in (running.process.pid, *self.keepers()):
            self.assertNotIn(SECRET.encode(), pathlib.Path(f"/proc/{pid}/cmdline").read_bytes())
        self.troupe("approve", "it", "ship")
        running.end()
        for path in self.store.rglob("*"):
            if path.is_file():
                self.assertNotIn(SECRET.encode(), path.read_bytes(), path)

    def test_waiting_for_it_holds_up_nobody_else(self):
        self.objects.fault("slow", method="PUT", name="*-f", ms=600_000)
        engine = self.start("serve")
        engine.wait_for("serves")
        self.troupe("submit", "flow.yaml", "main", "--name", "it")
        wait_until(lambda: self.objects.control("faults")["slow"] > 0, "it is being sent")
        self.write_other()
        self.troupe("submit", "other.yaml", "main", "--name", "other")
        wait_until(lambda: any(name.endswith("-g") for name in self.there()),
                   "the other's files are kept meanwhile")
        self.assertEqual([name for name in self.there() if name.endswith("-f")], [])
        engine.signal(15)
        self.assertEqual(engine.end()[0], 0)


if __name__ == "__main__":
    unittest.main()
