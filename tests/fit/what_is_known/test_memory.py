"""Memory in real trainings: one that runs out of it, one that is killed, several devices."""

from __future__ import annotations

import re
import signal
import time

import keras
import numpy as np
import programs
import pytest
import tensorflow as tf

import keras_perf as kp
from keras_perf.observation.facts.input.batch_rows import rows_of_batches
from keras_perf.observation.facts.machine import device_memory as asked
from keras_perf.records.run.devices.device_memory import DeviceMemory


class Huge(keras.layers.Layer):
    """Wants 8 TiB for each example of a batch."""

    def call(self, x):
        rows = tf.shape(x)[0]
        return x + 0 * tf.reduce_sum(tf.random.uniform([rows, 1 << 20, 1 << 21]))


@pytest.mark.fault(2, "a training that runs out of memory")
def test_a_training_that_runs_out_of_memory_is_diagnosed(tmp_path):
    network = keras.Sequential([keras.layers.Input((8,)), Huge(), keras.layers.Dense(1)])
    network.compile("sgd", "mse", jit_compile=False)
    callbacks = [kp.StepGapDetector(tmp_path), kp.GPUUtilizationSampler(tmp_path)]
    with pytest.raises(tf.errors.ResourceExhaustedError):
        network.fit(programs.dataset(5), verbose=0, shuffle=False, callbacks=callbacks)
    ending = kp.diagnose(tmp_path).summary.facts.ending
    assert ending is not None
    assert (ending.shape, ending.device, ending.batch) == ((8, 1 << 20, 1 << 21), "CPU:0", 8)
    note = kp.diagnose(tmp_path).notes[0]
    assert note.startswith("Training ran out of memory after 0 steps (ResourceExhaustedError)")
    assert "A batch of 8 is too large" in note


class HugeAt(keras.layers.Layer):
    """Wants 8 TiB for each example of a batch whose first number is large."""

    def call(self, x):
        rows = tf.shape(x)[0]
        large = tf.reduce_max(x) > LARGE
        return x + 0 * tf.cond(
            large, lambda: tf.reduce_sum(tf.random.uniform([rows, 1 << 20, 1 << 21])), lambda: 0.0
        )


class Keeps(keras.callbacks.Callback):
    """A step takes a while, and behind one of them 800 MiB more are held."""

    def on_train_batch_end(self, batch, logs=None):
        time.sleep(0.004)
        if batch == KEPT_AT:
            self.kept = np.ones(800 << 17)


LARGE, KEPT_AT, ENDS_AT = 1e6, 200, 450


@pytest.mark.fault(2, "a training that runs out of memory after many steps")
def test_a_training_that_runs_out_of_memory_late_has_its_split_and_says_when_memory_rose(tmp_path):
    network = keras.Sequential([keras.layers.Input((8,)), HugeAt(), keras.layers.Dense(1)])
    network.compile("sgd", "mse", jit_compile=False)
    x, y = programs.arrays(500)
    x[8 * ENDS_AT] = 2 * LARGE
    data = tf.data.Dataset.from_tensor_slices((x, y)).batch(8)
    callbacks = [Keeps(), kp.StepGapDetector(tmp_path), kp.GPUUtilizationSampler(tmp_path)]
    with pytest.raises(tf.errors.ResourceExhaustedError):
        network.fit(data, verbose=0, shuffle=False, callbacks=callbacks)
    found = kp.diagnose(tmp_path)
    assert found.summary.steps > 0
    note = found.notes[0]
    assert note.startswith(f"Training ran out of memory after {ENDS_AT} steps")
    assert "Batches of this size fitted before" in note
    rose = re.search(r"rose most between step (\d+) and (\d+)", note)
    assert rose, note
    assert int(rose[1]) <= KEPT_AT + 1 <= int(rose[2])


KILLED = """
import os, signal, sys, time
import keras, programs
import keras_perf as kp
from keras_perf.observers.steps_trial import steps_to_try

steps_to_try.SMALL_COST_S = 100
recommender = kp.StepsPerExecutionRecommender(sys.argv[1])

class Dies(keras.callbacks.Callback):
    async_safe = True
    left = 200

    def on_train_batch_end(self, batch, logs=None):
        time.sleep(0.004)
        self.left -= recommender.recommendation is not None
        if not self.left:
            os.kill(os.getpid(), signal.SIGKILL)

programs.model().fit(
    programs.dataset(2000), verbose=0, shuffle=False,
    callbacks=[
        Dies(), kp.StepGapDetector(sys.argv[1]), kp.GPUUtilizationSampler(sys.argv[1]), recommender
    ],
)
"""


@pytest.mark.filterwarnings("ignore:.*ends in the middle of a record")
@pytest.mark.fault(2, "a training that the kernel kills")
def test_a_training_that_is_killed_is_diagnosed_and_said_to_be_killed(processes, tmp_path):
    (tmp_path / "killed.py").write_text(KILLED)
    code, told = processes.script(tmp_path / "killed.py", tmp_path / "logs")
    assert code == -signal.SIGKILL, told
    diagnosis = kp.diagnose(tmp_path / "logs")
    assert diagnosis.summary.steps > 0
    trial = diagnosis.summary.facts.trial
    assert trial is not None
    assert trial.trials
    assert "is gone, and no end of this training is recorded" in diagnosis.notes[0]


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
    assert rows_of_batches(programs.dataset(4, drop_remainder=True), None) == 8
    assert rows_of_batches(programs.dataset(4).prefetch(1), None) == 8
    assert rows_of_batches(programs.dataset(4).map(lambda x, y: (x, y)).repeat(), None) == 8
    assert rows_of_batches(tf.data.Dataset.from_tensor_slices((x, y)), None) == 8
    assert rows_of_batches((each for each in [x]), None) is None
