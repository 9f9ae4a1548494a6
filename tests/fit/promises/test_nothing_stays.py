"""No exception of ours reaches `fit`, and nothing of ours stays after it."""

import copy
import errno
import gc
import os
import pickle
import signal
import threading
import warnings

import keras
import numpy as np
import programs
import psutil
import pytest
import tensorflow as tf
from tensorboard.summary.writer.record_writer import RecordWriter

import keras_perf as kp
from keras_perf import loop
from keras_perf.callbacks import windowed_profiler
from keras_perf.callbacks.written_captures import WrittenCaptures
from keras_perf.observation.observation import Observation
from keras_perf.observation.of_fit import running_fits
from keras_perf.observation.of_fit.epoch_length import EpochLength
from keras_perf.observation.run_record import Recording
from keras_perf.observation.warmup_and_intervals import Pace
from keras_perf.observers.gpu_and_host import GpuHostSampler
from keras_perf.write.run_writer import RunWriter

KINDS = (
    kp.WindowedProfiler,
    kp.GPUUtilizationSampler,
    kp.StepGapDetector,
    kp.StepsPerExecutionRecommender,
)


@pytest.fixture(autouse=True)
def no_thread_stays():
    """Neither ours nor one of an event file's writer."""
    before = set(threading.enumerate())
    yield
    for thread in set(threading.enumerate()) - before:
        thread.join(5)
    assert set(threading.enumerate()) <= before
    assert not running_fits._running


