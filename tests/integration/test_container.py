#!/usr/bin/env python3
"""A command that runs in a container: by the double of docker, and by podman where it can be had.

The image for podman is made of a static busybox; nothing comes from a network.
TROUPE_TEST_PODMAN=no leaves podman out.
"""

import io
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import unittest

from program import ROOT, ProgramTest, wait_until

sys.path.insert(0, str(ROOT / "tests/doubles/docker"))
from docker_daemon import Docker  # pylint: disable=wrong-import-position

PODMAN = shutil.which("podman")
BUSYBOX = shutil.which("busybox")
OWN = "localhost/troupe-test:1"


# What a box that may not raise limits, and has no network, lets podman do.
CONF = """[containers]
default_ulimits = ["nofile=1000:1000", "nproc=1000:1000"]
netns = "none"
"""


class Podman:
    """The real one, with a store of its own in a folder."""

    image = OWN

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.bin = self.folder / "podman-bin"
        self.bin.mkdir()
        (self.folder / "containers.conf").write_text(CONF)
        self.use("")

    def use(self, runtime):
        """With an OCI runtime; "" is podman's own choice."""
        options = " ".join((f"--root {self.folder}/podman", f"--runroot {self.folder}/podman-run",
                            "--storage-driver vfs", "--cgroup-manager cgroupfs",
                            "--events-backend file", *([f"--runtime {runtime}"] if runtime
                                                       else [])))
        tool = self.bin / "podman"
        tool.write_text(f"#!/bin/sh\nexport CONTAINERS_CONF={self.folder}/containers.conf\n"
                        f"exec {PODMAN} {options} \"$@\"\n")
        tool.chmod(0o755)

    def make_image(self):
        """A file system with busybox, and nothing else."""
        path = self.folder / "image.tar"
        with tarfile.open(path, "w") as archive:
            archive.add(BUSYBOX, "bin/busybox", recursive=False)
            for name in ("sh", "cat", "echo", "sleep", "touch", "id", "ls", "test", "env", "kill"):
                link = tarfile.TarInfo(f"bin/{name}")
                link.type, link.linkname = tarfile.SYMTYPE, "busybox"
                archive.addfile(link)
            for name in ("etc/passwd", "etc/group"):
                archive.addfile(tarfile.TarInfo(name), io.BytesIO())
        return self.run("import", str(path), OWN)[0] == 0

    def run(self, *words):
        done = subprocess.run([self.bin / "podman", *words], text=True, capture_output=True)
        return done.returncode, done.stdout, done.stderr

    def containers(self):
        out = self.run("ps", "--all", "--format", "json")[1]
        return [{"name": one["Names"][0], "labels": [f"{key}={value}" for key, value
                                                     in (one["Labels"] or {}).items()]}
                for one in json.loads(out or "[]")]

    def stop(self):
        self.run("rm", "--force", "--all")
        self.run("rmi", "--force", "--all")
        subprocess.run(["umount", "-l", self.folder / "podman/vfs"], capture_output=True)


def podman_of(folder):
    """Podman with an image, or why it cannot be had."""
    if os.environ.get("TROUPE_TEST_PODMAN") == "no" or PODMAN is None or BUSYBOX is None:
        return None, "podman and a static busybox are not installed, or not wanted"
    podman = Podman(folder)
    if not podman.make_image():
        return None, "podman cannot make an image here"
    for runtime in ("", *(name for name in ("crun", "runc") if shutil.which(name))):
        podman.use(runtime)
        status, out, err = podman.run("run", "--rm", OWN, "echo", "well")
        if (status, out) == (0, "well\n"):
            return podman, ""
    return None, f"podman runs nothing: {err}"


