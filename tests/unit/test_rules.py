"""Each rule: when it speaks, what it predicts, when it is silent."""

from __future__ import annotations

from typing import Any

import pytest
from hand_built import situation, stage
from hypothesis import given, settings
from hypothesis import strategies as st

from keras_perf.advise.recommendation import Recommendation
from keras_perf.advise.rules import (
    RULES,
    WORTH_SAYING,
    amortize_callback,
    cache,
    combined_speedup,
    disable_run_eagerly,
    parallel_map,
    prefetch,
    raise_steps_per_execution,
    recommendations,
    stable_shapes,
)

PIPELINE = [
    stage("TensorSlice", 1.0),
    stage("Map", 6.0, bytes_per_batch=2.0**20),
    stage("Batch", 1.0, bytes_per_batch=2.0**20),
]

PREFETCHED = [*PIPELINE, stage("Prefetch", 0.0)]

FITS_IN_MEMORY = {"epochs": 5, "epoch_steps": 100, "memory_available_mib": 1000.0}

TRIAL = {
    "recommended": 8,
    "predicted_speedup": 1.5,
    "low": 1.4,
    "high": 1.4,
    "reason": "a step costs 6 ms inside the graph, an execution 4 ms more.",
    "applied": False,
    "evidence": {"in_graph_ms": 6.0},
}


def assert_predicts(advice: Recommendation | None, low: float, expected: float, high: float):
    """The speed-up from a step of 10 ms to each of three steps in milliseconds."""
    assert advice is not None
    assert advice.low == pytest.approx(10 / low)
    assert advice.predicted_speedup == pytest.approx(10 / expected)
    assert advice.high == pytest.approx(10 / high)


# -- prefetch ----------------------------------------------------------------------------


def test_a_pipeline_without_prefetching_is_told_to_prefetch():
    advice = prefetch(situation(input_wait=8.0, compute=2.0, stages=PIPELINE))
    # Of the 2 ms that the two could overlap, 80, 90 or 100 % disappear.
    assert_predicts(advice, 8.4, 8.2, 8.0)
    assert advice.id == "prefetch"
    assert advice.evidence == {"input_wait_ms": 8.0, "rest_ms": 2.0}
    assert advice.reason == (
        "Each step waits 8 ms for input and then works 2 ms; "
        "with prefetching the shorter of the two disappears behind the longer."
    )


def test_a_pipeline_that_prefetches_is_not_told_to():
    assert prefetch(situation(input_wait=8.0, compute=2.0, stages=PREFETCHED)) is None


@pytest.mark.parametrize("wait", [{}, {"input_wait": 0.0}])
def test_a_step_that_does_not_wait_is_not_told_to_prefetch(wait):
    assert prefetch(situation(compute=10.0, stages=PIPELINE, **wait)) is None


# -- parallel-map ------------------------------------------------------------------------


def test_a_sequential_map_is_told_to_share_the_cores():
    advice = parallel_map(situation(input_wait=8.0, compute=2.0, stages=PIPELINE))
    # Its 6 ms over 8 cores, of which 60, 80 or 100 % help.
    assert_predicts(advice, 4 + 6 / 4.8, 4 + 6 / 6.4, 4 + 6 / 8)
    assert (advice.id, advice.evidence["stage"]) == ("parallel-map", "Map (2)")
    assert advice.reason == (
        "The sequential stage Map (2) takes 6 ms of the 8 ms that a batch needs (75%); "
        "8 logical CPUs are there to share it."
    )


def test_the_slowest_sequential_map_is_named():
    stages = [stage("Map", 1.0), stage("Map", 5.0), stage("ParallelMap", 2.0, parallelism=1)]
    advice = parallel_map(situation(input_wait=8.0, compute=2.0, stages=stages))
    assert advice.evidence["stage"] == "Map (2)"


def test_cores_that_are_busy_bound_what_a_parallel_map_buys():
    busy = situation(input_wait=8.0, compute=2.0, stages=PIPELINE, process_cpu_pct=720.0)
    # 90 % of 8 cores are busy: the step cannot be shorter than 9 ms.
    assert_predicts(parallel_map(busy), 9.0, 9.0, 9.0)


@pytest.mark.parametrize(
    "arguments",
    [
        {"stages": [stage("ParallelMap", 8.0, parallelism=4)]},
        {"stages": [stage("Batch", 8.0)]},
        {"stages": []},
        {"stages": PIPELINE, "context": {"cpu_count": 1}},
    ],
)
def test_without_a_sequential_map_or_a_core_to_share_it_nothing_is_said(arguments):
    assert parallel_map(situation(input_wait=8.0, compute=2.0, **arguments)) is None


# -- cache -------------------------------------------------------------------------------


def cached(**arguments: Any) -> Recommendation | None:
    defaults = {"stages": PIPELINE, "context": FITS_IN_MEMORY}
    return cache(situation(input_wait=8.0, compute=2.0, **(defaults | arguments)))


