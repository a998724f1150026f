#!/usr/bin/env python3
"""The layers of a pod against the double: a PodTemplate, containers beside the task's, refusals."""

import signal
import unittest

from kubernetes import KubernetesTest
from program import wait_until

FLOW = """
troupe: 1
tasks:
  work:
    outputs: {b: int}
    run: [/bin/sh, -c, 'echo "{\\"b\\": $BASE}" >"$TROUPE_OUTPUTS"; echo worked; exit $CODE']
    env: {CODE: "0"}
    CONFIG
workflows:
  main:
    nodes: {work: {task: work}}
    outputs: {b: $work.b}
"""

SPEC = {"containers": [{"name": "default", "env": [{"name": "BASE", "value": "1"}]},
                       {"name": "primary", "image": "debian:12",
                        "env": [{"name": "BASE", "value": "7"}]},
                       {"name": "beside", "image": "none:1", "command": ["/bin/sleep", "1000"]}],
        "restartPolicy": "Always"}


class LayersTest(KubernetesTest):
    double_options = ("--execute",)

    def flow(self, config="retries: 0"):
        self.write("flow.yaml", FLOW.replace("CONFIG", config))
        self.write("inputs.json", "{}")

    def template(self, name="base", spec=SPEC):
        answer = self.double.create(
            {"kind": "PodTemplate", "apiVersion": "v1", "metadata": {"name": name},
             "template": {"metadata": {"labels": {"from": "template"}}, "spec": spec}},
            "/api/v1/namespaces/default/podtemplates")
        self.assertEqual(answer.status, 201)

    def test_a_template_of_the_cluster_and_a_container_that_never_ends(self):
        self.template()
        self.settle(image=None, pod_template="base")
        self.flow()
        self.assertEqual(self.run_all()["outputs"], {"b": 7})
        counters = self.all_gone(others=1)
        self.assertEqual(counters["calls"]["get podtemplates"], 1)

    def test_the_tasks_own_container_fails_beside_one_that_never_ends(self):
        self.template()
        self.settle(pod_template="base")
        self.flow('env: {CODE: "3"}')
        self.write("flow.yaml", (self.folder / "flow.yaml").read_text().replace(
            'env: {CODE: "0"}\n    ', ""))
        self.run_all(status=1)
        *_, code, message = self.failures()[-1]
        self.assertEqual(code, "ProcessFailed")
        self.assertIn("container task: exit status 3", message)
        self.assertIn("worked", message)  # the end of its log is its last word
        self.all_gone(others=1)

    def test_a_template_that_is_not_there(self):
        self.flow("config: {pod_template: none}")
        self.run_all(status=1)
        self.assertEqual(self.failures()[-1][3:], (
            "BadTaskSpecification",
            "PodTemplate none: there is none of that name in the pod's namespace: "
            'podtemplates "none" not found'))

    def test_a_template_outlives_a_server_in_trouble_and_a_kill(self):
        self.template()
        self.settle(pod_template="base")
        self.double.fault("refused", times=2, code=503, method="get podtemplates", text="busy")
        self.flow()
        running = self.begin()
        wait_until(lambda: self.double.calls("get podtemplates") > 0, "the template is asked for")
        running.signal(signal.SIGKILL)
        running.end(60)
        running = self.start("resume", "it", "-q", "-o", "json")
        self.assertEqual(self.finish(running)["outputs"], {"b": 7})
        self.assertEqual(self.all_gone(others=1)["pods_created"], 1)

    def test_unknown_fields_are_told_in_the_servers_words(self):
        self.flow("config: {pod: {nodeSelectr: {a: b}}}")
        self.run_all(status=1)
        *_, code, message = self.failures()[-1]
        self.assertEqual(code, "BadTaskSpecification")
        self.assertIn('unknown field "spec.nodeSelectr"', message)

    def test_gangs_are_refused_in_words(self):
        self.flow("config: {gang: {cardinality: 4}}")
        self.assertIn("config.gang has no meaning on Kubernetes, which starts each pod by itself: "
                      "remove it, or send the task to Armada",
                      self.troupe("run", "flow.yaml", status=2)[1])

    def test_interruptible_attempts_go_where_the_settings_say(self):
        self.settle(interruptible={"nodeSelector": {"pool": "spot"}})
        self.flow("interruptible: true")
        self.double.rules({"how": "evicted"})
        self.run_all(status=1)
        pools = [spec.get("nodeSelector") for spec in self.double.specs()]
        self.assertGreater(len(pools), 1)
        self.assertEqual(pools, [{"pool": "spot"}] * (len(pools) - 1) + [None])


