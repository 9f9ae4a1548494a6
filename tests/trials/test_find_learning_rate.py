"""find_learning_rate: where the loss falls fastest, and a model that is left as it was."""

import contextlib
import io
import os
import signal
import sys

import keras
import matplotlib as mpl
import numpy as np
import pytest
import tensorflow as tf

import keras_perf as kp
from keras_perf.analyse.training import newest_training
from keras_perf.trials import find_learning_rate as module
from keras_perf.trials.backends import tensorflow_trials
from keras_perf.trials.learning_rate.learning_rate_curve import (
    curve_of,
    first_diverged,
    smoothed_losses,
)

mpl.use("agg")


class Terminal(io.StringIO):
    def isatty(self):
        return True


def rows(count=512, seed=0):
    random = np.random.default_rng(seed)
    x = random.normal(size=(count, 8)).astype("float32")
    return x, x.sum(axis=1, keepdims=True)


def data(batch_size=16):
    return tf.data.Dataset.from_tensor_slices(rows()).batch(batch_size)


def model(optimizer=None, *, dropout=0.0, **arguments):
    keras.utils.set_random_seed(1)
    layers = [keras.layers.Input((8,)), keras.layers.Dense(16, activation="relu")]
    layers += [keras.layers.Dropout(dropout)] if dropout else []
    network = keras.Sequential([*layers, keras.layers.Dense(1)])
    arguments.setdefault("jit_compile", False)
    network.compile(optimizer or keras.optimizers.SGD(1e-3, 0.9), "mse", **arguments)
    network.optimizer.build(network.trainable_variables)
    return network


def state(network):
    metrics = [v for metric in network.metrics for v in metric.variables]
    return [v.numpy() for v in (*network.variables, *network.optimizer.variables, *metrics)]


def assert_equal(mine, theirs):
    for one, other in zip(mine, theirs, strict=True):
        np.testing.assert_array_equal(one, other)


# The rule, on losses written by hand.

RATES = np.geomspace(1e-7, 10, 100)


def falling(at, width=0.5, noise=0.01, low=0.5):
    """A loss that falls steepest at this rate, and explodes two decades above."""
    decades = np.log10(RATES / at)
    losses = low + (3 - low) / (1 + np.exp(decades / width * 4)) + np.exp(8 * (decades - 2))
    return losses + noise * np.random.default_rng(0).normal(size=100)


@pytest.mark.parametrize("at", [1e-4, 1e-3, 1e-2, 0.1])
@pytest.mark.parametrize("smoothing", [0.8, 0.9])
def test_the_rate_of_the_steepest_fall_is_found_without_the_lag_of_smoothing(at, smoothing):
    curve = curve_of(RATES, falling(at), smoothing)
    # The mean of an exponential's weights lies behind their middle, so it leans to lower rates.
    assert 0.35 < curve.suggestion / at < 1.0


def test_a_loss_below_zero_is_judged_as_one_above():
    above, below = falling(1e-2), falling(1e-2) - 10
    assert curve_of(RATES, below, 0.9).suggestion == pytest.approx(
        curve_of(RATES, above, 0.9).suggestion
    )


def test_noise_alone_suggests_nothing():
    random = np.random.default_rng(0)
    found = [curve_of(RATES, 3 + random.normal(size=100), 0.9) for _ in range(100)]
    assert sum(np.isnan(curve.suggestion) for curve in found) >= 99
    assert "did not fall clearly" in str(found[0])


def test_a_loss_that_only_rises_suggests_nothing():
    curve = curve_of(RATES, 1 + 1e-3 * np.arange(100), 0.9)
    assert np.isnan(curve.suggestion)


def test_a_fall_at_either_end_of_the_range_says_which_end_to_move():
    assert "Set highest higher" in curve_of(RATES, falling(10), 0.9).reason
    assert "Set lowest lower" in curve_of(RATES, 3 * 0.9 ** np.arange(100) + 1, 0.9).reason
    soon = np.concatenate([np.ones(15), np.full(85, np.inf)])
    assert "diverged within 16 steps" in curve_of(RATES, soon, 0.9).reason


def test_the_smoothed_loss_has_no_bias_and_ends_where_it_is_no_number():
    np.testing.assert_allclose(smoothed_losses([2.0] * 5, 0.9), 2.0)
    np.testing.assert_allclose(smoothed_losses([1.0, 3.0], 0.5), [1.0, 7 / 3])
    assert first_diverged(smoothed_losses([1.0, 1.0, np.nan, 1.0], 0.9)) == 2
    assert first_diverged(smoothed_losses([1.0, 1.0, 1.0], 0.9)) is None


# In training.


