"""What was tried stands in place of what would be predicted."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hand_built import diagnosed, situation, stage, summary

from keras_perf.advise.notes.trials import trial_notes
from keras_perf.advise.recommendation import Recommendation
from keras_perf.advise.rules.best_first import combined_speedup, recommendations
from keras_perf.advise.verdict.verdict import verdict_of
from keras_perf.advise.what_is_left import what_is_left
from keras_perf.report.compared.comparison import comparison_of
from keras_perf.report.diagnosis import diagnosis_of

STAGES = [stage("TensorSlice", 0.1), stage("Map", 8.0), stage("Batch", 0.2)]


def tried(id: str, gain: float, low: float, high: float, **other: Any) -> dict[str, Any]:
    before, after = 10.0, 10.0 / gain
    return {
        "id": id,
        "gain": gain,
        "low": low,
        "high": high,
        "before_ms": before,
        "after_ms": after,
        "where": "map(f)",
        "code": f"do {id}",
        **other,
    }


def with_trials(changes: list[dict[str, Any]], together: list[str] = (), **known: Any) -> Any:
    kept = [each for each in changes if each["id"] in together]
    trials = {"step_ms": 10.0, "changes": changes, "together": kept, **known}
    context = {"advice_trials": trials}
    return situation(input_wait=8.0, compute=2.0, stages=STAGES, context=context)


def advised(case: Any) -> dict[str, Any]:
    return {each.id: each for each in recommendations(case)}


def test_the_gain_that_was_measured_stands_in_place_of_the_model_s():
    case = with_trials([tried("parallel-map", 1.7, 1.6, 1.8)], ["parallel-map"])
    advice = advised(case)["parallel-map"]
    assert (advice.predicted_speedup, advice.low, advice.high) == (1.7, 1.6, 1.8)
    assert advice.tried
    assert advice.evidence["predicted_by_model"] > 1.0


def test_what_is_left_of_a_step_on_trial_is_told_in_its_own_milliseconds():
    # Twice as long on trial as the ten milliseconds of the training itself.
    change = tried("parallel-map", 2.0, 1.9, 2.1)
    case = with_trials([change], ["parallel-map"], step_ms=20.0, ready_ms=4.0, input_costs_ms=16.0)
    left = what_is_left(case, "input-bound", recommendations(case))
    # 20 / 2 - 4
    assert left.startswith("With parallel-map 6 ms of that remain, hence its 2.00×")


def test_what_was_tried_in_vain_is_not_advised():
    assert "parallel-map" in advised(with_trials([]))
    case = with_trials([tried("parallel-map", 1.0, 0.9, 1.1)])
    assert "parallel-map" not in advised(case)


def test_what_gains_nothing_on_top_is_not_predicted_to_gain():
    left = {"id": "parallel-map", "where": "map(f)", "why": {"word": "not-on-top"}}
    assert "parallel-map" not in advised(with_trials([], not_tried=[left]))
    assert "parallel-map" in advised(with_trials([], not_tried=[left | {"why": "no time"}]))


@pytest.mark.parametrize("gain", [1.0, 1.05])
def test_what_gains_nothing_alone_is_advised_with_what_gains_on_top_of_it(gain):
    """The input takes as long as the step: the cache alone lets a step begin no earlier."""
    cache = tried("cache", gain, 0.9, 1.1)
    several = tried("raise-steps-per-execution", 1.8, 1.7, 1.9, after=["cache"], number=32)
    trials = {"step_ms": 10.0, "changes": [cache], "together": [cache, several]}
    trials |= {"total": tried("all", 1.75, 1.7, 1.8)}
    case = situation(input_wait=1.0, compute=9.0, stages=STAGES, context={"advice_trials": trials})
    found = recommendations(case)
    assert [each.id for each in found][:2] == ["cache", "raise-steps-per-execution"]
    assert "Alone it gains next to nothing, together with raise-steps-per-execution much." in (
        found[0].reason
    )
    assert found[0].low == 1.0
    assert found[1].speedup_after_others == pytest.approx(1.8, rel=0.1)
    assert combined_speedup(case, found) == (1.75, 1.7, 1.8)


def test_what_pays_is_advised_though_no_rule_thought_of_it():
    case = with_trials([tried("enable-xla", 1.4, 1.3, 1.5, costs="time")], ["enable-xla"])
    advice = advised(case)["enable-xla"]
    assert advice.action == "do enable-xla"
    assert "Its cost: time." in advice.reason


@pytest.mark.parametrize(
    ("id", "what"), [("disable-xla", "XLA"), ("full-precision", "half precision")]
)
def test_what_costs_more_than_it_gives_is_named(id, what):
    advice = advised(with_trials([tried(id, 2.0, 1.9, 2.1)], [id]))[id]
    told = f"a step took 10 ms with {what} and 5 ms without, so that it costs more than it gives."
    assert told in advice.reason
    assert (advice.predicted_speedup, advice.low, advice.high) == (2.0, 1.9, 2.1)


@pytest.mark.parametrize("id", ["disable-xla", "full-precision"])
def test_what_gives_more_than_it_costs_is_kept(id):
    assert id not in advised(with_trials([tried(id, 0.7, 0.6, 0.8)]))


def test_what_gains_nothing_on_top_of_what_was_put_together_waits_for_the_next_run():
    changes = [tried("cache", 4.0, 3.9, 4.1), tried("parallel-map", 1.8, 1.7, 1.9)]
    found = advised(with_trials(changes, ["cache"]))
    assert "cache" in found
    assert "parallel-map" not in found


@pytest.mark.parametrize(("ends_by_steps", "more"), [(True, 31), (False, 0)])
def test_whole_executions_that_make_epochs_longer_are_told_of(ends_by_steps, more):
    change = tried("raise-steps-per-execution", 2.0, 1.9, 2.1, number=32)
    known = {"epoch_steps": 97, "ends_by_steps": ends_by_steps}
    trials = {"step_ms": 10.0, "changes": [change], "together": [change]}
    of_the_rule = {"recommended": 16, "predicted_speedup": 1.5, "low": 1.4, "high": 1.6}
    of_the_rule |= {"applied": False, "evidence": {"in_graph_ms": 6.0}}
    for number in (16, 32):
        rules = {"steps_per_execution_trial": of_the_rule | {"recommended": number}}
        context = {"advice_trials": trials, **known, **rules}
        case = situation(compute=6.0, dispatch=4.0, stages=STAGES, context=context)
        reason = advised(case)["raise-steps-per-execution"].reason
        # What the rule says of an epoch's length is of its own number.
        assert ("Measured during training" in reason) == (number == 32)
        assert (f"each epoch gets {more} steps more" in reason) == (bool(more) and number == 16)


def test_what_pays_on_top_of_others_only_says_so():
    both = [tried("cache", 4.0, 3.9, 4.1), tried("enable-xla", 1.0, 0.9, 1.1)]
    case = with_trials(both, ["cache"])
    on_top = tried("enable-xla", 1.5, 1.4, 1.6, after=["cache"])
    trials = case.facts.to_json()["advice_trials"]
    trials["together"].append(on_top)
    context = {"advice_trials": trials}
    case = situation(input_wait=8.0, compute=2.0, stages=STAGES, context=context)
    advice = advised(case)["enable-xla"]
    assert advice.predicted_speedup == 1.0
    assert advice.speedup_after_others == pytest.approx(1.5)


def test_input_that_is_as_fast_as_a_ready_batch_needs_no_other_change():
    case = with_trials([tried("cache", 4.0, 3.9, 4.1)], ["cache"], ready_ms=2.4)
    assert set(advised(case)) & {"cache", "parallel-map", "prefetch"} == {"cache"}


def test_the_best_comes_first_by_what_was_measured():
    changes = [tried("cache", 1.2, 1.1, 1.3), tried("parallel-map", 3.0, 2.9, 3.1)]
    found = recommendations(with_trials(changes, ["cache", "parallel-map"]))
    assert [each.id for each in found if each.tried] == ["parallel-map", "cache"]


def test_all_together_is_what_all_together_gained():
    both = [tried("cache", 2.0, 1.9, 2.1), tried("parallel-map", 3.0, 2.9, 3.1)]
    total = tried("all", 3.5, 3.3, 3.7)
    case = with_trials(both, ["cache", "parallel-map"], total=total)
    advice = tuple(each for each in recommendations(case) if each.tried)
    assert combined_speedup(case, advice) == (3.5, 3.3, 3.7)


def test_a_setting_of_the_environment_is_advised_and_in_no_total():
    changes = [
        tried("cache", 2.0, 1.9, 2.1),
        tried("intra-op-threads", 1.5, 1.4, 1.6, where="environment"),
    ]
    case = with_trials(changes, ["cache"], total=tried("cache", 2.0, 1.9, 2.1))
    advice = tuple(each for each in recommendations(case) if each.tried)
    assert [each.id for each in advice] == ["cache", "intra-op-threads"]
    assert combined_speedup(case, advice) == (2.0, 1.9, 2.1)
    assert [each.alone for each in advice] == [False, True]
    assert "It was measured by itself, and is in no total." in advice[1].reason


def test_where_all_was_measured_by_itself_there_is_no_total():
    """A total of 1.00 stood above what was measured as 1.5 times as fast."""
    changes = [tried("intra-op-threads", 1.5, 1.4, 1.6, where="environment")]
    known = {"advice_trials": {"step_ms": 10.0, "changes": changes, "together": []}}
    found = diagnosis_of(summary(input_wait=0.0, compute=10.0, context=known))
    assert [each.id for each in found.recommendations] == ["intra-op-threads"]
    assert found.predicted_together == {}
    assert found.closing.startswith("Change it, train again")
    assert "measured one by one, and is in no total" in comparison_of(found, found).closing


def test_what_is_predicted_comes_on_top_of_what_was_measured_without_counting_a_gain_twice():
    """Steps on trial are made without pauses: computing gains nothing more by shorter ones."""
    known = {"step_ms": 16.0, "outside_ms": 6.0, "changes": [], "together": []}
    cached = tried("cache", 1.6, 1.5, 1.7, before_ms=16.0, after_ms=10.0)
    known |= {"changes": [cached], "together": [cached], "total": cached}
    slow = situation(
        input_wait=6.0,
        compute=4.0,
        callbacks=6.0,
        stages=STAGES,
        owners={"Slow": 6.0},
        context={"advice_trials": known},
    )
    advice = recommendations(slow)
    assert {"cache", "amortize-callback"} <= {each.id for each in advice}
    expected, _, _ = combined_speedup(slow, advice)
    left = slow.model.faster(1.6, by_input=True)
    without_callbacks = slow.model.step_ms / (left.step_ms - 6.0)
    assert 1.6 < expected <= without_callbacks


def test_behind_a_cache_callbacks_are_what_is_left_to_gain():
    """Also where a step with it took a little longer on trial than its rest takes in `fit`."""
    cached = tried("cache", 2.5, 2.3, 3.2, before_ms=28.0, after_ms=11.4)
    known = {"step_ms": 28.0, "ready_ms": 14.0, "changes": [cached], "together": [cached]}
    slow = situation(
        input_wait=25.0,
        compute=10.8,
        callbacks=4.7,
        stages=[stage("TensorSlice", 0.1), stage("Map", 20.0), stage("Prefetch", 0.4)],
        owners={"Slow": 4.7},
        context={"advice_trials": {**known, "total": cached}},
    )
    advice = recommendations(slow)
    assert "amortize-callback" in {each.id for each in advice}
    assert combined_speedup(slow, advice)[0] > 2.8


def test_a_step_on_a_ready_batch_settles_whether_input_is_the_bottleneck():
    bound, _ = verdict_of(with_trials([], ready_ms=2.5, one_shape=True))
    assert bound == "input-bound"
    case = with_trials([], ready_ms=9.9, one_shape=True)
    verdict, _ = verdict_of(case)
    assert verdict != "input-bound"
    assert recommendations(case) is not None


def test_no_advice_on_the_input_gains_more_than_a_ready_batch():
    case = with_trials([], ready_ms=8.0, one_shape=True)
    found = recommendations(case)
    assert {each.id for each in found} >= {"prefetch", "parallel-map"}
    for each in found:
        assert each.low <= each.predicted_speedup <= each.high
    assert max(each.predicted_speedup for each in found) == 1.25
    assert combined_speedup(case, found)[0] == pytest.approx(1.25)


def test_one_batch_of_many_shapes_settles_nothing():
    verdict, why = verdict_of(with_trials([], ready_ms=9.9, one_shape=False))
    assert verdict == "input-bound"
    assert "tried on" not in str(why)


def test_notes_tell_the_pair_and_what_was_tried_in_vain():
    case = with_trials(
        [tried("enable-xla", 0.8, 0.7, 0.9)],
        ready_ms=4.0,
        batch_ms=7.0,
        not_tried=[
            {"id": "cache", "where": "end", "why": "it draws random numbers"},
            {"id": "prefetch", "where": "end", "why": "it takes about 3 s"},
            {"id": "map-before-shuffle", "where": "map(f)", "why": "it draws random numbers"},
        ],
        stopped="an interrupt",
    )
    told = list(trial_notes(diagnosed(case)))
    assert told == [
        "Measured after training: a step 10 ms, 4 ms on a ready batch, a batch of the input alone "
        "7 ms.",
        "Tried on this training too, and not advised now: enable-xla (map(f)) 0.80× (0.70–0.90).",
        "Not tried: cache (end), map-before-shuffle (map(f)): it draws random numbers; prefetch "
        "(end): it takes about 3 s.",
        "The trials were ended by an interrupt before all was tried.",
    ]


@pytest.mark.parametrize("gain", [0.5, 1.0, 7.0])
def test_no_gain_is_below_one(gain):
    case = with_trials([tried("parallel-map", gain, gain, gain)], ["parallel-map"])
    assert all(each.predicted_speedup >= 1.0 for each in recommendations(case))


def of_a_cache(**length: int) -> Recommendation:
    case = with_trials([tried("cache", 4.0, 3.0, 5.0)], ["cache"])
    facts = replace(case.facts, length=replace(case.facts.length, **length))
    case = replace(case, summary=replace(case.summary, facts=facts))
    return advised(case)["cache"]


def test_a_cache_that_was_tried_is_told_with_the_pass_that_fills_it():
    # Of ten passes one takes 10 ms a step and nine a quarter: 32.5 in place of 100.
    told = of_a_cache(epochs=10)
    assert told.predicted_speedup == pytest.approx(100 / 32.5)
    assert (told.low, told.high) == pytest.approx((2.5, 100 / 28))
    assert told.reason.endswith(
        "The cache was full then; the gain above also counts the first of the 10 passes of this "
        "training, which fills it."
    )
    assert told.evidence["gain_when_filled"] == 4.0
    assert "fills" not in of_a_cache().reason
    other = advised(with_trials([tried("parallel-map", 1.7, 1.6, 1.8)], ["parallel-map"]))
    assert "passes" not in other["parallel-map"].reason
