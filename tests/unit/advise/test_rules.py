"""All rules together: their order, and what they buy together."""

from __future__ import annotations

import pickle
from typing import Any

import pytest
from contradictions import contradictions
from hand_built import FITS_IN_MEMORY, H200, awake, between_epochs, situation, stage, summary
from hypothesis import given, settings
from hypothesis import strategies as st

from keras_perf.advise.gains.prediction_bounds import uncertainty, widened
from keras_perf.advise.recommendation import Recommendation, cost_ms
from keras_perf.advise.rules.all_rules import RULES
from keras_perf.advise.rules.best_first import (
    WORTH_SAYING,
    _once_of_each_map,
    combined_speedup,
    recommendations,
)
from keras_perf.advise.rules.input.handing_over import HANDED_OVER_MS
from keras_perf.advise.verdict.verdict import verdict_of
from keras_perf.records.reasons.why_no_steps import WhyNoSteps
from keras_perf.report.diagnosis import diagnosis_of

PIPELINE = [
    stage("TensorSlice", 1.0),
    stage("Map", 6.0, bytes_per_batch=2.0**20),
    stage("Batch", 1.0, bytes_per_batch=2.0**20),
]

PREFETCHED = [*PIPELINE, stage("Prefetch", 0.0)]

TRIAL = {
    "recommended": 8,
    "predicted_speedup": 1.5,
    "low": 1.4,
    "high": 1.4,
    "reason": "a step costs 6 ms inside the graph, an execution 4 ms more.",
    "applied": False,
    "evidence": {"in_graph_ms": 6.0},
}


def ids(**arguments: Any) -> list[str]:
    return [advice.id for advice in recommendations(situation(**arguments))]


def test_the_best_comes_first():
    slow_input = {"input_wait": 8.0, "compute": 2.0, "stages": PIPELINE}
    assert ids(**slow_input, context=FITS_IN_MEMORY) == ["cache", "parallel-map", "prefetch"]


def test_what_buys_less_than_two_percent_is_left_out():
    assert ids(compute=9.8, garbage_ms=0.19) == []
    assert ids(compute=9.8, garbage_ms=0.21) == ["tune-gc"]


def test_advice_whose_interval_begins_where_nothing_is_gained_says_so():
    sure, unsure = (
        recommendations(situation(compute=10.0 - ms, garbage_ms=ms))[0] for ms in (6.0, 0.5)
    )
    assert unsure.low == 1.0 < sure.low
    assert unsure.reason.endswith(" It may also gain nothing: compare before and after.")
    assert "gain nothing" not in sure.reason


def test_a_fast_training_is_told_nothing():
    assert ids(input_wait=0.0, compute=10.0, stages=PREFETCHED) == []


def test_what_pays_only_after_another_change_is_said_with_what_it_then_buys():
    # The pipeline needs 10 ms a batch, of which the map 7.5; the callback hides behind it.
    found = recommendations(
        situation(
            input_wait=3.0,
            compute=3.0,
            callbacks=4.0,
            owners={"Mine.on_train_batch_end": 4.0},
            stages=[stage("Map", 7.5), stage("Batch", 2.5), stage("Prefetch", 0.0)],
        )
    )
    assert [advice.id for advice in found] == ["parallel-map", "amortize-callback"]
    first, second = found
    assert first.predicted_speedup == pytest.approx(10 / 7)
    assert first.speedup_after_others is None
    assert second.predicted_speedup == 1.0
    # From 7 ms to 2.5 + 7.5 / 8 of input: the rest, 3.2 ms, is shorter.
    assert second.speedup_after_others == pytest.approx(7 / (2.5 + 7.5 / 8))


HELD_BY_TWO: dict[str, Any] = {
    "input_wait": 0.1,
    "compute": 2.5,
    "callbacks": 4.0,
    "owners": {"Mine.on_train_batch_end": 4.0},
    "stages": [stage("Map", 6.1), stage("Batch", 0.5), stage("Prefetch", 0.0)],
}
"""The pipeline needs 6.6 ms a batch, and the rest of the step 6.5, of which a callback 4."""


def test_what_pays_only_together_is_advised_together():
    held = situation(**HELD_BY_TWO)
    first, second = recommendations(held)
    assert {first.id, second.id} == {"parallel-map", "amortize-callback"}
    assert first.predicted_speedup < WORTH_SAYING
    assert first.speedup_after_others is None
    assert f"Alone it gains next to nothing, together with {second.id} much." in first.reason
    assert "It may also gain nothing" not in first.reason
    assert second.speedup_after_others > 2
    verdict, because = verdict_of(held)
    assert verdict == "inconclusive"
    assert "6.6 ms for a batch, and meanwhile the rest of a step 6.5 ms, 4 ms of it cal" in str(
        because
    )
    assert "Without both, a step would be 2.64× as fast, 3.79× if that also speeds up" in str(
        because
    )
    # What the pipeline did while the callback ran takes an eighth of that from eight cores.
    assert combined_speedup(held, (first, second))[0] == pytest.approx(2.61, 0.02)


