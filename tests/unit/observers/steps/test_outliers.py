"""Executions and pauses that take far longer than usual, and their causes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keras_perf.observers.steps.outliers import (
    KEPT,
    PATIENCE,
    REMEMBERED,
    WINDOW,
    OutlierJudge,
    OutlierLog,
)
from keras_perf.records.epoch_gap import VALIDATION, EpochGap
from keras_perf.records.execution import Execution, Kind
from keras_perf.records.metrics.all_metrics import EVENT_METRICS
from keras_perf.records.owners import COLLECTOR
from keras_perf.records.run.times.outlier import CAUSES, Cause, Outlier, Outliers, OutlierTotal

MS = 10**6

HOOK = "Mine.on_train_batch_end"

LONG = 100
"""Optimizer steps before the execution that a test is about; those before it are usual."""


def execution(
    first_step: int = LONG,
    *,
    inside_ms: float = 10.0,
    host_ms: float = 1.0,
    steps: int = 1,
    kind: Kind = Kind.STEADY,
    owners: Mapping[str, float] | None = None,
    collector_ms: float = 0.0,
) -> Execution:
    ready = round(inside_ms * MS)
    spent = tuple((owner, round(ms * MS)) for owner, ms in (owners or {}).items())
    end = ready + round(host_ms * MS)
    collector = round(collector_ms * MS)
    return Execution(first_step, steps, kind, 0, ready, ready, end, spent, collector)


def usual(count: int = 32, *, first: int = LONG - 32, steps: int = 1) -> list[Execution]:
    """Ten milliseconds a step, and one on the host after each execution."""
    return [
        execution(first + steps * place, inside_ms=10.0 * steps, steps=steps)
        for place in range(count)
    ]


def found(
    *executions: Execution,
    before: Sequence[Execution] | None = None,
    wait_ms: float | None = None,
    shuffles: bool = False,
) -> list[Outlier]:
    """Events of these after usual ones; `wait_ms` is the first one's input wait."""
    events = OutlierJudge()
    events.add(usual() if before is None else before)
    events.close_stretch({}, shuffles)
    assert events.take() == []
    events.add(executions)
    waits = {} if wait_ms is None else {executions[0].first_step: round(wait_ms * MS)}
    events.close_stretch(waits, shuffles)
    return events.take()


def gap(rest_ms: float = 0.0, /, *, step: int = LONG, **owners: float) -> EpochGap:
    """Owners' times in milliseconds; `__` in a name stands for a dot."""
    spent = tuple((name.replace("__", "."), round(ms * MS)) for name, ms in owners.items())
    return EpochGap(step, 0, round(rest_ms * MS) + sum(ns for _, ns in spent), spent)


# -- what is long ------------------------------------------------------------------------


def test_an_execution_far_longer_than_usual_is_an_event():
    assert found(execution(inside_ms=60.0)) == [Outlier(LONG, Cause.UNKNOWN, "", 50.0, 10.0)]


def test_a_pause_on_the_host_far_longer_than_usual_is_an_event():
    assert found(execution(host_ms=61.0)) == [Outlier(LONG, Cause.UNKNOWN, "", 60.0, 1.0)]


def test_an_execution_long_in_both_is_two_events():
    both = execution(inside_ms=60.0, host_ms=61.0)
    assert [event.excess_ms for event in found(both)] == [50.0, 60.0]


@pytest.mark.parametrize(("excess_ms", "events"), [(5.5, 0), (5.6, 1)])
def test_half_a_cycle_more_than_usual_is_noticed(excess_ms, events):
    # A cycle is 11 ms.
    assert len(found(execution(inside_ms=10.0 + excess_ms))) == events
    assert len(found(execution(host_ms=1.0 + excess_ms))) == events