def test_the_losses_are_each_batch_s_own_at_the_rates_of_the_ramp(tmp_path):
    network, batches = model(), data()
    ramp = {"lowest": 1e-4, "highest": 1e-2, "steps": 50}
    found = kp.find_learning_rate(network, batches, **ramp, log_dir=tmp_path)
    frame = found.to_frame()
    assert kp.diagnose(tmp_path).summary.facts.learning_rates == found.record
    np.testing.assert_allclose(frame["learning_rate"], np.geomspace(1e-4, 1e-2, 50))
    alone, losses = model(), []
    for rate, (x, y) in zip(frame["learning_rate"], batches.repeat(), strict=False):
        alone.optimizer.learning_rate = rate
        losses.append(alone.train_on_batch(x, y))
        alone.reset_metrics()
    np.testing.assert_allclose(frame["loss"], losses, rtol=1e-4)


def test_training_at_the_suggestion_beats_a_tenth_and_a_hundred_times_of_it():
    batches = data()
    rate = kp.find_learning_rate(model(keras.optimizers.SGD(1e-3)), batches).suggestion

    def loss(at):
        trained = model(keras.optimizers.SGD(at)).fit(batches, epochs=2, verbose=0, shuffle=False)
        return trained.history["loss"][-1]

    assert loss(rate) < loss(rate / 10)
    assert not loss(rate) > loss(rate * 100)


@pytest.mark.parametrize("trained", [False, True])
def test_the_model_is_left_bit_for_bit(trained):
    adam = keras.optimizers.Adam(3e-3)
    network = model(adam, dropout=0.5, metrics=["mae"], jit_compile=trained)
    if trained:
        network.fit(data(), verbose=0, shuffle=False)
    before, function = state(network), network.train_function
    kp.find_learning_rate(network, data())
    after = state(network)
    assert_equal(after[: len(before)], before)
    assert not any(np.any(extra) for extra in after[len(before) :])
    assert network.train_function is function


@pytest.mark.fault(1, "an error or Ctrl-C while the learning rate is sought")
@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
def test_the_model_is_left_bit_for_bit_after_an_error_and_ctrl_c(monkeypatch, error):
    network = model(dropout=0.5)
    before = state(network)

    def ends(_):
        raise error

    monkeypatch.setattr(module, "first_diverged", ends)
    with contextlib.nullcontext() if error is KeyboardInterrupt else pytest.raises(error):
        kp.find_learning_rate(network, data())
    after = state(network)
    assert_equal(after[: len(before)], before)
    assert float(network.optimizer.learning_rate) == np.float32(1e-3)


def pressed_after(calls, monkeypatch):
    """Ctrl-C, as a terminal sends it, while so many portions of steps have run."""
    seen = []

    def diverged(smoothed):
        seen.append(1)
        if len(seen) == calls:
            os.kill(os.getpid(), signal.SIGINT)
        return first_diverged(smoothed)

    monkeypatch.setattr(module, "first_diverged", diverged)


def test_ctrl_c_keeps_the_rates_tried_by_then_and_the_dataset_s_orders(monkeypatch, tmp_path):
    def shuffled():
        return tf.data.Dataset.from_tensor_slices(rows()).shuffle(512, seed=4).batch(16)

    network, batches, untouched = model(dropout=0.5), shuffled(), shuffled()
    before = state(network)
    full = kp.find_learning_rate(network, batches, steps=100)
    pressed_after(3, monkeypatch)
    found = kp.find_learning_rate(network, batches, steps=100, log_dir=tmp_path)
    assert found.learning_rates == full.learning_rates[:30]
    assert found.losses == full.losses[:30]
    assert np.isnan(found.suggestion)
    assert "Ended by an interrupt" in str(found)
    assert "30 steps from 1e-07 to " in str(found)
    assert ", where an interrupt ended it." in str(found)
    assert_equal(state(network)[: len(before)], before)
    for one, other in zip(batches, untouched, strict=True):
        assert_equal(one, other)
    kept = newest_training(tmp_path).summary().facts.learning_rates
    assert (len(kept.learning_rates), kept.stopped) == (30, "an interrupt")
    assert "an interrupt ended the test" in kept.reason


