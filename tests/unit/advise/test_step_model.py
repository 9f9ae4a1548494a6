"""The model of a step, and how it is fitted to what was measured."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hand_built import AWAKE_MS, situation, stage, summary
from hypothesis import given, settings
from hypothesis import strategies as st

from keras_perf.advise.situation import situation_of
from keras_perf.advise.step.step_model import StepModel

PIPELINE = [stage("TensorSlice", 1.0), stage("Map", 6.0), stage("Batch", 1.0)]


def model(*, prefetched: bool, cpu_ms: float = 0.0, cores: int = 1) -> StepModel:
    """Six milliseconds of input, four of the rest."""
    return StepModel(
        {"Map (1)": 5.0, "Batch (2)": 1.0},
        prefetched,
        {"compute": 3.0, "callbacks": 1.0},
        cpu_ms,
        cores,
    )


# -- the model ---------------------------------------------------------------------------


def test_without_prefetching_input_and_the_rest_take_turns():
    assert model(prefetched=False).step_ms == 10.0


def test_with_prefetching_the_longer_of_the_two_counts():
    assert model(prefetched=True).step_ms == 6.0
    assert model(prefetched=True).hidden(0.2).step_ms == 4.0


def test_a_step_is_never_shorter_than_its_cpu_time_on_all_cores():
    assert model(prefetched=True, cpu_ms=80.0, cores=8).step_ms == 10.0


def test_spreading_work_over_threads_leaves_its_cpu_time():
    spread = model(prefetched=True, cpu_ms=12.0, cores=2).with_threads("Map (1)", 5)
    assert (spread.cpu_ms, spread.step_ms) == (12.0, 6.0)
    assert spread.threads == {"Map (1)": 5}


def test_saving_work_saves_its_cpu_time():
    whole = model(prefetched=True, cpu_ms=12.0, cores=2)
    saved = whole.with_less_work({"Map (1)": 0.2}, -1.0)
    assert (saved.cpu_ms, saved.step_ms) == (8.0, 4.0)


def test_work_saved_is_that_of_all_its_threads():
    shared = model(prefetched=True, cpu_ms=12.0, cores=2).with_threads("Map (1)", 2)
    assert shared.with_less_work({"Map (1)": 0.0}, -1.0).cpu_ms == 12.0 - 5.0


def test_compute_on_the_cpu_gets_the_cores_that_the_pipeline_lets_go():
    whole = model(prefetched=True, cores=2)
    freed = (whole.stages["Map (1)"] - 1.0) / whole.step_ms / 2
    factors = {"Map (1)": 1.0 / whole.stages["Map (1)"]}
    for optimism, share in ((-1.0, 0.5), (0.0, 0.75), (1.0, 1.0)):
        rest = whole.with_less_work(factors, optimism).rest
        assert rest["compute"] == pytest.approx(whole.rest["compute"] * (1 - share * freed))
    on_gpu = replace(whole, on_gpu=True).with_less_work(factors, 1.0)
    assert on_gpu.rest == whole.rest


@pytest.mark.parametrize(("part", "left"), [(0.0, 0.0), (0.5, 0.5), (1.0, 1.0)])
def test_without_the_pipeline_a_step_computes_as_its_quickest_ones_did_or_faster(part, left):
    # All five milliseconds of a step are the pipeline's, on one of two cores.
    busy = StepModel({"Map": 5.0}, True, {"compute": 3.0, "dispatch": 1.0}, 0.0, 2)
    quick = replace(busy, undisturbed_ms=3.2).with_less_work({"Map": 1 - part}, 0.0)
    freed = part / 2
    quickest = 3.2 / 4.0 * (1 - 0.25 * freed)
    assert quick.rest["compute"] == pytest.approx(3 * (1 - left * (1 - quickest)))
    assert quick.rest["dispatch"] == pytest.approx(quick.rest["compute"] / 3)


@pytest.mark.parametrize(("optimism", "left"), [(-1.0, 9.5), (0.0, 9.0), (1.0, 8.0)])
def test_the_cores_that_it_leaves_bound_what_uneven_steps_promise(optimism, left):
    # Of two cores the pipeline has a tenth, and the quickest steps take half.
    rest = {"compute": 10.0}
    found = StepModel({"Map (1)": 2.0}, True, rest, 14.0, 2, undisturbed_ms=5.0)
    less = found.with_less_work({"Map (1)": 0.0}, optimism)
    assert less.rest["compute"] == pytest.approx(left)


def test_a_pipeline_that_waits_frees_no_core():
    # 2 ms of the CPU's 3.5 are computing.
    waiting = StepModel({"Map": 10.0}, True, {"compute": 2.0}, 3.5, 2)
    freed = 1.5 / 10 / 2
    changed = waiting.with_less_work({"Map": 0.0}, 0.0)
    assert changed.rest["compute"] == pytest.approx(2 * (1 - 0.75 * freed))


def test_less_of_the_rest_takes_less_time_and_cpu():
    less = model(prefetched=False, cpu_ms=9.0).with_rest({"callbacks": 0.5, "unknown": 0.0})
    assert (less.rest_ms, less.cpu_ms, less.step_ms) == (3.5, 8.5, 9.5)


def test_no_more_cpu_time_is_saved_than_there_is():
    assert model(prefetched=False, cpu_ms=2.0).with_rest({"compute": 0.0}).cpu_ms == 0.0


times = st.floats(0, 100)
factors = st.floats(0, 1)
names = st.sampled_from(["a", "b", "c"])
models = st.builds(
    StepModel,
    st.dictionaries(names, times),
    st.booleans(),
    st.dictionaries(names, times),
    st.floats(0, 1000),
    st.integers(1, 64),
)


@given(model=models, factors=st.dictionaries(names, factors), optimism=st.floats(-1, 1))
@settings(max_examples=100, deadline=None)
def test_less_work_never_makes_a_longer_step(model, factors, optimism):
    changed = model.with_less_work(factors, optimism)
    assert changed.step_ms <= model.step_ms * (1 + 1e-9)


@given(model=models, factors=st.dictionaries(names, factors))
@settings(max_examples=100, deadline=None)
def test_a_shorter_rest_never_makes_a_longer_step(model, factors):
    assert model.with_rest(factors).step_ms <= model.step_ms * (1 + 1e-9)


# -- fitting it --------------------------------------------------------------------------


def test_without_prefetching_the_stages_share_the_measured_wait():
    found = situation(input_wait=4.0, compute=6.0, stages=PIPELINE).model
    assert not found.prefetched
    assert found.stages == {"TensorSlice (1)": 0.5, "Map (2)": 3.0, "Batch (3)": 0.5}
    assert found.rest == {"compute": 6.0}
    assert found.step_ms == 10.0


def test_a_pipeline_that_sets_the_pace_needs_a_step_for_a_batch():
    stages = [*PIPELINE, stage("Prefetch", 0.0)]
    found = situation(input_wait=4.0, compute=8.0, stages=stages).model
    assert found.prefetched
    assert found.produce_ms == found.step_ms == 12.0
    assert found.stages["Map (2)"] == 9.0


def test_a_pipeline_that_keeps_up_needs_what_its_stages_need():
    stages = [*PIPELINE, stage("Prefetch", 0.0)]
    found = situation(input_wait=0.5, compute=15.5, stages=stages).model
    assert found.produce_ms == 8.0
    assert found.rest == {"compute": 15.5, "get_next": 0.5}
    assert found.step_ms == 16.0


def test_a_short_step_may_wait_as_long_as_fetching_a_ready_batch_takes():
    stages = [stage("Map", 0.0625), stage("Prefetch", 0.0)]
    found = situation(input_wait=0.25, compute=0.25, stages=stages).model
    assert found.rest == {"compute": 0.25, "get_next": 0.25}
    assert found.produce_ms == 0.0625


def test_stages_that_keep_up_cannot_need_longer_than_the_step():
    stages = [stage("Map", 50.0), stage("Prefetch", 0.0)]
    found = situation(input_wait=0.0, compute=10.0, stages=stages).model
    assert found.produce_ms == 10.0


def test_a_stages_time_is_shared_by_its_threads():
    stages = [stage("TensorSlice", 1.0), stage("ParallelMap", 24.0, parallelism=8)]
    found = situation(input_wait=8.0, compute=2.0, stages=stages)
    assert found.model.stages == {"TensorSlice (1)": 2.0, "ParallelMap (2)": 6.0}
    assert found.model.threads == {"TensorSlice (1)": 1, "ParallelMap (2)": 8}


def test_two_stages_of_one_name_are_told_apart():
    stages = [stage("Map", 1.0), stage("Map", 3.0)]
    found = situation(input_wait=4.0, compute=1.0, stages=stages).model
    assert found.stages == {"Map (1)": 1.0, "Map (2)": 3.0}


def test_without_known_stages_the_wait_is_one_stage():
    found = situation(input_wait=4.0, compute=6.0).model
    assert (found.stages, found.step_ms) == ({"input": 4.0}, 10.0)


def test_a_wait_is_kept_where_the_stages_cost_nothing():
    found = situation(input_wait=4.0, compute=6.0, stages=[stage("Generator", 0.0)]).model
    assert (found.produce_ms, found.step_ms) == (4.0, 10.0)


def test_a_wait_that_was_not_measured_is_told_from_one_of_zero():
    assert not situation(compute=6.0).input_measured
    assert situation(input_wait=0.0, compute=6.0).input_measured


def test_cpu_time_comes_from_the_process_and_the_cores_from_the_context():
    found = situation(compute=10.0, process_cpu_pct=250.0, context={"cpu_count": 4}).model
    assert (found.cpu_ms, found.cores) == (25.0, 4)


@given(
    wait=st.none() | st.floats(0, 50),
    rest=st.fixed_dictionaries({part: st.floats(0.01, 50) for part in ("compute", "callbacks")}),
    costs=st.lists(st.floats(0.001, 100), max_size=4),
    prefetched=st.booleans(),
    busy=st.floats(0, 1),
)
@settings(max_examples=100, deadline=None)
def test_the_model_of_a_step_is_as_long_as_the_measured_one(wait, rest, costs, prefetched, busy):
    stages = [stage("Map", cost, parallelism=1 + i) for i, cost in enumerate(costs)]
    if prefetched:
        stages.append(stage("Prefetch", 0.001))
    parts = rest if wait is None else {"input_wait": wait, **rest}
    measured = summary(stages=stages, process_cpu_pct=busy * 800, **parts)
    assert situation_of(measured).model.step_ms == pytest.approx(measured.step_ms)


@pytest.mark.parametrize(("stalled_ms", "input_ms"), [(0.0, 0.0), (200.0, 1.0), (9000.0, 2.0)])
def test_behind_a_full_buffer_only_stalls_are_the_inputs(stalled_ms, input_ms):
    totals = [{"cause": "input-stall", "owner": "", "count": 3, "total_ms": stalled_ms}]
    found = situation(
        input_wait=2.0,
        compute=8.0,
        stages=[stage("Map", 6.0), stage("Prefetch", 0.0)],
        context={"prefetch_fill": 0.9, "event_totals": totals},
    )
    assert found.model.rest["get_next"] == input_ms
    assert found.model.rest["fetch"] == 2.0 - input_ms
    assert found.model.step_ms == 10.0


def test_stages_that_work_side_by_side_take_as_much_of_the_cores_as_each_of_them_works():
    parallel = [stage("ParallelMap", 4.0, parallelism=2) for _ in range(3)]
    found = situation(
        compute=10.0,
        stages=[*parallel, stage("Prefetch", 0.0)],
        process_cpu_pct=190.0,
        context={"prefetch_fill": 1.0, "cpu_count": 2, "undisturbed_ms": 5.0},
    ).model
    # Each takes 2 ms of its two threads, and a batch comes out as often.
    assert (found.produce_ms, found.side_by_side) == (pytest.approx(2.0), pytest.approx(3.0))
    assert found.work_ms(found.stages) == pytest.approx(12.0)
    none = dict.fromkeys(found.stages, 0.0)
    one_at_a_time = replace(found, side_by_side=1.0).with_less_work(none, 0.0)
    assert found.with_less_work(none, 0.0).step_ms < 0.8 * one_at_a_time.step_ms


@pytest.mark.parametrize(("wait_ms", "paced"), [(6.0, True), (4.0, False), (0.9, False)])
def test_a_step_that_mostly_waits_is_paced_whatever_was_seen_of_the_buffer(wait_ms, paced):
    stages = [stage("Map", 0.01), stage("Prefetch", 0.0)]
    compute = 10.0 - wait_ms if wait_ms > 1 else 0.1
    found = situation(
        input_wait=wait_ms, compute=compute, stages=stages, context={"prefetch_fill": 0.9}
    ).model
    assert (found.produce_ms == found.step_ms) == paced


def test_behind_an_empty_buffer_the_pipeline_sets_the_pace():
    found = situation(
        input_wait=2.0,
        compute=8.0,
        stages=[stage("Map", 1.0), stage("Prefetch", 0.0)],
        context={"prefetch_fill": 0.1},
    )
    assert found.model.produce_ms == 10.0


@pytest.mark.parametrize(
    ("pause_ms", "on_gpu", "share"),
    [(50.0, False, 1), (6.5, False, 1), (3.5, False, 0.5), (0.5, False, 0), (50.0, True, 0)],
)
def test_a_cpu_that_no_longer_pauses_for_long_computes_faster(pause_ms, on_gpu, share):
    before = replace(model(prefetched=False), on_gpu=on_gpu, rest={"compute": 8.0})
    for saved_ms, optimism in zip(AWAKE_MS, (-1.0, 0.0, 1.0), strict=True):
        left = before.awake(pause_ms, optimism).rest["compute"]
        assert left == pytest.approx(8.0 - share * saved_ms)
        waited = before.awake(pause_ms, optimism, waited=True).rest["compute"]
        assert waited == pytest.approx(8.0 - share * max(0.0, saved_ms - 0.6))


@pytest.mark.parametrize(("compute_ms", "saved_ms"), [(100.0, 1.3), (1.0, 0.6)])
def test_what_a_pause_costs_is_no_share_of_the_step_but_of_a_short_one(compute_ms, saved_ms):
    before = replace(model(prefetched=False), rest={"compute": compute_ms})
    after = before.awake(30.0, 0.0)
    assert after.rest["compute"] == pytest.approx(compute_ms - saved_ms)
    assert after.awake_ms == pytest.approx(saved_ms)


@pytest.mark.parametrize(
    ("every", "pause_ms", "compute_ms", "saved_ms"),
    [
        # Short for a step, long for those between which it comes.
        (10, 0.65, 8.0, 0.13),
        (10, 0.05, 8.0, 0.0),
        (4, 3.5, 8.0, 0.325),
        # The one behind the pause takes 0.84 ms and saves 0.6 of it; the other three take 0.336 ms.
        (4, 30.0, 0.462, 0.126),
    ],
)
def test_of_steps_with_one_pause_one_is_slower(every, pause_ms, compute_ms, saved_ms):
    before = replace(model(prefetched=False), rest={"compute": compute_ms})
    after = before.awake(pause_ms, 0.0, every=every)
    assert after.rest["compute"] == pytest.approx(compute_ms - saved_ms)


def test_what_processes_hold_up_is_at_most_all_of_it():
    busy = StepModel({"input": 10.0}, True, {"compute": 10.0}, 70.0, 8, per_share=1.5)
    busy = replace(busy, side_by_side=7.0)
    lefts = [busy.with_less_work({"input": 0.0}, o).rest["compute"] for o in (-1.0, 0.0, 1.0)]
    assert lefts == sorted(lefts, reverse=True)
    assert min(lefts[:2]) >= 0.25 * 10.0
    assert lefts[2] >= 0.0


# -- threads -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("context", "threads"),
    [
        ({}, 8),
        ({"threads": {"inter_op": 3}}, 3),
        ({"dataset": {"threadpool_size": 16}, "threads": {"inter_op": 3}}, 16),
        ({"dataset": {"threadpool_size": 0}}, 8),
    ],
)
def test_no_more_calls_of_a_map_run_at_a_time_than_the_pool_has_threads(context, threads):
    stages = [stage("ParallelMap", 64.0, parallelism=32), stage("ParallelInterleave", 6.0)]
    found = situation(input_wait=8.0, compute=2.0, stages=stages, context=context).model
    assert found.threads == {"ParallelMap (1)": threads, "ParallelInterleave (2)": 1}
    assert found.pool == threads


@pytest.mark.parametrize(
    ("changed", "share"),
    [
        ({}, 0.8),
        ({"process_cpu_pct": 0.0}, 0.0),  # not sampled
        ({"process_cpu_pct": 200.0}, 0.0),  # it computes
        # Of the machine's 8 CPUs others take half, and of the 10 ms half may wait for one.
        ({"sensors": {"host/cpu_pct": 52.5}}, 0.6),
        ({"stages": [stage("TFRecord", 10.0)]}, 0.0),  # it is not the map that waits
        ({"sensors": {"host/interpreter_wait_ms": 2.0}}, 0.8),
    ],
)
def test_maps_wait_while_no_thread_computes(changed, share):
    found: dict[str, Any] = {
        "input_wait": 8.0,
        "compute": 2.0,
        "stages": [stage("ParallelMap", 10.0, parallelism=2), stage("TFRecord", 5.0)],
        "process_cpu_pct": 20.0,
    }
    assert situation(**(found | changed)).model.waiting_share == pytest.approx(share)


def test_waiting_for_the_interpreter_is_not_waiting_for_storage():
    python = {"dataset": {"chains": [[{"kind": "map", "python": True}]]}}
    found = situation(
        input_wait=8.0,
        compute=2.0,
        stages=[stage("ParallelMap", 10.0, parallelism=2)],
        process_cpu_pct=20.0,
        sensors={"host/interpreter_wait_ms": 2.0},
        context=python,
    )
    assert found.model.waiting_share == 0.0


def test_the_exchange_of_gradients_is_not_computing_that_a_pipeline_disturbs():
    measured = replace(
        summary(compute=10.0, context={"undisturbed_ms": 9.0}),
        exchange={"communication": 5.0, "peer_wait": 0.0},
    )
    assert situation_of(measured).model.undisturbed_ms == 4.0


def test_a_step_without_compute_waits_for_nothing_inside():
    found = situation(
        input_wait=8.0,
        sensors={"host/interpreter_wait_ms": 2.0},
        context={"input_kind": "generator"},
    )
    assert found.model.step_ms == 8.0


def test_calls_that_wait_have_all_threads_of_the_pool_and_those_that_compute_the_cores():
    waiting = StepModel({"Map": 5.0}, True, {}, 0.5, 4, pool=16, waiting_share=0.8)
    idle = 1 - 0.5 / 4 / 5
    assert waiting.usable_threads(0.0) == pytest.approx(16 * (0.8 + 0.2 * idle))
    computing = StepModel({"Map": 5.0}, True, {}, 5.0, 4, pool=16)
    assert computing.usable_threads(0.0) == pytest.approx(4 * (0.8 + 0.2 * 0.75))
    assert StepModel({"Map": 5.0}, True, {}, 5.0, 4, pool=1).usable_threads(0.0) == 1.0


@pytest.mark.parametrize("prefetched", [True, False])
@pytest.mark.parametrize("by_input", [True, False])
@pytest.mark.parametrize("gain", [1.0, 1.3, 2.0, 4.0])
def test_a_step_is_as_much_faster_as_was_measured(prefetched, by_input, gain):
    rest = {"compute": 2.0, "callbacks": 0.5, "get_next": 0.1}
    model = StepModel({"Map": 8.0}, prefetched, rest)
    faster = model.faster(gain, by_input=by_input)
    assert model.step_ms / faster.step_ms == pytest.approx(gain)
    assert faster.rest["callbacks"] == 0.5


def test_where_a_trial_was_quicker_than_callbacks_half_of_it_is_computing():
    model = StepModel({"Map": 8.0}, prefetched=True, rest={"compute": 2.0, "callbacks": 3.0})
    faster = model.faster(4.0, by_input=True, none_left=True)
    # Without callbacks no step of nothing is left.
    assert faster.rest == pytest.approx({"compute": 1.0, "callbacks": 1.0})


def test_what_made_the_input_quick_leaves_computing_as_it_was():
    model = StepModel({"Map": 8.0}, prefetched=False, rest={"compute": 2.0})
    faster = model.faster(4.0, by_input=True)
    assert faster.rest == model.rest
    assert faster.produce_ms == pytest.approx(0.5)


def test_the_dearest_hook_tells_how_often_there_is_a_pause():
    owners = {"Mine.on_train_batch_end": 4.0, "Other.on_train_batch_end": 1.0}
    hooks = {"Mine.on_train_batch_end": {"times": 100, "working": 10.0}}
    found = situation(
        compute=5.0,
        callbacks=5.0,
        owners=owners,
        context={"hooks": hooks, "steps_per_execution": 2},
    )
    assert found.steps_between_hooks == 20
    assert situation(compute=5.0, context={"steps_per_execution": 2}).steps_between_hooks == 2
