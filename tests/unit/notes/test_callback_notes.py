"""What is said where callbacks take the time and nothing is advised on them."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hand_built import between_epochs, diagnosed, situation

from keras_perf.advise.notes.callbacks import call_notes, callback_notes
from keras_perf.advise.notes.nothing_advised import nothing_advised_notes
from keras_perf.advise.rules.between_epochs.epoch_hooks import amortize_epoch_callback
from keras_perf.advise.rules.host import amortize_callback
from keras_perf.advise.situation import situation_of
from keras_perf.advise.verdict.verdict import verdict_of

EPOCH, BATCH = "RareEpochHook.on_epoch_end", "RareHook.on_train_batch_end"
SOURCE = {"file": "train.py", "line": 12, "name": "on_epoch_end"}


def rare_in_epochs(working: float):
    """A hook of 200 ms in some of ten epochs of 60 steps of 0.12 ms."""
    hook = between_epochs(callbacks={EPOCH: working * 200 / 600}, steps=600)
    context = hook | {"epochs": 10, "epoch_steps": 60, "hook_sources": {EPOCH: SOURCE}}
    context["hooks"] = {EPOCH: {"times": 10, "working": working}}
    return situation(600, input_wait=0.0, compute=0.12, context=context)


def test_a_hook_that_works_in_few_epochs_is_advised_no_more_and_the_reason_is_told():
    found = rare_in_epochs(2.0)
    assert verdict_of(found)[0] == "callback-bound"
    assert amortize_epoch_callback(found) is None
    advised = ["raise-steps-per-execution"]
    [said] = nothing_advised_notes(diagnosed(found, "callback-bound", advised))
    assert said.startswith(
        f"{EPOCH} (train.py, line 12) did nearly all of its work in 2 of 10 epochs: if it were "
        "rarer still, a training of this length would hardly reach it"
    )


def test_a_batch_hook_that_works_rarely_is_told_by_its_calls():
    context = {"hooks": {BATCH: {"times": 150, "working": 1.0}}, "epoch_steps": 150}
    found = situation(
        input_wait=0.0, compute=1.0, callbacks=2.0, owners={BATCH: 2.0}, context=context
    )
    assert amortize_callback(found) is None
    [said] = callback_notes(found)
    assert said.startswith(f"{BATCH} did nearly all of its work in 1 of 150 calls: ")


def test_nothing_is_said_beside_advice_or_of_a_hook_that_works_each_time():
    found = rare_in_epochs(2.0)
    for verdict, advised in [("callback-bound", "amortize-callback"), ("compute-bound", "cache")]:
        assert not list(nothing_advised_notes(diagnosed(found, verdict, [advised])))
    assert not list(nothing_advised_notes(diagnosed(found, "callback-bound", ["tune-gc"])))
    assert not list(callback_notes(rare_in_epochs(10.0)))
    assert not list(callback_notes(situation(compute=1.0)))


def calling(owner: str, name: str, spent_s: float):
    """Beside 1000 steps of 10 ms, 2 of them a batch hook's, and 10 ms of an epoch hook for each."""
    calls = {"calls": 4, "spent_s": spent_s}
    found = {owner: calls | ({"executions": 4} if name == "predicts" else {})}
    context = between_epochs(callbacks={EPOCH: 10.0}) | {
        name: found,
        "hook_sources": {EPOCH: SOURCE},
    }
    return situation(compute=8.0, callbacks=2.0, owners={BATCH: 2.0}, context=context)


def told_of(found, advised):
    return list(call_notes(diagnosed(found, "callback-bound", advised)))


def test_a_hook_that_evaluates_is_named_with_its_line_and_its_share():
    [said] = told_of(calling(EPOCH, "evaluates", 8.0), ["amortize-callback"])
    assert said == (
        f"{EPOCH} (train.py, line 12) called model.evaluate 4 times, for 2,000 ms on average: 80% "
        "of what this hook takes. Call it more rarely, or on fewer examples. "
        "model.evaluate(..., callbacks=[keras_perf.StepGapDetector(DIR)]), with a directory of "
        "its own, splits it into waiting and computing."
    )


def test_a_hook_by_which_others_go_is_not_told_to_call_it_otherwise():
    found = calling(EPOCH, "evaluates", 8.0)
    settings = replace(found.facts.settings, steering_hooks={EPOCH: "logs"})
    facts = replace(found.facts, settings=settings)
    [said] = told_of(situation_of(replace(found.summary, facts=facts)), [])
    assert "fewer examples" not in said
    assert said.endswith("splits it into waiting and computing.")


def test_a_batch_hook_that_predicts_is_named_unless_advice_tells_it():
    [said] = told_of(calling(BATCH, "predicts", 2.0), [])
    assert said.startswith(f"{BATCH} called model.predict 4 times, for 500 ms on average: 100% of")
    assert not (told_of(calling(BATCH, "predicts", 2.0), ["call-the-model"]))


@pytest.mark.parametrize(
    ("executions", "examples", "of_arrays", "told"),
    [
        (
            4000,
            32_000,
            True,
            "It computes 8 examples at a time, 1,000 times in each call",
        ),
        (4000, 4000 * 256, True, ""),
        (36, 36 * 8, True, ""),
        (4000, 32_000, False, ""),
        (4000, None, True, ""),
    ],
)
def test_a_prediction_of_many_small_batches_is_told_to_take_larger_ones(
    executions, examples, of_arrays, told
):
    calls = {"calls": 5, "spent_s": 8.0, "timed": 4, "timed_s": 6.4, "inside_s": 6.0}
    calls |= {"executions": executions, "of_arrays": of_arrays}
    calls |= {} if examples is None else {"examples": examples}
    context = between_epochs(callbacks={EPOCH: 10.0}) | {"predicts": {EPOCH: calls}}
    [said] = told_of(situation(compute=8.0, context=context), [])
    assert ("examples at a time" in said) is bool(told)
    assert told in said


@pytest.mark.parametrize(("owner", "spent_s"), [(EPOCH, 0.9), ("Hook.on_train_begin", 8.0)])
def test_nothing_is_said_of_calls_that_take_little_or_lie_elsewhere(owner, spent_s):
    assert not (told_of(calling(owner, "evaluates", spent_s), []))