class HelperTest(KubernetesTest):
    """A command without a shell in its image: here one that is a script of its own."""
    double_options = ("--execute", "--secret", "store/key=a:b")

    FLOW = """
troupe: 1
tasks:
  work:
    inputs: {a: int}
    outputs: {b: int}
    run: [SCRIPT]
    config: {shell: false}
    retries: 0
workflows:
  main:
    inputs: {a: int}
    nodes: {work: {task: work, with: {a: $a}}}
    outputs: {b: $work.b}
"""

    def setUp(self):
        super().setUp()
        script = self.folder / "work"
        script.write_text('#!/bin/sh\n[ "${PWD##*/}" = work ] && '
                          'sed "s/a/b/" "$TROUPE_INPUTS" >"$TROUPE_OUTPUTS"\n')
        script.chmod(0o755)
        self.write("flow.yaml", self.FLOW.replace("SCRIPT", str(script)))
        self.write("inputs.json", '{"a": 5}')

    def test_on_a_share(self):
        self.settle(helper_image="busybox")
        self.assertEqual(self.run_all()["outputs"], {"b": 5})
        self.all_gone()

    def test_what_cannot_be_sent_is_the_systems_failure(self):
        self.settle(helper_image="busybox", outputs=f"{self.double.endpoint}/no-store")
        self.run_all(status=1)
        *_, failure, code, message = self.failures()[0]
        self.assertEqual((failure, code), (2, "StorageError"))
        self.assertIn("container troupe-outputs could not send the documents: ", message)
        self.all_gone()

    def test_pipes_are_refused(self):
        self.write("flow.yaml", (self.folder / "flow.yaml").read_text().replace(
            "retries: 0", "stdout: outputs"))
        self.assertIn("config.shell is false, so stdout: outputs cannot be had: let the command "
                      "write the file $TROUPE_OUTPUTS", self.troupe("check", "flow.yaml",
                                                                    status=2)[0])


class ClusterTest(KubernetesTest):
    double_options = ("--namespace", "work", "--namespace", "play")

    TWO = """
troupe: 1
tasks:
  a: {run: ["true"], config: {namespace: work}}
  b: {run: ["true"], config: {namespace: play}}
workflows: {main: {nodes: {a: {task: a}, b: {task: b}}}}
"""

    def run_two(self, **settings):
        self.settle(**settings)
        self.write("flow.yaml", self.TWO)
        self.write("inputs.json", "{}")
        self.run_all()
        counters = self.all_gone()
        self.assertEqual(counters["pods_created"], 2)
        return counters["watches_peak"]

    def test_a_watch_for_each_namespace(self):
        self.double.control("settings", run_ms=500)
        self.assertEqual(self.run_two(), 2)

    def test_one_watch_for_all_namespaces(self):
        self.double.control("settings", run_ms=500)
        self.assertEqual(self.run_two(watch="cluster"), 1)

    def test_a_watch_that_is_none(self):
        self.settle(watch="all")
        self.assertIn("plugins.kubernetes.watch has to be namespace, one watch for each, or "
                      "cluster, one for all of them", self.troupe("plugins", status=2)[1])


if __name__ == "__main__":
    unittest.main()
