#!/usr/bin/env python3
"""The settings of the manual, word for word: they are taken as they stand, each of their keys does
not take everything, and what is wrong is said with its place and its remedy.

What each key means is unit/deploy/settings/settings' and the tests' of what it sets.
"""

import re
import stat
import subprocess
import unittest

from program import ROOT, ProgramTest

MANUAL = (ROOT / "deploy/README.md").read_text()


def example(heading):
    """The settings below a heading of the manual."""
    return re.search("```yaml\n(.*?)```", MANUAL.split(heading + "\n", 1)[1], re.DOTALL)[1]


SETTINGS = example("## The settings file")
ARMADA = example("### Armada")

# Names that people give: no keys.
GIVEN = {"mine", "theirs", "east", "west", "armada", "python-task", "team", "process", "results",
         "org"}

# Of Kubernetes.
OF_PODS = {"tolerations", "key", "operator"}

COUNT = "write a whole number from {} [InvalidValue]"
SPAN = "write a duration from {} [InvalidValue]"
RETENTION = "write a positive duration with the units d h m s ms us, as 1h30m [InvalidValue]"
FILE = ("the file STORE/{} cannot be read; write the path of a PEM file, from the folder of the "
        "settings on [InvalidValue]")
URL = "'{}' is no URL; write http://HOST[:PORT][/PATH], or https:// [InvalidValue]"