@pytest.fixture
def ctrl_c():
    """As in a terminal; a program in the background may ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield lambda: os.kill(os.getpid(), signal.SIGINT)
    assert signal.signal(signal.SIGINT, before) is signal.default_int_handler


def fit(network, callbacks, batches=40):
    return network.fit(programs.dataset(batches), verbose=0, shuffle=False, callbacks=callbacks)


def trained(callbacks):
    network = programs.model()
    fit(network, callbacks)
    return [w.numpy() for w in network.weights]


@pytest.fixture(scope="module")
def plain():
    """The weights of a training without us."""
    return trained([])


@pytest.fixture
def trains_as_without_us(plain):
    def check(callbacks):
        for mine, theirs in zip(trained(callbacks), plain, strict=True):
            np.testing.assert_array_equal(mine, theirs)

    return check


# -- no exception of ours reaches fit ----------------------------------------------------


def hooks():
    for kind in KINDS:
        for name in dir(kind):
            keras_own = getattr(keras.callbacks.Callback, name, None)
            if name.startswith("on_") and getattr(kind, name) is not keras_own:
                yield pytest.param(kind, name, id=f"{kind.__name__}.{name}")


@pytest.mark.parametrize(("kind", "name"), list(hooks()))
def test_every_hook_of_ours_is_guarded(kind, name, tmp_path, said):
    callback = kind(tmp_path)
    # Neither a model nor the right arguments: whatever it does fails.
    callback.phase_begins = callback.join = None
    getattr(callback, name)(*((None, None) if "epoch" in name else (None,)))
    assert hasattr(getattr(kind, name), "__wrapped__")


@pytest.mark.fault(2, "a hook of ours that raises")
@pytest.mark.parametrize(
    ("owner", "name"),
    [
        (windowed_profiler, "captures_here"),
        (GpuHostSampler, "enter"),
        (kp.StepGapDetector, "observation_begins"),
        (Observation, "_tell_the_rest"),
        (Observation, "_plan"),
        (EpochLength, "missing_steps"),
        (Pace, "limit_stretch"),
        (Recording, "finish"),
    ],
)
def test_what_fails_in_a_hook_costs_no_training(
    owner, name, tmp_path, said, monkeypatch, trains_as_without_us
):
    def fails(*_, **__):
        raise MemoryError("on purpose")

    monkeypatch.setattr(owner, name, fails)
    trains_as_without_us(kp.perf_callbacks(tmp_path))
    [line] = [line for line in said() if "on purpose" in line]
    assert "MemoryError" in line


UNREADABLE = {
    "an infinite index": '{"task": {"index": 1e400}}',
    "nested too deeply": "[" * 100_000,
    "a job that is a number": '{"cluster": {"worker": 5}}',
}


@pytest.mark.fault(
    2,
    "a TF_CONFIG of others: an index of 1e400, JSON nested too deeply, a job that is a number",
)
@pytest.mark.parametrize("text", UNREADABLE.values(), ids=UNREADABLE)
def test_a_tf_config_of_others_costs_a_line(text, tmp_path, said, monkeypatch):
    monkeypatch.setenv("TF_CONFIG", text)
    network = programs.model()
    fit(network, [kp.WindowedProfiler(tmp_path, workers=[0, 5], warmup_steps=5, active_steps=5)])
    [line] = [line for line in said() if "TF_CONFIG" in line]
    assert len(line) < 500
    with loop.LoopMonitor(tmp_path, model=network, profiler=False, gpu=False) as monitor:
        assert monitor.observation is not None


# -- interrupts --------------------------------------------------------------------------


class Interrupts(keras.callbacks.Callback):
    """The first Ctrl-C."""

    def on_train_batch_end(self, batch, logs=None):
        if batch == 25:
            raise KeyboardInterrupt("the first")


PLACES = {
    "what is left to tell": (Observation, "_tell_the_rest"),
    "a listener's end": (kp.WindowedProfiler, "leaves"),
    "the sampler's end": (GpuHostSampler, "stop"),
    "the diagnosis": (Recording, "finish"),
    "closing the files": (Recording, "close"),
    "closing a file": (RunWriter, "close"),
}


@pytest.mark.fault(2, "a second Ctrl-C while the observation closes")
@pytest.mark.parametrize("place", PLACES)
def test_a_second_ctrl_c_while_all_ends_waits_for_that(place, tmp_path, ctrl_c, monkeypatch):
    owner, name = PLACES[place]
    real = getattr(owner, name)
    came = []

    def interrupted(self, *arguments, **named):
        came.append(ctrl_c())
        return real(self, *arguments, **named)

    monkeypatch.setattr(owner, name, interrupted)
    with pytest.raises(KeyboardInterrupt):
        fit(programs.model(), [*kp.perf_callbacks(tmp_path), Interrupts()])
    assert came
    assert kp.diagnose(tmp_path).summary.facts.to_json()["event_totals"] is not None


@pytest.mark.fault(2, "an interrupt from within while it closes")
@pytest.mark.parametrize(
    ("owner", "name"),
    [
        (Observation, "_tell_the_rest"),
        (WrittenCaptures, "settle"),
        (kp.StepGapDetector, "leaves"),
        (threading.Thread, "join"),
        (Recording, "finish"),
    ],
)
def test_an_interrupt_from_within_leaves_nothing_either(owner, name, tmp_path, monkeypatch):
    def interrupted(*_, **__):
        patch.undo()
        raise KeyboardInterrupt("the second")

    class Arms(Interrupts):
        def on_train_batch_end(self, batch, logs=None):
            if batch == 25:
                patch.setattr(owner, name, interrupted)
            super().on_train_batch_end(batch, logs)

    network = programs.model()
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt, match="the second"):
        fit(network, [*kp.perf_callbacks(tmp_path), Arms()])
    fit(network, [])


@pytest.mark.fault(2, "an interrupt while a custom loop begins")
def test_an_interrupt_while_a_loop_begins_leaves_nothing(tmp_path, ctrl_c, monkeypatch):
    begins = kp.StepGapDetector.observation_begins

    def interrupted(self, observation):
        begins(self, observation)
        ctrl_c()

    monkeypatch.setattr(kp.StepGapDetector, "observation_begins", interrupted)
    with (
        pytest.raises(KeyboardInterrupt),
        loop.LoopMonitor(tmp_path, model=programs.model()),
    ):
        raise AssertionError("it was not interrupted")


# -- a full disk -------------------------------------------------------------------------


def full_disk(monkeypatch, operation, after):
    """The disk takes so many operations of that kind, in all files together."""
    real, left = getattr(RecordWriter, operation), [after]

    def full(self, *arguments):
        left[0] -= 1
        if left[0] < 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return real(self, *arguments)

    monkeypatch.setattr(RecordWriter, operation, full)


# The writer's own thread says on stderr what it ended of.
@pytest.mark.fault(2, "a full disk under a `fit`")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
@pytest.mark.parametrize(("operation", "after"), [("flush", 0), ("write", 0), ("write", 4)])
def test_a_full_disk_costs_what_is_written_and_one_line(
    operation, after, tmp_path, said, monkeypatch, trains_as_without_us
):
    full_disk(monkeypatch, operation, after)
    recommender = kp.StepsPerExecutionRecommender(tmp_path)
    callbacks = kp.perf_callbacks(tmp_path, steps_per_execution=False, profiler=False)
    trains_as_without_us([*callbacks, recommender])
    [line] = [line for line in said() if "No space left on device" in line]
    assert f"writing to '{tmp_path}'" in line
    assert not [line for line in said() if "is off" in line]
    assert recommender.recommendation is not None


@pytest.mark.fault(2, "a full disk under `sample_gpus`")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_sampling_beside_other_code_leaves_nothing_on_a_full_disk(tmp_path, said, monkeypatch):
    full_disk(monkeypatch, "flush", 0)
    with kp.sample_gpus(tmp_path):
        pass
    assert len([line for line in said() if "No space left on device" in line]) == 1


# -- copies ------------------------------------------------------------------------------


@pytest.mark.fault(2, "a callback copied or pickled inside a running `fit`")
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_a_copy_in_a_running_fit_serves_another(kind, tmp_path, said):
    callback = kind(tmp_path)
    copies = []

    class Copies(keras.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            if batch == 25:
                ways = (copy.copy, copy.deepcopy, lambda c: pickle.loads(pickle.dumps(c)))
                copies.extend(way(callback) for way in ways)
                assert callback.observation is not None
                assert callback.model is self.model

    fit(programs.model(), [callback, Copies()])
    another = programs.model()
    for each in copies:
        assert each.observation is each.model is each.params is None
        assert each.log_dir == callback.log_dir
        fit(another, [each])
    assert not [line for line in said() if "failed" in line]


# -- warnings made errors ----------------------------------------------------------------


def warning(monkeypatch, owner, name):
    real = getattr(owner, name)

    def warns(*arguments, **named):
        warnings.warn(f"{name} has changed", FutureWarning, stacklevel=2)
        return real(*arguments, **named)

    monkeypatch.setattr(owner, name, warns)


@pytest.mark.fault(2, "warnings of TensorFlow, psutil or NVML made errors")
@programs.needs_gap_times
def test_warnings_of_others_made_errors_cost_nothing(
    tmp_path, said, monkeypatch, trains_as_without_us
):
    warning(monkeypatch, tf.data.experimental, "get_model_proto")
    warning(monkeypatch, psutil, "virtual_memory")
    warning(monkeypatch, tf.config, "get_visible_devices")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        trains_as_without_us(kp.perf_callbacks(tmp_path, profiler=False))
    diagnosis = kp.diagnose(tmp_path)
    assert "input_wait" in diagnosis.summary.parts
    assert diagnosis.summary.facts.to_json()["memory_available_mib"] > 0
    assert "not_known" not in diagnosis.summary.facts.to_json()
    assert not [line for line in said() if "has changed" in line]


@pytest.mark.fault(2, "a warning made an error inside our own code")
def test_a_warning_made_an_error_inside_of_a_listener_does_not_end_it(tmp_path, said, monkeypatch):
    detector = kp.StepGapDetector(tmp_path)
    told = []

    def warns(gap):
        told.append(gap)
        raise UserWarning("on purpose")

    monkeypatch.setattr(detector, "epoch_gap_ends", warns)
    programs.model().fit(
        programs.dataset(), epochs=4, verbose=0, shuffle=False, callbacks=[detector]
    )
    assert len(told) > 1
    [line] = [line for line in said() if "on purpose" in line]
    assert "it stays on" in line
    assert kp.diagnose(tmp_path).summary.steps > 0


def test_a_fit_that_cannot_be_observed_leaves_the_collector_alone(tmp_path, said, monkeypatch):
    def fails(*_, **__):
        raise MemoryError("on purpose")

    before = list(gc.callbacks)
    monkeypatch.setattr(EpochLength, "__init__", fails)
    fit(programs.model(), kp.perf_callbacks(tmp_path, profiler=False, gpu=False))
    assert gc.callbacks == before
    assert any("on purpose" in line for line in said())
