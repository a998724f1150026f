"""Docker's client and daemon, as README.md says."""

import argparse
import datetime
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import threading

NEVER = "0001-01-01T00:00:00Z"
IMAGE_ENVIRONMENT = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}


class Refused(Exception):
    """What the client prints, and the status that it ends with."""

    def __init__(self, words, status=1):
        super().__init__(words)
        self.status = status


# ---------------------------------------------------------------------------- the daemon

class Container:
    def __init__(self, asked):
        self.asked = asked
        self.process = None
        self.started_at = NEVER
        self.is_oom_killed = False
        self.ended = threading.Event()
        self.status = 0

    def processes(self):
        """All of its session: what it has started cannot leave it."""
        found = []
        for path in pathlib.Path("/proc").iterdir():
            if path.name.isdigit():
                try:
                    fields = (path / "stat").read_text().rpartition(")")[2].split()
                except OSError:
                    continue
                if int(fields[3]) == self.process.pid:
                    found.append((int(path.name), int(fields[21]) * os.sysconf("SC_PAGESIZE")))
        return found

    def kill(self, number):
        if self.process is None or self.ended.is_set():
            return
        if number != signal.SIGKILL and not self.asked["init"]:
            return
        targets = self.processes() if number == signal.SIGKILL else [(self.process.pid, 0)]
        for pid, _ in targets:
            try:
                os.kill(pid, number)
            except ProcessLookupError:
                pass

    def watch(self):
        """Waits for its end, and lets it have no more memory than it may."""
        while self.process.poll() is None:
            used = sum(size for _, size in self.processes())
            if self.asked["memory"] and used > self.asked["memory"]:
                self.is_oom_killed = True
                self.kill(signal.SIGKILL)
            self.ended.wait(0.01)
        self.kill(signal.SIGKILL)
        code = self.process.returncode
        self.status = code if code >= 0 else 128 - code
        self.ended.set()


