"""A callback that makes the train function anew, as those do that unfreeze layers."""

from __future__ import annotations

import keras
import numpy as np
import pytest
from programs import Diary, dataset, model, needs_gap_times

import keras_perf as kp
from keras_perf.records.run.times.outlier import Cause

STEPS, EPOCHS = 60, 3


class Unfreezes(keras.callbacks.Callback):
    """Trains with the first layer in every other epoch only."""

    def on_epoch_begin(self, epoch, logs=None):
        self.model.layers[0].trainable = epoch % 2 == 0
        if epoch:
            self.model.make_train_function(force=True)


class UnfreezesWithin(keras.callbacks.Callback):
    """The same within an epoch."""

    def on_train_batch_end(self, batch, logs=None):
        if batch == STEPS // 2:
            self.model.layers[0].trainable ^= True
            self.model.make_train_function(force=True)


def trained(callbacks, **arguments):
    network = model(**arguments)
    network.fit(dataset(STEPS), epochs=EPOCHS, verbose=0, shuffle=False, callbacks=callbacks)
    return network


@pytest.mark.fault(1, "a callback that makes the train function anew")
@pytest.mark.parametrize("unfreezes", [Unfreezes, UnfreezesWithin])
def test_training_is_what_it_is_without_us(unfreezes, tmp_path):
    ours = kp.perf_callbacks(
        tmp_path, profiler=False, gpu=False, steps_per_execution={"apply": True}
    )
    observed, plain = trained([*ours, unfreezes()]), trained([unfreezes()])
    assert int(observed.optimizer.iterations.numpy()) == STEPS * EPOCHS
    for ours_, theirs in zip(observed.get_weights(), plain.get_weights(), strict=True):
        assert np.array_equal(ours_, theirs)


@pytest.mark.parametrize("unfreezes", [Unfreezes, UnfreezesWithin])
def test_every_step_goes_on_being_observed(unfreezes, tmp_path):
    diary = Diary()
    ours = kp.perf_callbacks(tmp_path, profiler=False, gpu=False, steps_per_execution=False)
    trained([*ours, unfreezes(), diary])
    context = kp.diagnose(tmp_path).summary.facts.to_json()
    assert context["last_step"] == STEPS * EPOCHS
    assert context["function_replacements"] == (2 if unfreezes is Unfreezes else 3)
    assert [entry for entry, _ in diary.entries].count("end") == STEPS * EPOCHS


@needs_gap_times
def test_the_new_functions_trace_is_a_retrace(tmp_path):
    trained([*kp.perf_callbacks(tmp_path, profiler=False, gpu=False), UnfreezesWithin()])
    found = kp.diagnose(tmp_path)
    assert found.breakdown["compile"] > 0
    assert Cause.RETRACE in {event.cause for event in found.events}
    [advice] = [each for each in found.recommendations if each.id == "stable-shapes"]
    assert f"a callback rebuilt the train function {EPOCHS} times" in advice.reason


@pytest.mark.usefixtures("tracing_is_cheap")
def test_no_longer_execution_is_run_after_it(told, tmp_path):
    recommender = kp.StepsPerExecutionRecommender(tmp_path, apply=True)
    trained([kp.StepGapDetector(tmp_path), recommender, Unfreezes()])
    assert {e.steps for e in told if e.first_step < STEPS} > {1}
    assert {e.steps for e in told if e.first_step >= STEPS} == {1}


def test_the_model_keeps_the_function_that_was_made_last(tmp_path):
    made = []

    class Notes(Unfreezes):
        def on_epoch_begin(self, epoch, logs=None):
            super().on_epoch_begin(epoch, logs)
            made.append(self.model.train_function)

    network = trained([kp.StepGapDetector(tmp_path), Notes()])
    assert network.train_function is made[-1]


class PutsBack(keras.callbacks.Callback):
    """Keeps the train function that it finds, and puts it back when training ends."""

    def on_train_begin(self, logs=None):
        self.kept = [self.model.train_function]

    def on_train_batch_begin(self, batch, logs=None):
        self.kept.append(self.model.train_function)

    def on_train_batch_end(self, batch, logs=None):
        self.kept.append(self.model.train_function)

    def on_train_end(self, logs=None):
        self.model.train_function = self.kept[-1]


@pytest.mark.fault(1, "a callback that keeps `model.train_function` and puts it back")
@pytest.mark.parametrize("first", [True, False])
def test_no_hook_finds_anything_of_ours_on_the_model(first, tmp_path):
    ours = kp.perf_callbacks(tmp_path, profiler=False, gpu=False)
    puts_back = PutsBack()
    network = trained([puts_back, *ours] if first else [*ours, puts_back])
    assert len(puts_back.kept) == 2 * STEPS * EPOCHS + 1
    assert {each.__module__ for each in puts_back.kept} == {network.train_function.__module__}
    assert network.train_function.__module__.startswith("keras.")
    assert kp.diagnose(tmp_path).summary.steps > 0