def test_what_pays_together_in_a_step_is_advised_beside_what_pays_between_epochs():
    found = situation(**HELD_BY_TWO, context=between_epochs(validation=0.8))
    advised = {each.id for each in recommendations(found)}
    assert {"parallel-map", "amortize-callback", "rarer-validation"} == advised


def test_a_batch_hook_and_an_epoch_s_hook_are_both_advised():
    arguments = {
        "input_wait": 3.0,
        "compute": 3.0,
        "callbacks": 4.0,
        "owners": {"Mine.on_train_batch_end": 4.0},
        "stages": [stage("Map", 7.5), stage("Batch", 2.5), stage("Prefetch", 0.0)],
        "context": between_epochs(callbacks={"Saver.on_epoch_end": 1.2}),
    }
    found = [
        (each.id, each.evidence.get("owner")) for each in recommendations(situation(**arguments))
    ]
    assert ("amortize-callback", "Saver.on_epoch_end") in found
    assert ("amortize-callback", "Mine.on_train_batch_end") in found


def test_stages_beside_each_other_do_not_add_up_where_the_buffer_is_full():
    arguments = {
        "input_wait": 0.1,
        "compute": 6.0,
        "callbacks": 3.9,
        "owners": {"Mine.on_train_batch_end": 3.9},
        "stages": [
            stage("ParallelInterleave", 32.0, parallelism=8),
            stage("ParallelMap", 32.0, parallelism=8),
            stage("ParallelBatch", 16.0, parallelism=8),
            stage("Prefetch", 0.0),
        ],
        "context": {"prefetch_fill": 1.0, "cpu_count": 16},
    }
    assert verdict_of(situation(**arguments))[0] == "callback-bound"
    assert [each.id for each in recommendations(situation(**arguments))] == ["amortize-callback"]


def test_what_gains_little_alone_and_no_more_together_is_not_advised():
    little = {"compute": 6.3, "callbacks": 0.2, "owners": {"Mine.on_train_batch_end": 0.2}}
    arguments = HELD_BY_TWO | little
    assert ids(**arguments) == []
    assert verdict_of(situation(**arguments))[0] == "compute-bound"


def test_what_is_said_to_pay_once_those_above_are_done_pays_that_much_then():
    found = situation(
        input_wait=5.5,
        compute=0.5,
        callbacks=4.0,
        owners={"Mine.on_train_batch_end": 4.0},
        stages=[stage("Map", 9.0, bytes_per_batch=2.0**20), stage("Batch", 1.0), PREFETCHED[-1]],
        context=FITS_IN_MEMORY,
    )
    *above, last = recommendations(found)
    assert {advice.id for advice in above} == {"parallel-map", "cache"}
    assert last.id == "amortize-callback"
    model = found.model
    for advice in above:
        model = advice.change(model, 0.0)
    gain = model.step_ms / last.change(model, 0.0).step_ms
    assert last.speedup_after_others == pytest.approx(gain)


STARTS_OFTEN: dict[str, Any] = {
    "input_wait": 6.0,
    "compute": 4.0,
    "process_cpu_pct": 100.0,
    "stages": [stage("Generator", 9.9), stage("Prefetch", 0.0)],
}


@pytest.mark.parametrize(("epoch_steps", "speaks"), [(1000, True), (10, False)])
def test_what_makes_the_whole_training_longer_is_not_advised(epoch_steps, speaks):
    """Two processes are started in 80 ms, in each epoch; they save 3.7 ms of a step."""
    context = {"input_kind": "PyDataset", "cpu_count": 2, "epoch_steps": epoch_steps}
    assert ids(**STARTS_OFTEN, context=context) == (["parallel-input"] if speaks else [])


def test_all_together_is_not_the_product_of_the_single_ones():
    found = situation(
        input_wait=8.0, compute=2.0, stages=PIPELINE, context={"cpu_count": 8, **FITS_IN_MEMORY}
    )
    advice = recommendations(found)
    expected, low, high = combined_speedup(found, advice)
    # cache: 0.02, 0.12, 1; the map over 8 cores; prefetch hides 90% of what is left; and the
    # CPU, which no longer pauses for so long, computes for 1.3 ms and fetches for 0.03.
    produce = 0.02 + 0.12 / 8 + 1.0
    assert expected == pytest.approx(10 / (1.33 + 0.1 * produce))
    assert low < expected < high