# A key, what becomes of its line in the manual, where in that the mistake is, and what is said.
MISTAKES = [
    ("jobs", "jobs: 8", "jobs: 0", "0",
     "'0' is no value for 'jobs'; " + COUNT.format("1 to 10000")),
    ("durability", "durability: full", "durability: none", "none",
     "'none' is no value for 'durability'; write one of: full process [InvalidValue]"),
    ("resources", "resources: cut", "resources: all", "all",
     "'all' is no value for 'resources'; write one of: cut strict [InvalidValue]"),
    ("python", '"ghcr.io/team/gpu:*": ./gpu/bin/python', '"ghcr.io/team/gpu:*": [3]', "[3]",
     "a list is no value for 'python'; write text [InvalidValue]"),
    ("warm", "warm: true", "warm: 3", "3",
     "'3' is no value for 'warm'; write true or false [InvalidValue]"),
    ("retention", "  cache: 90d", "  cash: 90d", "cash",
     "'cash' is no key of retention; the nearest one is 'cache' [InvalidValue]"),
    ("executions", "executions: 30d", "executions: 30", "30",
     "'30' is no value for 'executions'; " + RETENTION),
    ("failed_attempts", "failed_attempts: 7d", "failed_attempts: -7d", "-7d",
     "'-7d' is no value for 'failed_attempts'; " + RETENTION),
    ("by_label", "{label: audit, executions: forever}", "{label: -audit, executions: forever}",
     "-audit", "'-audit' chooses no executions: '-audit' is no key of a label; write letters, "
     "digits, -, _ and ., at most 63, a letter or a digit at both ends; before that PREFIX/, a DNS "
     "subdomain, if you like; write a selector such as team=data [InvalidValue]"),
    ("label", "{label: audit, executions: forever}", "{executions: forever}", "{executions",
     "a retention by label has no 'label'; write {label: team=data, executions: 90d}, or forever "
     "for the time [ValueRequired]"),
    ("cache", "cache: 90d", "cache: for ever", "for ever",
     "'for ever' is no value for 'cache'; " + RETENTION),
    ("audit", "audit: 365d", "audit: 0d", "0d", "'0d' is no value for 'audit'; " + RETENTION),
    ("limits", "  memory: 4Gi", "  memories: 4Gi", "memories",
     "'memories' is no key of limits; the nearest one is 'memory' [InvalidValue]"),
    ("memory", "  memory: 4Gi", "  memory: 4Mi", "4Mi",
     "this is too little for an engine; write at least 16Mi [InvalidValue]"),
    ("execution_memory", "execution_memory: 3Gi", "execution_memory: 3Gb", "3Gb",
     "this is no quantity; write a positive number, with a unit as in 500m or 256Mi "
     "[InvalidValue]"),
    ("execution_nodes", "execution_nodes: 2000000", "execution_nodes: 99", "99",
     "'99' is no value for 'execution_nodes'; " + COUNT.format("100 to 200000000")),
    ("task_types", "python-task: process", "python-task: proces", "proces",
     "there is no plugin 'proces'; did you mean 'process'?"),
    ("default_plugin", "default_plugin: process", "default_plugin: myne", "myne",
     "there is no plugin 'myne'; did you mean 'mine'?"),
    ("plugins", "  mine:\n    path: ./mine.so", "  mine:", "mine",
     "there is no plugin 'mine'; use one of process, echo, sleep, armada, http, kubernetes, "
     "theirs"),
    ("path", "./mine.so", "./yours.so", "./yours.so",
     "the plugin 'mine': STORE/yours.so cannot be read: No such file or directory; name the shared "
     "object of a plugin"),
    ("endpoint", "endpoint: https:", "endpoint: ftp:", "ftp:",
     URL.format("ftp://jobs.example.org/api")),
    ("authorization", "{bearer: jobs/token}", "bearer", "bearer",
     "this is no value for 'authorization'; write none, {basic: GROUP/KEY} or {bearer: GROUP/KEY} "
     "[InvalidValue]"),
    ("bearer", "{bearer: jobs/token}", "{bearer: token}", "token}",
     "'token' names no secret; write group/key or group/key@version [InvalidValue]"),
    ("calls_per_second", "calls_per_second: 50", "calls_per_second: 0", "0",
     "'0' is no value for 'calls_per_second'; " + COUNT.format("1 to 10000")),
    ("calls_at_once", "calls_at_once: 8", "calls_at_once: 1001", "1001",
     "'1001' is no value for 'calls_at_once'; " + COUNT.format("1 to 1000")),
    ("jobs_at_once", "jobs_at_once: 100000", "jobs_at_once: 100001", "100001",
     "'100001' is no value for 'jobs_at_once'; " + COUNT.format("1 to 100000")),
    ("streams", "streams: 64", "streams: no", "no",
     "'no' is no value for 'streams'; " + COUNT.format("0 to 10000")),
    ("interval", "interval: 5s", "interval: 61s", "61s",
     "'61s' is no value for 'interval'; " + SPAN.format("1ms to 60s")),
    ("timeout", "timeout: 30s", "timeout: 2h", "2h",
     "'2h' is no value for 'timeout'; " + SPAN.format("1ms to 3600s")),
    ("lag", "lag: 30s", "lag: 2h", "2h",
     "'2h' is no value for 'lag'; " + SPAN.format("1s to 3600s")),
    ("lost_after", "lost_after: 10m", "lost_after: 1m", "1m",
     "'1m' is no value for 'lost_after'; " + SPAN.format("120s to 86400s")),
    ("ca_file", "./ca.pem", "./cas.pem", "./cas.pem", FILE.format("cas.pem")),
    ("client_certificate", "./client.pem", "./clients.pem", "./clients.pem",
     FILE.format("clients.pem")),
    ("client_key", "./client.key", "./clients.key", "./clients.key", FILE.format("clients.key")),
    ("insecure", "insecure: false", "insecure: maybe", "maybe",
     "'maybe' is no value for 'insecure'; write true or false [InvalidValue]"),
    ("queue", "queue: fast", "queue: 3", "queue: 3",
     "config.queue has to be text, not a whole number, 0 or more [InvalidValue]"),
    ("endpoints", "    endpoints:\n", "    endpoint: 'http://here'\n    endpoints:\n",
     "'http://here'", "the plugin theirs has 'endpoint' and 'endpoints'; write one of them "
     "[InvalidValue]"),
    ("url", "url: https://west.example.org", "url: west.example.org", "west.example.org",
     URL.format("west.example.org")),
    ("quotas", "armada: 1000", "armada: many", "many",
     "'many' is no value for 'quotas'; " + COUNT.format("1 to 1000000")),
    ("slots", "slots: 200", "slots: 0", "0",
     "'0' is no value for 'slots'; " + COUNT.format("1 to 1000000")),
    ("per_project", "per_project: 50", "per_project: few", "few",
     "'few' is no value for 'per_project'; " + COUNT.format("1 to 1000000")),
    ("per_domain", "per_domain: 20", "per_domain: -1", "-1",
     "'-1' is no value for 'per_domain'; " + COUNT.format("1 to 1000000")),
    ("secrets", "- environment", "- vault", "vault",
     "'vault' is no value for 'secrets'; write one of: environment folder [InvalidValue]"),
    ("folder", "folder: ./secrets", "folders: ./secrets", "folders",
     "'folders' is no key of a source of secrets; the nearest one is 'folder' [InvalidValue]"),
    ("command", "[./get-secret, --quiet]", "[]", "[]",
     "a command has at least one word; write [PROGRAM, WORD…] [InvalidValue]"),
    ("object_stores", "  s3://:", "  s4://:", "s4://",
     "'s4://' is nothing that files' URIs begin with; write s3:// or gs://, with a bucket behind "
     "it or none, or https://HOST[/PATH] [InvalidValue]"),
    ("basic", "{basic: files/login}", "{basic: login}", "login}",
     "'login' names no secret; write group/key or group/key@version [InvalidValue]"),
    ("region", "region: eu-central-1", "region: eu/central", "eu/central",
     "'eu/central' is no region; write letters, digits and -, as eu-central-1 [InvalidValue]"),
    ("secret", "secret: store/key", "secret: key", "key",
     "'key' names no secret; write group/key or group/key@version [InvalidValue]"),
    ("mail", "mail: ", "mails: ", "mails",
     "'mails' is no key of the settings; the nearest one is 'mail' [InvalidValue]"),
    ("blobs", "blobs: ./blobs-of-all", "blobs: ftp://all/blobs", "ftp:",
     "'ftp://all/blobs' is neither a folder nor a bucket; write the path of a folder that all "
     "hosts of the store reach, or s3://BUCKET[/PREFIX] [InvalidValue]"),
    ("blobs_cache", "blobs_cache: 64Gi", "blobs_cache: 1Ki", "1Ki",
     "this is too little for a cache; write at least 1Mi [InvalidValue]"),
    ("host_name", "host_name: tall", "host_name: to ll", "to ll",
     "'to ll' is no name of a host; write up to 64 letters, digits, and . _ - within them "
     "[InvalidValue]"),
    ("host_address", "host_address: 10.0.0.5:7070", "host_address: tall:7070", "tall:7070",
     "'tall:7070' is no address of a host; write IP:PORT, where the other hosts reach this one, as "
     "10.0.0.5:7070 [InvalidValue]"),
    ("entry_address", "entry_address: 10.0.0.5:7171", "entry_address: tall:7171", "tall:7171",
     "'tall:7171' is no address of a host; write IP:PORT, where clients reach this one, as "
     "10.0.0.5:7070 [InvalidValue]"),
    ("entry_key", "entry_key: /etc/troupe/entry.key", "entry_key: [1]", "[1]",
     "a list is no value for 'entry_key'; write text [InvalidValue]"),
    ("lease", "lease: 10s", "lease: 2s", "2s",
     "'2s' is no value for 'lease'; write a duration from 3s to 60s [InvalidValue]"),
    ("process_lease", "process_lease: 5m", "process_lease: 25h", "25h",
     "'25h' is no value for 'process_lease'; write a duration from 10s to 86400s [InvalidValue]"),
    ("balance", 'balance: "off"', "balance: 3", "3",
     "'3' is no value for 'balance'; write on or off [InvalidValue]"),
    ("sendmail", "sendmail: /usr/sbin/sendmail", "sendmail: []", "[]",
     "a list is no value for 'sendmail'; write text [InvalidValue]"),
    ("from", "from: Troupe <troupe@example.org>", "from: nobody", "nobody",
     "'nobody' is no address of a mail; write one such as troupe@example.org [InvalidValue]"),
]