def test_preparation_repeated_in_each_epoch_is_told_to_be_cached():
    advice = cached()
    # Source and map, 7 ms, are left in no step that counts; reading back costs 4, 2 or 0 %.
    assert_predicts(advice, 3 + 0.04 * 7, 3 + 0.02 * 7, 3.0)
    assert advice.evidence == {"saved_ms": 7.0, "epochs": 5, "size_mib": 100.0}


def test_what_is_counted_of_the_first_epoch_is_not_saved_by_a_cache():
    # 200 steps are counted of 5 × 44: of the first epoch, 20 were left out and 24 are among them.
    advice = cached(context=FITS_IN_MEMORY | {"epoch_steps": 44})
    left = 24 / 200
    assert_predicts(advice, *(3 + 7 * (left + more) for more in (0.04, 0.02, 0.0)))


@pytest.mark.parametrize(
    "changed",
    [
        {"epochs": 1},
        {"epochs": None},
        {"epoch_steps": None},
        {"epoch_steps": 501},  # half of the memory is 500 MiB
        {"memory_available_mib": None},
    ],
)
def test_what_is_not_repeated_or_does_not_fit_is_not_cached(changed):
    assert cached(context=FITS_IN_MEMORY | changed) is None


@pytest.mark.parametrize(
    "stages",
    [
        [],
        [stage("TensorSlice", 8.0)],
        [stage("FlatMap", 8.0, bytes_per_batch=2.0**20)],
        [stage("Map", 4.0, bytes_per_batch=2.0**20), stage("MemoryCache", 4.0)],
        [stage("Map", 8.0)],
    ],
)
def test_without_a_map_of_known_size_before_a_cache_nothing_is_said(stages):
    assert cached(stages=stages) is None


# -- amortize-callback -------------------------------------------------------------------


def amortized(**owners: float) -> Recommendation | None:
    named = {owner.replace("__", "."): spent for owner, spent in owners.items()}
    return amortize_callback(situation(compute=6.0, callbacks=4.0, owners=named))


def test_the_dearest_callback_is_told_to_work_every_20_steps():
    advice = amortized(Mine__on_train_batch_end=3.0, Other__on_train_batch_begin=1.0)
    # Its 3 ms shrink to a tenth, a twentieth or nothing.
    assert_predicts(advice, 7.3, 7.15, 7.0)
    assert advice.title == "Do the work of Mine.on_train_batch_end every 20 steps"
    assert advice.evidence["owner"] == "Mine.on_train_batch_end"
    compile(advice.action, "action", "exec")
    assert "def on_train_batch_end(self, batch, logs=None):" in advice.action


def test_the_progress_bar_is_told_to_be_quieter():
    assert amortized(ProgbarLogger__on_train_batch_end=4.0).action.startswith(
        "model.fit(..., verbose=2)"
    )


def test_without_time_in_callbacks_nothing_is_said():
    assert amortized() is None
    idle = situation(compute=10.0, callbacks=0.0, owners={"Mine.on_train_batch_end": 0.0})
    assert amortize_callback(idle) is None


@given(pair=st.tuples(st.floats(0.01, 50), st.floats(0.01, 50)), compute=st.floats(0.01, 50))
@settings(max_examples=100, deadline=None)
def test_amortizing_more_never_buys_less(pair, compute):
    cheap, dear = (
        amortize_callback(
            situation(compute=compute, callbacks=ms, owners={"Mine.on_train_batch_end": ms})
        )
        for ms in sorted(pair)
    )
    assert cheap.predicted_speedup <= dear.predicted_speedup * (1 + 1e-9)


# -- raise-steps-per-execution -----------------------------------------------------------


def raised(**changed: Any) -> Recommendation | None:
    context = {"steps_per_execution": 1, "steps_per_execution_trial": TRIAL | changed}
    return raise_steps_per_execution(
        situation(compute=6.0, dispatch=2.0, callbacks=1.0, other_host=1.0, context=context)
    )


def test_a_trial_that_paid_is_recommended():
    advice = raised()
    # An eighth of 4 ms is left, and 10, 5 or 0 % of them.
    assert_predicts(advice, 6 + 4 * 0.225, 6 + 4 * 0.175, 6 + 4 * 0.125)
    assert advice.action == "model.compile(..., steps_per_execution=8)"
    assert advice.reason == f"Measured during training: {TRIAL['reason']}"
    assert advice.evidence == {"in_graph_ms": 6.0, "recommended": 8}


def test_the_spread_of_the_trial_widens_the_bounds():
    advice = raised(low=1.0, high=1.2)
    assert_predicts(advice, 6 + 4 * (0.1375 + 0.1), 6 + 4 * 0.175, 6 + 4 * 0.1125)


@pytest.mark.parametrize("changed", [{"recommended": 1}, {"applied": True}])
def test_a_trial_that_did_not_pay_or_is_applied_is_not_recommended(changed):
    assert raised(**changed) is None