def test_nothing_together_buys_nothing():
    assert combined_speedup(situation(compute=10.0), ()) == (1.0, 1.0, 1.0)


# -- of the step, and of the whole training ----------------------------------------------

SLOW_CALLBACK = {
    "compute": 6.0,
    "callbacks": 4.0,
    "owners": {"Mine.on_train_batch_end": 4.0},
}


@pytest.mark.parametrize(
    ("validation", "order"),
    [
        (10.0, ["rarer-validation", "amortize-callback"]),
        (4.0, ["amortize-callback", "rarer-validation"]),
    ],
)
def test_what_saves_most_of_the_whole_training_comes_first(validation, order):
    # The callback saves 3.8 ms of a step of 10 ms, rarer validation four fifths of its time.
    found = situation(**SLOW_CALLBACK, context=between_epochs(validation))
    assert [advice.id for advice in recommendations(found)] == order


def test_a_small_part_of_a_short_step_comes_after_a_large_part_of_a_long_validation():
    # 2.03× of a step of 10 ms saves 5 ms, 1.9× of a training of 40 ms saves 24.
    slow_input = {"input_wait": 8.0, "compute": 2.0, "stages": PIPELINE}
    found = recommendations(situation(**slow_input, context=between_epochs(30.0)))
    assert found[0].id == "rarer-validation"


def test_together_they_are_told_of_the_step_and_of_the_whole_training():
    found = situation(**SLOW_CALLBACK, context=between_epochs(10.0))
    advice = recommendations(found)
    # A tenth, a twentieth, none of the callback is left; a fifth of validation, and a fifth
    # of that more or less.
    low, expected, high = map(sum, zip(awake(6.0, [3.6, 3.8, 4.0]), (0.4, 0.2, 0.0), strict=True))
    speedups = 10 / expected, 10 / low, 10 / high
    by = uncertainty(found)
    assert combined_speedup(found, advice) == pytest.approx(widened(speedups, by))
    # Fewer batches of it may be worth nothing, if a validation's length is not what takes time.
    of_all = 20 / (expected + 2.0), 20 / (low + 10.0), 20 / (high + 1.6)
    assert combined_speedup(found, advice, "whole") == pytest.approx(widened(of_all, by))


@pytest.mark.parametrize(("kept", "left"), [(True, []), (False, ["batch-before-map"])])
def test_what_a_cache_keeps_is_not_to_be_called_with_batches(kept, left):
    def advice(name, **evidence):
        return Recommendation(name, "", "", "", 2.0, 1.0, 3.0, evidence)

    cache = advice("cache", stages=["Map (2)"] if kept else ["Map (3)"])
    found = _once_of_each_map([advice("batch-before-map", stage="Map (2)"), cache])
    assert [each.id for each in found] == [*left, "cache"]


@pytest.mark.parametrize(
    ("steps", "told"), [(None, None), (4, "in one of 5 calls"), (32, "in each call")]
)
def test_code_that_counts_calls_says_how_many_once_each_is_of_more_steps(steps, told):
    trial = {"steps_per_execution_trial": TRIAL | {"recommended": steps}} if steps else {}
    owners = {"Mine.on_train_batch_end": 4.0}
    found = situation(
        compute=2.0, dispatch=4.0, callbacks=4.0, owners=owners, context={"epoch_steps": 20} | trial
    )
    codes = {each.id: each.action for each in recommendations(found)}
    assert ("raise-steps-per-execution" in codes) == bool(steps)
    line = f"\n# {told} once steps_per_execution is {steps}"
    assert codes["amortize-callback"].endswith(line) == bool(steps)


def test_advice_can_be_pickled_and_compared():
    [first, *_] = recommendations(situation(compute=4.0, callbacks=6.0, owners={"Mine.on_x": 6.0}))
    copied = pickle.loads(pickle.dumps(first))
    assert copied == first
    assert summary(compute=1.0) == summary(compute=1.0)


def test_without_anything_between_epochs_the_whole_training_is_its_steps():
    found = situation(**SLOW_CALLBACK)
    advice = recommendations(found)
    step = combined_speedup(found, advice)
    assert combined_speedup(found, advice, "whole") == step


def test_work_between_epochs_of_less_than_a_twentieth_of_the_training_is_left_out():
    assert ids(compute=10.0, input_wait=0.0, context=between_epochs(0.52)) == []
    assert ids(compute=10.0, input_wait=0.0, context=between_epochs(0.53)) == ["rarer-validation"]