class Containers:
    """What holds with each runtime."""

    def setUp(self):
        super().setUp()
        self.variables = {}
        self.double = self.begin_runtime()
        self.path = f"{self.double.bin}:{os.environ['PATH']}"

    def tearDown(self):
        # The keeper ends first, and removes what it has.
        self.end_keeper()
        super().tearDown()

    def environment(self):
        return {**super().environment(), "PATH": self.path, **self.variables}

    def task(self, *run, container=None, **keys):
        container = container or self.container()
        document = {"troupe": 1, "tasks": {"t": {"run": list(run), "container": container, **keys}},
                    "workflows": {"main": {"inputs": keys.get("inputs", {}), "nodes": {"n": {
                        "task": "t", "with": {name: f"${name}" for name in keys.get("inputs", {})}
                    }}}}}
        if "outputs" in keys:
            document["workflows"]["main"]["outputs"] = {name: f"$n.{name}"
                                                        for name in keys["outputs"]}
        self.write("flow.yaml", json.dumps(document))

    def container(self, **keys):
        return {"image": self.double.image, "runtime": self.runtime, **keys}

    def error(self, *words):
        return self.document("run", "flow.yaml", "--name", "it", "-q", *words, status=1)["error"]

    def nothing_is_left(self):
        self.assertEqual(self.double.containers(), [])

    # ------------------------------------------------------------------ what it finds

    def test_it_has_folders_variables_and_documents(self):
        self.task("sh", "-c", "test -w . && test \"$PWD\" = \"${TROUPE_TMP%/tmp}/work\" && "
                  "test \"$HOME\" = \"$TROUPE_TMP\" && test -w $TROUPE_CHECKPOINT && "
                  "test -r $TROUPE_FOLDER/flow.yaml && test $OWN = mine && echo kept >kept && "
                  "cat $TROUPE_INPUTS >&2 && echo \"{\\\"file\\\": \\\"kept\\\", \\\"user\\\": "
                  "\\\"$(id -u)\\\"}\" >$TROUPE_OUTPUTS",
                  inputs={"x": "int"}, outputs={"file": "file", "user": "string"},
                  env={"OWN": "mine"})
        result = self.document("run", "flow.yaml", "--name", "it", "-q", "-i", "x=7")
        self.assertEqual(result["outputs"]["user"], str(os.geteuid()))
        self.assertEqual(pathlib.Path(result["outputs"]["file"]).read_text(), "kept\n")
        self.assertIn('{"x":7}', self.troupe("logs", "it/n")[0].replace(" ", ""))
        self.nothing_is_left()

    def test_files_of_others_are_its_inputs(self):
        document = {"troupe": 1, "tasks": {
            "make": {"run": ["sh", "-c", "echo made >out && "
                             "echo '{\"f\": \"out\"}' >$TROUPE_OUTPUTS"],
                     "outputs": {"f": "file"}},
            "take": {"run": ["cat", "{{.inputs.f}}"], "inputs": {"f": "file"},
                     "container": self.container()}},
            "workflows": {"main": {"nodes": {
                "a": {"task": "make"}, "b": {"task": "take", "with": {"f": "$a.f"}}}}}}
        self.write("flow.yaml", json.dumps(document))
        self.troupe("run", "flow.yaml", "--name", "it", "-q")
        self.assertIn("made\n", self.troupe("logs", "it/b")[0])

    def test_files_of_a_shared_folder_are_its_inputs(self):
        self.store.mkdir()
        (self.folder / "shared").mkdir()
        (self.store / "settings.yaml").write_text("blobs: ../shared\n")
        self.test_files_of_others_are_its_inputs()
        self.assertTrue((self.store / "blobs").is_symlink())

    def test_mounts_are_at_the_same_place(self):
        (self.folder / "data").mkdir()
        (self.folder / "data/known").write_text("known\n")
        self.task("cat", f"{self.folder}/data/known",
                  container=self.container(mounts=[f"{self.folder}/data"]))
        self.troupe("run", "flow.yaml", "--name", "it", "-q")
        self.assertIn("known\n", self.troupe("logs", "it/n")[0])

    def test_a_secret_is_in_no_word(self):
        self.variables["TROUPE_SECRET_OWN_KEY"] = "the-secret"
        self.task("sh", "-c", "touch $TROUPE_TMP/begun; until [ -e $TROUPE_CHECKPOINT/go ]; do "
                  "sleep 0.1; done; test ${#KEY} = 10", secrets={"KEY": "own/key"})
        running = self.start("run", "flow.yaml", "--name", "it")
        self.await_container()
        words = [words for path in pathlib.Path("/proc").iterdir() if path.name.isdigit()
                 for words in [self.words_of(path)] if os.fsencode(str(self.store)) in words]
        self.assertTrue(any(b"--entrypoint" in one for one in words))
        self.assertFalse(any(b"the-secret" in one for one in words))
        self.let_go()
        status, _, stderr = running.end()
        self.assertEqual(status, 0, stderr)

    @staticmethod
    def words_of(path):
        try:
            return (path / "cmdline").read_bytes()
        except OSError:
            return b""

    def await_container(self):
        """Waits until its command runs."""
        wait_until(lambda: any((self.store / "attempts").glob("*/*/*/*/tmp/begun")), "it has begun")

    def let_go(self):
        checkpoint, = (self.store / "checkpoints").glob("*/*/*/*")
        (checkpoint / "go").touch()

    # ------------------------------------------------------------------ how it ends

    def test_it_ends_as_any_process_does(self):
        self.task("sh", "-c", "echo a line >&2; exit 3", retries=1)
        error = self.error()
        self.assertEqual(error["code"], "RetriesExhausted|ProcessFailed")
        self.assertIn("exit status 3 of the last of 2 attempts: a line", error["message"])
        self.nothing_is_left()

    def test_its_own_error_document_counts(self):
        self.task("sh", "-c", "echo '{\"code\": \"Mine\", \"message\": \"no\"}' >$TROUPE_ERROR; "
                  "exit 1")
        self.assertIn("Mine", self.error()["code"])

    STAYS = ("sh", "-c", "trap '' TERM; touch $TROUPE_TMP/begun; while :; do sleep 0.1; done")

    def test_a_timeout_ends_it(self):
        self.task(*self.STAYS, timeout="2s", grace="100ms")
        self.assertIn("TimeoutExpired", self.error()["code"])
        self.nothing_is_left()

    def test_an_abort_ends_it(self):
        self.task("sh", "-c", "touch $TROUPE_TMP/begun; while :; do sleep 0.1; done", grace="60s")
        running = self.start("run", "flow.yaml", "--name", "it")
        self.await_container()
        label, = [label for one in self.double.containers() for label in one["labels"]]
        self.assertTrue(label.startswith(f"troupe.attempt={self.store}/attempts/"), label)
        self.troupe("abort", "it")
        self.assertEqual(running.end()[0], 3)
        self.nothing_is_left()

    def test_a_killed_keeper_leaves_none(self):
        """The keeper after it finds the container by the log, whatever was killed with it."""
        self.task(*self.STAYS, config={"in_doubt": "fail"})
        running = self.start("run", "flow.yaml", "--name", "it")
        self.await_container()
        self.kill_keeper(signal.SIGKILL)
        status, _, stderr = running.end()
        self.assertEqual(status, 1, stderr)
        self.assertIn("OutcomeUnknown", stderr)
        self.nothing_is_left()

    def test_a_killed_engine_finds_it_again(self):
        self.task("sh", "-c", "touch $TROUPE_TMP/begun; until [ -e $TROUPE_CHECKPOINT/go ]; do "
                  "sleep 0.1; done")
        running = self.start("run", "flow.yaml", "--name", "it")
        self.await_container()
        running.signal(signal.SIGKILL)
        running.end()
        self.assertEqual(len(self.double.containers()), 1)
        self.let_go()
        self.troupe("resume", "it", "-q")
        self.assertEqual(len(self.document("get", "it/n")["attempts"]), 1)
        self.nothing_is_left()

    # ------------------------------------------------------------------ what is not there

    def test_without_a_runtime_nothing_begins(self):
        folder = self.folder / "bin"
        folder.mkdir()
        for tool in ("sh", "tr", "sed"):
            (folder / tool).symlink_to(shutil.which(tool))
        self.path = str(folder)
        for runtime, name in (("docker", "docker"), (None, "podman or docker")):
            with self.subTest(name):
                self.task("true", container={"image": "own", **({"runtime": runtime} if runtime
                                                                else {})}, retries=2)
                error = self.document("run", "flow.yaml", "-q", status=1)["error"]
                self.assertEqual(error["code"], "ToolNotFound")
                self.assertIn(f"there is no {name} in the PATH ({folder}), by which a container is "
                              "run; install it, or put it into the PATH of the engine",
                              error["message"])

    def test_a_command_that_is_not_there(self):
        """An init says it, where there is one; without it the container is not started."""
        self.task("no-such-command")
        error = self.error()
        self.assertRegex(error["code"], "ProcessFailed|ContainerNotStarted")
        self.assertRegex(error["message"], r"(exit status \d+|could not start a container).*: .*"
                         r"(no-such-command|No such file)")
        self.nothing_is_left()

    def test_a_mount_that_is_not_there(self):
        self.task("echo", "well", container=self.container(mounts=["/no/such/folder"]))
        error = self.error()
        self.assertIn("ContainerNotStarted", error["code"])
        self.assertIn(f"{self.runtime} could not start a container of {self.double.image}: ",
                      error["message"])
        self.assertIn("/no/such/folder", error["message"])
        self.nothing_is_left()


