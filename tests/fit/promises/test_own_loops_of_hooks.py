"""Loops of the user's own that call a callback list: they train as without us."""

import keras
import numpy as np
import programs
import pytest

import keras_perf as kp
from keras_perf.records.run.ending import How


class Called(keras.callbacks.Callback):
    """Which hooks, by their names."""

    def __init__(self):
        super().__init__()
        self.hooks = []

    def on_train_begin(self, logs=None):
        self.hooks.append("train begins")

    def on_batch_begin(self, batch, logs=None):
        self.hooks.append(f"batch {batch}")

    def on_batch_end(self, batch, logs=None):
        self.hooks.append(f"end {batch}")

    def set_params(self, params):
        self.hooks.append(f"params {params}")


def batches():
    return list(programs.dataset(6).as_numpy_iterator())


def list_with_ours(network, folder, *others):
    ours = kp.perf_callbacks(folder, profiler=False, gpu=False, summary=False)
    return keras.callbacks.CallbackList([*ours, *others], model=network)


def in_an_epoch(network, folder):
    """The same list, as a loop has it before its first batch."""
    hooks = list_with_ours(network, folder)
    hooks.on_train_begin()
    hooks.on_epoch_begin(0)
    return hooks


@pytest.mark.parametrize("trained_before", [False, True])
def test_a_batch_may_be_left_out(trained_before, tmp_path):
    network = programs.model()
    if trained_before:
        network.fit(programs.dataset(6), verbose=0, shuffle=False)
    hooks = in_an_epoch(network, tmp_path)
    for step, (x, y) in enumerate(batches()):
        hooks.on_train_batch_begin(step)
        if step != 3:
            hooks.on_train_batch_end(step, network.train_on_batch(x, y, return_dict=True))
    hooks.on_epoch_end(0)
    hooks.on_train_end()
    network.fit(programs.dataset(6), verbose=0, shuffle=False)
    assert network.optimizer.iterations == 11 + 6 * trained_before


def test_steps_may_be_the_loops_own(tmp_path):
    network = programs.model()
    network.fit(programs.dataset(6), verbose=0, shuffle=False)
    hooks = in_an_epoch(network, tmp_path)
    for step, (x, _) in enumerate(batches()):
        hooks.on_train_batch_begin(step)
        network(x)
        hooks.on_train_batch_end(step, {"loss": 0.0})
    hooks.on_train_end()
    function = network.train_function
    network.fit(programs.dataset(6), verbose=0, shuffle=False)
    assert network.train_function is function


def test_an_evaluation_may_be_the_loops_own(tmp_path):
    network = programs.model()
    network.fit(programs.dataset(6), verbose=0, shuffle=False)
    expected = network.evaluate(programs.dataset(6), verbose=0)
    hooks = in_an_epoch(network, tmp_path)
    hooks.on_test_begin()
    for step, (x, _) in enumerate(batches()):
        hooks.on_test_batch_begin(step)
        network(x)
        hooks.on_test_batch_end(step, {"loss": 0.0})
    hooks.on_test_end({"loss": 0.0})
    hooks.on_epoch_end(0)
    hooks.on_train_end()
    assert network.evaluate(programs.dataset(6), verbose=0) == expected


def test_hooks_of_short_names_are_called(tmp_path):
    called = Called()
    hooks = list_with_ours(programs.model(), tmp_path, called)
    hooks.on_train_begin()
    hooks.on_batch_begin(4)
    hooks.on_batch_end(4)
    hooks.set_params({"epochs": 2})
    hooks.on_train_end()
    assert called.hooks == ["train begins", "batch 4", "end 4", "params {'epochs': 2}"]


def test_a_training_that_never_told_its_end_is_over_when_the_next_one_begins(tmp_path):
    network, called = programs.model(), Called()
    hooks = list_with_ours(network, tmp_path, called)
    for _ in range(2):
        hooks.on_train_begin()
        hooks.on_epoch_begin(0)
        for step, (x, y) in enumerate(batches()):
            hooks.on_train_batch_begin(step)
            hooks.on_train_batch_end(step, network.train_on_batch(x, y, return_dict=True))
    hooks.on_train_end()
    assert called.hooks.count("train begins") == 2
    assert [type(each).__name__ for each in hooks.callbacks][-1] == "Called"


def test_so_it_is_where_keras_raises_within_fit(tmp_path, monkeypatch):
    network, called = programs.model(), Called()
    ours = [kp.StepGapDetector(tmp_path, summary=False), called]
    hooks = keras.callbacks.CallbackList(ours, add_history=True, model=network)

    def fails(self):
        raise ValueError("a metric's own")

    with monkeypatch.context() as patched:
        patched.setattr(type(network), "get_metrics_result", fails)
        with pytest.raises(ValueError, match="a metric's own"):
            network.fit(programs.dataset(60), verbose=0, shuffle=False, callbacks=hooks)
    network.fit(programs.dataset(60), verbose=0, shuffle=False, callbacks=hooks)
    assert called.hooks.count("train begins") == 2
    summary = kp.diagnose(tmp_path).summary
    assert summary.facts.ending is None or summary.facts.ending.how is not How.RAISED
    assert np.isfinite(summary.step_ms)