class Daemon:
    def __init__(self, options):
        self.options = options
        self.images = set(options.image)
        self.containers = {}
        self.lock = threading.Lock()
        self.runs = 0

    def serve(self):
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(self.options.socket)
        listener.listen()
        signal.signal(signal.SIGTERM, self.leave)
        print("ready", flush=True)
        while True:
            client, _ = listener.accept()
            threading.Thread(target=self.answer, args=(client,), daemon=True).start()

    def leave(self, _number, _frame):
        """Nothing that it has begun outlives it."""
        for container in list(self.containers.values()):
            container.kill(signal.SIGKILL)
        os._exit(0)

    def answer(self, client):
        with client:
            text, fds, _, _ = socket.recv_fds(client, 1 << 20, 3)
            asked = json.loads(text)
            try:
                answer = getattr(self, "do_" + asked["op"])(asked, fds)
            except Refused as refused:
                answer = {"error": str(refused), "status": refused.status}
            finally:
                for fd in fds:
                    os.close(fd)
            try:
                client.sendall(json.dumps(answer).encode() + b"\n")
            except OSError:
                pass  # the client was killed; its container goes on

    def named(self, name, what="container"):
        if name not in self.containers:
            raise Refused(f"Error response from daemon: No such {what}: {name}")
        return self.containers[name]

    def do_info(self, _asked, _fds):
        return {"options": ["name=rootless"] if self.options.rootless else ["name=seccomp"]}

    def do_image(self, asked, _fds):
        if asked["name"] not in self.images:
            raise Refused(f"Error response from daemon: No such image: {asked['name']}")
        return {}

    def do_pull(self, asked, _fds):
        if asked["name"] not in self.options.remote:
            raise Refused(f"Error response from daemon: pull access denied for {asked['name']}, "
                          "repository does not exist or may require 'docker login'")
        self.images.add(asked["name"])
        return {}

    def do_ps(self, _asked, _fds):
        return {"runs": self.runs,
                "containers": [{"name": name, "labels": container.asked["label"],
                                "memory": container.asked["memory"],
                                "user": container.asked["user"],
                                "is_running": not container.ended.is_set()}
                               for name, container in self.containers.items()]}

    def do_inspect(self, asked, _fds):
        container = self.named(asked["name"])
        return {"oom": container.is_oom_killed, "started": container.started_at}

    def do_kill(self, asked, _fds):
        self.named(asked["name"]).kill(asked["signal"])
        return {}

    def do_rm(self, asked, _fds):
        container = self.named(asked["name"])
        container.kill(signal.SIGKILL)
        if container.process is not None:
            container.ended.wait()
        with self.lock:
            self.containers.pop(asked["name"], None)
        return {}

    def do_run(self, asked, fds):
        if asked["image"] not in self.images:
            raise Refused(f"docker: Error response from daemon: no such image {asked['image']}", 125)
        with self.lock:
            if asked["name"] in self.containers:
                raise Refused("docker: Error response from daemon: Conflict. The container name "
                              f"\"/{asked['name']}\" is already in use", 125)
            for source in asked["mounts"]:
                if not os.path.exists(source):
                    raise Refused("docker: Error response from daemon: invalid mount config for "
                                  f"type \"bind\": bind source path does not exist: {source}.", 125)
            container = self.containers[asked["name"]] = Container(asked)
            self.runs += 1
        self.begin(container, fds)
        container.watch()
        return {"status": container.status}

    def begin(self, container, fds):
        asked = container.asked
        program = asked["words"][0]
        is_seen = any(asked["workdir"].startswith(mount) for mount in asked["mounts"])
        environment = {**IMAGE_ENVIRONMENT, **asked["env"]}
        found = shutil.which(program, path=environment["PATH"])
        if is_seen and found is None and asked["init"]:
            os.write(fds[2], f"[FATAL tini (7)] exec {program} failed: No such file or "
                             "directory\n".encode())
            found, asked["words"] = "/bin/sh", ["sh", "-c", "exit 127"]
        if not is_seen or found is None:
            container.ended.set()
            container.status = 127
            why = f"exec: \"{program}\": executable file not found in $PATH" if is_seen else \
                f"chdir to cwd (\"{asked['workdir']}\") failed: no such file or directory"
            raise Refused("docker: Error response from daemon: failed to create task for "
                          f"container: {why}: unknown.", 127)
        container.process = subprocess.Popen(asked["words"], executable=found, env=environment,
                                             cwd=asked["workdir"], stdin=fds[0], stdout=fds[1],
                                             stderr=fds[2], start_new_session=True)
        container.started_at = datetime.datetime.now(datetime.timezone.utc).isoformat()


# ---------------------------------------------------------------------------- the client

def ask(request, fds=()):
    host = os.environ.get("DOCKER_HOST", "unix:///var/run/docker.sock")
    with socket.socket(socket.AF_UNIX) as server:
        try:
            server.connect(host.removeprefix("unix://"))
        except OSError:
            raise Refused(f"Cannot connect to the Docker daemon at {host}. Is the docker daemon "
                          "running?", 125 if request["op"] == "run" else 1) from None
        socket.send_fds(server, [json.dumps(request).encode()], list(fds))
        text = b""
        while not text.endswith(b"\n"):
            more = server.recv(1 << 20)
            if not more:
                raise Refused("error during connect: EOF")
            text += more
    answer = json.loads(text)
    if "error" in answer:
        raise Refused(answer["error"], answer["status"])
    return answer


class Parser(argparse.ArgumentParser):
    def error(self, message):
        raise Refused(f"docker: {message}\n\nSee 'docker --help'", 125)


def mount_of(text):
    fields = dict(part.partition("=")[::2] for part in text.split(","))
    if fields.pop("type", None) != "bind" or fields.pop("readonly", "") != "" or \
            fields.get("source") != fields.get("target") or set(fields) != {"source", "target"}:
        raise Refused(f"invalid argument \"{text}\" for \"--mount\" flag", 125)
    return fields["source"]


