"""XLA where it costs more than it gives: the trial, and a clock beside it, on both ways."""

import time

import keras
import pytest
import tensorflow as tf

import keras_perf as kp
from keras_perf.trials.training import which_changes

BATCH, STEPS, ROUNDS = 16, 6, 4

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


def times_as_long(jit_compile):
    """As the other way, by a clock of its own; in turn, and the quickest of each counts."""
    ways = {compiled: convolutions(jit_compile=compiled) for compiled in (True, False)}
    batches, quickest = data(), {}
    for model in ways.values():
        # Traced, and compiled.
        model.fit(batches, verbose=0, shuffle=False)
    for _ in range(ROUNDS):
        for compiled, model in ways.items():
            begin = time.perf_counter()
            model.fit(batches, verbose=0, shuffle=False)
            took = time.perf_counter() - begin
            quickest[compiled] = min(took, quickest.get(compiled, took))
    return quickest[jit_compile] / quickest[not jit_compile]


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
    tried = kp.try_advice(convolutions(jit_compile=jit_compile), data(), budget_s=60.0)
    [found] = [each for each in tried.trials.changes if each.id == change]
    ratio = times_as_long(jit_compile)
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
