"""The cluster of a Slurm job step, as a TF_CONFIG.

TensorFlow's `SlurmClusterResolver` asks nvidia-smi for GPUs and fails where there are none;
gives several tasks of a node fewer addresses than tasks unless there is a GPU for each; sorts
the hosts by their letters (node10 before node2), where Slurm numbers the tasks in the order of
its list; and always begins at port 8888. What it is good for, reading Slurm's two lists, is used.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from keras_perf.cluster.tf_config import ClusterError

# Below the range from which Linux gives ports to those who ask for any; a block for each step.
_FIRST_PORT, _BLOCKS, _PORTS_PER_BLOCK = 12_000, 311, 64


def cluster_from_slurm(environ: Mapping[str, str]) -> dict[str, Any]:
    """The TF_CONFIG of this task; every task of the step gets the same cluster.

    GPUs are left as Slurm gave them: with several tasks on a node start them with
    `srun --gpus-per-task`. Ports are derived from the job and the step, 64 for each, so that
    311 jobs in a row do not meet on one node; whether a port is free is not known here.

    Arguments:
        environ: the environment variables that `srun` sets for a task.

    Raises:
        ClusterError: one of Slurm's variables is missing or cannot be read, or the tasks are
            not placed one node after the other.
    """
    rank, size = _int(environ, "SLURM_PROCID"), _int(environ, "SLURM_STEP_NUM_TASKS")
    hosts = _expanded(environ, "SLURM_STEP_NODELIST", "expand_hostlist")
    counts = _expanded(environ, "SLURM_STEP_TASKS_PER_NODE", "expand_tasks_per_node")
    places = [(node, task) for node, count in enumerate(counts) for task in range(count)]
    if len(hosts) != len(counts) or len(places) != size or not 0 <= rank < size:
        raise ClusterError(
            f"Slurm: nodes, tasks per node and number of tasks must fit, got {len(hosts)} nodes, "
            f"tasks {counts}, SLURM_STEP_NUM_TASKS {size} and SLURM_PROCID {rank}. "
            "Give TF_CONFIG yourself."
        )
    _require_blocks(environ, rank, places)
    job, step = _int(environ, "SLURM_JOB_ID"), int(environ.get("SLURM_STEP_ID", "0"))
    first_port = _FIRST_PORT + (7 * job + step) % _BLOCKS * _PORTS_PER_BLOCK
    addresses = [f"{hosts[node]}:{first_port + task}" for node, task in places]
    return {"cluster": {"worker": addresses}, "task": {"type": "worker", "index": rank}}


def _require_blocks(environ: Mapping[str, str], rank: int, places: list[tuple[int, int]]) -> None:
    """Slurm says where this task is; its other tasks' places follow only from a block order."""
    node, task = places[rank]
    said = int(environ.get("SLURM_NODEID", node)), int(environ.get("SLURM_LOCALID", task))
    if said != (node, task):
        raise ClusterError(
            f"Slurm: tasks must fill one node after the other, got task {rank} as number "
            f"{said[1]} of node {said[0]}. Start them with srun --distribution=block."
        )


def _int(environ: Mapping[str, str], name: str) -> int:
    text = _variable(environ, name)
    try:
        return int(text)
    except ValueError as error:
        raise ClusterError(f"Slurm: {name} must be a number, got {text!r}.") from error


def _variable(environ: Mapping[str, str], name: str) -> str:
    if name not in environ:
        raise ClusterError(
            f"Slurm: {name} must be set, got none. Start the training with srun, inside the job."
        )
    return environ[name]


def _expanded(environ: Mapping[str, str], name: str, expand: str) -> list[Any]:
    text = _variable(environ, name)
    try:
        return list(_of_tensorflow(expand)(text))
    except ValueError as error:
        raise ClusterError(
            f"Slurm: {name} must be a list that TensorFlow can read, got {text!r} ({error}). "
            "Give TF_CONFIG yourself."
        ) from error


def _of_tensorflow(expand: str) -> Callable[[str], list[Any]]:
    """Private, because the public resolver does not tell the order of the hosts."""
    try:
        from tensorflow.python.distribute.cluster_resolver import slurm_cluster_resolver

        found: Callable[[str], list[Any]] = getattr(slurm_cluster_resolver, expand)
    except (ImportError, AttributeError) as error:
        raise ClusterError(
            f"Slurm: its lists must be read with TensorFlow's {expand}, which this TensorFlow does "
            f"not have ({error}). Give TF_CONFIG yourself."
        ) from error
    return found
