"""Our reading of TF_CONFIG and of Slurm's variables against TensorFlow's own."""

from __future__ import annotations

import json

import pytest
import tensorflow as tf
from hypothesis import given
from hypothesis import strategies as st
from tensorflow.python.distribute import multi_worker_util

from keras_perf.cluster.slurm import cluster_from_slurm
from keras_perf.cluster.tf_config import ClusterError, read_cluster

SlurmClusterResolver = tf.distribute.cluster_resolver.SlurmClusterResolver
TFConfigClusterResolver = tf.distribute.cluster_resolver.TFConfigClusterResolver

HOSTS = st.from_regex(r"[a-z][a-z0-9.-]{0,12}|\[::[0-9a-f]{1,4}\]", fullmatch=True)
ADDRESSES = st.builds("{}:{}".format, HOSTS, st.integers(1, 65535))


@st.composite
def clusters(draw):
    """A TF_CONFIG that can train."""
    addresses = draw(st.lists(ADDRESSES, min_size=2, max_size=6, unique_by=str.lower))
    jobs = {"worker": addresses}
    if draw(st.booleans()):
        jobs = {"worker": addresses[1:], "chief": addresses[:1]}
    kind = draw(st.sampled_from(sorted(jobs)))
    index = draw(st.integers(0, len(jobs[kind]) - 1))
    task = {"type": kind, "index": draw(st.sampled_from([index, str(index)]))}
    extra = draw(st.dictionaries(st.sampled_from(["environment", "job"]), st.text()))
    return {"cluster": jobs, "task": task, **extra}


@given(clusters())
def test_a_cluster_is_what_tensorflow_takes_it_for(content):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TF_CONFIG", json.dumps(content))
        theirs = TFConfigClusterResolver()
        spec, kind, index = theirs.cluster_spec(), theirs.task_type, theirs.task_id
    ours = read_cluster({"TF_CONFIG": json.dumps(content)})
    assert ours is not None
    assert ours.names[ours.rank] == f"{kind}:{index}"
    assert ours.address == spec.task_address(kind, index)
    assert (ours.rank == 0) == multi_worker_util.is_chief(spec, kind, index)
    assert ours.rank == multi_worker_util.id_in_cluster(spec, kind, index)
    assert ours.size == multi_worker_util.worker_count(spec, kind)
    for rank, name in enumerate(ours.names):
        job, _, number = name.partition(":")
        assert multi_worker_util.id_in_cluster(spec, job, int(number)) == rank
        assert spec.task_address(job, int(number)) == ours.addresses[rank]


def slurm(rank, size, nodes, tasks, **more):
    """The variables of a task, as srun sets them."""
    return {
        "SLURM_JOB_ID": "4711",
        "SLURM_STEP_ID": "0",
        "SLURM_PROCID": str(rank),
        "SLURM_STEP_NUM_TASKS": str(size),
        "SLURM_STEP_NODELIST": nodes,
        "SLURM_STEP_TASKS_PER_NODE": tasks,
        **{name: str(value) for name, value in more.items()},
    }


def hosts(config):
    return [address.partition(":")[0] for address in config["cluster"]["worker"]]


@pytest.mark.parametrize(
    ("nodes", "tasks", "size", "expected"),
    [
        ("node1", "2", 2, ["node1"] * 2),
        ("node[1-2]", "1(x2)", 2, ["node1", "node2"]),
        ("node[1-3,7]", "2(x2),1(x2)", 6, ["node1"] * 2 + ["node2"] * 2 + ["node3", "node7"]),
        ("gpu[08-10],cpu-a", "1(x3),2", 5, ["gpu08", "gpu09", "gpu10", "cpu-a", "cpu-a"]),
        ("node[2,10]", "1,1", 2, ["node2", "node10"]),
    ],
)
def test_slurms_lists_give_a_worker_for_every_task_in_slurms_order(nodes, tasks, size, expected):
    configs = [cluster_from_slurm(slurm(rank, size, nodes, tasks)) for rank in range(size)]
    assert hosts(configs[0]) == expected
    read = [read_cluster({"TF_CONFIG": json.dumps(config)}) for config in configs]
    assert [cluster.rank for cluster in read] == list(range(size))
    assert len({cluster.addresses for cluster in read}) == 1
    ports = [int(address.partition(":")[2]) for address in read[0].addresses]
    assert 12_000 <= min(ports) <= max(ports) < 32_768


