"""Each recipe for a cluster, option by option: what it gives is what train.py and our code read."""

from __future__ import annotations

import json
import os
import re
import signal
import sys
from types import ModuleType, SimpleNamespace

import pytest
from pages import DOCS, blocks

from keras_perf.cluster.exit_codes import EXIT_PEER_LOST, EXIT_SAVED
from keras_perf.cluster.slurm import cluster_from_slurm
from keras_perf.cluster.tf_config import ClusterError, read_cluster
from keras_perf.loop import template

PAGE = DOCS / "clusters.md"
TEXT = PAGE.read_text(encoding="utf-8")


def recipe(language, has):
    [block] = [b for b in blocks(PAGE) if b.language == language and has in b.text]
    return block.text


def loaded(has):
    if "CI" not in os.environ:
        pytest.importorskip("yaml", reason="PyYAML, of the extra test, is not installed")
    import yaml

    return yaml.safe_load(recipe("yaml", has))


def read_by_train_py(argv):
    """The settings; argparse ends the test at an option or a value that train.py does not take."""
    args = template.arguments(argv)
    assert args.strategy == "multi-worker"
    assert args.steps == 400
    assert args.log_dir != args.checkpoint_dir
    return args


# -- Kubernetes ----------------------------------------------------------------------------


# https://www.kubeflow.org/docs/components/trainer/legacy-v1: fields of a TFJob and of a pod.
OF_A_JOB = {"apiVersion", "kind", "metadata", "spec"}
OF_A_RUN_POLICY = {"activeDeadlineSeconds", "backoffLimit", "cleanPodPolicy", "schedulingPolicy"}
OF_A_REPLICA = {"replicas", "restartPolicy", "template"}
OF_A_POD = {"terminationGracePeriodSeconds", "containers", "volumes"}
OF_A_CONTAINER = {"name", "image", "command", "args", "volumeMounts"}


@pytest.fixture(scope="module")
def job():
    return loaded("kind: TFJob")


@pytest.fixture(scope="module")
def worker(job):
    return job["spec"]["tfReplicaSpecs"]["Worker"]


@pytest.fixture(scope="module")
def container(worker):
    [container] = worker["template"]["spec"]["containers"]
    return container


def test_the_job_of_kubernetes_is_one_that_its_operator_takes(job, worker, container):
    assert (job["apiVersion"], set(job)) == ("kubeflow.org/v1", OF_A_JOB)
    assert set(job["spec"]) == {"runPolicy", "tfReplicaSpecs"}
    assert set(job["spec"]["runPolicy"]) <= OF_A_RUN_POLICY
    assert set(worker) == OF_A_REPLICA
    assert set(worker["template"]["spec"]) == OF_A_POD
    assert set(container) == OF_A_CONTAINER
    assert container["name"] == "tensorflow"


def test_the_pods_of_kubernetes_write_to_what_they_share(worker, container):
    args = read_by_train_py(container["args"])
    volumes = {volume["name"] for volume in worker["template"]["spec"]["volumes"]}
    [mount] = container["volumeMounts"]
    assert {mount["name"]} == volumes
    for directory in (args.log_dir, args.checkpoint_dir):
        assert directory.startswith(f"{mount['mountPath']}/")


def test_the_pods_of_kubernetes_find_each_other_and_start_again(job, worker, container):
    assert container["command"] == ["python", "train.py"]
    name, number = job["metadata"]["name"], worker["replicas"]
    addresses = [f"{name}-worker-{index}.space.svc:2222" for index in range(number)]
    task = {"type": "worker", "index": number - 1}
    config = json.dumps({"cluster": {"worker": addresses}, "task": task, "environment": "cloud"})
    cluster = read_cluster({"TF_CONFIG": config})
    assert (cluster.rank, cluster.size, cluster.addresses) == (number - 1, number, (*addresses,))
    # Codes below 128 are final for `ExitCode`, and ours are.
    assert max(EXIT_SAVED, EXIT_PEER_LOST) < 128
    assert worker["restartPolicy"] == "OnFailure"
    assert job["spec"]["runPolicy"]["backoffLimit"] > 0


# -- Slurm ---------------------------------------------------------------------------------

# https://slurm.schedmd.com/sbatch.html
OF_SBATCH = {"job-name", "nodes", "ntasks-per-node", "gpus-per-task", "time", "requeue", "signal"}


@pytest.fixture(scope="module")
def script():
    return recipe("bash", "#SBATCH")


@pytest.fixture(scope="module")
def asked(script):
    """The options of the job: name → value."""
    lines = re.findall(r"^#SBATCH --([a-z-]+)(?:=(\S+))?", script, re.M)
    assert len(lines) == script.count("#SBATCH")
    return dict(lines)


def test_the_job_of_slurm_asks_for_what_slurm_has(asked):
    assert set(asked) <= OF_SBATCH
    name, _, seconds = asked["signal"].partition("@")
    assert getattr(signal, f"SIG{name}") is signal.SIGTERM  # the one that the loop saves at
    assert int(seconds) >= 60


