"""Advice that is tried at the end of a `fit` on arrays: on Keras's own batches of them."""

import gc
import random
import weakref

import keras
import numpy as np
import psutil
import pytest
import tensorflow as tf

import keras_perf as kp
from keras_perf.analyse.training import newest_training
from keras_perf.callbacks import advice_tester
from keras_perf.observation.of_fit import calling_fit
from keras_perf.trials import trying
from keras_perf.trials.environment.handed_training import HandedTraining
from keras_perf.trials.measuring import side_by_side
from keras_perf.trials.rewriting.array_batches import ArrayBatches
from keras_perf.trials.rewriting.pipeline_graph import PipelineGraph
from keras_perf.trials.training import budget, running
from keras_perf.trials.training.setup import Setup

ROWS = 200
X = np.arange(8.0 * ROWS, dtype="float32").reshape(ROWS, 8) / 1600
Y = (X[:, :1] > 0.5).astype("float32")
WEIGHTS = np.linspace(0.5, 1.5, ROWS, dtype="float32")


@pytest.fixture(autouse=True)
def short_slices(monkeypatch):
    for module in (side_by_side, running):
        monkeypatch.setattr(module, "SLICE_S", 0.01)
    monkeypatch.setattr(budget, "PAIR_S", (0.02, 0.05))


def only_trying(log_dir, **settings):
    settings = {"budget_s": 3.0, **settings}
    return kp.perf_callbacks(
        log_dir, profiler=False, gpu=False, steps_per_execution=False, try_advice=settings
    )


def compiled(model):
    model.compile("adam", "mse", jit_compile=False)
    return model


def network():
    keras.utils.set_random_seed(1)
    layers = [keras.Input((8,)), keras.layers.Dropout(0.3), keras.layers.Dense(1)]
    return compiled(keras.Sequential(layers))


def trials_of(log_dir):
    return newest_training(log_dir, None).summary().facts.advice_trials


@pytest.mark.parametrize(
    "more",
    [
        {"validation_split": 0.2, "class_weight": {0: 1.0, 1: 3.0}},
        {"sample_weight": WEIGHTS, "shuffle": "batch", "steps_per_epoch": 7},
    ],
)
def test_training_before_and_after_the_trials_is_as_without(tmp_path, more):
    def trained(callbacks):
        model = network()
        first = model.fit(X, Y, 8, epochs=2, verbose=0, callbacks=callbacks, **more)
        second = model.fit(X, Y, 8, verbose=0, **more)
        drawn = [random.random(), np.random.rand(), tf.random.uniform(()).numpy()]
        state = [*model.get_weights(), *(v.numpy() for v in model.optimizer.variables)]
        return first.history, second.history, drawn, state

    *told, state = trained(only_trying(tmp_path))
    *plain_told, plain_state = trained([])
    assert told == plain_told
    for one, other in zip(state, plain_state, strict=True):
        np.testing.assert_array_equal(one, other)
    assert trials_of(tmp_path) is not None


def test_changes_of_the_training_are_tried_and_those_of_the_input_named(tmp_path, monkeypatch):
    # Whatever else is in its memory.
    monkeypatch.setattr("keras_perf.trials.training.changes.why_no_room", lambda *_: "")
    # A slow machine measures nothing but the step in the shortest of them.
    for budget_s in (3.0, 12.0, 48.0):
        network().fit(
            X, Y, 8, epochs=3, verbose=0, callbacks=only_trying(tmp_path, budget_s=budget_s)
        )
        trials = trials_of(tmp_path)
        found = {each.id: each for each in trials.changes}
        if "larger-batch" in found:
            break
    assert trials.step_ms > 0
    assert trials.ready_ms > 0
    assert trials.batch_ms > 0
    assert found["larger-batch"].code == "model.fit(..., batch_size=32)"
    (why,) = (each.why for each in trials.not_tried if each.where == "arrays")
    assert why.startswith("Keras itself makes the batches of arrays")
    diagnosis = kp.diagnose(tmp_path)
    assert any(note.startswith("Measured after training") for note in diagnosis.notes)


@pytest.fixture
def on_trial(monkeypatch):
    """The graph that stands for the input on trial, and what its first pass gave."""
    seen = []

    def looks(_, dataset, *, graph, **__):
        assert graph.dataset() is dataset
        seen.append((graph, list(dataset)))
        raise ValueError("seen")

    monkeypatch.setattr(trying, "tried_advice", looks)
    return seen


def two_inputs():
    one, two = keras.Input((8,), name="one"), keras.Input((8,), name="two")
    out = keras.layers.Dense(1, name="out")(keras.layers.concatenate([one, two]))
    return compiled(keras.Model([one, two], out))