def variables_of(words):
    found = {}
    for word in words:
        name, equals, value = word.partition("=")
        if equals or name in os.environ:
            found[name] = value if equals else os.environ[name]
    return found


def run(words):
    parser = Parser(add_help=False, allow_abbrev=False)
    for name in ("name", "user", "workdir", "entrypoint", "memory-swap", "log-driver",
                 "security-opt"):
        parser.add_argument(f"--{name}")
    parser.add_argument("--memory", type=int, default=0)
    for name in ("env", "mount", "label"):
        parser.add_argument(f"--{name}", action="append", default=[])
    for name in ("init", "interactive"):
        parser.add_argument(f"--{name}", action="store_true")
    parser.add_argument("image")
    parser.add_argument("words", nargs=argparse.REMAINDER)
    given = parser.parse_args(words)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda number, _: ask({"op": "kill", "name": given.name,
                                                     "signal": number}))
    null = os.open("/dev/null", os.O_RDONLY)
    answer = ask({"op": "run", "image": given.image, "name": given.name, "user": given.user,
                  "init": given.init, "memory": given.memory, "workdir": given.workdir,
                  "label": given.label, "env": variables_of(given.env),
                  "mounts": [mount_of(text) for text in given.mount],
                  "words": [given.entrypoint, *given.words]},
                 (0 if given.interactive else null, 1, 2))
    return answer["status"]


def formatted(words, known):
    """The text of a template that is known, with its name behind."""
    if len(words) < 2 or words[0] != "--format" or words[1] not in known:
        raise Refused("template parsing error")
    return known[words[1]], words[2:]


def inspect(words):
    form, names = formatted(words, {"{{.State.OOMKilled}} {{.State.StartedAt}}": "state"}) \
        if words[0] == "--format" else ("", words)
    for name in names:
        answer = ask({"op": "inspect", "name": name})
        print(f"{str(answer['oom']).lower()} {answer['started']}" if form else json.dumps(answer))
    return 0


def info(words):
    formatted(words, {"{{json .SecurityOptions}}": "options"})
    print(json.dumps(ask({"op": "info"})["options"]))
    return 0


def rm(words):
    status = 0
    for name in [word for word in words if word not in ("--force", "--volumes")]:
        try:
            ask({"op": "rm", "name": name})
        except Refused as refused:
            print(refused, file=sys.stderr)
            status = 1
    return status


def kill(words):
    if len(words) != 3 or words[0] != "--signal":
        raise Refused("docker: 'docker kill' requires --signal and a name")
    ask({"op": "kill", "name": words[2], "signal": signal.Signals["SIG" + words[1]]})
    return 0


def ps(_words):
    print(json.dumps(ask({"op": "ps"})))
    return 0


def image(words):
    ask({"op": "image", "name": words[1]})
    print("[]")
    return 0


def pull(words):
    ask({"op": "pull", "name": words[0]})
    print(words[0])
    return 0


def container(words):
    if words[0] != "inspect":
        raise Refused(f"docker: '{words[0]}' is not a docker command.")
    return inspect(words[1:])


COMMANDS = {"run": run, "rm": rm, "info": info, "image": image, "pull": pull,
            "container": container, "ps": ps, "kill": kill}


def serve(words):
    parser = argparse.ArgumentParser()
    parser.add_argument("socket")
    parser.add_argument("--image", action="append", default=[])
    parser.add_argument("--remote", action="append", default=[])
    parser.add_argument("--rootless", action="store_true")
    Daemon(parser.parse_args(words)).serve()


def main(words):
    if words and words[0] == "serve":
        serve(words[1:])
        return 0
    try:
        if not words or words[0] not in COMMANDS:
            raise Refused(f"docker: '{' '.join(words[:1])}' is not a docker command.")
        return COMMANDS[words[0]](words[1:])
    except Refused as refused:
        print(refused, file=sys.stderr)
        return refused.status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
