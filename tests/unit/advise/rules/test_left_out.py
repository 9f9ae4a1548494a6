"""A callback that was left out on trial: what is advised of it gains no more than that did."""

from __future__ import annotations

from typing import Any

import pytest
from hand_built import between_epochs, diagnosed, situation

from keras_perf.advise.notes.trials import trial_notes
from keras_perf.advise.recommendation import Recommendation
from keras_perf.advise.rules.best_first import combined_speedup, recommendations
from keras_perf.advise.rules.tried.left_out import done_less_often


def left_out(gain: float, where: str = "Slow") -> dict[str, Any]:
    return {
        "id": "amortize-callback",
        "where": where,
        "gain": gain,
        "low": gain - 0.05,
        "high": gain + 0.05,
        "before_ms": 16.0,
        "after_ms": 16.0 / gain,
        "code": "without",
        "alters": "what it does is missing",
    }


def case(*changes: dict[str, Any], callbacks: float = 6.0, **facts: Any) -> Any:
    trials = {"step_ms": 16.0, "changes": changes}
    owners = {"Slow.on_train_batch_end": callbacks}
    context = {"advice_trials": trials, **facts}
    return situation(compute=10.0, callbacks=callbacks, owners=owners, context=context)


def advised(found: Any) -> dict[str, Any]:
    return {each.id: each for each in recommendations(found)}


def test_the_advice_is_the_rule_s_and_gains_no_more_than_leaving_it_out():
    predicted = advised(case())["amortize-callback"]
    advice = advised(case(left_out(1.3)))["amortize-callback"]
    assert predicted.predicted_speedup > 1.35
    assert advice.predicted_speedup == 1.3
    assert 1.0 < advice.low < predicted.low
    assert advice.action == predicted.action
    assert not advice.tried
    told = "Tried on this training: a step took 16 ms with Slow and 12.3 ms without."
    assert advice.reason == f"{predicted.reason} {told}"


def test_where_more_was_gained_the_prediction_stays():
    predicted = advised(case())["amortize-callback"]
    advice = advised(case(left_out(2.0)))["amortize-callback"]
    assert advice.predicted_speedup == predicted.predicted_speedup


def test_a_callback_that_cost_nothing_on_trial_is_left_alone():
    assert "amortize-callback" not in advised(case(left_out(1.0)))


@pytest.mark.parametrize("changes", [(left_out(1.0, "Other"),), (left_out(1.0), left_out(1.1))])
def test_another_callback_s_trial_says_nothing_of_it(changes):
    predicted = advised(case())["amortize-callback"]
    assert advised(case(*changes))["amortize-callback"] == predicted


@pytest.mark.parametrize("gain", [1.0, 1.3])
def test_of_a_hook_that_works_in_few_calls_the_prediction_stays(gain):
    hooks = {"Slow.on_train_batch_end": {"times": 400, "working": 100}}
    predicted = advised(case(hooks=hooks))["amortize-callback"]
    advice = advised(case(left_out(gain), hooks=hooks))["amortize-callback"]
    assert advice == predicted


def test_of_a_hook_of_uneven_length_in_every_call_the_trial_counts():
    hooks = {"Slow.on_train_batch_end": {"times": 400, "working": 300}}
    assert "amortize-callback" not in advised(case(left_out(1.0), hooks=hooks))


def test_what_no_rule_advises_is_told_and_not_advised():
    found = case(left_out(1.5), callbacks=0.0)
    assert "amortize-callback" not in advised(found)
    said = " ".join(trial_notes(diagnosed(found)))
    assert "not advised now: amortize-callback (Slow) 1.50×" in said


def test_what_the_same_callback_does_between_epochs_is_another_matter():
    advice = Recommendation(
        "amortize-callback", "", "", "", 1.5, 1.2, 1.8, {"owner": "Slow.on_epoch_end"}, of="whole"
    )
    trials = case(left_out(1.0)).facts.advice_trials
    assert [*done_less_often(advice, trials, {})] == [advice]


def test_the_batch_hook_s_advice_stays_beside_that_on_an_epoch_s_hook():
    found = case(left_out(2.0), **between_epochs(callbacks={"Saver.on_epoch_end": 2.0}))
    owners = {each.evidence["owner"] for each in recommendations(found)}
    assert owners == {"Slow.on_train_batch_end", "Saver.on_epoch_end"}


def test_all_together_gains_no_more_than_was_measured_either():
    found = case(left_out(1.3))
    advice = [each for each in recommendations(found) if each.id == "amortize-callback"]
    assert combined_speedup(found, advice)[0] == pytest.approx(1.3)