FITS = {
    "arrays": (network, {"x": X, "y": Y, "batch_size": 64}, (X, Y)),
    "tensors": (network, {"x": tf.constant(X), "y": tf.constant(Y), "batch_size": 64}, (X, Y)),
    "32 rows": (network, {"x": X, "y": Y}, (X, Y)),
    "a tuple": (two_inputs, {"x": (X, 2 * X), "y": Y}, ((X, 2 * X), Y)),
    "a list": (two_inputs, {"x": [X, 2 * X], "y": Y}, ((X, 2 * X), Y)),
    "a dict": (two_inputs, {"x": {"one": X, "two": -X}, "y": Y}, ({"one": X, "two": -X}, Y)),
    "weights of examples": (network, {"x": X, "y": Y, "sample_weight": WEIGHTS}, (X, Y, WEIGHTS)),
    "weights of classes": (
        network,
        {"x": X, "y": Y, "class_weight": {0: 1.0, 1: 3.0}},
        (X, Y, 1 + 2 * Y[:, 0]),
    ),
    "a part for validation": (
        network,
        {"x": X, "y": Y, "validation_split": 0.25},
        (X[:150], Y[:150]),
    ),
    "so many steps": (network, {"x": X, "y": Y, "steps_per_epoch": 4}, (X, Y)),
}


@pytest.mark.parametrize("name", FITS)
def test_the_batches_on_trial_are_those_of_the_training(tmp_path, on_trial, name):
    model, given, expected = FITS[name]
    model().fit(**given, epochs=2, shuffle=False, verbose=0, callbacks=only_trying(tmp_path))
    [(graph, batches)] = on_trial
    rows = given.get("batch_size", 50 if "steps_per_epoch" in given else 32)
    assert (graph.rows, graph.batches) == (rows, len(batches))
    assert len(tf.nest.flatten(batches[0])[0]) == rows
    tf.nest.assert_same_structure(batches[0], expected)
    whole = zip(*map(tf.nest.flatten, batches), strict=True)
    for leaf, array in zip(whole, tf.nest.flatten(expected), strict=True):
        np.testing.assert_array_equal(np.concatenate(leaf), array)


def test_arrays_are_not_copied(tmp_path, monkeypatch):
    """Neither into a graph nor into other tensors, and what was read is let go of."""
    # 512 MiB: compiling with XLA takes a third of that, and is tried.
    arrays = np.ones((2**19, 256), "float32")
    taken, process, found = [], psutil.Process(), []

    def in_use():
        return process.memory_info().rss

    def batches():
        made = calling_fit.batches_of_arrays()
        found.append((weakref.ref(made.dataset), in_use()))
        return made

    def step_ms(self, measured=running.RunningTraining.step_ms):
        taken.append(in_use())
        return measured(self)

    monkeypatch.setattr(advice_tester, "batches_of_arrays", batches)
    monkeypatch.setattr(running.RunningTraining, "step_ms", step_ms)
    monkeypatch.setattr(PipelineGraph, "of", lambda _: pytest.fail("written as a graph"))
    model = compiled(keras.Sequential([keras.Input((256,)), keras.layers.Dense(1)]))
    told = only_trying(tmp_path, budget_s=10.0)
    model.fit(arrays, arrays[:, :1], 64, steps_per_epoch=30, verbose=0, callbacks=told)
    [(dataset, before)] = found
    assert max(taken) - before < arrays.nbytes / 2
    gc.collect()
    assert dataset() is None


class Rows(keras.utils.PyDataset):
    def __len__(self):
        return 20

    def __getitem__(self, number):
        return X[:8], Y[:8]


def generated():
    while True:
        yield X[:8], Y[:8]


@pytest.mark.parametrize(("data", "kind"), [(Rows, "Rows"), (generated, "generator")])
def test_what_python_makes_is_not_tried_and_that_is_said(tmp_path, said, data, kind):
    told = only_trying(tmp_path)
    network().fit(data(), epochs=2, steps_per_epoch=20, verbose=0, shuffle=False, callbacks=told)
    (line,) = (line for line in said() if "advice_trials" in line)
    assert f"only arrays and a tf.data.Dataset can be read a second time, got {kind}" in line


def test_arrays_that_a_strategy_shares_out_are_not_tried_and_that_is_said(tmp_path, said):
    with tf.distribute.MirroredStrategy(["CPU:0"]).scope():
        # TensorFlow 2.16 cannot make the seeds of a dropout there.
        model = compiled(keras.Sequential([keras.Input((8,)), keras.layers.Dense(1)]))
    model.fit(X, Y, 8, epochs=2, verbose=0, callbacks=only_trying(tmp_path))
    (line,) = (line for line in said() if "advice_trials" in line)
    assert "batches of arrays under MirroredStrategy are not tried" in line


def test_where_keras_keeps_its_batches_elsewhere_that_is_said(tmp_path, said):
    class Moves(keras.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            frame = calling_fit._fit_frame()
            adapter = frame.f_locals["epoch_iterator"].data_adapter
            adapter.__class__ = type("Renamed", (type(adapter),), {})

    network().fit(X, Y, 8, epochs=2, verbose=0, callbacks=[*only_trying(tmp_path), Moves()])
    (line,) = (line for line in said() if "advice_trials" in line)
    assert "what Keras made of ndarray was not found" in line


def test_arrays_are_not_handed_to_another_process(tmp_path):
    data = tf.data.Dataset.from_tensors((X, Y))
    setup = Setup(network(), ArrayBatches(data, ROWS, 1), jit_compile=False, run_eagerly=False)
    with pytest.raises(ValueError, match="arrays are in the memory of this process only"):
        HandedTraining.of(setup, tmp_path)
