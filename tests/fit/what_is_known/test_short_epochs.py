"""Epochs of few executions, which leave few moments between two to ask tf.data."""

from __future__ import annotations

import time

import keras
import numpy as np
import programs
import pytest
import tensorflow as tf
from hand_built import facts_of

import keras_perf as kp
from keras_perf.advise.notes.diagnosed import Diagnosed
from keras_perf.advise.notes.input.slow_input import slow_input_notes
from keras_perf.advise.rules.between_epochs.own_work_of_keras import AGAIN, of_arrays
from keras_perf.advise.situation import situation_of


def slow(x, y):
    """A batch waits 5 ms."""
    return tf.numpy_function(lambda x: (time.sleep(0.005), x)[1], [x], tf.float32), y


def diagnosed(log_dir, executions):
    x = np.ones((16, 8), "float32")
    data = tf.data.Dataset.from_tensor_slices((x, x[:, :1])).repeat(24).batch(16)
    data = data.map(slow).map(lambda x, y: (tf.ensure_shape(x, (None, 8)), y))
    model = programs.model()
    model.compile("sgd", "mse", steps_per_execution=24 // executions)
    callbacks = kp.perf_callbacks(log_dir, profiler=False)
    model.fit(data, epochs=12, verbose=0, shuffle=False, callbacks=callbacks)
    return kp.diagnose(log_dir)


@programs.needs_gap_times
@pytest.mark.parametrize("executions", [2, 3, 4])
def test_stages_are_known_where_an_epoch_has_a_second_execution(tmp_path, executions):
    found = diagnosed(tmp_path, executions)
    names = [stage.name for stage in found.summary.facts.input.stages]
    assert names[0].startswith("TensorSlice")
    assert any(name.startswith("Map") for name in names)


def test_where_it_has_none_the_report_says_so(tmp_path):
    found = diagnosed(tmp_path, 1)
    assert not found.summary.facts.input.stages
    # However much of a step it waits on this machine.
    run = Diagnosed(situation_of(found.summary), "input-bound", frozenset())
    assert "an epoch is a single execution" in " ".join(slow_input_notes(run))


@pytest.mark.parametrize("several", [False, True])
def test_the_code_for_arrays_makes_the_batches_that_keras_makes(several):
    """A pass after the other, whole, each in an order of its own."""
    rows = np.arange(10, dtype="float32")[:, None]
    names = {"x": {"a": rows, "b": -rows} if several else rows, "y": rows, "tf": tf}
    facts = facts_of({"input_kind": "arrays", "examples_per_step": 10 / 3, "epoch_steps": 3})
    exec(f"{of_arrays(facts)}{AGAIN}".replace("batch_size", "4"), names)
    batches = list(names["dataset"].take(6).as_numpy_iterator())
    assert [len(y) for _, y in batches] == [4, 4, 2, 4, 4, 2]
    orders = [[each.item() for _, y in batches[at : at + 3] for each in y] for at in (0, 3)]
    assert sorted(orders[0]) == sorted(orders[1]) == list(map(float, range(10)))
    assert orders[0] != orders[1]
    for x, y in batches:
        assert ((x["a"] if several else x) == y).all()
        assert not several or (x["b"] == -y).all()


class Stops(keras.callbacks.Callback):
    """In the middle of the third epoch."""

    def on_epoch_begin(self, epoch, logs=None):
        self.epoch = epoch

    def on_train_batch_end(self, batch, logs=None):
        if self.epoch == 2 and batch == 6:
            self.model.stop_training = True


def test_an_epoch_that_was_stopped_tells_nothing_of_the_others_length(tmp_path):
    ours = kp.StepGapDetector(tmp_path)
    data = programs.dataset(20)
    programs.model().fit(data, epochs=5, verbose=0, shuffle=False, callbacks=[Stops(), ours])
    assert kp.diagnose(tmp_path).summary.facts.length.epoch_steps == 20