@pytest.mark.parametrize(("excess_ms", "events"), [(23.7, 0), (23.8, 1)])
def test_where_executions_differ_it_takes_eight_deviations(excess_ms, events):
    # Median 10 and MAD 2: 8 × 1.4826 × 2 = 23.72.
    noisy = [execution(place, inside_ms=8.0 + 2 * (place % 3)) for place in range(33)]
    assert len(found(execution(inside_ms=10.0 + excess_ms), before=noisy)) == events


def test_an_execution_much_shorter_than_usual_is_none():
    assert found(execution(inside_ms=0.1, host_ms=0.0)) == []


def test_one_long_execution_moves_neither_what_is_usual_nor_the_limit():
    first, second = execution(inside_ms=5010.0), execution(LONG + 1, inside_ms=16.0)
    assert found(first, second) == [
        Outlier(LONG, Cause.UNKNOWN, "", 5000.0, 10.0),
        Outlier(LONG + 1, Cause.UNKNOWN, "", 6.0, 10.0),
    ]


def test_a_lasting_change_becomes_what_is_usual():
    events = OutlierJudge()
    events.add(usual())
    events.close_stretch({}, False)
    slower = [execution(LONG + place, inside_ms=40.0) for place in range(WINDOW)]
    events.add(slower)
    events.close_stretch({}, False)
    assert events.take() == []
    events.add([execution(999, inside_ms=60.1)])
    events.close_stretch({}, False)
    assert events.take() == []
    events.add([execution(999, inside_ms=61.0)])
    events.close_stretch({}, False)
    assert [event.usual_ms for event in events.take()] == [40.0]


# -- several steps per execution ---------------------------------------------------------


def test_what_is_usual_of_an_execution_is_that_of_all_its_steps():
    before = usual(steps=8, first=0)
    [event] = found(execution(inside_ms=160.0, steps=8), before=before)
    assert (event.excess_ms, event.usual_ms) == (80.0, 80.0)
    # A cycle is 81 ms.
    assert found(execution(inside_ms=120.0, steps=8), before=before) == []


def test_a_shorter_execution_is_judged_only_beside_others_of_its_length():
    before = usual(steps=8, first=0)
    assert found(execution(inside_ms=60.0, steps=3), before=before) == []


# -- patience ----------------------------------------------------------------------------


def test_nothing_is_judged_on_few_executions_and_then_all_of_them_are():
    events = OutlierJudge()
    events.add([*usual(PATIENCE - 2, first=0), execution(inside_ms=60.0)])
    events.close_stretch({LONG: 45 * MS}, False)
    assert events.take() == []
    events.add(usual(1, first=LONG + 1))
    events.close_stretch({}, False)
    # With the wait that was known then.
    assert events.take() == [Outlier(LONG, Cause.INPUT, "", 50.0, 10.0)]


def test_executions_that_are_not_steady_do_not_tell_what_is_usual():
    events = OutlierJudge()
    events.add([execution(place, kind=Kind.TRACED, inside_ms=500.0) for place in range(50)])
    events.close_stretch({}, False)
    assert events.take() == []
    events.add(usual(PATIENCE))
    events.close_stretch({}, False)
    assert {(event.cause, event.usual_ms) for event in events.take()} == {(Cause.RETRACE, 10.0)}


def test_no_more_than_a_thousand_executions_wait_to_be_judged():
    events = OutlierJudge()
    traced = [execution(place, kind=Kind.TRACED, inside_ms=500.0) for place in range(1500)]
    events.add(traced)
    events.close_stretch({}, False)
    events.add(usual(PATIENCE, first=1500))
    events.close_stretch({}, False)
    assert len(events.take()) == REMEMBERED


def test_executions_are_judged_when_their_stretch_ends():
    events = OutlierJudge()
    events.add([*usual(), execution(inside_ms=60.0)])
    assert events.take() == []
    events.close_stretch({}, False)
    assert len(events.take()) == 1