def test_steps_and_jobs_that_share_a_node_have_ports_of_their_own():
    taken = [
        cluster_from_slurm(slurm(0, 64, "n", "64", SLURM_JOB_ID=job, SLURM_STEP_ID=step))
        for job, step in [*((job, 0) for job in range(311)), (0, 1), (0, 2)]
    ]
    of_jobs = [set(config["cluster"]["worker"]) for config in taken]
    assert len(set.union(*of_jobs[:311])) == 311 * 64
    assert not of_jobs[0] & of_jobs[311]
    assert not of_jobs[311] & of_jobs[312]


def test_where_tensorflows_resolver_works_it_gives_the_same_hosts(monkeypatch):
    environ = slurm(3, 4, "node[1-2]", "2(x2)", CUDA_VISIBLE_DEVICES="0,1")
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    theirs = SlurmClusterResolver(auto_set_gpu=False)
    jobs = theirs.cluster_spec().as_dict()
    ours = cluster_from_slurm(environ)
    assert hosts(ours) == [address.partition(":")[0] for address in jobs["worker"]]
    assert (ours["task"]["type"], ours["task"]["index"]) == theirs.get_task_info()


def test_tensorflows_resolver_still_fails_without_gpus(monkeypatch):
    """When this fails, `slurm.py` may use it."""
    for name, value in slurm(0, 4, "node[1-2]", "2(x2)").items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    with pytest.raises(ValueError, match="must not be zero"):
        SlurmClusterResolver(gpus_per_node=0).cluster_spec()
    monkeypatch.setenv("PATH", "")
    with pytest.raises(FileNotFoundError, match="nvidia-smi"):
        SlurmClusterResolver()


def test_tensorflows_resolver_still_mixes_up_the_order_of_hosts(monkeypatch):
    """When this fails, `slurm.py` may use it."""
    for name, value in slurm(0, 2, "node[2,10]", "1(x2)").items():
        monkeypatch.setenv(name, value)
    theirs = SlurmClusterResolver(gpus_per_node=1, auto_set_gpu=False)
    assert theirs.cluster_spec().as_dict()["worker"][0] == "node10:8888"


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({"SLURM_STEP_NODELIST": "node[1-2"}, "SLURM_STEP_NODELIST must be a list .*'node.1-2'"),
        ({"SLURM_STEP_TASKS_PER_NODE": "2x2"}, "SLURM_STEP_TASKS_PER_NODE must be a list.*'2x2'"),
        ({"SLURM_STEP_TASKS_PER_NODE": "2"}, "got 2 nodes, tasks .2., SLURM_STEP_NUM_TASKS 4"),
        ({"SLURM_STEP_NUM_TASKS": "5"}, "SLURM_STEP_NUM_TASKS 5"),
        ({"SLURM_STEP_NUM_TASKS": "many"}, "SLURM_STEP_NUM_TASKS must be a number, got 'many'"),
        ({"SLURM_PROCID": "4"}, "SLURM_PROCID 4"),
        ({"SLURM_NODEID": "1", "SLURM_LOCALID": "0"}, "task 1 as number 0 of node 1.*=block"),
    ],
)
def test_variables_that_do_not_fit_are_named_in_one_line(changed, named):
    with pytest.raises(ClusterError, match=rf"^Slurm: .*{named}") as error:
        cluster_from_slurm(slurm(1, 4, "node[1-2]", "2(x2)") | changed)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("name", [name for name in slurm(0, 1, "", "") if name != "SLURM_STEP_ID"])
def test_a_variable_that_is_missing_is_named(name):
    environ = slurm(1, 4, "node[1-2]", "2(x2)")
    del environ[name]
    with pytest.raises(ClusterError, match=f"^Slurm: {name} must be set, got none.*srun"):
        cluster_from_slurm(environ)


def test_a_tensorflow_without_the_private_functions_is_said(monkeypatch):
    from tensorflow.python.distribute.cluster_resolver import slurm_cluster_resolver

    monkeypatch.delattr(slurm_cluster_resolver, "expand_hostlist")
    with pytest.raises(ClusterError, match=r"TensorFlow's expand_hostlist.*TF_CONFIG yourself"):
        cluster_from_slurm(slurm(1, 4, "node[1-2]", "2(x2)"))
