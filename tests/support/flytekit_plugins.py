"""What flytekit's own plugin packages serialise for operators: prints, for each task, its type, the
version of its type, its message (`custom`) and its words. Libraries that these packages only run
with (Spark, Ray, Dask, PyTorch) need not be there: what stands for them answers to everything.
"""

import importlib.abc
import importlib.machinery
import json
import sys
from unittest import mock

ABSENT = ("pyspark", "ray", "distributed", "dask", "torch", "tensorflow")


class Absent(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name, path=None, target=None):
        is_one = name.split(".")[0] in ABSENT
        return importlib.machinery.ModuleSpec(name, self, is_package=True) if is_one else None

    def create_module(self, spec):
        module = mock.MagicMock(name=spec.name)
        module.__path__ = []
        module.__spec__ = spec
        return module

    def exec_module(self, module):
        pass


sys.meta_path.append(Absent())

from flytekit import Resources, task  # noqa: E402
from flytekit.configuration import Image, ImageConfig, SerializationSettings  # noqa: E402
from flytekit.tools.translator import get_serializable  # noqa: E402
from flytekitplugins.dask import Dask, Scheduler, WorkerGroup  # noqa: E402
from flytekitplugins.kfmpi import MPIJob  # noqa: E402
from flytekitplugins.kfmpi import Launcher as MpiLauncher, Worker as MpiWorker  # noqa: E402
from flytekitplugins.kfpytorch import CleanPodPolicy, Elastic, Master  # noqa: E402
from flytekitplugins.kfpytorch import PyTorch, RestartPolicy, RunPolicy, Worker  # noqa: E402
from flytekitplugins.kftensorflow import Chief, PS, TfJob  # noqa: E402
from flytekitplugins.kftensorflow import Worker as TfWorker  # noqa: E402
from flytekitplugins.ray import HeadNodeConfig, RayJobConfig, WorkerNodeConfig  # noqa: E402
from flytekitplugins.spark import Spark  # noqa: E402
from torch.distributed import run as elastic  # noqa: E402

elastic.parse_min_max_nnodes = lambda text: tuple(map(int, text.split(":")))

CONFIGS = {
    "spark": Spark(spark_conf={"spark.driver.memory": "1000M", "spark.executor.instances": "2",
                               "spark.executor.cores": "1", "spark.driver.cores": "1"}),
    "ray": RayJobConfig(
        head_node_config=HeadNodeConfig(ray_start_params={"log-color": "True"},
                                        requests=Resources(cpu="2", mem="4Gi")),
        worker_node_config=[WorkerNodeConfig(group_name="workers", replicas=3, max_replicas=5)],
        runtime_env={"pip": ["numpy"]}, ttl_seconds_after_finished=60),
    "pytorch": PyTorch(
        worker=Worker(replicas=2, image="worker:1", requests=Resources(cpu="4", gpu="1"),
                      restart_policy=RestartPolicy.FAILURE),
        master=Master(requests=Resources(cpu="1")),
        run_policy=RunPolicy(clean_pod_policy=CleanPodPolicy.ALL, backoff_limit=3)),
    "pytorch-workers": PyTorch(num_workers=4),
    "pytorch-elastic": Elastic(nnodes="2:4", nproc_per_node=8, max_restarts=1),
    "tensorflow": TfJob(chief=Chief(replicas=1), worker=TfWorker(replicas=2), ps=PS(replicas=1)),
    "mpi": MPIJob(worker=MpiWorker(replicas=2), launcher=MpiLauncher(replicas=1), slots=4),
    "dask": Dask(scheduler=Scheduler(limits=Resources(cpu="1", mem="1Gi")),
                 workers=WorkerGroup(number_of_workers=5, limits=Resources(cpu="2", mem="4Gi"))),
}


def made(name, config):
    """flytekit takes functions of a module alone, so each is written as one."""
    word = "run_" + name.replace("-", "_")
    exec(f"def {word}():\n    pass\n", globals())
    return task(task_config=config)(globals()[word])


def main():
    from google.protobuf.json_format import MessageToDict
    settings = SerializationSettings(
        image_config=ImageConfig(Image("default", "image", "1")), version="1")
    found = {}
    for name, config in CONFIGS.items():
        spec = get_serializable({}, settings, made(name, config)).to_flyte_idl()
        template = spec.template
        found[name] = {"type": template.type, "version": template.task_type_version,
                       "custom": MessageToDict(template.custom),
                       "words": list(template.container.args)}
    print(json.dumps(found))


if __name__ == "__main__":
    main()