def test_an_event_is_told_once():
    events = OutlierJudge()
    events.add([*usual(), execution(inside_ms=60.0)])
    for _ in range(2):
        events.close_stretch({}, False)
    assert len(events.take()) == 1
    assert events.take() == []


# -- causes inside of the train function -------------------------------------------------


def cause_of(*executions: Execution, **arguments: object) -> Cause:
    [event] = found(*executions, **arguments)
    return event.cause


def test_a_retrace_is_called_one_whatever_else_there_was():
    traced = execution(inside_ms=60.0, kind=Kind.TRACED, collector_ms=50.0)
    assert cause_of(traced, wait_ms=50.0) is Cause.RETRACE


def test_a_wait_for_most_of_what_is_too_long_is_an_input_stall():
    assert cause_of(execution(inside_ms=60.0), wait_ms=26.0) is Cause.INPUT


@pytest.mark.parametrize("wait_ms", [None, 25.0])
def test_a_wait_for_half_of_it_or_an_unknown_one_is_no_input_stall(wait_ms):
    assert cause_of(execution(inside_ms=60.0), wait_ms=wait_ms) is Cause.UNKNOWN


def test_an_execution_that_may_have_compiled_is_a_recompilation():
    recompiled = execution(inside_ms=60.0, kind=Kind.RECOMPILED)
    assert cause_of(recompiled) is Cause.RECOMPILE
    assert cause_of(recompiled, wait_ms=10.0) is Cause.RECOMPILE


def test_an_execution_that_waited_for_input_has_not_compiled():
    recompiled = execution(inside_ms=60.0, kind=Kind.RECOMPILED)
    assert cause_of(recompiled, wait_ms=40.0) is Cause.INPUT


@pytest.mark.parametrize(
    ("pause_ms", "cause"), [(26.0, Cause.GARBAGE), (25.0, Cause.UNKNOWN), (0.0, Cause.UNKNOWN)]
)
def test_pauses_of_the_collector_for_most_of_it_are_garbage_collection(pause_ms, cause):
    assert cause_of(execution(inside_ms=60.0, collector_ms=pause_ms)) is cause


def test_pauses_in_a_hook_did_not_make_the_train_function_long():
    long = execution(
        inside_ms=60.0, host_ms=51.0, collector_ms=50.0, owners={COLLECTOR: 50.0, HOOK: 0.5}
    )
    assert [event.cause for event in found(long)] == [Cause.UNKNOWN, Cause.GARBAGE]


# -- causes on the host ------------------------------------------------------------------


def test_a_hook_that_took_most_of_it_is_named():
    long = execution(host_ms=61.0, owners={"Other.on_train_batch_end": 20.0, HOOK: 31.0})
    assert found(long) == [Outlier(LONG, Cause.CALLBACK, HOOK, 60.0, 1.0)]


def test_hooks_that_took_half_of_it_each_are_not_the_cause():
    long = execution(host_ms=61.0, owners={"Other.on_train_batch_end": 30.0, HOOK: 30.0})
    assert found(long) == [Outlier(LONG, Cause.UNKNOWN, "", 60.0, 1.0)]


@pytest.mark.parametrize("name", ["ModelCheckpoint", "BackupAndRestore", "MyCheckpointWriter"])
def test_a_callback_that_writes_checkpoints_is_called_a_checkpoint(name):
    owner = f"{name}.on_train_batch_end"
    assert found(execution(host_ms=61.0, owners={owner: 60.0})) == [
        Outlier(LONG, Cause.CHECKPOINT, owner, 60.0, 1.0)
    ]


def test_only_a_callbacks_class_tells_that_it_writes_checkpoints():
    long = execution(host_ms=61.0, owners={"Mine.on_Checkpoint": 60.0})
    assert cause_of(long) is Cause.CALLBACK


def test_a_pause_in_a_hook_is_garbage_collection_and_nobodys():
    long = execution(host_ms=61.0, collector_ms=50.0, owners={COLLECTOR: 50.0, HOOK: 10.0})
    assert found(long) == [Outlier(LONG, Cause.GARBAGE, "", 60.0, 1.0)]


