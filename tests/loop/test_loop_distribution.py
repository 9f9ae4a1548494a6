"""What is checked before a strategy is made, and where TensorFlow was used too early."""

import json
import os
import runpy
import signal
from types import SimpleNamespace

import keras
import pytest
import tensorflow as tf
from tensorflow.python.eager import context as runtime

from keras_perf.cluster.tf_config import ClusterError
from keras_perf.cluster.worker_number import place_among_workers
from keras_perf.loop import distribute
from keras_perf.loop.distribution import Distribution, as_tf_config, exit_code
from keras_perf.loop.early_use import UNKNOWN, EarlyUse
from keras_perf.observation.facts.model_facts import metrics_add_up

TWO = {"worker": ["127.0.0.1:20001", "127.0.0.1:20002"]}


def tf_config(cluster=None, kind="worker", index=0):
    task = {"type": kind, "index": index}
    return {"TF_CONFIG": json.dumps({"cluster": cluster or TWO, "task": task})}


@pytest.mark.parametrize(
    ("environ", "words"),
    [
        ({}, "needs TF_CONFIG, which is not set. Start the workers with `keras-perf launch`"),
        ({"TF_CONFIG": "{'cluster'"}, "must be JSON"),
        (tf_config(TWO | {"ps": ["127.0.0.1:20003"]}), "got 'ps'. Parameter servers take no part"),
        (tf_config(kind="ps"), "got 'ps'. Parameter servers take no part"),
        (tf_config(kind="evaluator"), "got 'evaluator'. An evaluator would silently train alone"),
        (tf_config({"worker": ["127.0.0.1:20001"]}), "at least two workers, got worker:0 alone"),
        (tf_config(index=2), "must be an integer from 0 to 1"),
        (tf_config({"worker": ["127.0.0.1:20001"] * 2}), "got '127.0.0.1:20001' twice"),
    ],
)
@pytest.mark.parametrize("kind", ["multi-worker", "auto"])
def test_a_slip_in_tf_config_is_named(kind, environ, words):
    if kind == "auto" and not environ:
        assert distribute(kind, environ=environ).workers == 1
        return
    with pytest.raises(ClusterError, match=words) as caught:
        distribute(kind, environ=environ, deadline_s=5)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("kind", ["none", "one-device", "mirrored"])
def test_training_alone_in_a_cluster_is_refused(kind):
    with pytest.raises(ClusterError, match=f"must be multi-worker, got '{kind}'"):
        distribute(kind, environ=tf_config())


@pytest.mark.parametrize("kind", ["none", "one-device", "mirrored"])
def test_so_is_training_alone_in_each_task_of_a_slurm_step(kind):
    environ = {"SLURM_STEP_NUM_TASKS": "2", "SLURM_PROCID": "0"}
    with pytest.raises(ClusterError, match=f"2 Slurm tasks .* multi-worker, got '{kind}'"):
        distribute(kind, environ=environ)
    assert distribute("none", environ=environ | {"SLURM_STEP_NUM_TASKS": "1"}).workers == 1


def test_another_kind_is_refused():
    with pytest.raises(ValueError, match=r"kind must be one of auto, none, .*, got 'tpu'"):
        distribute("tpu", environ={})


needs_metrics_that_add_up = pytest.mark.skipif(
    not metrics_add_up(), reason="with this Keras, several replicas are refused"
)


@pytest.mark.parametrize(
    "kind",
    ["auto", "none", "one-device", pytest.param("mirrored", marks=needs_metrics_that_add_up)],
)
def test_this_process_alone_is_the_chief(kind):
    with distribute(kind, environ={}) as where:
        assert (where.replicas, where.workers, where.rank, where.is_chief) == (1, 1, 0, True)
        assert where.agreed(7, "step") == 7


@needs_metrics_that_add_up
def test_several_workers_after_tensorflow_was_used_are_refused():
    tf.constant(1)
    with pytest.raises(RuntimeError, match="before TensorFlow is used, and it was used here: "):
        distribute("multi-worker", environ=tf_config(), deadline_s=5)


def test_a_cluster_that_cannot_come_together_ends_in_one_line(capsys):
    def fails():
        raise ClusterError("a slip")

    assert exit_code(fails) == 1
    assert capsys.readouterr().err.endswith(": a slip\n")
    assert exit_code(lambda: 42) == 42


def test_what_keeps_a_cluster_apart_is_one_line_whatever_the_hosts_are_called(capsys):
    def fails():
        raise ClusterError("no answer from a\n\x1b]0;b")

    assert exit_code(fails) == 1
    assert capsys.readouterr().err.endswith(": no answer from a\\n\\x1b]0;b\n")