def test_the_tasks_of_slurm_are_placed_as_our_cluster_is_made(script, asked):
    nodes, tasks = int(asked["nodes"]), int(asked["ntasks-per-node"])
    assert "--distribution=block" in script
    environ = {
        "SLURM_JOB_ID": "4711",
        "SLURM_PROCID": str(nodes * tasks - 1),
        "SLURM_STEP_NUM_TASKS": str(nodes * tasks),
        "SLURM_STEP_NODELIST": f"node[1-{nodes}]",
        "SLURM_STEP_TASKS_PER_NODE": f"{tasks}(x{nodes})",
    }
    found = cluster_from_slurm(environ)
    assert len(found["cluster"]["worker"]) == nodes * tasks
    ports = {int(address.rpartition(":")[2]) for address in found["cluster"]["worker"]}
    assert min(ports) >= 12_000  # as the page says


# -- Ray Train -----------------------------------------------------------------------------


class Ray:
    """Stands in for Ray 2.60: takes the arguments that its classes have, and keeps them."""

    def __init__(self):
        self.found = {}

    def init(self, *, runtime_env):
        assert set(runtime_env) == {"working_dir"}

    def trainer(self, train_loop_per_worker, *, train_loop_config, scaling_config, run_config):
        self.found |= {"loop": train_loop_per_worker, "config": train_loop_config}
        self.found |= vars(scaling_config) | vars(run_config)
        return SimpleNamespace(fit=lambda: None)

    def modules(self):
        ray, train, tensorflow = (
            ModuleType(name) for name in ("ray", "ray.train", "ray.train.tensorflow")
        )
        ray.init = self.init
        train.FailureConfig = lambda *, max_failures: max_failures
        train.RunConfig = lambda *, name, storage_path, failure_config: SimpleNamespace(
            name=name, storage_path=storage_path, failures=failure_config
        )
        train.ScalingConfig = lambda *, num_workers, use_gpu: SimpleNamespace(
            workers=num_workers, use_gpu=use_gpu
        )
        tensorflow.TensorflowTrainer = self.trainer
        return {"ray": ray, "ray.train": train, "ray.train.tensorflow": tensorflow}


def test_the_workers_of_ray_are_given_what_train_py_reads(monkeypatch, tmp_path):
    ray, given = Ray(), []
    train_py = ModuleType("train")
    train_py.main = lambda argv=None: given.append(argv)
    for name, module in (ray.modules() | {"train": train_py}).items():
        monkeypatch.setitem(sys.modules, name, module)
    names = {"__name__": "__main__", "__file__": str(tmp_path / "ray_train.py")}
    exec(compile(recipe("python", "import ray"), "recipe", "exec"), names)
    ray.found["loop"](ray.found["config"])
    args = read_by_train_py(given[0])
    assert args.log_dir.startswith("/shared/")
    assert ray.found["workers"] >= 2
    assert ray.found["failures"] > 0


# -- Vertex AI -----------------------------------------------------------------------------

# https://cloud.google.com/vertex-ai/docs/reference/rest/v1/CustomJobSpec
OF_A_CUSTOM_JOB = {"workerPoolSpecs", "scheduling"}
OF_A_POOL = {"replicaCount", "machineSpec", "containerSpec"}
OF_A_POOLS_CONTAINER = {"imageUri", "command", "args"}


def test_the_pools_of_vertex_ai_make_the_cluster_that_is_read():
    job = loaded("workerPoolSpecs")
    assert set(job) == OF_A_CUSTOM_JOB
    assert job["scheduling"] == {"restartJobOnWorkerRestart": True}
    chief, workers = job["workerPoolSpecs"]
    names = [
        [f"cmle-training-workerpool{pool}-ab-{index}:2222" for index in range(of["replicaCount"])]
        for pool, of in enumerate((chief, workers))
    ]
    config = {
        "cluster": {"chief": names[0], "worker": names[1]},
        "task": {"type": "worker", "index": 0, "trial": "1"},
    }
    cluster = read_cluster({"TF_CONFIG": json.dumps(config)})
    assert (cluster.rank, cluster.size) == (1, 1 + workers["replicaCount"])
    for pool in (chief, workers):
        container = pool["containerSpec"]
        assert (set(pool), set(container)) == (OF_A_POOL, OF_A_POOLS_CONTAINER)
        assert set(pool["machineSpec"]) == {"machineType"}
        assert container["command"] == ["python", "train.py"]
        args = read_by_train_py(container["args"])
        assert args.log_dir.startswith("/gcs/BUCKET/")


def test_a_single_replica_of_vertex_ai_is_refused_as_the_page_says():
    assert "env -u TF_CONFIG python train.py" in TEXT
    one = {"cluster": {"chief": ["a:2222"]}, "task": {"type": "chief", "index": 0}}
    with pytest.raises(ClusterError, match="unset TF_CONFIG"):
        read_cluster({"TF_CONFIG": json.dumps(one)})


def test_the_exit_codes_of_the_page_are_those_of_the_loop():
    assert f"{EXIT_SAVED}, saved at SIGTERM; {EXIT_PEER_LOST}, a worker was\nlost" in TEXT
