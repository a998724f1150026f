#!/usr/bin/env python3
"""What a plugin reads of a task of Flyte's and of its node: tests/plugins/telling.c says it."""

import unittest

from program import PROGRAM
from test_flyte_packages import PackageTest

TASK = """
spec = task("p.tell", "", {}, STRING)
spec.template.type = "telling"
spec.template.ClearField("container")
spec.template.metadata.interruptible = @TASK@
spec.template.metadata.timeout.seconds = 70
spec.template.security_context.run_as.iam_role = "somebody"
spec.template.extended_resources.gpu_accelerator.device = "a100"
again(spec)
one = node("n0", "p.tell")
one.task_node.overrides.container_image = "other:1"
@NODE@
workflow("p.flow", {}, [one, node("n1", "p.tell")],
         {"o0": promise("n0"), "o1": promise("n1")}, {"o0": STRING, "o1": STRING})
"""


class PluginTest(PackageTest):
    def told(self, task="False", node=""):
        self.store.mkdir(exist_ok=True)
        (self.store / "settings.yaml").write_text(
            f"plugins:\n  telling: {{path: {PROGRAM.parent}/tests/plugins/telling.so}}\n")
        self.package(TASK.replace("@TASK@", task).replace("@NODE@", node))
        outputs = self.document("run", "flows.tgz", "p.flow")["outputs"]
        return [dict(word.split("=") for word in outputs[name].split()) for name in ("o0", "o1")]

    def interruptible(self, **said):
        return [each["interruptible"] for each in self.told(**said)]

    def test_what_task_and_node_say(self):
        first, second = self.told()
        self.assertEqual(first, {"interruptible": "0", "seconds": "70", "role": "somebody",
                                 "device": "a100", "image": "other:1"})
        self.assertEqual(second["image"], "none")

    def test_interruptible(self):
        """What a node says counts, then what its task says."""
        self.assertEqual(self.interruptible(task="True"), ["1", "1"])
        self.assertEqual(self.interruptible(task="True", node="one.metadata.interruptible = False"),
                         ["0", "1"])
        self.assertEqual(self.interruptible(node="one.metadata.interruptible = True"), ["1", "0"])


if __name__ == "__main__":
    unittest.main()
