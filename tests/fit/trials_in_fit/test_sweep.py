"""The curve measured offline."""

import keras
import matplotlib as mpl
import numpy as np
import programs
import pytest
import tensorflow as tf
from matplotlib import pyplot

import keras_perf as kp
from keras_perf.trials.train_functions.keras_function import inner_function

mpl.use("agg")


def state(network):
    metrics = [v for metric in network.metrics for v in metric.variables]
    return [v.numpy() for v in (*network.variables, *network.optimizer.variables, *metrics)]


def sweep(network, data, candidates=(1, 8), **arguments):
    arguments = {"repeats": 3, "steps": 16, "plot": False} | arguments
    return kp.sweep_steps_per_execution(network, data, candidates, **arguments)


@pytest.mark.timing
def test_a_tiny_model_gets_faster_and_the_curve_fits():
    frame = sweep(programs.model(), programs.dataset(), (1, 4, 16), repeats=5, steps=64)
    assert list(frame["steps_per_execution"]) == [1, 4, 16]
    assert frame["speedup"].iloc[0] == 1.0
    assert frame["speedup"].iloc[-1] > 1.3
    assert (frame["low_ms"] <= frame["step_ms"]).all()
    assert (frame["step_ms"] <= frame["high_ms"]).all()
    assert frame["predicted_ms"].is_monotonic_decreasing


@pytest.mark.parametrize("trained", [False, True])
def test_everything_is_as_it_was(trained):
    network, data = programs.model(dropout=True), programs.dataset()
    if trained:
        network.fit(data, verbose=0, shuffle=False)
    else:
        network.optimizer.build(network.trainable_variables)
    before, function = state(network), network.train_function
    sweep(network, data)
    after = state(network)
    for mine, theirs in zip(after[: len(before)], before, strict=True):
        np.testing.assert_array_equal(mine, theirs)
    assert all(not np.any(extra) for extra in after[len(before) :])
    assert network.train_function is function
    assert network.steps_per_execution == 1


@pytest.mark.fault(1, "a training after a sweep")
def test_training_after_a_sweep_is_the_training_without_it():
    weights = []
    for sweeping in (False, True):
        network = programs.model(dropout=True)
        data = programs.dataset(shuffle=True)
        if sweeping:
            sweep(network, data)
        network.fit(data, verbose=0, shuffle=False)
        weights.append([w.numpy() for w in network.weights])
    for mine, theirs in zip(*weights, strict=True):
        np.testing.assert_array_equal(mine, theirs)


def test_a_plot_is_drawn_on_the_current_figure():
    pyplot.figure()
    sweep(programs.model(), programs.dataset(), plot=True)
    assert pyplot.gca().get_xlabel() == "steps_per_execution"
    pyplot.close("all")


def test_one_candidate_predicts_itself():
    frame = sweep(programs.model(), programs.dataset(), (4,))
    assert frame["predicted_ms"].iloc[0] == frame["step_ms"].iloc[0]


def test_wrong_use_is_refused_in_words():
    with pytest.raises(TypeError, match=r"dataset must be a tf\.data\.Dataset"):
        sweep(programs.model(), programs.arrays())
    with pytest.raises(ValueError, match="candidates must be at least 1, got 0"):
        sweep(programs.model(), programs.dataset(), (0,))
    with pytest.raises(ValueError, match="candidates must hold a number"):
        sweep(programs.model(), programs.dataset(), ())
    with pytest.raises(ValueError, match="must not run eagerly"):
        sweep(programs.model(run_eagerly=True), programs.dataset())
    tf.config.run_functions_eagerly(True)
    try:
        with pytest.raises(ValueError, match="must not run eagerly"):
            sweep(programs.model(), programs.dataset())
    finally:
        tf.config.run_functions_eagerly(False)


class Counts(keras.Sequential):
    """Counts in Python how often its train step is traced."""

    traced = 0

    def train_step(self, data):
        self.traced += 1
        return super().train_step(data)


def counting():
    network = Counts([keras.layers.Input((8,)), keras.layers.Dense(1)])
    network.compile("sgd", "mse", jit_compile=False)
    return network


@pytest.mark.fault(1, "a sweep or a benchmark of a model that counts its traces")
@pytest.mark.parametrize(
    "measure",
    [
        lambda network, data: sweep(network, data, (1, 4, 8)),
        lambda network, data: kp.benchmark_train_step(network, next(iter(data)), steps=4),
    ],
)
def test_the_users_code_is_traced_once_and_not_at_all_where_it_was_before(measure):
    trained, fresh, data = counting(), counting(), programs.dataset(drop_remainder=True)
    trained.fit(data, verbose=0, shuffle=False)
    function, before = trained.train_function, trained.traced
    measure(trained, data)
    assert trained.traced == before
    assert trained.train_function is function
    assert function_traces(trained) == 1
    measure(fresh, data)
    assert fresh.traced == 1
    # What Python holds by the time of the next fit is for that one to trace.
    assert fresh.train_function is None


def function_traces(network):
    return inner_function(network.train_function).experimental_get_tracing_count()


class Noisy(keras.Sequential):
    """Draws with a state that no variable holds."""

    def train_step(self, batch):
        x, y = batch
        return super().train_step((x + tf.random.normal(tf.shape(x), seed=7), y))


MEASURES = {
    "nothing": lambda network, data: None,
    "a sweep": lambda network, data: sweep(network, data, (1, 4)),
    "a benchmark": lambda network, data: kp.benchmark_train_step(network, next(iter(data))),
    "an input tuned": lambda network, data: kp.tune_input(data, model=network, budget_s=0.1),
}


def test_steps_that_draw_from_a_state_go_on_with_the_numbers_that_they_would_have_drawn():
    weights = {}
    for what, measure in MEASURES.items():
        keras.utils.set_random_seed(3)
        network = Noisy([keras.layers.Input((8,)), keras.layers.Dense(1)])
        network.compile("sgd", "mse", jit_compile=False)
        data = programs.dataset(8, drop_remainder=True)
        network.fit(data, verbose=0, shuffle=False)
        measure(network, data)
        network.fit(data, verbose=0, shuffle=False)
        weights[what] = network.get_weights()
    for what, mine in weights.items():
        for one, other in zip(mine, weights["nothing"], strict=True):
            np.testing.assert_array_equal(one, other, what)
