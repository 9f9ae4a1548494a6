"""Batch hooks that read the model while training on JAX goes on."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hand_built import assert_predicts, diagnosed, situation, summary

from keras_perf.advise.notes.hooks_on_jax import hook_notes
from keras_perf.advise.rules.all_rules import known_of
from keras_perf.advise.rules.best_first import recommendations
from keras_perf.advise.rules.model_in_hooks import model_at_epoch_end

READS = "Reads.on_train_batch_end"
BEGIN = "Reads.on_train_batch_begin"


def reading(*hooks, each_ms=1.0, times=200, parts=None, **context):
    """Steps of 10 ms, of which these hooks read the model in so many."""
    spent = {
        "state_reads": dict.fromkeys(hooks, times),
        "state_reads_s": dict.fromkeys(hooks, each_ms * times / 1e3),
        "waiting_hooks": list(hooks),
        "first_step": 0,
        "last_step": 200,
    }
    parts = parts or {"compute": 6.0, "callbacks": 2.0, "other_host": 2.0}
    return situation(context=spent | context, **parts)


def test_handing_the_state_back_and_collecting_it_goes():
    advice = model_at_epoch_end(reading(READS))
    # Of 1 ms in the hook, 0 to 2 more are collecting.
    assert_predicts(advice, 9.0, 8.2, 7.0)
    assert f"{READS} read self.model while an epoch ran" in advice.reason
    assert "1 ms of a step of 10 ms" in advice.reason
    assert advice.action == (
        "class Reads(keras.callbacks.Callback):\n"
        "    def on_train_batch_end(self, batch, logs=None):\n"
        "        ...  # without self.model\n\n"
        "    def on_epoch_end(self, epoch, logs=None):\n"
        "        ...  # what reads self.model"
    )


def test_no_more_goes_than_is_there():
    parts = {"compute": 9.0, "callbacks": 0.8, "other_host": 0.2}
    assert_predicts(model_at_epoch_end(reading(READS, parts=parts)), 9.0, 9.0, 9.0)


def test_where_nothing_waits_the_device_may_have_computed_meanwhile():
    assert_predicts(model_at_epoch_end(reading(BEGIN, waiting_hooks=[])), 10.0, 9.0, 7.0)
    # Then it is a part of computing, too.
    parts = {"compute": 9.8, "callbacks": 0.2}
    hidden = model_at_epoch_end(reading(BEGIN, parts=parts, waiting_hooks=[]))
    assert_predicts(hidden, 10.0, 9.0, 7.0)


@pytest.mark.parametrize(
    "found",
    [
        reading(),
        reading("Reads.on_test_batch_end"),
        reading(READS, times=15),
        reading(READS, state_reads_s={}),
        reading(READS, steering_hooks={READS: "learning_rate"}),
    ],
    ids=["no hook", "work in validation", "seldom", "not timed", "sets the rate"],
)
def test_nothing_is_advised_of_hooks_that(found):
    assert model_at_epoch_end(found) is None


def test_code_of_keras_s_own_and_of_two_hooks():
    advice = model_at_epoch_end(reading("ModelCheckpoint.on_train_batch_end", READS, BEGIN))
    saves, mine = advice.action.split("\n\n", 1)
    assert saves == 'keras.callbacks.ModelCheckpoint(..., save_freq="epoch")'
    assert mine.count("without self.model") == 2
    compile(advice.action, "action", "exec")
    of_a_lambda = model_at_epoch_end(reading("LambdaCallback.on_train_batch_end"))
    assert of_a_lambda.action == "keras.callbacks.LambdaCallback(on_epoch_end=your_function)"


@pytest.mark.parametrize(
    ("owned_ms", "each_ms", "advised"),
    [
        (1.2, 1.0, "model-at-epoch-end"),
        (5.0, 1.0, "amortize-callback"),
        # The other gains too little to be said.
        (0.5, 0.1, "amortize-callback"),
    ],
)
def test_a_hook_is_told_one_of_both(owned_ms, each_ms, advised):
    parts = {"compute": 3.0, "callbacks": 5.0, "other_host": 2.0}
    found = reading(READS, each_ms=each_ms, parts=parts)
    found = replace(found, summary=replace(found.summary, owners={READS: owned_ms}))
    both = {"model-at-epoch-end", "amortize-callback"}
    assert both & {each.id for each in recommendations(found)} == {advised}


def test_it_was_followed_where_none_of_them_reads_the_model():
    advice, followed = model_at_epoch_end(reading(READS)), known_of("model-at-epoch-end").followed
    assert followed(reading().facts, advice)
    assert not followed(reading(READS).facts, advice)


def test_with_the_advice_the_note_has_nothing_to_add():
    run = diagnosed(reading(READS))
    assert any("read self.model" in note for note in hook_notes(run))
    told = hook_notes(replace(run, advised={"model-at-epoch-end"}))
    assert not any("read self.model" in note for note in told)
    assert not list(hook_notes(diagnosed(summary(compute=10.0))))
