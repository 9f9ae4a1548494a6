"""Keras from 3.16 on calls a traced step with a batch that it has fetched in Python.

With older versions a stand-in for its train function is trained with, made as 3.16 makes it.
"""

from __future__ import annotations

from types import FunctionType, SimpleNamespace

import keras
import numpy as np
import pytest
import tensorflow as tf
from programs import STEPS_ON_BATCHES, dataset, model

import keras_perf as kp
from keras_perf.observation.listener import Plan
from keras_perf.observation.of_fit.trials_of_fit import TrialsOfFit
from keras_perf.records.execution import Kind
from keras_perf.trials.train_functions.keras_function import (
    WithSteps,
    asks_for_steps,
    inner_function,
    takes_batches,
)
from keras_perf.trials.train_functions.repeated_function import (
    RepeatedFunction,
    each_calls_logs,
)
from keras_perf.trials.train_functions.traced_step import existing_step
from keras_perf.trials.train_functions.train_function import new_train_function, train_function_of

STEPS, EPOCHS = 60, 3


def made_as_since_3_16(self):
    """Reads the number of steps whenever it is called, and fetches one batch in Python."""

    def step(data):
        return self.train_step(data)

    one_step_on_data = tf.function(step, reduce_retracing=True, jit_compile=self.jit_compile)

    @tf.function
    def multi_step_on_iterator(iterator):
        for _ in range(self.steps_per_execution):
            outputs = one_step_on_data(iterator.get_next())
        return tf.experimental.Optional.from_value(outputs)

    def function(iterator):
        if not isinstance(iterator, tf.data.Iterator):
            return one_step_on_data(next(iterator))
        if self.steps_per_execution == 1:
            batch = iterator.get_next_as_optional()
            if not batch.has_value():
                raise StopIteration
            return one_step_on_data(batch.get_value())
        return multi_step_on_iterator(iterator).get_value()

    function.__module__ = "keras.src.backend.tensorflow.trainer"
    return function


@pytest.fixture(autouse=True)
def newer_keras(monkeypatch):
    if STEPS_ON_BATCHES:
        return

    def make_train_function(self, force=False):
        if self.train_function is None or force:
            self.train_function = made_as_since_3_16(self)

    monkeypatch.setattr(keras.Model, "make_train_function", make_train_function)


def test_whether_it_fetches_in_python_is_read_from_keras_s_own_function():
    """A canary: the names that tell it are private."""
    network = model()
    kinds = (kind for kind in type(network).__mro__ if kind is not keras.Model)
    own = next(vars(k)["make_train_function"] for k in kinds if "make_train_function" in vars(k))
    own(network, force=True)
    assert asks_for_steps(network.train_function) is STEPS_ON_BATCHES
    assert inner_function(network.train_function) is not None
    assert hasattr(tf.type_spec_from_value(of_sizes(8)), "_element_spec")


def fit(tmp_path, *callbacks, drop_remainder=True, network=None, **ours):
    network = network or model()
    perf = kp.perf_callbacks(tmp_path, profiler=False, gpu=False, summary=False, **ours)
    data = dataset(STEPS, drop_remainder=drop_remainder)
    network.fit(data, epochs=EPOCHS, verbose=0, shuffle=False, callbacks=[*callbacks, *perf])
    return network, kp.diagnose(tmp_path)


