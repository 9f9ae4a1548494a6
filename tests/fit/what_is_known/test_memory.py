"""Memory in real trainings: one that runs out of it, one that is killed, several devices."""

from __future__ import annotations

import re
import resource
import signal
import time

import keras
import programs
import pytest
import tensorflow as tf
from ending_trainings import ENDS_AT, KEPT_AT

import keras_perf as kp
from keras_perf.backends.on_tensorflow import OnTensorFlow
from keras_perf.observation.facts.input.batch_rows import rows_of_batches
from keras_perf.observation.facts.machine import device_memory as asked
from keras_perf.observation.of_fit.fit import FitObservation
from keras_perf.records.run.devices.device_memory import DeviceMemory


@pytest.fixture(scope="module")
def ended(processes, tmp_path_factory):
    """How a training ended, by the name of its job: the process, and the log directory.

    All are started at once: TensorFlow asks for memory that is not there for ten seconds.
    """
    folder = tmp_path_factory.mktemp("ended")

    def start(job):
        return processes.start(1, f"ending_trainings:{job}", log_dir=str(folder / job))

    started = {job: start(job) for job in ("at_once", "late", "killed")}

    return lambda job: (started[job], folder / job)


together = pytest.mark.xdist_group("trainings that end")


@pytest.mark.whole
@together
@pytest.mark.fault(2, "a training that runs out of memory")
def test_a_training_that_runs_out_of_memory_is_diagnosed(ended):
    training, log_dir = ended("at_once")
    assert training.codes() == [0], training.tails()
    ending = kp.diagnose(log_dir).summary.facts.ending
    assert ending is not None
    assert (ending.shape, ending.device, ending.batch) == ((8, 1 << 20, 1 << 21), "CPU:0", 8)
    note = kp.diagnose(log_dir).notes[0]
    assert note.startswith("Training ran out of memory after 0 steps (ResourceExhaustedError)")
    assert "A batch of 8 is too large" in note


@pytest.mark.whole
@together
@pytest.mark.fault(2, "a training that runs out of memory after many steps")
def test_a_training_that_runs_out_of_memory_late_has_its_split_and_says_when_memory_rose(ended):
    training, log_dir = ended("late")
    assert training.codes() == [0], training.tails()
    found = kp.diagnose(log_dir)
    assert found.summary.steps > 0
    note = found.notes[0]
    assert note.startswith(f"Training ran out of memory after {ENDS_AT} steps")
    assert "Batches of this size fitted before" in note
    rose = re.search(r"rose most between step (\d+) and (\d+)", note)
    assert rose, note
    assert int(rose[1]) <= KEPT_AT + 1 <= int(rose[2])


@together
@pytest.mark.filterwarnings("ignore:.*ends in the middle of a record")
@pytest.mark.fault(2, "a training that the kernel kills")
def test_a_training_that_is_killed_is_diagnosed_and_said_to_be_killed(ended):
    training, log_dir = ended("killed")
    assert training.codes() == [-signal.SIGKILL], training.tails()
    diagnosis = kp.diagnose(log_dir)
    assert diagnosis.summary.steps > 0
    trial = diagnosis.summary.facts.trial
    assert trial is not None
    assert trial.trials
    assert "is gone, and no end of this training is recorded" in diagnosis.notes[0]


class MayOpenNoMoreFiles(keras.callbacks.Callback):
    """From the second epoch on."""

    def on_epoch_begin(self, epoch, logs=None):
        if epoch:
            _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
            resource.setrlimit(resource.RLIMIT_NOFILE, (3, most))


@pytest.mark.fault(2, "a cache's file that cannot be opened: too many are open")
def test_too_many_open_files_are_not_called_out_of_memory(tmp_path, monkeypatch):
    data = programs.dataset(20).cache(str(tmp_path / "cache"))
    # While training fills it, its end may be written in the background: later, or too late.
    assert len(list(data)) == 20
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    close = FitObservation.close

    def close_with_files(*arguments, **named):
        # Whoever may open none cannot write its diagnosis either.
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
        close(*arguments, **named)

    monkeypatch.setattr(FitObservation, "close", close_with_files)
    callbacks = [MayOpenNoMoreFiles(), kp.StepGapDetector(str(tmp_path / "logs"))]
    try:
        with pytest.raises(tf.errors.ResourceExhaustedError, match="Too many open files"):
            programs.model().fit(data, epochs=2, verbose=0, shuffle=False, callbacks=callbacks)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    [note] = [n for n in kp.diagnose(tmp_path / "logs").notes if n.startswith("Training was ended")]
    assert "because too many files are open (ResourceExhaustedError: " in note


# -- devices -----------------------------------------------------------------------------


def test_a_machine_without_a_gpu_is_asked_for_no_device_memory():
    assert asked.device_memory() == []
    assert asked.allocated_by_tag() == {}


def test_the_private_list_of_devices_still_tells_their_limits():
    tf.constant(1.0)
    assert asked.memory_limits_mib()["CPU:0"] > 0


def test_every_gpu_is_asked(monkeypatch):
    gpus = [tf.config.LogicalDevice(f"/device:GPU:{i}", "GPU") for i in range(2)]
    used = {"GPU:0": (100, 300), "GPU:1": (50, 400)}
    monkeypatch.setattr(tf.config, "get_visible_devices", lambda kind: gpus)
    monkeypatch.setattr(tf.config, "list_logical_devices", lambda kind: gpus)
    monkeypatch.setattr(
        tf.config.experimental,
        "get_memory_info",
        lambda name: {"current": used[name][0] << 20, "peak": used[name][1] << 20},
    )
    monkeypatch.setattr(asked, "memory_limits_mib", lambda: {"GPU:0": 500.0})
    assert asked.device_memory() == [
        DeviceMemory("GPU:0", 100.0, 300.0, 500.0),
        DeviceMemory("GPU:1", 50.0, 400.0, None),
    ]
    begin = OnTensorFlow(time.perf_counter_ns).facts_at_begin()
    assert begin["earlier_peaks"]() == {"GPU:0": 300.0, "GPU:1": 400.0}
    assert asked.allocated_by_tag() == {
        "gpu/0/allocated_mib": 100.0,
        "gpu/0/peak_allocated_mib": 300.0,
        "gpu/1/allocated_mib": 50.0,
        "gpu/1/peak_allocated_mib": 400.0,
    }
    # One GPU that is shared out as two: its tags would be mixed up.
    monkeypatch.setattr(tf.config, "get_visible_devices", lambda kind: gpus[:1])
    assert asked.allocated_by_tag() == {}


def test_the_rows_of_a_batch_are_known_before_the_first():
    x, y = programs.arrays(4, 8)
    assert rows_of_batches(x, None) == 32
    assert rows_of_batches(x, 5) == 5
    assert rows_of_batches(x, 5, 2) == 5
    # Of all rows so many as make two batches, as Keras does.
    assert rows_of_batches(x, None, 2) == -(-len(x) // 2)
    assert rows_of_batches(programs.dataset(4, drop_remainder=True), None) == 8
    assert rows_of_batches(programs.dataset(4).prefetch(1), None) == 8
    assert rows_of_batches(programs.dataset(4).map(lambda x, y: (x, y)).repeat(), None) == 8
    assert rows_of_batches(tf.data.Dataset.from_tensor_slices((x, y)), None) == 8
    assert rows_of_batches((each for each in [x]), None) is None
