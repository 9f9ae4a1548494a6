"""A callback that predicts a little at a time: when it is told, and what that would buy."""

from __future__ import annotations

from typing import Any

import pytest
from hand_built import assert_predicts, between_epochs, situation

from keras_perf.advise.rules.best_first import recommendations
from keras_perf.advise.rules.between_epochs.predict_calls import call_the_model

EPOCH, BATCH = "Shows.on_epoch_end", "Shows.on_train_batch_end"

TINY = {
    "calls": 100,
    "spent_s": 5.2,
    "executions": 99,
    "timed": 99,
    "timed_s": 4.95,
    "inside_s": 0.099,
    "examples": 99.0,
}
"""Calls of 50 ms, of which 1 ms is the model's, and the first, which traced."""


def advice(owner: str = EPOCH, **changed: Any):
    """Beside 1000 steps of 10 ms, with 10 ms of hooks between epochs for each."""
    between = between_epochs(callbacks={EPOCH: 10.0})
    context = between | {"predicts": {owner: TINY | changed}}
    return call_the_model(situation(compute=8.0, callbacks=2.0, context=context))


def test_predict_at_an_epoch_s_end_costs_the_training():
    found = advice()
    # 100 calls × 49 ms over 1000 steps are 4.9 ms of the 20; a tenth of it may stay.
    assert_predicts(found, 20 - 4.9 * 0.8, 20 - 4.9 * 0.9, 20 - 4.9, before=20.0)
    assert (found.id, found.of) == ("call-the-model", "whole")
    assert found.reason == (
        "Shows.on_epoch_end called model.predict 100 times, with 1 example a call. A call takes "
        "50 ms, of which the model's own work is 1 ms: the rest makes and ends an input pipeline."
    )
    assert "training=False" in found.action


def test_a_hook_that_predicts_is_named_with_its_line():
    source = {"file": "train.py", "line": 12, "name": "on_epoch_end"}
    context = between_epochs(callbacks={EPOCH: 10.0})
    context |= {"predicts": {EPOCH: TINY}, "hook_sources": {EPOCH: source}}
    found = call_the_model(situation(compute=8.0, callbacks=2.0, context=context))
    assert found.reason.startswith(f"{EPOCH} (train.py, line 12) called model.predict 100 times")


def test_of_a_dataset_the_making_of_batches_would_stay():
    assert advice(of_arrays=False) is None


def test_predict_after_batches_costs_the_steps():
    found = advice(BATCH, calls=30)
    gone = 0.03 * 49
    assert_predicts(found, 10 - gone * 0.8, 10 - gone * 0.9, 10 - gone)
    assert found.of == "step"


@pytest.mark.parametrize(
    "changed",
    [
        {"inside_s": 3.0},
        {"executions": 990},
        {"timed": 4, "timed_s": 0.2, "inside_s": 0.004, "executions": 4},
        {"calls": 10},
    ],
    ids=["the model itself is slow", "many batches a call", "few calls", "little of the training"],
)
def test_nothing_is_advised_where(changed):
    assert advice(**changed) is None


def test_nothing_is_advised_where_nobody_predicts():
    assert call_the_model(situation(compute=10.0)) is None


@pytest.mark.parametrize("owner", [EPOCH, BATCH])
def test_a_hook_that_is_to_call_the_model_is_not_told_to_work_more_rarely_too(owner):
    """What is left of it after one of them would be counted as gone twice."""
    hooks = {"callbacks": 2.0, "owners": {BATCH: 2.0}}
    between = between_epochs(callbacks={EPOCH: 10.0}) | {"epochs": 20}
    calls = TINY | {"calls": 30} if owner == BATCH else TINY

    def of_the_hook(**told):
        found = recommendations(situation(compute=8.0, **hooks, context=between | told))
        return [each.id for each in found if each.evidence.get("owner") == owner]

    assert of_the_hook() == ["amortize-callback"]
    assert of_the_hook(predicts={owner: calls}) == ["call-the-model"]


def test_the_costliest_hook_is_told_first():
    less = TINY | {"calls": 60}
    between = between_epochs(callbacks={EPOCH: 10.0, "Other.on_epoch_end": 5.0})
    context = between | {"predicts": {"Other.on_epoch_end": less, EPOCH: TINY}}
    found = call_the_model(situation(compute=10.0, context=context))
    assert found is not None
    assert found.evidence["owner"] == EPOCH