def test_an_epoch_hook_and_a_batch_hook_are_two_recommendations():
    context = between_epochs(callbacks={"Mine.on_epoch_end": 4.0})
    found = recommendations(situation(**SLOW_CALLBACK, context=context))
    assert [(advice.id, advice.of) for advice in found] == [
        ("amortize-callback", "step"),
        ("amortize-callback", "whole"),
    ]


# -- one after the other -----------------------------------------------------------------


def assert_no_worse_together(arguments: dict[str, Any]) -> None:
    """For what each recommendation is of, all together are no worse than it is alone."""
    found = situation(**arguments)
    advice = recommendations(found)
    for one in advice:
        expected, low, high = combined_speedup(found, advice, one.of)
        assert 1.0 <= low <= expected <= high
        alone = cost_ms(found.model, one.of) / cost_ms(one.change(found.model, 0.0), one.of)
        assert expected >= alone * (1 - 1e-9)


@pytest.mark.parametrize(("cpu_pct", "left_ms"), [(0.0, 3.0), (100.0, 0.5)])
def test_pauses_of_the_collector_shrink_with_the_work_that_they_lie_in(cpu_pct, left_ms):
    found = situation(
        compute=10.0, garbage_ms=1.0, process_cpu_pct=cpu_pct, context={"run_eagerly": True}
    )
    advice = recommendations(found)
    assert [one.id for one in advice] == ["disable-run-eagerly", "tune-gc"]
    *_, high = combined_speedup(found, advice)
    # At best so much of the compute is left, and a tenth of that are pauses.
    assert high <= 10 / (0.9 * left_ms) * (1 + uncertainty(found)) * (1 + 1e-9)


def test_elements_that_overtake_each_other_are_no_slower_once_others_have_made_them_fast():
    # Prefetching hides nearly all of the input; the order cannot hold back what is hidden.
    assert_no_worse_together(
        {
            "input_wait": 8.0,
            "compute": 8.0,
            "stages": [stage("ParallelMap", 32.0, parallelism=8)],
            "sensors": {"host/cpu_pct": 50.0},
        }
    )


def test_a_pipeline_that_is_cached_whole_has_no_order_to_wait_for():
    source = stage("TensorSlice", 1.0)
    held_back = stage("ParallelMap", 16.0, parallelism=8, bytes_per_batch=2.0**20)
    assert_no_worse_together(
        {
            "input_wait": 8.0,
            "compute": 2.0,
            "stages": [source, held_back],
            "sensors": {"host/cpu_pct": 50.0},
            "context": FITS_IN_MEMORY,
        }
    )


def test_prefetching_buys_nothing_more_where_workers_run_ahead_already():
    found = situation(input_wait=9.5, compute=0.5, stages=[stage("Generator", 9.5)])
    advice = recommendations(found)
    assert advice[0].id == "parallel-input"
    # Eight cores share the 10 ms, handing over, and a quarter of computing on each of them.
    expected, _, _ = combined_speedup(found, advice)
    assert expected == pytest.approx(10 / ((10 + HANDED_OVER_MS + 0.25 * 4) / 8), rel=1e-4)


@st.composite
def situations(draw: st.DrawFn) -> dict[str, Any]:
    ms = st.floats(0, 50)
    parts = {part: draw(ms) for part in ("callbacks", "dispatch", "other_host", "compile")}
    parts["compute"] = draw(st.floats(0.1, 50))
    if draw(st.booleans()):
        parts["input_wait"] = draw(ms)
    kinds = st.sampled_from(["Map", "ParallelMap", "Batch", "Prefetch"])
    names = [draw(st.sampled_from(["TensorSlice", "TFRecord"])), *draw(st.lists(kinds))]
    stages = [
        stage(
            name,
            draw(st.floats(0.001, 50)),
            bytes_per_batch=100.0,
            parallelism=4 if name == "ParallelMap" else 1,
            elements_per_batch=draw(st.sampled_from([1.0, 32.0])),
        )
        for name in names
    ]
    low = draw(st.floats(1, 2))
    trial = TRIAL | {"recommended": draw(st.integers(1, 256)), "low": low, "high": low * 1.2}
    context = {
        **FITS_IN_MEMORY,
        **draw(st.sampled_from([{}, H200])),
        **between_epochs(draw(ms), {"Mine.on_epoch_end": draw(ms)}, draw(ms)),
        "cpu_count": draw(st.integers(1, 16)),
        "run_eagerly": draw(st.booleans()),
        "jit_compile": draw(st.booleans()),
        "dtype_policy": draw(st.sampled_from(["float32", "mixed_bfloat16"])),
        "layer_widths": [10],
        "input_kind": draw(st.sampled_from(["tf.data", "generator"])),
        "steps_per_execution_trial": draw(st.sampled_from([None, trial])),
    }
    owners = {"Mine.on_train_batch_end": parts["callbacks"]}
    return {
        "stages": stages,
        "context": context,
        "owners": owners,
        "sensors": draw(st.sampled_from([{}, {"host/cpu_pct": 60.0}, {"host/cpu_pct": 90.0}])),
        "garbage_ms": draw(st.floats(0, 0.1)),
        **parts,
    }