HTTP = [
    ("http", "http:  ", "htpp:  ", "htpp",
     "'htpp' is no key of the settings; the nearest one is 'http' [InvalidValue]"),
    ("listen", '"127.0.0.1:30080"', '"127.0.0.1"', '"127.0.0.1"',
     "'127.0.0.1' is no address; write PORT, HOST:PORT or [HOST]:PORT with an IP address or "
     "localhost, or unix:PATH [InvalidValue]"),
    ("certificate", "./http.pem", "./https.pem", "./https.pem", FILE.format("https.pem")),
    ("key", "key: ./http.key", "key: ./https.key", "./https.key", FILE.format("https.key")),
    ("clients", "  clients:  ", "  client:  ", "client",
     "'client' is no key of http; the nearest one is 'clients' [InvalidValue]"),
    ("id", "id: ci", "id: c i", "c i", "'c i' is no id of a client; write letters, digits, _, - "
     "and @, at most 63 [InvalidValue]"),
    ("secret_sha256", "secret_sha256: 9", "secret_sha256: X", "X",
     "this is no SHA-256 of a secret; write what `printf %s SECRET | sha256sum` prints, 64 digits "
     "[InvalidValue]"),
    ("roles", "[{role: register, project: flytesnacks, domain: development}, {role: view}]", "[]",
     "[]", "a client has one role to 100; write [{role: view}], say [InvalidValue]"),
    ("role", "{role: view}", "{role: see}", "see",
     "'see' is no value for 'role'; write one of: view run register admin [InvalidValue]"),
    ("project", "project: flytesnacks", "projects: flytesnacks", "projects",
     "'projects' is no key of a role; the nearest one is 'project' [InvalidValue]"),
    ("domain", "domain: development", "domain: [a]", "[a]",
     "a list is no value for 'domain'; write text [InvalidValue]"),
    ("oidc", "  oidc:  ", "  oicd:  ", "oicd",
     "'oicd' is no key of http; the nearest one is 'oidc' [InvalidValue]"),
    ("issuer", "issuer: https://id", "issuer: http://id", "http://id",
     "'http://id.example.org/realms/flyte' is not safe from who is between; write https://, or a "
     "host of this machine [InvalidValue]"),
    ("audience", "audience: flyte", "audience: ''", "''",
     "'' is no value for 'audience'; write text [InvalidValue]"),
    ("keys", "keys: https://id.example.org/realms/flyte/certs", "keys: id.example.org",
     "id.example.org", URL.format("id.example.org")),
    ("ca_file", "./id-ca.pem", "./none.pem", "./none.pem", FILE.format("none.pem")),
    ("client_id", "client_id: flytectl", "client_id: []", "[]",
     "a list is no value for 'client_id'; write text [InvalidValue]"),
    ("scopes", "scopes: [openid, groups]", "scopes: openid", "openid",
     "scopes is a list, and this is text; write [a, b] [InvalidValue]"),
    ("who", "who: email", "who: ''", "''",
     "'' is no value for 'who'; write text [InvalidValue]"),
    ("claim", "claim: groups", "claim: {a: b}", "{a: b}",
     "a mapping is no value for 'claim'; write text [InvalidValue]"),
    ("roles", "[{value: builders, role: register, project: flytesnacks}, {role: view}]", "[]",
     "[]", "a provider gives one role to 100; write [{role: view}], say [InvalidValue]"),
    ("value", "value: builders", "valu: builders", "valu",
     "'valu' is no key of a role; the nearest one is 'value' [InvalidValue]"),
    ("request_bytes", "request_bytes: 64Mi", "request_bytes: 2Gi", "2Gi",
     "this is too little or too much for a request; write from 1Mi to 1Gi [InvalidValue]"),
    ("connections", "connections: 10000", "connections: 0", "0",
     "'0' is no value for 'connections'; " + COUNT.format("1 to 1000000")),
]
MISTAKES += HTTP