@pytest.mark.parametrize("context", [{}, {"steps_per_execution_trial": None}])
def test_without_a_trial_no_number_is_recommended(context):
    assert raise_steps_per_execution(situation(compute=6.0, dispatch=4.0, context=context)) is None


# -- stable-shapes, disable-run-eagerly --------------------------------------------------


def test_retracing_is_told_to_stop():
    advice = stable_shapes(situation(compute=6.0, compile=4.0))
    assert_predicts(advice, 6.4, 6.2, 6.0)
    assert advice.evidence == {"compile_ms": 4.0}


@pytest.mark.parametrize("spent", [{}, {"compile": 0.0}])
def test_without_retracing_shapes_are_left_alone(spent):
    assert stable_shapes(situation(compute=6.0, **spent)) is None


def test_an_eager_train_step_is_told_to_be_compiled():
    advice = disable_run_eagerly(situation(compute=10.0, context={"run_eagerly": True}))
    assert_predicts(advice, 9.0, 5.0, 1.0)


@pytest.mark.parametrize("context", [{}, {"run_eagerly": False}])
def test_a_compiled_train_step_is_left_alone(context):
    assert disable_run_eagerly(situation(compute=10.0, context=context)) is None


# -- all of them -------------------------------------------------------------------------


def ids(**arguments: Any) -> list[str]:
    return [advice.id for advice in recommendations(situation(**arguments))]


def test_the_best_comes_first():
    slow_input = {"input_wait": 8.0, "compute": 2.0, "stages": PIPELINE}
    assert ids(**slow_input, context=FITS_IN_MEMORY) == ["cache", "parallel-map", "prefetch"]


def test_what_buys_less_than_two_percent_is_left_out():
    owners = {"Mine.on_train_batch_end": 0.2}
    assert ids(input_wait=0.0, compute=9.8, callbacks=0.2, owners=owners) == []
    owners = {"Mine.on_train_batch_end": 0.3}
    assert ids(input_wait=0.0, compute=9.7, callbacks=0.3, owners=owners) == ["amortize-callback"]


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
    # From 7 ms to 2.5 + 7.5 / 6.4 of input: the rest, 3.2 ms, is shorter.
    assert second.speedup_after_others == pytest.approx(7 / (2.5 + 7.5 / 6.4))


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


def test_all_together_is_not_the_product_of_the_single_ones():
    found = situation(
        input_wait=8.0, compute=2.0, stages=PIPELINE, context={"cpu_count": 8, **FITS_IN_MEMORY}
    )
    advice = recommendations(found)
    expected, low, high = combined_speedup(found.model, advice)
    # cache: 0.02, 0.12, 1; the map over 6.4 cores; prefetch hides 90 % of what is left.
    produce = 0.02 + 0.12 / 6.4 + 1.0
    assert expected == pytest.approx(10 / (2 + 0.1 * produce))
    assert low < expected < high


def test_nothing_together_buys_nothing():
    assert combined_speedup(situation(compute=10.0).model, ()) == (1.0, 1.0, 1.0)


@st.composite
def situations(draw: st.DrawFn) -> dict[str, Any]:
    ms = st.floats(0, 50)
    parts = {part: draw(ms) for part in ("callbacks", "dispatch", "other_host", "compile")}
    parts["compute"] = draw(st.floats(0.1, 50))
    if draw(st.booleans()):
        parts["input_wait"] = draw(ms)
    names = ["TensorSlice", *draw(st.lists(st.sampled_from(["Map", "Batch", "Prefetch"])))]
    stages = [stage(name, draw(st.floats(0.001, 50)), bytes_per_batch=100.0) for name in names]
    low = draw(st.floats(1, 2))
    trial = TRIAL | {"recommended": draw(st.integers(1, 256)), "low": low, "high": low * 1.2}
    context = {
        **FITS_IN_MEMORY,
        "cpu_count": draw(st.integers(1, 16)),
        "run_eagerly": draw(st.booleans()),
        "steps_per_execution_trial": draw(st.sampled_from([None, trial])),
    }
    owners = {"Mine.on_train_batch_end": parts["callbacks"]}
    return {"stages": stages, "context": context, "owners": owners, **parts}


@given(arguments=situations())
@settings(max_examples=100, deadline=None)
def test_no_rule_predicts_a_loss_and_all_together_are_no_worse_than_the_best(arguments):
    found = situation(**arguments)
    for rule in RULES:
        advice = rule(found)
        if advice is not None:
            assert 1.0 <= advice.low <= advice.predicted_speedup <= advice.high
    advice = recommendations(found)
    expected, low, high = combined_speedup(found.model, advice)
    assert 1.0 <= low <= expected <= high
    assert expected >= max((a.predicted_speedup for a in advice), default=1.0) * (1 - 1e-9)
    for one in advice:
        assert max(one.predicted_speedup, one.speedup_after_others or 0.0) >= WORTH_SAYING