@given(arguments=situations())
@settings(max_examples=100, deadline=None)
def test_no_rule_predicts_a_loss_and_all_together_are_no_worse_than_each(arguments):
    found = situation(**arguments)
    for rule in RULES:
        advice = rule(found)
        if advice is not None:
            assert 1.0 <= advice.low <= advice.predicted_speedup <= advice.high
    assert_no_worse_together(arguments)
    best_first = recommendations(found)
    for place, one in enumerate(best_first):
        pays = max(one.predicted_speedup, one.speedup_after_others or 0.0) >= WORTH_SAYING
        beside = any(each.speedup_after_others for each in best_first[place + 1 :])
        assert pays or ("Alone it gains next to nothing" in one.reason and beside)


TOO_LONG = WhyNoSteps.LONG_STEPS.of(step_ms=23.0, limit_ms=20.0).to_json()


@st.composite
def all_kinds_of_situations(draw: st.DrawFn) -> dict[str, Any]:
    """The same of any input, with trials that were not made, and with parts that are unknown."""
    arguments, either = draw(situations()), st.booleans()
    kinds = [None, "tf.data", "arrays", "generator", "PyDataset", "Grain", "DataLoader"]
    context = arguments["context"]
    context |= {"input_kind": draw(st.sampled_from(kinds)), "input_processes": draw(either)}
    context |= {name: draw(either) for name in ("shapes_differ", "rows_differ", "tries_steps")}
    context["steps_per_execution"] = draw(st.sampled_from([1, 2, 4]))
    context["driver"] = draw(st.sampled_from(["fit", "loop"]))
    if draw(either):
        why = draw(st.sampled_from(["the epoch is short", TOO_LONG]))
        context["steps_per_execution_trial"] = {"not_tried": why}
    if draw(either):
        context["undisturbed_ms"] = draw(st.floats(0.1, 20))
    if draw(either):
        refills = {"cause": "shuffle-refill", "count": 4, "total_ms": 2000.0}
        context["event_totals"] = [refills]
    if draw(either):
        arguments["sensors"] = {**arguments["sensors"], "host/interpreter_wait_ms": 3.0}
    if draw(either):
        arguments["stages"] = []
    if draw(either):
        del arguments["dispatch"]
    return arguments


@given(arguments=all_kinds_of_situations(), cpu_pct=st.sampled_from([0.0, 30.0, 250.0]))
@settings(max_examples=60, deadline=None)
def test_no_report_says_one_thing_in_the_verdict_and_another_in_the_advice(arguments, cpu_pct):
    found = summary(**arguments, process_cpu_pct=cpu_pct)
    assert not list(contradictions(diagnosis_of(found)))


@pytest.mark.parametrize(
    ("wait", "compute", "dispatch", "in_graph", "execution"),
    [
        (0.03, 0.54, 1.074, 0.207, 1.249),
        (0.048, 0.0, 1.863, 0.171, 0.576),
        (0.1, 2.2, 3.1, 0.4, 5.0),
    ],
)
def test_the_verdict_promises_no_less_than_more_steps_per_execution(
    wait, compute, dispatch, in_graph, execution
):
    # Of a tiny model the split and the trial tell computing from dispatch differently.
    gain = (in_graph + execution) / (in_graph + execution / 256)
    trial = {"recommended": 256, "present": 1, "predicted_speedup": gain, "trials": {"8": 0.5}}
    trial |= {"low": gain / 1.2, "high": gain * 1.2}
    trial |= {"in_graph_ms": in_graph, "per_execution_ms": execution}
    found = diagnosis_of(
        summary(
            input_wait=wait,
            compute=compute,
            dispatch=dispatch,
            stages=[stage("Batch", 0.03), stage("Prefetch", 0.0)],
            context={"steps_per_execution_trial": trial, "prefetch_fill": 1.0, "cpu_count": 2},
        )
    )
    assert found.verdict == "dispatch-bound"
    assert found.recommendations[0].id == "raise-steps-per-execution"
    assert list(contradictions(found)) == []