# And of a collector of traces.
MISTAKES += [
    ("traces", "traces: ", "trace: ", "trace",
     "'trace' is no key of the settings; the nearest one is 'traces' [InvalidValue]"),
    ("endpoint", "endpoint: http://127.0.0.1:4318", "endpoint: collector", "collector",
     URL.format("collector")),
    ("service", "service: nightly", "service: ''", "''",
     "'' is no value for 'service'; write text [InvalidValue]"),
    ("authorization", "{bearer: otel/token}", "otel/token", "otel/token",
     "this is no value for 'authorization'; write none, {basic: GROUP/KEY} or {bearer: GROUP/KEY} "
     "[InvalidValue]"),
    ("ca_file", "./otel-ca.pem", "./none.pem", "./none.pem", FILE.format("none.pem")),
]

# The same of Armada's own keys, of which its plugin says itself what is wrong, at the key.
ARMADA_MISTAKES = [
    ("queue", "queue: research", "queue: a/b", "queue",
     "queue may not hold a slash, a colon or a space"),
    ("image", "image: debian:12", "image: [debian]", "image", "image has to be text, not a list"),
    ("namespace", "namespace: default", "namespace: 3", "namespace",
     "namespace has to be text, not a whole number, 0 or more"),
    ("priority", "priority: 1000", "priority: soon", "priority",
     "priority has to be a whole number, 0 or more, not text"),
    ("priority_class", "priority_class: normal", "priority_class: 1", "priority_class",
     "priority_class has to be text, not a whole number, 0 or more"),
    ("labels", "labels: {team: data}", "labels: {team: 3}", "labels",
     "labels.team has to be text: write it in quotes"),
    ("annotations", "annotations: {}", "annotations: none", "annotations",
     "annotations has to be a mapping, not text"),
    ("pod", "pod: {tolerations: [{key: gpu, operator: Exists}]}", "pod: none", "pod",
     "pod has to be a mapping, not text"),
    ("share", "share: /shared/troupe", "share: shared/troupe", "share:",
     "share has to be the absolute path of a folder that the engine and the pods see, or {path: "
     "FOLDER, volume: SOURCE}"),
    ("outputs", "outputs: s3:", "outputs: s4:", "outputs",
     "outputs has to be s3://BUCKET/PREFIX or https://HOST/PREFIX, of plain letters"),
    ("object_store", "object_store: {endpoint", "object_store: {endpont", "object_store",
     "object_store has no key 'endpont'; did you mean 'endpoint'?"),
    ("endpoint", 'object_store: {endpoint: "https://', 'object_store: {endpoint: "', "object_store",
     "object_store.endpoint has to be https://HOST or http://HOST, of plain letters"),
    ("region", 'object_store: {endpoint: "https://minio.example.org", region: eu-central-1',
     'object_store: {endpoint: "https://minio.example.org", region: eu/central', "object_store",
     "object_store.region has to be of letters, digits and -"),
    ("secret", 'object_store: {endpoint: "https://minio.example.org", region: eu-central-1, '
     'secret: store/key', "object_store: {secret: store", "object_store",
     "object_store.secret has to be GROUP/KEY: here it is found as any secret is, and for pods it "
     "is the key of a Secret of Kubernetes"),
    ("job_set", "job_set: troupe", "job_set: my/troupe", "job_set",
     "job_set may not hold a slash, a colon or a space"),
    ("logs", 'logs: "https://lookout.example.org/?job={job}', 'logs: "https://lookout.example.org',
     "logs", "logs has to hold {job}, in whose place the job's id is put"),
]

