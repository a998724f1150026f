#!/usr/bin/env python3
"""deploy/KUBERNETES.md: its settings are taken as they stand, each key has its mistake, and the
engine does what its Role allows and nothing beyond that."""

import json
import re
import unittest

from kubernetes import Double, KubernetesTest
from program import LIMIT_S, ROOT, ProgramTest, wait_until
from test_settings import place_of

PAGE = (ROOT / "deploy/KUBERNETES.md").read_text()
ONE, SEVERAL, FLYTES, SHARED, ROLE = re.findall(r"```yaml\n(.*?)```", PAGE, re.S)
ALLOWED = re.search(r"verbs: \[(.*)\]", ROLE).group(1).split(", ")
FORBIDDEN = 'pods is forbidden: User "u" cannot {} resource "pods" in API group ""'

# A key, what becomes of its line on the page, where in that the mistake is, and what is said.
MISTAKES = [
    ("namespace", "namespace: work", "namespace: My_Work", "namespace",
     "namespace has to be of small letters, digits and -, at most 63 of them"),
    ("image", "image: debian:12", "image: [debian]", "image", "image has to be text, not a list"),
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
    ("finalizer", "finalizer: false", "finalizer: maybe", "finalizer",
     "finalizer has to be true or false, not text"),
    ("cards", "cards: {}", "cards: []", "cards", "cards has to be a mapping, not a list"),
    ("operator_timeout", "operator_timeout: 5m", "operator_timeout: soon", "operator_timeout",
     "operator_timeout has to be a time such as 30s or 1h30m, of a year at most, not 'soon'"),
    ("keep", "keep: {succeeded: 0s, failed: 1h, orphaned: 10m}", "keep: 1h", "keep",
     "keep has to be a mapping, not text"),
    ("succeeded", "keep: {succeeded: 0s", "keep: {succeeded: 0", "keep",
     "keep.succeeded has to be text, not a whole number, 0 or more"),
    ("failed", "keep: {succeeded: 0s, failed: 1h", "keep: {failed: an hour", "keep",
     "keep.failed has to be a time such as 30s or 1h30m, of a year at most, not 'an hour'"),
    ("orphaned", "keep: {succeeded: 0s, failed: 1h, orphaned: 10m", "keep: {orphaned: never",
     "keep",
     "keep.orphaned has to be a time such as 30s or 1h30m, of a year at most, not 'never'"),
]


class SettingsTest(ProgramTest):
    def setUp(self):
        super().setUp()
        self.store.mkdir()
        for name in ("ca.pem", "here.pem", "there.pem"):
            (self.store / name).write_text("")

    def endpoints_of(self, text):
        (self.store / "settings.yaml").write_text(text)
        row = next(row for row in self.document("plugins") if row["plugin"] == "kubernetes")
        return [(endpoint["name"], endpoint["url"]) for endpoint in row["endpoints"]]

    def test_the_settings_are_taken(self):
        self.assertEqual(self.endpoints_of(ONE), [("default", "https://10.0.0.1:6443")])
        self.assertEqual(self.endpoints_of(FLYTES), [("default", "https://10.0.0.1:6443")])
        self.assertEqual(self.endpoints_of(SEVERAL), [("here", "https://10.0.0.1:6443"),
                                                      ("there", "https://10.1.0.1:6443")])

    def test_endpoints_share_a_kubeconfig(self):
        names = ("here", "there")
        (self.store / "kubeconfig").write_text(json.dumps({
            "clusters": [{"name": name, "cluster": {"server": f"https://{name}.example.org"}}
                         for name in names],
            "contexts": [{"name": name, "context": {"cluster": name}} for name in names]}))
        self.assertEqual(self.endpoints_of(SHARED), [("here", "https://here.example.org"),
                                                     ("there", "https://there.example.org")])

    def test_each_mistake_is_told(self):
        path = self.store / "settings.yaml"
        for key, before, after, at, words in MISTAKES:
            with self.subTest(key):
                changed, place = place_of(ONE, before, after, at)
                path.write_text(changed)
                self.assertEqual(self.troupe("plugins", status=2)[1],
                                 f"{path}:{place}: plugins.kubernetes.{words} [InvalidValue]\n")


class RightsTest(KubernetesTest):
    def test_no_more_is_done_than_the_role_allows(self):
        self.double.rules({"how": "deleted", "times": 1})
        self.double.control("settings", watch_list=True)
        self.double.fault("latency", ms=1000, times=1, method="watch pods")
        self.write_array(1)
        self.run_all("gone")
        self.double.control("settings", watch_list=False)
        self.double.fault("watch_expired", times=1)
        self.run_all("one")
        self.write_array(50)
        self.run_all("many")
        calls = self.double.counters()["calls"]
        self.assertEqual(sorted(calls), sorted(f"{verb} pods" for verb in ALLOWED))

    def test_who_may_not_make_pods_is_told_so(self):
        self.double.fault("refused", times=1, code=403, method="create pods",
                          text=FORBIDDEN.format("create"))
        self.write_array(1)
        self.run_all(status=1)
        self.assertEqual(self.failures()[-1][3:], ("PermissionDenied", FORBIDDEN.format("create")))

    def test_who_may_not_watch_is_told_why_nothing_is_heard(self):
        for method in ("list pods", "watch pods"):
            self.double.fault("refused", code=403, method=method, text=FORBIDDEN.format("list"))
        self.write_array(1)
        running = self.begin()
        self.double.wait(pods_created=1)
        wait_until(lambda: "pods is forbidden" in self.plugin()["fault"], "the refusal is shown")
        self.double.control("faults/clear")
        self.finish(running)

    def plugin(self):
        row = next(row for row in self.document("plugins") if row["plugin"] == "kubernetes")
        return row["endpoints"][0]


class ClustersTest(KubernetesTest):
    def test_one_that_hangs_holds_up_its_own_tasks_alone(self):
        settings = json.loads((self.store / "settings.yaml").read_text())
        kubernetes = settings["plugins"]["kubernetes"]
        url = kubernetes.pop("endpoint")
        hung = Double("--share", str(self.folder))
        self.addCleanup(hung.stop)
        hung.fault("hang", method="create pods")
        kubernetes["endpoints"] = {"good": {"url": url}, "bad": {"url": hung.endpoint}}
        (self.store / "settings.yaml").write_text(json.dumps(settings))
        self.write("bad.yaml", "troupe: 1\ntasks: {t: {run: ['true'], "
                   "config: {endpoint: bad}}}\nworkflows: {main: {nodes: {n: {task: t}}}}\n")
        engine = self.start("serve")
        engine.wait_for("serves")
        self.troupe("submit", "bad.yaml", "--name", "bad")
        self.write_array(20)
        running = self.begin()
        self.finish(running)
        self.assertEqual(self.double.counters()["pods_created"], 20)
        self.assertEqual(hung.counters()["pods_created"], 0)
        self.troupe("abort", "bad")
        engine.signal(15)
        engine.end(LIMIT_S)


if __name__ == "__main__":
    unittest.main()