def test_a_pause_inside_the_train_function_does_not_excuse_a_slow_hook():
    long = execution(inside_ms=60.0, host_ms=61.0, collector_ms=50.0, owners={HOOK: 60.0})
    assert [(event.cause, event.owner) for event in found(long)] == [
        (Cause.GARBAGE, ""),
        (Cause.CALLBACK, HOOK),
    ]


# -- an epoch's begin --------------------------------------------------------------------


def at_epoch_begin(
    *executions: Execution, wait_ms: float, shuffles: bool = False
) -> list[tuple[int, Cause]]:
    events = OutlierJudge()
    events.add(usual())
    events.close_stretch({}, shuffles)
    events.add_gap(gap())
    events.add(executions)
    events.close_stretch({e.first_step: round(wait_ms * MS) for e in executions}, shuffles)
    return [(event.step, event.cause) for event in events.take()]


@pytest.mark.parametrize(("shuffles", "cause"), [(True, Cause.SHUFFLE), (False, Cause.ITERATOR)])
def test_a_wait_at_an_epochs_begin_is_the_pipelines_begin(shuffles, cause):
    first, second = (execution(LONG + place, inside_ms=60.0) for place in (0, 1))
    assert at_epoch_begin(first, second, wait_ms=50.0, shuffles=shuffles) == [
        (LONG, cause),
        (LONG + 1, Cause.INPUT),
    ]


def test_an_epochs_first_execution_that_did_not_wait_was_long_for_another_reason():
    assert at_epoch_begin(execution(inside_ms=60.0), wait_ms=1.0) == [(LONG, Cause.UNKNOWN)]


def test_an_epochs_begin_of_usual_length_is_no_event():
    assert at_epoch_begin(execution(), wait_ms=9.0, shuffles=True) == []


def test_a_stall_after_executions_that_do_not_count_is_not_the_epochs_begin():
    # The epoch's first twenty steps were in a profiler window, say.
    later = execution(LONG + 20, inside_ms=60.0)
    assert at_epoch_begin(later, wait_ms=50.0, shuffles=True) == [(LONG + 20, Cause.INPUT)]


# -- between epochs ----------------------------------------------------------------------


def between(*gaps: EpochGap, before: Sequence[Execution] | None = None) -> list[Outlier]:
    events = OutlierJudge()
    events.add(usual() if before is None else before)
    events.close_stretch({}, False)
    for each in gaps:
        events.add_gap(each)
    return events.take()


def test_each_part_between_epochs_that_is_long_against_a_step_is_an_event():
    told = between(
        gap(
            20.0,
            validation=300.0,
            Mine__on_epoch_end=50.0,
            ModelCheckpoint__on_epoch_end=70.0,
            Other__on_epoch_begin=5.0,
        )
    )
    assert VALIDATION == "validation"
    assert told == [
        Outlier(LONG, Cause.VALIDATION, "", 300.0, 0.0),
        Outlier(LONG, Cause.CALLBACK, "Mine.on_epoch_end", 50.0, 0.0),
        Outlier(LONG, Cause.CHECKPOINT, "ModelCheckpoint.on_epoch_end", 70.0, 0.0),
        Outlier(LONG, Cause.ITERATOR, "", 20.0, 0.0),
    ]


@pytest.mark.parametrize(("compile_ms", "cause"), [(9.0, Cause.ITERATOR), (11.0, Cause.RECOMPILE)])
def test_what_is_mostly_compiling_is_no_new_iterator(compile_ms, cause):
    told = between(gap(20.0)._replace(compile_ns=round(compile_ms * MS)))
    assert told == [Outlier(LONG, cause, "", 20.0, 0.0)]