def test_ctrl_c_before_the_first_step_leaves_nothing_known(monkeypatch):
    def pressed(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(tensorflow_trials, "ramped_steps", pressed)
    found = kp.find_learning_rate(model(), data())
    assert found.losses == ()
    assert "No step was run." in str(found)
    assert "No step was run." in found._repr_html_()


def test_a_terminal_shows_the_rate_that_is_tried_and_the_time_left(monkeypatch):
    monkeypatch.setattr(sys, "stderr", terminal := Terminal())
    kp.find_learning_rate(model(), data(), steps=60)
    first, *lines = terminal.getvalue().replace("\r\x1b[K", "\n").splitlines()
    assert first == (
        "keras_perf tries learning rates, in 60 steps of training at most. Ctrl-C ends it with "
        "what is known by then, and everything is put back."
    )
    told = [each for each in lines if each]
    assert told[0] == "trying rates from step 1 of 60"
    assert told[1].startswith("trying rates from step 11 of 60, ")
    assert all(each.endswith(" s left") for each in told[1:])
    assert len(told) > 2
    assert terminal.getvalue().endswith("\r\x1b[K")


class Noisy(keras.Sequential):
    """Draws with a state that no variable holds."""

    def train_step(self, batch):
        x, y = batch
        return super().train_step((x + tf.random.normal(tf.shape(x), seed=7), y))


@pytest.mark.fault(1, "a training after its learning rate was sought, on shuffled data")
def test_training_afterwards_is_the_training_without_it():
    weights = []
    for sought in (False, True):
        tf.random.set_seed(3)
        keras.utils.set_random_seed(3)
        network = Noisy(
            [keras.layers.Input((8,)), keras.layers.Dropout(0.5), keras.layers.Dense(1)]
        )
        network.compile("sgd", "mse", jit_compile=False)
        batches = tf.data.Dataset.from_tensor_slices(rows()).shuffle(64, seed=5).batch(16)
        network.fit(batches, verbose=0, shuffle=False)
        if sought:
            kp.find_learning_rate(network, batches)
        network.fit(batches, verbose=0, shuffle=False)
        weights.append(network.get_weights())
    assert_equal(*weights)


def test_a_dataset_that_cannot_be_copied_is_taken_itself():
    def generated():
        x, y = rows(64)
        yield from zip(x, y, strict=True)

    spec = (tf.TensorSpec((8,)), tf.TensorSpec((1,)))
    batches = tf.data.Dataset.from_generator(generated, output_signature=spec).batch(8)
    assert len(kp.find_learning_rate(model(), batches, steps=50).losses) > 10


def test_the_curve_is_drawn_over_a_logarithmic_axis():
    curve = curve_of(RATES, falling(1e-2), 0.9)
    [axes] = curve.plot().axes
    assert axes.get_xscale() == "log"
    # What diverged would leave nothing else to be seen.
    assert axes.get_ylim()[1] < max(curve.losses)
    assert axes.get_ylim()[0] > -1


def test_the_text_says_the_rate_or_why_there_is_none():
    assert "Learning rate 0.00" in str(curve_of(RATES, falling(1e-2), 0.9))
    assert "where the loss diverged" in str(curve_of(RATES, falling(1e-2), 0.9))
    assert "No learning rate: inconclusive" in str(curve_of(RATES, np.ones(100), 0.9))


class OwnOptimizer(keras.Sequential):
    """Updates its weights by itself."""

    def train_step(self, batch):
        self.weights[0].assign_sub(1e-3 * self.weights[0])
        return {"loss": tf.reduce_mean(batch[1])}


class Lossless(keras.Sequential):
    """Returns no loss."""

    def train_step(self, batch):
        return {"error": super().train_step(batch)["loss"]}


def own(kind):
    layers = [keras.layers.Input((8,)), keras.layers.Dropout(0.5), keras.layers.Dense(1)]
    network = kind(layers)
    network.compile("sgd", "mse", jit_compile=False)
    return network


def test_wrong_use_is_refused_in_words():
    find = kp.find_learning_rate
    schedule = keras.optimizers.SGD(keras.optimizers.schedules.CosineDecay(0.1, 100))
    with pytest.raises(ValueError, match="must be a number that can be set, got a schedule"):
        find(model(schedule), data())
    with pytest.raises(ValueError, match="must not run eagerly"):
        find(model(run_eagerly=True), data())
    with pytest.raises(TypeError, match=r"dataset must be a tf\.data\.Dataset"):
        find(model(), rows())
    with pytest.raises(ValueError, match="dataset must hold a batch, got none"):
        find(model(), data().take(0))
    with pytest.raises(ValueError, match="highest must be above 1 "):
        find(model(), data(), lowest=1.0, highest=0.1)
    with pytest.raises(ValueError, match="smoothing must be below 1, got 1"):
        find(model(), data(), smoothing=1.0)
    with pytest.raises(ValueError, match="steps must be at least 50, got 20"):
        find(model(), data(), steps=20)
    with pytest.raises(ValueError, match=r"with the log \"loss\", got \['error'\]"):
        find(own(Lossless), data())
    with pytest.raises(ValueError, match="never reads its learning rate"):
        find(own(OwnOptimizer), data())


@pytest.mark.parametrize(
    "trial", [lambda data: kp.find_learning_rate(None, data), lambda data: kp.try_advice(3, data)]
)
def test_what_is_no_model_is_refused_in_a_line(trial):
    with pytest.raises(TypeError, match=r"^model must be a keras.Model, got (NoneType|int)\. Give"):
        trial(tf.data.Dataset.range(8).batch(4))
