"""One verdict a situation."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hand_built import H200, between_epochs, facts_of, situation, stage, summary

from keras_perf.advise.gains.of_a_part import gain_between_epochs, gains
from keras_perf.advise.situation import Situation, situation_of
from keras_perf.advise.verdict.reasons import mostly_outside
from keras_perf.advise.verdict.verdict import verdict_of
from keras_perf.analyse.summary import ENOUGH_STEPS
from keras_perf.records.metrics.host_metrics import THROTTLED

SEQUENTIAL = [stage("TensorSlice", 1.0), stage("Map", 7.0)]
PREFETCHED = [*SEQUENTIAL, stage("Prefetch", 0.0)]
IN_A_LOOP = {"driver": "loop"}


@pytest.mark.parametrize(
    ("arguments", "verdict", "because"),
    [
        (
            {"input_wait": 8.0, "compute": 2.0, "stages": SEQUENTIAL},
            "input-bound",
            "input wait: 8 ms of each step; without, training would be 5.00× as fast; a step "
            "7.69× if that also speeds up computing.",
        ),
        (
            {"input_wait": 6.0, "compute": 4.0, "stages": PREFETCHED},
            "input-bound",
            "input wait: 6 ms of each step; without, training would be 2.50× as fast; a step "
            "3.35× if that also speeds up computing.",
        ),
        (
            {"input_wait": 1.0, "compute": 5.0, "callbacks": 4.0, "stages": SEQUENTIAL},
            "callback-bound",
            "callbacks: 4 ms of each step; without, training would be 1.67× as fast; a step "
            "1.91× if that also speeds up computing.",
        ),
        (
            {"input_wait": 0.0, "compute": 6.0, "dispatch": 3.0, "other_host": 1.0},
            "dispatch-bound",
            "dispatch and other host work: 4 ms of each step; without, training would be 1.67× as "
            "fast.",
        ),
        (
            {"input_wait": 0.0, "compute": 6.0, "compile": 3.0, "callbacks": 1.0},
            "compile-bound",
            "compile: 3 ms of each step; without, training would be 1.43× as fast.",
        ),
        (
            {"input_wait": 0.0, "compute": 10.0},
            "compute-bound",
            "no other part's removal would make a step 5% faster: what remains is the model's own "
            "computation and dispatch, which was not measured.",
        ),
    ],
)
def test_the_part_whose_removal_buys_most_is_the_verdict(arguments, verdict, because):
    found, why = verdict_of(situation(**arguments))
    assert (found, str(why)) == (verdict, because)


@pytest.mark.parametrize("operations", [0.3, None])
def test_eager_steps_have_a_verdict_of_their_own(operations):
    measured = summary(
        input_wait=0.0, compute=10.0, process_cpu_pct=100.0, context={"run_eagerly": True}
    )
    if operations is not None:
        trace = {"execution_ms": 10 * operations, "python_ms": 10 * (1 - operations)}
        measured = replace(measured, trace=trace)
    found, because = verdict_of(situation_of(measured))
    assert found == "eager-bound"
    assert str(because).startswith("operations run one by one from Python: 10 ms of each step;")


@pytest.mark.parametrize(
    ("rest", "operations", "verdict"),
    [
        ({"input_wait": 0.3, "callbacks": 0.3}, None, "inconclusive"),
        ({"input_wait": 0.7}, None, "inconclusive"),  # far less than compiled steps may gain
        ({"input_wait": 6.0}, None, "input-bound"),
        ({"input_wait": 6.0}, 0.95, "input-bound"),
        ({"input_wait": 0.7}, 0.3, "eager-bound"),
    ],
)
def test_what_is_not_known_of_eager_steps_makes_no_verdict_of_the_rest(rest, operations, verdict):
    parts = {**rest, "compute": 10.0 - sum(rest.values())}
    measured = summary(**parts, context={"run_eagerly": True})
    if operations is not None:
        trace = {"execution_ms": 10 * operations, "python_ms": 10 * (1 - operations)}
        measured = replace(measured, trace=trace)
    found, because = verdict_of(situation_of(measured))
    assert found == verdict
    if verdict == "inconclusive":
        assert "nothing tells how much" in str(because)


def test_a_slow_input_of_an_eager_training_is_the_verdict_where_it_buys_more():
    found = situation(
        input_wait=40.0, compute=4.0, stages=SEQUENTIAL, context={"run_eagerly": True}
    )
    assert verdict_of(found)[0] == "input-bound"


@pytest.mark.parametrize(
    ("validation", "rest", "verdict"),
    [(0.5, 0.5, "callback-bound"), (1.5, 0.5, "compute-bound"), (0.5, 1.5, "compute-bound")],
)
def test_callbacks_between_epochs_are_the_verdict_where_they_are_the_most_there(
    validation, rest, verdict
):
    context = between_epochs(validation, {"Mine.on_epoch_end": 1.0}, rest)
    assert verdict_of(situation(input_wait=0.0, compute=10.0, context=context))[0] == verdict


def test_a_wait_that_is_the_price_of_fetching_is_named_as_that():
    context = {"prefetch_fill": 1.0}
    stages = [stage("Map", 0.5), stage("Prefetch", 0.0)]
    found = situation(input_wait=0.8, compute=5.4, dispatch=0.0, stages=stages, context=context)
    verdict, because = verdict_of(found)
    assert verdict == "compute-bound"
    assert "but for the input wait of 0.8 ms, which is the fetching of ready batches" in str(
        because
    )


def test_a_slow_callback_behind_a_slower_pipeline_is_not_the_bottleneck():
    found = situation(input_wait=3.0, compute=3.0, callbacks=4.0, stages=PREFETCHED)
    assert gains(found)["callback-bound"] == 1.0
    assert verdict_of(found)[0] == "input-bound"


def test_a_pipeline_that_keeps_up_is_not_the_bottleneck():
    found = situation(input_wait=0.4, compute=9.6, stages=PREFETCHED)
    assert gains(found)["input-bound"] == pytest.approx(10.0 / 9.6)
    assert verdict_of(found)[0] == "compute-bound"


def crowded(cpu_pct: float, **context: Any) -> Situation:
    """Two cores, on which a pipeline that keeps up works 10 ms for each step of 20 ms."""
    stages = [stage("ParallelMap", 10.0, parallelism=2), stage("Prefetch", 0.0)]
    return situation(
        input_wait=0.5,
        compute=19.0,
        dispatch=0.5,
        stages=stages,
        process_cpu_pct=cpu_pct,
        context={"cpu_count": 2, "prefetch_fill": 0.9, "undisturbed_ms": 12.0} | context,
    )


def crowded_beside(others_pct: float) -> Situation:
    """The same, where the quickest steps are not much quicker, beside other processes."""
    found = crowded(130.0, undisturbed_ms=14.0)
    sensors = {**found.summary.sensors, "host/cpu_pct": 65.0 + others_pct}
    return situation_of(replace(found.summary, sensors=sensors))


def test_a_pipeline_that_takes_the_cores_of_computing_is_the_bottleneck():
    verdict, because = verdict_of(crowded(190.0))
    assert verdict == "input-bound"
    assert "takes cores that computing needs" in str(because)


def test_what_keras_makes_of_arrays_is_not_said_to_take_cores():
    """A step of 7 ms, of whose arrays tf.data counted 1.5 ms in one training and 0.3 in others."""
    assert verdict_of(crowded(190.0, input_kind="arrays"))[0] != "input-bound"


def test_dispatch_of_which_trials_saved_nothing_is_not_the_bottleneck_and_named():
    trial = {"recommended": 1, "present": 1, "trials": {"8": 9.9}, "in_graph_ms": 9.0}
    trial |= {"per_execution_ms": 1.0}
    found = situation(
        input_wait=0.0,
        compute=9.0,
        dispatch=1.0,
        context={"steps_per_execution_trial": trial},
    )
    verdict, because = verdict_of(found)
    assert verdict == "compute-bound"
    assert "but for dispatch of 1 ms, which more steps per execution did not reduce" in str(because)


def test_where_little_would_be_gained_by_free_cores_that_is_not_believed():
    assert verdict_of(crowded(190.0, undisturbed_ms=20.0))[0] == "compute-bound"


def test_nor_where_others_use_the_cores_too():
    assert verdict_of(crowded_beside(2.0))[0] == "input-bound"
    assert verdict_of(crowded_beside(20.0))[0] == "compute-bound"


def test_with_cores_to_spare_it_is_not():
    assert verdict_of(crowded(1.0))[0] == "compute-bound"


def test_nor_where_the_quickest_steps_are_no_quicker():
    assert verdict_of(crowded(190.0, undisturbed_ms=22.0))[0] == "compute-bound"


@pytest.mark.parametrize(
    ("compute", "verdict"), [(20.0, "callback-bound"), (20.1, "compute-bound")]
)
def test_a_part_is_a_bottleneck_from_five_percent_on(compute, verdict):
    assert verdict_of(situation(input_wait=0.0, compute=compute, callbacks=1.0))[0] == verdict


def test_thin_data_are_inconclusive_and_say_what_is_missing():
    verdict, because = verdict_of(situation(ENOUGH_STEPS - 1, input_wait=8.0, compute=2.0))
    assert verdict == "inconclusive"
    assert str(because) == (
        "only 19 steps were measured after warm-up, at least 20 are needed: train longer."
    )


def test_enough_data_are_conclusive():
    assert verdict_of(situation(ENOUGH_STEPS, input_wait=8.0, compute=2.0))[0] == "input-bound"


def test_a_wait_that_was_not_measured_leaves_the_rest_inconclusive():
    verdict, because = verdict_of(situation(compute=10.0))
    assert verdict == "inconclusive"
    assert "options.autotune.enabled" in str(because)


@pytest.mark.parametrize(("steps", "verdict"), [(1, "inconclusive"), (8, "compute-bound")])
def test_short_steps_may_be_dispatch_unless_many_share_an_execution(steps, verdict):
    context = {"steps_per_execution": steps}
    assert verdict_of(situation(input_wait=0.0, compute=1.0, context=context))[0] == verdict


def on_a_gpu(busy_pct: float, **parts: float) -> tuple[str, str]:
    sensors = {"gpu/0/graphics_active_pct": busy_pct, "gpu/0/other_processes": 0.0}
    verdict, because = verdict_of(situation(1000, **parts, sensors=sensors, context=H200))
    return verdict, str(because)


def test_short_steps_whose_time_a_gpu_computes_are_no_dispatch():
    assert on_a_gpu(97.0, input_wait=0.0, compute=2.0) == (
        "compute-bound",
        "no other part's removal would make a step 5% faster: the GPU runs kernels for 97% of the "
        "time.",
    )
    # Half a millisecond of dispatch would be more than the wait, but there is none.
    assert on_a_gpu(78.0, input_wait=0.4, compute=1.6)[0] == "input-bound"
    assert on_a_gpu(40.0, input_wait=0.4, compute=1.6)[0] == "inconclusive"


def test_how_much_of_a_short_step_a_gpu_computes_is_told_where_dispatch_is_not_known():
    verdict, why = on_a_gpu(60.0, input_wait=0.0, compute=2.0)
    assert verdict == "inconclusive"
    assert why.startswith(
        "a step of 2 ms runs kernels on the GPU for 60% of its time, and much of the rest may be "
        "call overhead: what it costs to enter and leave the train function was not measured. "
    )


@pytest.mark.parametrize("part", ["callbacks", "other_host", "compile"])
def test_what_is_plain_without_the_wait_is_said_without_it(part):
    parts: dict[str, Any] = {"compute": 6.0, part: 4.0}
    assert verdict_of(situation(**parts))[0] not in ("inconclusive", "compute-bound")


def test_a_busy_cpu_hides_no_bottleneck():
    busy = situation(input_wait=8.0, compute=2.0, stages=SEQUENTIAL, process_cpu_pct=800.0)
    assert verdict_of(busy)[0] == "input-bound"


# -- between epochs ----------------------------------------------------------------------


def hooks(ms: float) -> dict[str, Any]:
    return between_epochs(callbacks={"Mine.on_epoch_end": ms})


def test_callbacks_that_take_as_long_between_epochs_as_training_are_the_bottleneck():
    found = situation(input_wait=0.0, compute=10.0, context=hooks(10.0))
    verdict, because = verdict_of(found)
    assert verdict == "callback-bound"
    assert str(because) == (
        "between epochs callbacks take 10 ms for each step of 10 ms; "
        "without, training would be 2.00× as fast."
    )


@pytest.mark.parametrize(
    ("compute", "verdict"), [(20.0, "callback-bound"), (20.1, "compute-bound")]
)
def test_callbacks_between_epochs_count_from_five_percent_on(compute, verdict):
    found = situation(input_wait=0.0, compute=compute, context=hooks(1.0))
    assert verdict_of(found)[0] == verdict


@pytest.mark.parametrize(("hook_ms", "verdict"), [(7.0, "input-bound"), (9.0, "callback-bound")])
def test_the_part_that_takes_most_of_the_whole_training_is_the_bottleneck(hook_ms, verdict):
    found = situation(input_wait=8.0, compute=2.0, stages=SEQUENTIAL, context=hooks(hook_ms))
    assert verdict_of(found)[0] == verdict


def test_callbacks_in_the_steps_are_named_where_they_take_longer_than_those_between_epochs():
    found = situation(input_wait=0.0, compute=6.0, callbacks=4.0, context=hooks(2.0))
    assert verdict_of(found)[0] == "callback-bound"
    assert str(verdict_of(found)[1]).startswith("callbacks: 4 ms of each step")


def test_validation_is_what_the_user_asked_for_and_no_bottleneck():
    found = situation(input_wait=0.0, compute=10.0, context=between_epochs(50.0, rest=9.0))
    assert verdict_of(found)[0] == "compute-bound"


def test_without_callbacks_between_epochs_there_is_nothing_to_gain_there():
    assert gain_between_epochs(situation(compute=10.0).model) == 1.0
    assert gain_between_epochs(situation(compute=10.0, context=between_epochs(5.0)).model) == 1.0


def test_the_gain_between_epochs_is_of_the_whole_training():
    context = between_epochs(5.0, {"Mine.on_epoch_end": 4.0}, 1.0)
    assert gain_between_epochs(situation(compute=10.0, context=context).model) == 20 / 16


# -- input from workers, of which tf.data sees nothing -----------------------------------

WORKERS = {"input_kind": "PyDataset", "cpu_count": 2}


def from_workers(*, cpu_pct=20.0, process_cpu_pct=30.0, context=None, **parts):
    """Ten milliseconds of a step whose input wait is unknown, by default."""
    verdict, why = verdict_of(
        situation(
            **(parts or {"compute": 10.0}),
            process_cpu_pct=process_cpu_pct,
            sensors={"host/cpu_pct": cpu_pct},
            context=WORKERS | (context or {}),
        )
    )
    return verdict, str(why)


def test_a_train_function_in_which_nobody_computes_waits_for_its_workers():
    verdict, why = from_workers()
    assert verdict == "input-bound"
    # 30% of a core for 10 ms are 3 ms of CPU time, in which training may have computed.
    assert why.startswith("for at least 7 ms of each step of 10 ms training waited while no thread")
    assert "with PyDataset workers, Keras turns off what measures it" in why
    several = from_workers(context={"steps_per_execution": 2})[1]
    assert "a PyDataset's workers are timed with steps_per_execution=1 only" in several
    shared = from_workers(context={"steps_per_execution": 2, "replicas": 2})[1]
    assert "timed with" not in shared


@pytest.mark.parametrize(
    ("kind", "by_steps", "how"),
    [
        ("tf.data", False, "dataset.repeat() with steps_per_epoch makes fewer, longer ones"),
        ("tf.data", True, "a larger steps_per_epoch makes fewer, longer ones"),
        ("generator", True, "a larger steps_per_epoch makes fewer, longer ones"),
        ("arrays", False, "fewer, longer ones tell it"),
        ("PyDataset", False, "fewer, longer ones tell it"),
    ],
)
def test_where_epochs_are_too_short_for_a_wait_longer_ones_are_made_as_the_input_can(
    kind, by_steps, how
):
    context = {"epoch_steps": 1, "input_kind": kind, "ends_by_steps": by_steps}
    verdict, why = verdict_of(situation(compute=10.0, context=context))
    assert verdict == "inconclusive"
    assert f"epochs of 1 step are too short for it; {how}." in str(why)


@pytest.mark.parametrize(
    ("gaps", "owners", "often"),
    [(100, {"log": 0.001}, True), (3, {"log": 0.001}, False), (100, {}, False)],
)
def test_where_a_loop_interrupts_each_call_no_option_of_tf_data_is_asked_for(gaps, owners, often):
    length = {"first_step": 0, "last_step": 200}
    outside = {"epoch_gaps": gaps, "epoch_callbacks_s": owners}
    context = {"driver": "loop", "outside": outside, **length}
    verdict, why = verdict_of(situation(compute=10.0, context=context))
    assert verdict == "inconclusive"
    assert ("interrupts the calls too often" in str(why)) == often
    assert ("options.autotune" in str(why)) != often


def test_of_a_python_iterator_in_a_loop_no_options_of_tf_data_are_asked_for():
    context = {"driver": "loop", "input_kind": "generator"}
    verdict, why = verdict_of(situation(compute=10.0, context=context))
    assert verdict == "inconclusive"
    assert "of an iterator of Python's" in str(why)
    assert "autotune" not in str(why)


def test_where_a_loop_may_fetch_in_its_own_work_that_is_no_dispatch():
    def told(**context):
        return verdict_of(situation(compute=2.0, other_host=8.0, context=context))

    for kind in ("generator", "tf.data"):
        outside = {"fetches_outside": kind == "tf.data"}
        verdict, why = told(driver="loop", input_kind=kind, **outside)
        assert verdict == "inconclusive"
        assert "fetched outside of `with monitor.execution(...)`" in str(why)
    assert told(input_kind="generator")[0] == "dispatch-bound"
    known = situation(input_wait=0.1, compute=2.0, other_host=8.0, context={"driver": "loop"})
    verdict, why = verdict_of(known)
    assert verdict == "callback-bound"
    assert str(why).startswith("callbacks and other host work: 8 ms of each step")


def test_what_a_loop_names_is_its_bound_where_its_other_work_may_be_fetching():
    context = {"driver": "loop", "input_kind": "generator"}
    named = situation(compute=2.0, callbacks=6.0, other_host=1.0, context=context)
    verdict, why = verdict_of(named)
    assert verdict == "callback-bound"
    assert str(why).startswith("callbacks: 6 ms of each step")
    unnamed = situation(compute=6.0, callbacks=1.0, other_host=3.0, context=context)
    assert verdict_of(unnamed)[0] == "inconclusive"


@pytest.mark.parametrize(
    "changed",
    [
        {"process_cpu_pct": 55.0},  # half of the step may be computing
        {"process_cpu_pct": 0.0},  # not sampled
        {"cpu_pct": 75.0},  # other programs may keep the cores
        {"context": H200},  # the device computes
        {"context": {"replicas": 2}},
        {"context": {"input_kind": "tf.data"}},
        {"context": between_epochs(rest=3.0)},  # CPU use is that of other things too
    ],
)
def test_where_something_else_may_be_behind_it_the_verdict_stays_open(changed):
    verdict, why = from_workers(**changed)
    assert verdict == "inconclusive"
    assert why.startswith("the input wait could not be measured: ")


def test_what_was_measured_and_costs_more_goes_before_waiting_that_was_not_seen():
    verdict, _ = from_workers(compute=4.0, callbacks=6.0, process_cpu_pct=1.0)
    assert verdict == "callback-bound"
    verdict, _ = from_workers(compute=9.0, dispatch=1.0)
    assert verdict == "input-bound"


# -- what is not to be said --------------------------------------------------------------


def test_where_much_lies_between_epochs_a_steps_gain_is_not_the_trainings():
    parts = {"input_wait": 0.0, "compute": 6.0, "dispatch": 4.0}
    _, why = verdict_of(situation(**parts, context=between_epochs(30.0)))
    assert str(why).endswith("a step would be 1.67× as fast, the whole training 1.11×.")


@pytest.mark.parametrize(
    ("wait", "dispatch", "verdict"),
    [
        (0.2, {}, "inconclusive"),  # half a millisecond of dispatch would be more
        (0.6, {}, "input-bound"),
        (0.2, {"dispatch": 0.1}, "input-bound"),
    ],
)
def test_a_short_step_that_waits_little_may_mostly_be_dispatch(wait, dispatch, verdict):
    stages = [stage("Map", 0.2)]
    found, why = verdict_of(situation(input_wait=wait, compute=0.8, stages=stages, **dispatch))
    assert found == verdict
    assert ("may be mostly call overhead" in str(why)) == (verdict == "inconclusive")


@pytest.mark.parametrize(
    ("wait", "call_ms", "verdict"),
    [
        (0.0, 0.3, "compute-bound"),
        (0.0, 0.6, "inconclusive"),
        (0.1, 0.2, "inconclusive"),  # as much as the wait may be dispatch
        (0.1, 0.05, "input-bound"),
    ],
)
def test_where_the_calls_were_timed_a_short_step_is_not_open_for_its_dispatch(
    wait, call_ms, verdict
):
    stages = [stage("Map", 0.9)] if wait else []
    context = {"call_ms": call_ms, "tries_steps": False}
    parts = {"input_wait": wait, "compute": 1.0 - wait}
    found, why = verdict_of(situation(**parts, stages=stages, context=context))
    assert found == verdict, str(why)
    if verdict == "compute-bound":
        assert str(why).endswith("own computation and dispatch, at most 0.3 ms of it.")
    if verdict == "inconclusive":
        assert f"leaving the train function takes at most {call_ms} ms; how much" in str(why)


@pytest.mark.parametrize(("call_ms", "verdict"), [(0.5, "inconclusive"), (0.01, "dispatch-bound")])
def test_of_a_step_that_is_mostly_calls_the_loops_little_work_is_not_the_bottleneck(
    call_ms, verdict
):
    context = {"call_ms": call_ms, "tries_steps": False}
    parts = {"input_wait": 0.0, "compute": 0.79, "other_host": 0.05}
    assert verdict_of(situation(**parts, context=context))[0] == verdict


def test_steps_far_slower_than_the_quickest_are_kept_by_something():
    parts = {"input_wait": 0.0, "compute": 10.0, "dispatch": 0.0}
    verdict, why = verdict_of(situation(**parts, context={"undisturbed_ms": 3.9}))
    assert verdict == "inconclusive"
    assert str(why) == (
        "steps spend 10 ms in the train function, and the quickest tenth of them no more than "
        "3.9 ms: something unrecognised slows the others; it is unlikely to be the model. A trace "
        "of such steps (WindowedProfiler; its on_slow_step=1.5 waits for one that stands out) may "
        "show it."
    )
    assert verdict_of(situation(**parts, context={"undisturbed_ms": 4.1}))[0] == "compute-bound"


def test_steps_slowed_where_others_used_the_cpus_are_not_called_a_riddle():
    parts = {"input_wait": 0.0, "compute": 10.0, "dispatch": 0.0}
    sensors = {"host/cpu_pct": 95.0, "host/process_cpu_pct": 32.0}
    facts = {"undisturbed_ms": 2.0, "cpu_count": 2}
    verdict, why = verdict_of(situation(**parts, context=facts, sensors=sensors))
    assert verdict == "inconclusive"
    assert "other processes used 79% of the CPUs meanwhile" in str(why)
    assert "unrecognised" not in str(why)


def test_a_pipeline_that_works_all_the_time_paces_a_step_that_waits_a_little():
    found = situation(
        input_wait=2.0,
        compute=8.0,
        stages=[stage("Map", 7.5), stage("Prefetch", 0.0)],
        context={"prefetch_fill": 0.6},
    )
    assert found.model.produce_ms == 10.0
    assert verdict_of(found)[0] == "input-bound"


@pytest.mark.parametrize(
    ("dispatch", "verdict"), [(0.1, "compute-bound"), (0.5, "compute-bound"), (0.12, "dispatch")]
)
def test_an_execution_of_many_steps_costs_no_more_than_entering_and_leaving_it(dispatch, verdict):
    # 16 steps of 3.9 ms in an execution, of which no room was left to try more.
    trial = {"recommended": 16, "present": 16, "not_tried": "epochs leave no room to try"}
    context = {"steps_per_execution": 16, "steps_per_execution_trial": trial}
    compute = 2.0 if verdict == "dispatch" else 3.4
    parts = {"input_wait": 0.0, "compute": compute, "dispatch": dispatch}
    found, because = verdict_of(situation(**parts, context=context))
    assert found.startswith(verdict)
    told = "dispatch of 0.5 ms, more than an execution can cost: computing of its last step"
    assert (told in str(because)) is (dispatch == 0.5)


def test_what_one_step_s_execution_may_cost_is_not_said_to_be_computing():
    stages = [stage("TensorSlice", 0.1), stage("Map", 9.0)]
    found = situation(input_wait=0.2, compute=8.0, dispatch=0.8, stages=stages)
    _, because = verdict_of(found)
    assert "computing of its last step" not in str(because)


def test_what_executions_cost_is_no_verdict_where_steps_are_too_long_for_it():
    found = situation(input_wait=0.0, compute=150.0, dispatch=50.0)
    verdict, because = verdict_of(found)
    assert verdict == "compute-bound"
    assert "dispatch of 50 ms, of which more steps per execution save little" in str(because)


def test_where_lengths_are_left_to_compile_the_verdict_says_that_no_more_can_be_had():
    context = {"shapes_differ": True}
    _, because = verdict_of(
        situation(input_wait=0.0, compute=6.0, compile=3.0, callbacks=1.0, context=context)
    )
    assert str(because).endswith(
        " No more can be had: each length that is left still compiles once, and without XLA a step "
        "may compute for longer."
    )


@pytest.mark.parametrize(
    ("context", "said"),
    [
        (between_epochs(30.0), "validation takes 75% of it."),
        (between_epochs(5.0), ""),
        (between_epochs(rest=30.0), "Keras's own work between epochs takes 75% of it."),
        (between_epochs(6.0, rest=6.0), ""),
        (between_epochs(rest=30.0) | IN_A_LOOP, ""),
        (between_epochs(30.0) | IN_A_LOOP, "validation takes 75% of it."),
    ],
)
def test_most_of_the_training_being_no_steps_is_told(context, said):
    found = situation(input_wait=0.0, compute=10.0, context=context)
    assert mostly_outside(found).endswith(said)
    assert bool(mostly_outside(found)) == bool(said)


QUICK = [stage("TensorSlice", 0.02), stage("Map", 0.03)]
CROWDED = {"host/cpu_pct": 90.0, "host/process_cpu_pct": 200.0}


@pytest.mark.parametrize("behind", [[], [stage("Prefetch", 0.0)]])
def test_where_others_use_the_cpus_a_wait_is_the_input_s_only_if_its_work_explains_it(behind):
    """Measured: 0.48 ms of wait, 0.05 ms of all stages, on a core that others used."""
    parts = {"input_wait": 0.48, "compute": 1.0, "dispatch": 0.02, "other_host": 0.01}
    context = {"prefetch_fill": 0.2} if behind else {}

    def found(stages, **sensors):
        named = {f"host/{name}": value for name, value in sensors.items()}
        known = {"stages": [*stages, *behind], "context": context, "sensors": named}
        told = situation(**parts, **known)
        assert told.model.step_ms == pytest.approx(told.summary.step_ms)
        verdict, because = verdict_of(told)
        return verdict, str(because)

    crowded = {name.removeprefix("host/"): value for name, value in CROWDED.items()}
    assert found(QUICK)[0] == "input-bound"
    assert found(QUICK, cpu_pct=30.0, process_cpu_pct=200.0)[0] == "input-bound"
    assert found([stage("Map", 0.3)], **crowded)[0] == "input-bound"
    assert found([*QUICK, stage("FlatMap", 0.0)], **crowded)[0] == "input-bound"
    verdict, said = found(QUICK, **crowded)
    assert verdict == "inconclusive"
    assert said == (
        "a step waits 0.48 ms for its batch, made in 0.05 ms: other processes used 65% of the CPUs "
        "meanwhile, and threads that hand it over may have waited for a core. Train again without "
        "them."
    )
    other = situation(**parts, stages=[*QUICK, *behind], context=context, sensors=CROWDED)
    workers = other.summary.as_worker(0), other.summary.as_worker(1, 500.0)
    told = verdict_of(replace(other, summary=replace(other.summary, workers=workers)))[1]
    assert "the other workers on this machine used 65% of the CPUs meanwhile" in str(told)
    assert str(told).endswith("Train again with fewer of them there.")


@pytest.mark.parametrize(
    ("own_pct", "others", "verdict"),
    [
        (63.0, {}, "input-bound"),
        (20.0, {}, "inconclusive"),
        (63.0, {"host/python_threads_cpu_pct": 45.0}, "inconclusive"),
        (63.0, {THROTTLED: 40.0}, "inconclusive"),
    ],
)
def test_work_that_tf_data_does_not_count_explains_a_wait_beside_others(own_pct, others, verdict):
    """Measured: 16 ms by tf.data, and 79 of CPU time, where a function is called for each row."""
    told = situation(
        input_wait=125.0,
        compute=3.0,
        stages=[stage("MapAndBatch", 15.0), stage("Prefetch", 1.0)],
        context={"prefetch_fill": 0.0, "cpu_count": 2},
        sensors={"host/cpu_pct": 100.0, "host/process_cpu_pct": own_pct, **others},
    )
    assert verdict_of(told)[0] == verdict


@pytest.mark.parametrize(
    ("stalls_ms", "throttled_pct", "verdict"),
    [
        (4.0, 0.0, "inconclusive"),
        (30.0, 0.0, "input-bound"),
        (30.0, 40.0, "inconclusive"),
        (300.0, 40.0, "input-bound"),
    ],
)
def test_stalls_no_longer_than_a_wait_for_a_core_are_none_of_the_input_s(
    stalls_ms, throttled_pct, verdict
):
    """In 200 steps as much as is waited in all, while other processes use the CPUs."""
    times = max(1, round(96 / stalls_ms))
    stalls = {"cause": "input-stall", "owner": "", "count": times, "total_ms": times * stalls_ms}
    found = situation(
        input_wait=0.48,
        compute=1.0,
        dispatch=0.02,
        stages=QUICK,
        sensors={"host/cpu_pct": 90.0, THROTTLED: throttled_pct},
        process_cpu_pct=200.0,
        context={"event_totals": [stalls]},
    )
    assert verdict_of(found)[0] == verdict


def on_one_core(waited_pct: float | None = 80.0, **sensors: float) -> Situation:
    """A step that computes for 15 ms, 8 of them for itself, while a batch takes 12 on its core."""
    waited = {} if waited_pct is None else {"host/process_core_wait_pct": waited_pct}
    return situation(
        input_wait=1.0,
        compute=13.0,
        dispatch=2.0,
        stages=[stage("Generator", 12.0), stage("Prefetch", 0.0)],
        sensors={"host/cpu_pct": 90.0} | waited | sensors,
        process_cpu_pct=90.0,
        context={"cpu_count": 1, "prefetch_fill": 0.2, "undisturbed_ms": 14.5},
    )


def test_on_one_core_computing_waits_while_the_pipeline_has_it():
    found = on_one_core()
    assert found.model.alone_ms == pytest.approx(15.0 * 90 / 170)
    verdict, because = verdict_of(found)
    assert verdict == "input-bound"
    assert "takes cores that computing needs" in str(because)


@pytest.mark.parametrize(
    "unknown",
    [
        on_one_core(None),
        on_one_core(**{THROTTLED: 50.0}),
        situation_of(replace(on_one_core().summary, facts=facts_of({"cpu_count": 2}))),
    ],
)
def test_where_a_quota_is_used_up_or_there_are_more_cores_that_is_not_known(unknown):
    assert unknown.model.on_its_core_ms is None


def test_on_half_of_a_core_all_takes_twice_as_long_and_as_much_is_gained():
    alone = on_one_core()
    # As many threads of the process want to run; another process has the core for half the time.
    sensors = {"host/cpu_pct": 95.0, "host/process_core_wait_pct": 170.0 - 45.0}
    shared = situation(
        input_wait=2.0,
        compute=26.0,
        dispatch=4.0,
        stages=[stage("Generator", 24.0), stage("Prefetch", 0.0)],
        sensors=sensors,
        process_cpu_pct=45.0,
        context={"cpu_count": 1, "prefetch_fill": 0.2, "undisturbed_ms": 29.0},
    )
    assert shared.share_of_cores == pytest.approx(0.5)
    assert shared.model.alone_ms == pytest.approx(2 * alone.model.alone_ms)
    assert shared.work_beside_ms == pytest.approx(alone.work_beside_ms, rel=0.05)
    first, second = (
        each.step_ms / each.with_less_work(dict.fromkeys(each.stages, 0.0), 0.0).step_ms
        for each in (alone.model, shared.model)
    )
    assert second == pytest.approx(first, rel=0.1)


def test_quick_steps_that_had_the_core_whole_are_no_share_of_it_again():
    """Of 20 ms on a quarter of a core 5 are computing's; the pipeline takes 0.2 of CPU time."""
    healthy = situation(
        input_wait=0.0,
        compute=19.6,
        dispatch=0.0,
        stages=[stage("Map", 0.8), stage("Prefetch", 0.0)],
        sensors={"host/cpu_pct": 100.0, "host/process_core_wait_pct": 77.0},
        process_cpu_pct=26.0,
        context={"cpu_count": 1, "prefetch_fill": 0.9, "undisturbed_ms": 4.6},
    )
    assert healthy.share_of_cores == pytest.approx(0.26)
    assert healthy.model.alone_ms == pytest.approx(4.6 / 0.26)
    assert gains(healthy)["input-bound"] < 1.1
    assert verdict_of(healthy)[0] != "input-bound"