class DockerTest(Containers, ProgramTest):
    """By the double of docker."""

    runtime = "docker"

    def begin_runtime(self, *options):
        docker = Docker(self.folder, "--image", "own", "--remote", "far", *options)
        docker.image = "own"
        self.addCleanup(docker.stop)
        self.variables = {"DOCKER_HOST": docker.host}
        return docker

    def test_images_are_fetched(self):
        self.task("echo", "well", container=self.container(image="far"))
        self.troupe("run", "flow.yaml", "--name", "it", "-q")
        self.assertIn("troupe: fetching the image far\n", self.troupe("logs", "it/n")[0])
        self.task("echo", "well", container=self.container(image="nowhere"))
        error = self.document("run", "flow.yaml", "-q", status=1)["error"]
        self.assertIn("ContainerNotStarted", error["code"])
        self.assertIn("the image nowhere cannot be fetched: Error response from daemon: "
                      "pull access denied for nowhere", error["message"])

    def test_the_first_runtime_of_the_path_is_taken(self):
        tools = self.folder / "bin"
        tools.mkdir()
        for tool in ("sh", "id", "grep", "tail", "echo"):
            (tools / tool).symlink_to(shutil.which(tool))
        self.path = f"{self.double.bin}:{tools}"
        self.task("sh", "-c", "echo well", container="own")
        self.troupe("run", "flow.yaml", "--name", "it", "-q")
        self.assertIn("well\n", self.troupe("logs", "it/n")[0])
        self.nothing_is_left()

    def test_a_daemon_that_is_not_there(self):
        self.variables["DOCKER_HOST"] = f"unix://{self.folder}/none"
        self.task("true")
        error = self.error()
        self.assertIn("ContainerNotStarted", error["code"])
        self.assertIn("docker cannot be used: Cannot connect to the Docker daemon at "
                      f"unix://{self.folder}/none. Is the docker daemon running?", error["message"])

    def test_memory_is_bounded_by_the_runtime(self):
        self.task("python3", "-c", "x = bytearray(400 << 20)\nimport time; time.sleep(600)",
                  resources={"memory": "64Mi"})
        error = self.error()
        self.assertEqual(error["code"], "RetriesExhausted|OOMKilled")
        self.assertIn("killed by the kernel for memory: used its bound of 64 MiB", error["message"])
        row = self.document("get", "it/n")["attempts"][0]
        self.assertEqual((row["memory_bound_bytes"], row["is_bound_enforced"]), (64 << 20, True))

    def test_the_user_is_the_same(self):
        self.task("sh", "-c", "touch $TROUPE_TMP/begun; until [ -e $TROUPE_CHECKPOINT/go ]; do "
                  "sleep 0.1; done")
        running = self.start("run", "flow.yaml", "--name", "it")
        self.await_container()
        self.assertEqual(self.double.containers()[0]["user"], f"{os.getuid()}:{os.getgid()}")
        self.let_go()
        self.assertEqual(running.end()[0], 0)

    def test_a_daemon_without_root_has_another_root(self):
        self.double.stop()
        self.double.socket.unlink()
        self.double = self.begin_runtime("--rootless")
        self.task("sh", "-c", "touch $TROUPE_TMP/begun; while :; do sleep 0.1; done")
        running = self.start("run", "flow.yaml", "--name", "it")
        self.await_container()
        self.assertEqual(self.double.containers()[0]["user"], "0:0")
        self.troupe("abort", "it", "--now")
        self.assertEqual(running.end()[0], 3)
        self.nothing_is_left()


class PodmanTest(Containers, ProgramTest):
    """The same with the real podman."""

    runtime = "podman"

    @classmethod
    def setUpClass(cls):
        cls.images = tempfile.mkdtemp(prefix="troupe-podman-")
        cls.podman, why = podman_of(cls.images)
        if cls.podman is None:
            shutil.rmtree(cls.images, ignore_errors=True)
            raise unittest.SkipTest(why)

    @classmethod
    def tearDownClass(cls):
        cls.podman.stop()
        shutil.rmtree(cls.images, ignore_errors=True)

    def begin_runtime(self):
        return self.podman


if __name__ == "__main__":
    unittest.main()
