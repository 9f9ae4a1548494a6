"""XLA where it costs more than it gives: the trial, and a clock beside it, on both ways."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from bottlenecks import StepTimes

import keras_perf as kp
from keras_perf.trials.training import which_changes

BATCH, STEPS, ROUNDS = 16, 6, 3

CLEARLY = 1.5
"""Only where one way takes so many times as long as the other does a clock alone say which."""

FOUND, NO_MORE = 0.6, 1.7
"""Of what the clock says, the trial's bounds must reach into this range."""


def convolutions(*, jit_compile):
    """For a CPU XLA compiles convolutions to code that is slower than TensorFlow's own."""
    keras.utils.set_random_seed(1)
    layers = keras.layers
    model = keras.Sequential(
        [
            layers.Input((32, 32, 16)),
            layers.Conv2D(32, 3, padding="same"),
            layers.Conv2D(32, 3, padding="same"),
            layers.GlobalAveragePooling2D(),
            layers.Dense(1),
        ]
    )
    model.compile("sgd", "mse", jit_compile=jit_compile)
    return model


def data():
    images = tf.random.stateless_normal((BATCH * STEPS, 32, 32, 16), (1, 2))
    return tf.data.Dataset.from_tensor_slices((images, images[:, 0, 0, :1])).batch(BATCH).cache()


class Both:
    """One training with XLA, and one without, by a clock of the test's own."""

    def __init__(self):
        self.ways = {compiled: convolutions(jit_compile=compiled) for compiled in (True, False)}
        self.batches, self.took_ms = data(), {True: [], False: []}
        for model in self.ways.values():
            # Traced, and compiled.
            model.fit(self.batches, verbose=0, shuffle=False)

    def take_times(self):
        """Of their steps, in turn."""
        for _ in range(ROUNDS):
            for compiled, model in self.ways.items():
                times = StepTimes()
                model.fit(self.batches, verbose=0, shuffle=False, callbacks=[times])
                self.took_ms[compiled] += times.took_ms

    def times_as_long(self, compiled):
        """As the other way; the median of each, as a trial takes it."""
        return np.median(self.took_ms[compiled]) / np.median(self.took_ms[not compiled])


@pytest.mark.whole
@pytest.mark.timing
@pytest.mark.parametrize("jit_compile", [True, False])
def test_what_xla_costs_or_gives_is_found_as_a_clock_finds_it(jit_compile, monkeypatch):
    change = "disable-xla" if jit_compile else "enable-xla"
    of_training = which_changes.of_training
    monkeypatch.setattr(which_changes, "possible_changes", lambda *_, **__: ([], []))
    monkeypatch.setattr(
        which_changes,
        "of_training",
        lambda *given: [c for c in of_training(*given) if c.id == change],
    )
    both = Both()
    # Before the trial and after it: others may begin or end meanwhile.
    both.take_times()
    tried = kp.try_advice(convolutions(jit_compile=jit_compile), data(), budget_s=60.0)
    [found] = [each for each in tried.trials.changes if each.id == change]
    both.take_times()
    ratio = both.times_as_long(jit_compile)
    told = f"{ratio} by the clock\n{tried}"
    assert found.high >= FOUND * ratio, told
    assert found.low <= NO_MORE * ratio, told
    advised = {each.id for each in tried.changes}
    if ratio > CLEARLY:
        assert change in advised, told
        assert found.low > 1, told
    if ratio < 1 / CLEARLY:
        assert change not in advised, told
        assert found.gain < 1, told