def test_the_work_beside_is_what_computing_left_of_the_core():
    found = on_one_core()
    assert found.work_beside_ms == pytest.approx(14.4 - 15.0 * 90 / 170, abs=0.1)
    assert "up to 6.46 ms of CPU time a batch" in str(verdict_of(found)[1])


@pytest.mark.parametrize(
    ("cores", "waited_pct", "held"), [(1, 80.0, 0), (1, None, 12), (2, 80, 12)]
)
def test_on_one_core_threads_wait_for_it_and_not_for_the_interpreter(cores, waited_pct, held):
    waited = {} if waited_pct is None else {"host/process_core_wait_pct": waited_pct}
    found = situation(
        input_wait=1.0,
        compute=13.0,
        dispatch=2.0,
        stages=[stage("Generator", 12.0), stage("Prefetch", 0.0)],
        sensors={"host/cpu_pct": 90.0 / cores, "host/interpreter_wait_ms": 3.0} | waited,
        process_cpu_pct=90.0,
        context={"cpu_count": cores, "prefetch_fill": 0.2, "undisturbed_ms": 14.5},
    )
    assert found.interpreter_ms == held


def test_where_no_thread_waits_computing_is_what_was_measured():
    assert on_one_core(0.0).model.on_its_core_ms == pytest.approx(15.0)


def test_behind_a_full_buffer_such_stalls_are_no_waiting_for_input_either():
    """Stages explain a third of the wait, which lies in stalls of 4 ms for most of it."""
    stalls = {"cause": "input-stall", "owner": "", "count": 25, "total_ms": 100.0}

    def found(cpu_pct: float) -> str:
        told = situation(
            input_wait=0.6,
            compute=2.4,
            dispatch=0.0,
            stages=[stage("Map", 0.4), stage("Prefetch", 0.0)],
            sensors={"host/cpu_pct": cpu_pct},
            process_cpu_pct=200.0,
            context={"event_totals": [stalls], "prefetch_fill": 0.9},
        )
        return verdict_of(told)[0]

    assert found(25.0) == "input-bound"
    assert found(90.0) == "inconclusive"
