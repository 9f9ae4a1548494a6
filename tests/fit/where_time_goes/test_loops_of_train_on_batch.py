"""Somebody's own loop of `train_on_batch` that calls our callbacks."""

import keras
import numpy as np
import programs

import keras_perf as kp

STEPS = 30


def train(model, callbacks):
    data = np.random.default_rng(0).normal(size=(STEPS, 8, 8)).astype("float32")
    for number in range(2):
        callbacks.on_epoch_begin(number)
        for step, x in enumerate(data):
            callbacks.on_train_batch_begin(step)
            logs = model.train_on_batch(x, x[:, :1], return_dict=True)
            callbacks.on_train_batch_end(step, logs)
        callbacks.on_epoch_end(number)


def test_it_is_said_once_that_its_steps_are_not_observed(tmp_path, caplog):
    model, plain = programs.model(), programs.model()
    plain.set_weights(model.get_weights())
    observing = kp.perf_callbacks(tmp_path)
    callbacks = keras.callbacks.CallbackList(observing, model=model, epochs=2, steps=STEPS)
    callbacks.on_train_begin()
    train(model, callbacks)
    callbacks.on_train_end()
    [said] = [each for each in caplog.messages if "keras_perf" in each]
    assert said.startswith("keras_perf: each step has an iterator of its own, as in a loop of")
    found = kp.diagnose(tmp_path)
    assert found.verdict == "inconclusive"
    assert "no step was measured: each had an iterator of its own" in str(found)
    assert found.summary.facts.settings.driver == "train_on_batch"

    train(plain, keras.callbacks.CallbackList(model=plain, epochs=2, steps=STEPS))
    for ours, theirs in zip(model.get_weights(), plain.get_weights(), strict=True):
        np.testing.assert_array_equal(ours, theirs)