def test_any_other_end_of_a_program_shows_where_it_was(capsys):
    def fails():
        raise ValueError("in a step")

    assert exit_code(fails) == 1
    assert "ValueError: in a step" in capsys.readouterr().err


def test_ctrl_c_ends_a_program_at_once_too(capsys):
    """Python's own end would wait for a function of the input pipeline."""

    def interrupted():
        raise KeyboardInterrupt

    assert exit_code(interrupted) == 130
    assert "KeyboardInterrupt" in capsys.readouterr().err


@pytest.mark.parametrize("kind", ["mirrored", "multi-worker"])
@pytest.mark.parametrize("version", ["3.3.3", "3.9.2"])
def test_replicas_need_a_keras_whose_metrics_add_up(kind, version, monkeypatch):
    monkeypatch.setattr(keras, "__version__", version)
    environ = tf_config() if kind == "multi-worker" else {}
    with pytest.raises(RuntimeError, match=f"need Keras 3.10 or newer, got {version}"):
        distribute(kind, environ=environ, deadline_s=5)


def test_sigterm_is_noted_from_the_strategy_on():
    with distribute("none", environ={}) as where:
        assert not where.stop.asked
        os.kill(os.getpid(), signal.SIGTERM)
        assert where.stop.asked


def contexts():
    """Stands for TensorFlow's class, which a test must not touch."""

    class Context:
        started = 0

        def ensure_initialized(self):
            self.started += 1

    return Context


def test_the_line_that_starts_the_runtime_is_noted_once():
    context_class = contexts()
    original = context_class.ensure_initialized
    early = EarlyUse(context_class, already_runs=False)
    assert early.place is None
    context = context_class()
    context.ensure_initialized()  # this line
    assert early.place.startswith(f"{__file__}:")
    assert early.place.endswith(": context.ensure_initialized()  # this line")
    place = early.place
    context.ensure_initialized()
    assert (early.place, context.started) == (place, 2)
    assert context_class.ensure_initialized is original


@pytest.mark.parametrize("folder", ["keras", "tensorflow", "keras_perf"])
def test_a_program_in_a_folder_named_as_a_library_is_named(folder, tmp_path):
    program = tmp_path / folder / "train.py"
    program.parent.mkdir()
    program.write_text("context.ensure_initialized()")
    context_class = contexts()
    early = EarlyUse(context_class, already_runs=False)
    runpy.run_path(str(program), {"context": context_class()})
    assert early.place == f"{program}:1: context.ensure_initialized()"


def test_a_runtime_that_runs_already_or_cannot_be_watched_is_left_alone():
    context_class = contexts()
    original = context_class.ensure_initialized
    assert EarlyUse(context_class, already_runs=True).place == UNKNOWN
    assert context_class.ensure_initialized is original
    assert EarlyUse(object, already_runs=False).place is None
    assert EarlyUse(None, already_runs=False).place is None


def test_tensorflow_still_starts_where_we_watch():
    """Canary for `Context.ensure_initialized` and `_initialized`."""
    tf.constant(1)
    assert runtime.context()._initialized is True
    assert callable(runtime.Context.ensure_initialized)


FIRST_USES = ["tf.constant(1)", "keras.layers.Dense(1).build((1, 1))"]


@pytest.mark.parametrize("line", FIRST_USES)
def test_the_first_use_of_tensorflow_is_found(line, processes, tmp_path):
    """Canary for the whole."""
    program = tmp_path / "program.py"
    program.write_text(f"""
import keras, tensorflow as tf
from keras_perf.loop.early_use import early_use
assert early_use.place is None, early_use.place
{line}
print(early_use.place)
""")
    code, told = processes.script(program)
    assert (code, told.splitlines()[-1]) == (0, f"{program}:5: {line}"), told


def test_leaving_by_an_exception_says_no_goodbye():
    seen = []

    class Peers:
        def __exit__(self, *how):
            seen.append(how[0])

    where = Distribution(tf.distribute.get_strategy(), None, Peers())
    with where:
        pass
    with pytest.raises(SystemExit), where:
        raise SystemExit(3)
    assert seen == [None, SystemExit]


def test_a_strategy_s_own_cluster_tells_the_worker_s_place():
    cluster = tf.train.ClusterSpec({"worker": ["a:1", "b:1", "c:1"]})
    resolver = SimpleNamespace(cluster_spec=lambda: cluster, task_type="worker", task_id=2)
    told = as_tf_config(SimpleNamespace(cluster_resolver=resolver))
    assert place_among_workers(told) == (2, 3)


@pytest.mark.parametrize("strategy", [None, tf.distribute.get_strategy()])
def test_a_strategy_of_one_process_tells_of_no_cluster(strategy):
    assert place_among_workers(as_tf_config(strategy)) == (None, None)
