"""Where a training runs: the strategy, and this process's place among the workers."""

from __future__ import annotations

import json
import os
import signal
import sys
import traceback
from collections.abc import Callable, Mapping
from typing import Any

import keras
import tensorflow as tf

from keras_perf.cluster.launchers import slurm_tasks, with_tf_config
from keras_perf.cluster.peers import PeerError, PeerWatch, wait_for_peers
from keras_perf.cluster.tf_config import Cluster, ClusterError, read_cluster
from keras_perf.loop.early_use import UNKNOWN, early_use
from keras_perf.loop.ending import StopOnSignal
from keras_perf.observation.facts.model_facts import metrics_add_up
from keras_perf.records.text.visible import visible

KINDS = ("auto", "none", "one-device", "mirrored", "multi-worker")
KINDS_HELP = (
    "auto: several workers where TF_CONFIG or Slurm names them, mirrored where there are several "
    "GPUs, else none, which is TensorFlow's default"
)
"""For a command line."""


class Distribution:
    """A strategy, and what a loop must know of the workers that share it.

    As a context manager it tells the other workers, at its end, that this one has finished its
    work. A worker that leaves by an exception does not: then the others end too. Where the
    exception is of TensorFlow's and a lost worker the likely reason, that is found out first.
    SIGTERM is noted from its beginning to its end.

    Attributes:
        strategy: to build the model in and run the steps with.
        cluster: the workers; None where this process is alone.
        stop: whether SIGTERM has come.
    """

    def __init__(
        self,
        strategy: tf.distribute.Strategy,
        cluster: Cluster | None = None,
        peers: PeerWatch | None = None,
    ) -> None:
        self.strategy = strategy
        self.cluster = cluster
        self.stop = StopOnSignal()
        self._peers = peers
        self._summed = tf.function(self._sum)

    @property
    def replicas(self) -> int:
        """Copies of the model that train in step, on all workers."""
        return int(self.strategy.num_replicas_in_sync)

    @property
    def workers(self) -> int:
        """Processes that train together."""
        return 1 if self.cluster is None else self.cluster.size

    @property
    def rank(self) -> int:
        """The number of this worker; the chief's is 0."""
        return 0 if self.cluster is None else self.cluster.rank

    @property
    def is_chief(self) -> bool:
        """Whether this worker writes checkpoints and the common events."""
        return self.rank == 0

    def agreed(self, value: int, what: str) -> int:
        """`value`, once all workers have shown that theirs is the same; waits for all of them.

        Raises:
            RuntimeError: it is not the same on all workers.
        """
        if self.workers == 1:
            return value
        own = tf.one_hot(self.rank, self.workers, on_value=value, off_value=0, dtype=tf.int64)
        here = self.replicas // self.workers
        values = [int(each) // here for each in self._summed(own).numpy()]
        if set(values) != {value}:
            raise RuntimeError(
                f"All workers must have the same {what}, got {values} in the workers' order. "
                "Give all of them the same arguments and the same, shared directory."
            )
        return value

    def _sum(self, own: Any) -> Any:
        def contribute() -> Any:
            context = tf.distribute.get_replica_context()
            return context.all_reduce(tf.distribute.ReduceOp.SUM, tf.identity(own))

        return self.strategy.experimental_local_results(self.strategy.run(contribute))[0]

    def __enter__(self) -> Distribution:
        self.stop.__enter__()
        return self

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        self.stop.__exit__(kind, error, trace)
        if self._peers is not None:
            self._peers.__exit__(kind, error, trace)


def distribute(
    kind: str = "auto", *, environ: Mapping[str, str] = os.environ, deadline_s: float = 600.0
) -> Distribution:
    """Makes the strategy, after all that can be wrong before has been checked.

    Arguments:
        kind: `none` (TensorFlow's default), `one-device`, `mirrored` (all GPUs of this machine,
            or its logical CPUs), `multi-worker` (`MultiWorkerMirroredStrategy` on the workers of
            TF_CONFIG, or of Slurm), or `auto`: multi-worker where the environment names several
            workers, mirrored where there are several GPUs, else none.
        environ: where TF_CONFIG and Slurm's variables are looked for.
        deadline_s: how long to wait for the other workers to come, in seconds.

    Raises:
        ClusterError: TF_CONFIG is wrong, or is missing, or Slurm's variables are; or they name
            several workers, and the kind is for one.
        PeerError: a worker did not come, or is another one than TF_CONFIG says.
        ValueError: another kind.
        RuntimeError: several workers, and TensorFlow has been used already; the line is named.

    TensorFlow's server for several workers listens on all interfaces and knows no passwords,
    whatever host TF_CONFIG names: keep its ports inside a network that is trusted.
    """
    if kind not in KINDS:
        raise ValueError(f"kind must be one of {', '.join(KINDS)}, got {kind!r}.")
    if kind in ("auto", "multi-worker"):
        environ = with_tf_config(environ)
    if kind == "auto":
        kind = _found_out(environ)
    if kind == "multi-worker":
        return _multi_worker(environ, deadline_s)
    if read_cluster(environ) is not None:
        raise ClusterError(
            f"With TF_CONFIG set, the strategy must be multi-worker, got {kind!r}: every worker "
            "would train alone and write the same files. Unset TF_CONFIG to train alone."
        )
    if (tasks := slurm_tasks(environ)) > 1:
        raise ClusterError(
            f"In a step of {tasks} Slurm tasks the strategy must be multi-worker, got {kind!r}: "
            "every task would train alone and write the same files. Unset SLURM_STEP_NUM_TASKS for "
            "trainings that are meant to be apart."
        )
    if kind == "mirrored":
        _require_metrics_that_add_up()
        return Distribution(_mirrored())
    if kind == "one-device":
        found = tf.config.list_logical_devices("GPU") or tf.config.list_logical_devices("CPU")
        return Distribution(tf.distribute.OneDeviceStrategy(found[0].name))
    return Distribution(tf.distribute.get_strategy())


def exit_code(main: Callable[[], int]) -> int:
    """What `main` returns; 1 where it raises.

    Where the workers cannot come together, one line says why; else there is the traceback.
    """
    try:
        return main()
    except (ClusterError, PeerError) as error:
        print(visible(f"{sys.argv[0]}: {error}"), file=sys.stderr)
    except KeyboardInterrupt:
        traceback.print_exc()
        return 128 + signal.SIGINT
    except Exception:  # noqa: BLE001  to end without waiting for the input pipeline
        traceback.print_exc()
    return 1


def _found_out(environ: Mapping[str, str]) -> str:
    if read_cluster(environ) is not None:
        return "multi-worker"
    return "mirrored" if len(tf.config.list_physical_devices("GPU")) > 1 else "none"


def _mirrored() -> tf.distribute.Strategy:
    """All GPUs; without any, all logical CPUs."""
    if tf.config.list_physical_devices("GPU"):
        return tf.distribute.MirroredStrategy()
    # Collectives between CPUs of one process collide as soon as there are two models in it.
    cpus = [cpu.name for cpu in tf.config.list_logical_devices("CPU")]
    return tf.distribute.MirroredStrategy(
        cpus, cross_device_ops=tf.distribute.ReductionToOneDevice()
    )


def _multi_worker(environ: Mapping[str, str], deadline_s: float) -> Distribution:
    cluster = read_cluster(environ)
    if cluster is None:
        raise ClusterError(
            "multi-worker needs TF_CONFIG, which is not set. Start the workers with `keras-perf "
            "launch` on one machine, or with a launcher that sets it."
        )
    _require_metrics_that_add_up()
    if early_use.place is not None:
        raise RuntimeError(_too_early(early_use.place))
    peers = wait_for_peers(cluster, deadline_s=deadline_s)
    # TensorFlow's own resolver reads the environment and nothing else.
    os.environ["TF_CONFIG"] = environ["TF_CONFIG"]
    try:
        strategy = tf.distribute.MultiWorkerMirroredStrategy()
    except BaseException as error:
        # Without a goodbye, so that the others do not wait for a worker that will not come.
        peers.__exit__(type(error), error, error.__traceback__)
        if isinstance(error, RuntimeError) and "program startup" in str(error):
            raise RuntimeError(_too_early(early_use.place or UNKNOWN)) from error
        raise
    return Distribution(strategy, cluster, peers)


def _require_metrics_that_add_up() -> None:
    if not metrics_add_up():
        raise RuntimeError(
            f"Several replicas need Keras 3.10 or newer, got {keras.__version__}, whose metrics "
            "are wrong there. pip install --upgrade keras"
        )


def _too_early(place: str) -> str:
    return (
        "The strategy for several workers must be made before TensorFlow is used, and "
        f"it was used here: {place}. Move that line below distribute()."
    )


def as_tf_config(strategy: tf.distribute.Strategy | None) -> str | None:
    """The workers as TF_CONFIG would name them, where a strategy was told otherwise.

    As by `tf.distribute.cluster_resolver.SlurmClusterResolver`; None where it tells of none.
    """
    resolver: Any = getattr(strategy, "cluster_resolver", None)
    try:
        cluster = resolver.cluster_spec().as_dict()
        task = {"type": resolver.task_type, "index": resolver.task_id}
        return json.dumps({"cluster": cluster, "task": task})
    except Exception:  # noqa: BLE001  some know no cluster, or ask a service that is not there
        return None