class Unfreezes(keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        if batch == STEPS // 2:
            self.model.layers[0].trainable ^= True
            self.model.make_train_function(force=True)


class Anneals(keras.callbacks.Callback):
    """Changes what a train step holds in Python, which a trace has read."""

    def on_epoch_end(self, epoch, logs=None):
        self.model.rate = 0.5


class Annealed(keras.Sequential):
    rate = 1.0

    def train_step(self, data):
        x, y = data
        return super().train_step((x * self.rate, y))


def annealed():
    keras.utils.set_random_seed(1)
    network = Annealed([keras.Input((8,)), keras.layers.Dense(4), keras.layers.Dense(1)])
    network.compile("adam", "mse")  # it makes variables in the first call, which is traced twice
    return network


def test_retraces_are_counted(tmp_path):
    _, found = fit(tmp_path, Unfreezes(), steps_per_execution=False)
    count, _ = found.summary.facts.outliers.of("retrace")
    assert found.summary.facts.settings.function_replacements == EPOCHS
    assert found.summary.parts["compile"] > 0
    assert count > 0


def test_what_a_step_multiplies_is_counted(tmp_path):
    _, found = fit(tmp_path, steps_per_execution=False, drop_remainder=False)
    # Of the first layer's input no gradient is needed.
    assert found.summary.facts.step_work.flops == {"float32": 2 * 8 * (2 * 8 * 16 + 3 * 16)}


@pytest.mark.parametrize("drop_remainder", [False, True])
@pytest.mark.parametrize("apply", [False, True])
@pytest.mark.usefixtures("tracing_is_cheap")
def test_trials_train_with_the_trace_that_there_is(apply, drop_remainder, tmp_path):
    how = {"drop_remainder": drop_remainder, "steps_per_execution": {"apply": apply}}
    ours, found = fit(tmp_path, Anneals(), network=annealed(), **how)
    assert found.summary.facts.trial.trials
    plain = annealed()
    data = dataset(STEPS, drop_remainder=drop_remainder)
    plain.fit(data, epochs=EPOCHS, verbose=0, shuffle=False, callbacks=[Anneals()])
    for mine, theirs in zip(ours.get_weights(), plain.get_weights(), strict=True):
        assert np.array_equal(mine, theirs)


def of_sizes(*sizes):
    return iter(of_sizes_again(sizes))


def of_sizes_again(sizes):
    x = np.random.default_rng(0).normal(size=(sum(sizes), 8)).astype("float32")
    ends = np.cumsum(sizes)
    spec = tf.TensorSpec((None, 8)), tf.TensorSpec((None, 1))
    batches = [(x[e - n : e], x[e - n : e, :1]) for n, e in zip(sizes, ends, strict=True)]
    return tf.data.Dataset.from_generator(lambda: iter(batches), output_signature=spec)


@pytest.mark.parametrize("sizes", [(8,) * 7, (8, 8, 8, 3, 8, 8, 8), (8, 4, 8, 4, 8, 8, 8)])
def test_a_batch_of_another_size_is_left_to_keras_within_a_trial(sizes):
    alone, tried = model(), model()
    for network in (alone, tried):
        network.make_train_function()
    ours, theirs = of_sizes(*sizes), of_sizes(*sizes)
    expected = [alone.train_function(theirs) for _ in sizes]
    first = tried.train_function(ours)
    repeated = RepeatedFunction(tried.train_function)
    repeated.prepare(ours)
    assert repeated.differs is None
    logs = [first, *each_calls_logs(repeated.run(ours, len(sizes) - 1))]
    assert [float(each["loss"]) for each in logs] == [float(each["loss"]) for each in expected]
    for mine, its in zip(tried.get_weights(), alone.get_weights(), strict=True):
        assert np.array_equal(mine, its)
    assert ("drop_remainder=True" in str(repeated.differs)) is (len(set(sizes)) > 1)


def test_what_was_traced_for_no_fixed_shape_is_repeated_if_it_takes_all():
    network = model()
    network.make_train_function()
    function, data = network.train_function, of_sizes(8, 4, 8)
    inner_function(function).get_concrete_function(data.element_spec)
    repeated = RepeatedFunction(function)
    repeated.prepare(data)
    assert repeated.differs is None
    assert len(list(each_calls_logs(repeated.run(data, 3)))) == 3


@pytest.mark.parametrize(("has", "wanted"), [(1, 4), (4, 1), (4, 2)])
def test_a_function_for_other_steps_runs_so_many_whatever_the_model_has(has, wanted):
    network = model(steps_per_execution=has)
    iterator = iter(dataset(STEPS, drop_remainder=True).repeat())
    function = train_function_of(network, wanted, iterator)
    assert isinstance(function, WithSteps)
    assert takes_batches(function) is (wanted == 1)
    traces = inner_function(function).experimental_get_tracing_count()
    before = int(network.optimizer.iterations.numpy())
    function(iterator)
    assert int(network.optimizer.iterations.numpy()) - before == wanted
    assert network.steps_per_execution == has
    assert inner_function(function).experimental_get_tracing_count() == traces == 1


def test_the_model_s_own_function_is_taken_where_it_is_traced_for_all_batches():
    network = model()
    network.fit(dataset(4, drop_remainder=True), verbose=0, shuffle=False)
    fixed, open_ended = (iter(dataset(4, drop_remainder=drop).repeat()) for drop in (True, False))
    assert train_function_of(network, 1, fixed) is network.train_function
    assert existing_step(network.train_function, open_ended) is None
    assert train_function_of(network, 1, open_ended) is not network.train_function


def test_a_trial_of_the_learning_rate_has_its_steps():
    network = model()
    data = dataset(STEPS, drop_remainder=True).repeat()
    found = kp.find_learning_rate(network, data, steps=50)
    assert len(found.losses) > 1


def test_what_runs_eagerly_has_no_trace():
    network = model(run_eagerly=True)
    iterator = iter(dataset(4).repeat())
    function = new_train_function(network, 1, iterator)
    if STEPS_ON_BATCHES:
        assert inner_function(function) is None
    assert isinstance(getattr(function, "function", function), FunctionType)


def test_a_batch_that_keras_changes_before_its_step_is_not_repeated():
    network = model()
    network.make_train_function()
    network.train_function(of_sizes(8, 8))
    flat = iter(dataset(2).map(lambda x, y: {"x": x, "y": y}))
    with pytest.raises(LookupError, match="as the iterator gives them"):
        RepeatedFunction(network.train_function).prepare(flat)


@pytest.mark.usefixtures("tracing_is_cheap")
def test_data_without_weights_are_tried_where_they_say_so(tmp_path):
    network = model()
    data = dataset(STEPS).map(lambda x, y: (x, y, None))
    perf = kp.perf_callbacks(tmp_path, profiler=False, gpu=False, summary=False)
    network.fit(data, epochs=EPOCHS, verbose=0, shuffle=False, callbacks=perf)
    found = kp.diagnose(tmp_path).summary.facts
    assert found.trial.trials
    assert found.step_work.flops
    swept = kp.sweep_steps_per_execution(network, data, candidates=(1, 2), repeats=1, steps=4)
    assert len(swept) == 2


def test_a_single_batch_trained_before_takes_nothing_from_what_is_counted(tmp_path):
    network = model()
    network.train_on_batch(np.ones((4, 8), "float32"), np.ones((4, 1), "float32"))
    _, found = fit(tmp_path, network=network, steps_per_execution=False)
    assert found.summary.facts.step_work.flops


@pytest.mark.parametrize(("sizes", "kinds"), [((8, 8, 3, 8), [Kind.TRACED]), ((8,) * 4, [])])
def test_a_trial_that_met_another_shape_is_no_trial_any_more(sizes, kinds):
    network = model()
    network.make_train_function()
    data, told = of_sizes(*sizes), []
    network.train_function(data)
    observed = SimpleNamespace(
        pipeline=SimpleNamespace(iterator=data),
        timeline=SimpleNamespace(retag=told.append, made_ready=lambda: None),
        model=network,
        now=lambda: 0,
    )
    trials = TrialsOfFit(observed, None, list)
    trials.runs(network.train_function)
    assert trials.refuses() is None
    trials.longer(Plan(None, 1, Kind.STEADY), 3, Kind.TRIAL).function(data)
    assert told == kinds
    assert (trials.refuses() is None) is not bool(kinds)


def test_training_goes_on_where_a_trial_meets_another_shape(tmp_path):
    sizes = [8] * 200
    sizes[60] = 3
    data = of_sizes_again(sizes).apply(tf.data.experimental.assert_cardinality(200))
    perf = kp.perf_callbacks(
        tmp_path, profiler=False, gpu=False, summary=False, steps_per_execution={"apply": True}
    )
    network, alone = model(), model()
    network.fit(data, epochs=2, verbose=0, shuffle=False, callbacks=perf)
    alone.fit(data, epochs=2, verbose=0, shuffle=False)
    for mine, its in zip(network.get_weights(), alone.get_weights(), strict=True):
        assert np.array_equal(mine, its)
    assert int(network.optimizer.iterations.numpy()) == 400