# The same secret in each source, so that the order shows; one each that no earlier source has.
FLOW = """
troupe: 1
tasks:
  show:
    type: TYPE
    outputs: {first: string, second: string, third: string, fourth: string}
    run: [/bin/sh, ./show.sh]
    secrets: {FIRST: a/first, SECOND: a/second, THIRD: a/third, FOURTH: a/fourth}
workflows:
  main:
    nodes: {show: {task: show}}
    outputs: {first: $show.first, second: $show.second, third: $show.third, fourth: $show.fourth}
"""
SHOW = """printf '{"first":"%s","second":"%s","third":"%s","fourth":"%s"}' \
"$FIRST" "$SECOND" "$THIRD" "$FOURTH" >"$TROUPE_OUTPUTS"\n"""
COMMAND = "#!/bin/sh\n[ \"$1\" = --quiet ] && echo \"command $2\"\n"


def keys_of(text):
    """The keys of settings, without what people name themselves."""
    text = re.sub(r"\s#.*", "", text)
    return {key for key in re.findall(r"([\w-]+):(?=\s|$)", text, re.M) if key not in GIVEN}


def place_of(text, before, after, at):
    """Line and column of `at` in what has taken the place of `before`."""
    position = text.index(before)
    if at not in after:
        raise AssertionError(f"{at!r} is not in {after!r}")
    changed = text.replace(before, after, 1)
    start = position + after.rindex(at)
    line = changed.count("\n", 0, start) + 1
    return changed, f"{line}:{start - changed.rfind(chr(10), 0, start)}"