@pytest.mark.parametrize(("rest_ms", "events"), [(5.5, 0), (5.6, 1)])
def test_half_a_cycle_between_epochs_is_noticed(rest_ms, events):
    assert len(between(gap(rest_ms))) == events


def test_between_epochs_nothing_is_judged_before_it_is_known_what_is_usual():
    assert between(gap(500.0), before=usual(PATIENCE - 1)) == []


# -- steady noise ------------------------------------------------------------------------


@given(
    data=st.data(),
    cycle_ms=st.floats(0.1, 1000),
    host_share=st.floats(0, 1),
    noise=st.floats(0, 0.2),
    steps=st.sampled_from([1, 8]),
    stretches=st.integers(1, 4),
)
@settings(max_examples=60, deadline=None)
def test_nothing_is_found_in_steady_noise(data, cycle_ms, host_share, noise, steps, stretches):
    events, step = OutlierJudge(), 0
    factors = st.floats(1 - noise, 1 + noise)
    for _ in range(stretches):
        executions, waits = [], {}
        for inside, host in data.draw(st.lists(st.tuples(factors, factors), max_size=40)):
            inside_ms = cycle_ms * (1 - host_share) * inside
            host_ms = cycle_ms * host_share * host
            executions.append(execution(step, inside_ms=inside_ms, host_ms=host_ms, steps=steps))
            waits[step] = round(inside_ms * MS / 2)
            step += steps
        events.add(executions)
        events.close_stretch(waits, True)
    assert events.take() == []


# -- the record --------------------------------------------------------------------------


def event(excess_ms: float, cause: Cause = Cause.CALLBACK, owner: str = HOOK) -> Outlier:
    return Outlier(7, cause, owner, excess_ms, 1.0)


def log_of(*events: Outlier) -> OutlierLog:
    log = OutlierLog()
    for each in events:
        log.add(each)
    return log


def test_an_event_has_the_tag_of_its_cause():
    assert Cause.SHUFFLE.tag == "perf_outliers/shuffle_refill_ms"


def test_every_cause_has_a_meaning_and_a_tag_in_the_table_of_metrics():
    assert set(CAUSES) == set(Cause)
    tags = {metric.tag for metric in EVENT_METRICS}
    assert {cause.tag for cause in Cause} == tags


def test_the_longest_events_come_first():
    log = log_of(event(3.0), event(9.0), event(6.0))
    assert [each.excess_ms for each in log.worst()] == [9.0, 6.0, 3.0]


def test_of_many_events_the_longest_are_kept_and_all_are_counted():
    log = log_of(*(event(float(place % 500)) for place in range(1000)))
    assert [each.excess_ms for each in log.worst()] == [
        float(499 - place // 2) for place in range(KEPT)
    ]
    total = OutlierTotal("callback", HOOK, 1000, 2.0 * sum(range(500)))
    assert log.facts() == Outliers(tuple(log.worst()), (total,))


def test_events_are_summed_by_cause_and_owner_the_largest_sum_first():
    log = log_of(
        event(3.0),
        event(20.0, Cause.INPUT, ""),
        event(9.0, owner="Other.on_train_batch_end"),
        event(8.0),
    )
    assert log.facts().event_totals == (
        OutlierTotal("input-stall", "", 1, 20.0),
        OutlierTotal("callback", HOOK, 2, 11.0),
        OutlierTotal("callback", "Other.on_train_batch_end", 1, 9.0),
    )


def test_a_log_without_events_is_empty():
    assert log_of().facts() == Outliers()


def test_where_the_iterator_goes_on_nothing_is_the_making_of_a_new_one():
    events = OutlierJudge()
    events.add(usual())
    events.close_stretch({}, False)
    events.add_gap(gap(20.0)._replace(renewed=False))
    events.add([execution(LONG, inside_ms=60.0)])
    events.close_stretch({LONG: round(50 * MS)}, True)
    causes = [event.cause for event in events.take()]
    assert causes == [Cause.UNKNOWN, Cause.INPUT]
