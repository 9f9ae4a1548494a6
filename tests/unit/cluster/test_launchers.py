"""What the launchers of clusters put into the environment, and the cluster that is read."""

from __future__ import annotations

import json

import pytest

from keras_perf.cluster.launchers import with_tf_config
from keras_perf.cluster.slurm import cluster_from_slurm
from keras_perf.cluster.tf_config import ClusterError, read_cluster

# https://github.com/kubeflow/training-operator, pkg/controller.v1/tensorflow/tensorflow.go: names
# of headless services, `environment` beside `cluster` and `task`, the keys sorted.
KUBEFLOW = (
    '{{"cluster":{{"worker":["digits-worker-0.space.svc:2222","digits-worker-1.space.svc:2222"]}},'
    '"task":{{"type":"worker","index":{index}}},"environment":"cloud"}}'
)
KUBEFLOW_WITH_A_CHIEF = (
    '{{"cluster":{{"chief":["digits-chief-0.space.svc:2222"],'
    '"worker":["digits-worker-0.space.svc:2222"]}},'
    '"task":{{"type":"{kind}","index":0}},"environment":"cloud"}}'
)

# https://cloud.google.com/vertex-ai/docs/training/distributed-training: the first pool is the
# chief, the second the workers; `job` holds the request, `cloud` and `trial` what TensorFlow skips.
VERTEX = {
    "cluster": {
        "chief": ["cmle-training-workerpool0-ab-0:2222"],
        "worker": ["cmle-training-workerpool1-ab-0:2222", "cmle-training-workerpool1-ab-1:2222"],
    },
    "environment": "cloud",
    "task": {"type": "chief", "index": 0, "trial": "1", "cloud": "d4b1cc27"},
    "job": '{"python_module":"","package_uris":[],"job_args":["--steps","400"]}',
}

# Printed in a `TensorflowTrainer` of Ray 2.60 with two workers.
RAY = (
    '{{"cluster": {{"worker": ["127.0.0.1:33139", "127.0.0.1:44265"]}}, '
    '"task": {{"type": "worker", "index": {index}}}}}'
)

# https://slurm.schedmd.com/srun.html, output environment variables: with two nodes and
# `--ntasks-per-node=2`.
SLURM = {
    "SLURM_JOB_ID": "4711",
    "SLURM_STEP_ID": "0",
    "SLURM_STEP_NUM_TASKS": "4",
    "SLURM_STEP_NODELIST": "node[09-10]",
    "SLURM_STEP_TASKS_PER_NODE": "2(x2)",
}


@pytest.mark.parametrize("index", [0, 1])
def test_kubeflow(index):
    cluster = read_cluster({"TF_CONFIG": KUBEFLOW.format(index=index)})
    assert (cluster.rank, cluster.size) == (index, 2)
    assert cluster.address == f"digits-worker-{index}.space.svc:2222"


@pytest.mark.parametrize(("kind", "rank"), [("chief", 0), ("worker", 1)])
def test_kubeflow_with_a_chief(kind, rank):
    cluster = read_cluster({"TF_CONFIG": KUBEFLOW_WITH_A_CHIEF.format(kind=kind)})
    assert (cluster.rank, cluster.size, cluster.names[rank]) == (rank, 2, f"{kind}:0")


@pytest.mark.parametrize(("kind", "index", "rank"), [("chief", 0, 0), ("worker", 1, 2)])
def test_vertex_ai(kind, index, rank):
    task = VERTEX["task"] | {"type": kind, "index": index}
    cluster = read_cluster({"TF_CONFIG": json.dumps(VERTEX | {"task": task})})
    assert (cluster.rank, cluster.size) == (rank, 3)


def test_vertex_ai_with_one_replica_is_told_how_to_train_alone():
    one = VERTEX | {"cluster": {"chief": VERTEX["cluster"]["chief"]}}
    with pytest.raises(ClusterError, match=r"chief:0 alone.*unset TF_CONFIG"):
        read_cluster({"TF_CONFIG": json.dumps(one)})


@pytest.mark.parametrize("index", [0, 1])
def test_ray(index):
    cluster = read_cluster({"TF_CONFIG": RAY.format(index=index)})
    assert (cluster.rank, cluster.address) == (index, ("127.0.0.1:33139", "127.0.0.1:44265")[index])


@pytest.mark.parametrize("rank", range(4))
def test_slurm(rank):
    place = {"SLURM_NODEID": str(rank // 2), "SLURM_LOCALID": str(rank % 2)}
    environ = SLURM | place | {"SLURM_PROCID": str(rank)}
    cluster = read_cluster({"TF_CONFIG": json.dumps(cluster_from_slurm(environ))})
    first_port = 12_000 + 7 * 4711 % 311 * 64
    assert cluster.rank == rank
    assert cluster.addresses == (
        f"node09:{first_port}",
        f"node09:{first_port + 1}",
        f"node10:{first_port}",
        f"node10:{first_port + 1}",
    )


def test_slurm_is_asked_where_no_tf_config_names_the_workers():
    first = SLURM | {"SLURM_NODEID": "0", "SLURM_LOCALID": "0", "SLURM_PROCID": "0"}
    (config,) = with_tf_config(first).items() - first.items()
    assert json.loads(config[1]) == cluster_from_slurm(first)


@pytest.mark.parametrize("own", [{}, {"TF_CONFIG": "{}"}])
def test_one_task_is_no_cluster(own):
    alone = SLURM | own | {"SLURM_STEP_NUM_TASKS": "1", "SLURM_PROCID": "0"}
    assert with_tf_config(alone) == alone


def test_a_cluster_that_is_named_is_left():
    named = SLURM | {"TF_CONFIG": RAY.format(index=0)}
    assert with_tf_config(named) is named