class SettingsTest(ProgramTest):
    def setUp(self):
        super().setUp()
        self.store.mkdir()
        self.settings = self.store / "settings.yaml"

    def build(self, name, number):
        """A plugin of that name, with `queue` as a key of its own: the example's."""
        source = (ROOT / "examples/plugins/jobs.c").read_text()
        source = source.replace('"jobs"', f'"{name}"').replace("10100", str(number))
        path = self.store / f"{name}.so"
        subprocess.run(["cc", "-shared", "-fPIC", f"-I{ROOT}", "-w", "-o", path,
                        self.write(f"{name}.c", source)], check=True, timeout=60)

    def lay_out(self):
        """What the example names beside it."""
        self.build("mine", 10101)
        self.build("theirs", 10102)
        for name in ("ca.pem", "client.pem", "client.key", "http.pem", "http.key",
                     "id-ca.pem", "otel-ca.pem"):
            (self.store / name).write_text("")
        (self.store / "blobs-of-all").mkdir()
        script = self.store / "get-secret"
        script.write_text(COMMAND)
        script.chmod(script.stat().st_mode | stat.S_IXUSR)

    def assert_each_is_told(self, text, mistakes):
        for key, before, after, at, words in mistakes:
            with self.subTest(key):
                changed, place = place_of(text, before, after, at)
                self.settings.write_text(changed)
                told = self.troupe("plugins", status=2)[1]
                wanted = f"{self.settings}:{place}: {words.replace('STORE', str(self.store))}\n"
                self.assertEqual(told, wanted)

    def test_the_example_is_taken(self):
        self.lay_out()
        self.settings.write_text(SETTINGS)
        plugins = {row["plugin"]: row for row in self.document("plugins")}
        self.assertEqual(plugins["mine"]["path"], str(self.store / "mine.so"))
        self.assertEqual([(row["name"], row["url"]) for row in plugins["mine"]["endpoints"]],
                         [("default", "https://jobs.example.org/api")])
        self.assertEqual([(row["name"], row["url"]) for row in plugins["theirs"]["endpoints"]],
                         [("east", "https://east.example.org"),
                          ("west", "https://west.example.org")])

    def test_the_example_is_what_engines_go_by(self):
        """Its task types, the plugin for all others, and its sources of secrets in their order."""
        self.lay_out()
        self.settings.write_text(SETTINGS)
        self.write("show.sh", SHOW)
        for folder, keys in ((self.folder / "config/troupe/secrets", ("first", "second")),
                             (self.store / "secrets", ("first", "second", "third"))):
            (folder / "a").mkdir(parents=True)
            for key in keys:
                (folder / "a" / key).write_text(f"{folder.parent.name} {key}")
        for task_type in ("python-task", "of-nobody"):
            self.write("flow.yaml", FLOW.replace("TYPE", task_type))
            outputs = self.document("run", "flow.yaml")["outputs"]
            self.assertEqual(outputs, {"first": "environment", "second": "troupe second",
                                       "third": "store third", "fourth": "command a/fourth"})

    def environment(self):
        return dict(super().environment(), TROUPE_SECRET_A_FIRST="environment",
                    XDG_CONFIG_HOME=str(self.folder / "config"))

    def test_each_key_is_checked(self):
        self.lay_out()
        self.assert_each_is_told(SETTINGS, MISTAKES)

    def test_a_certificate_has_a_key(self):
        self.lay_out()
        changed = SETTINGS.replace("  key: ./http.key\n", "")
        self.settings.write_text(changed)
        place = changed[:changed.index("  listen:")].count("\n") + 1
        self.assertEqual(self.troupe("plugins", status=2)[1],
                         f"{self.settings}:{place}:3: http has one of 'certificate' and 'key'; "
                         "write both, or none [ValueRequired]\n")
        digits = 64 * "0"
        whole = f"{{id: a, secret_sha256: {digits}, roles: [{{role: view}}]}}"
        for clients, said in (
                ("[]", "these are no clients, or more than 1000; write one at least, or leave "
                 "'clients' out: then everybody may do everything [InvalidValue]"),
                (f"[{{secret_sha256: {digits}, roles: [{{role: view}}]}}]",
                 "a client has no 'id'; give it a name [ValueRequired]"),
                ("[{id: a, roles: [{role: view}]}]", "a client has no 'secret_sha256', and "
                 "no 'key'; write what "
                 "`printf %s SECRET | sha256sum` prints, 64 digits [ValueRequired]"),
                (f"[{{id: a, secret_sha256: {digits}}}]",
                 "a client has no 'roles'; write [{role: view}], say [ValueRequired]"),
                (f"[{{id: a, secret_sha256: {digits}, roles: [{{project: p}}]}}]",
                 "a role has no 'role'; write view, run, register or admin [ValueRequired]"),
                (f"[{whole}, {whole}]",
                 "there are two clients 'a'; give each an id of its own [InvalidValue]")):
            self.settings.write_text(f"http: {{clients: {clients}}}\n")
            self.assertIn(said, self.troupe("serve", status=2)[1])
        provider = ("issuer: http://localhost:1/a, audience: b, client_id: c, "
                    "roles: [{role: view}]")
        for oidc, said in (
                (provider.replace("issuer", "keys"), "oidc has no 'issuer'; write the URL that its "
                 "tokens have as iss [ValueRequired]"),
                (provider.replace("audience", "who"), "oidc has no 'audience'; write what its "
                 "tokens for this engine have as aud [ValueRequired]"),
                (provider.replace("client_id", "who"), "oidc has no 'client_id'; write what "
                 "clients without a secret call themselves there [ValueRequired]"),
                (provider.replace(", roles: [{role: view}]", ""),
                 "oidc has no 'roles'; write [{role: view}], say [ValueRequired]"),
                (provider.replace("{role", "{value: x, role"), "oidc has no 'claim', of which the "
                 "values of its roles are; name the claim that has them: groups, say "
                 "[ValueRequired]"),
                (provider.replace("http://localhost:1/a", "http://localhost.evil.org"),
                 "'http://localhost.evil.org' is not safe from who is between")):
            self.settings.write_text(f"http: {{oidc: {{{oidc}}}}}\n")
            self.assertIn(said, self.troupe("serve", status=2)[1])
        self.settings.write_text(f"http: {{oidc: {{{provider}}}}}\n")
        self.troupe("plugins")
        self.settings.write_text("http: {listen: [" + ", ".join(9 * ["1"]) + "]}\n")
        self.assertEqual(self.troupe("plugins", status=2)[1],
                         f"{self.settings}:1:16: these are more than 8 addresses; write fewer "
                         "[InvalidValue]\n")

    def test_each_key_of_armada_is_checked(self):
        self.assert_each_is_told(ARMADA, [
            (*row, f"plugins.armada.{words} [InvalidValue]") for *row, words in ARMADA_MISTAKES])

    def test_a_store_names_no_other(self):
        self.settings.write_text("store: elsewhere\n")
        told = self.troupe("serve", status=2)[1]
        self.assertIn(f"{self.settings}: 'store' names the store of commands that name none; write "
                      "it in the settings of the user, not in those of a store", told)

    def test_no_key_is_left_out(self):
        checked = {row[0] for row in MISTAKES}
        self.assertEqual(keys_of(SETTINGS), checked)
        self.assertEqual(keys_of(ARMADA) - checked - OF_PODS,
                         {row[0] for row in ARMADA_MISTAKES} - checked)


if __name__ == "__main__":
    unittest.main()
