"""Sums of what no interval counts."""

from __future__ import annotations

import pytest

from keras_perf.observers.steps.outside.outside_steps import Outside
from keras_perf.observers.steps.timeline import Timeline
from keras_perf.records.epoch_gap import VALIDATION, EpochGap
from keras_perf.records.execution import Execution, Kind
from keras_perf.records.metrics.all_metrics import OUTSIDE_METRICS
from keras_perf.records.run.times.outside_steps import OutsideSteps

S = 10**9
MS = 10**6


def execution(kind: Kind, cycle_ns: int, *, steps: int = 1) -> Execution:
    return Execution(0, steps, kind, 7 * S, 7 * S, 7 * S, 7 * S + cycle_ns)


def gap(rest_ms: int, *owners: tuple[str, int]) -> EpochGap:
    """Owners' times in milliseconds."""
    total = rest_ms + sum(ms for _, ms in owners)
    return EpochGap(40, 5 * S, 5 * S + total * MS, tuple((o, ms * MS) for o, ms in owners))


def test_nothing_outside_is_recorded_as_zero():
    assert Outside().facts() == OutsideSteps(0, 0, 0.0, 0.0, {}, 0.0)


def test_executions_are_summed_by_what_kept_them_out():
    outside = Outside()
    for kind, seconds in [
        (Kind.WARMUP, 3),
        (Kind.WARMUP, 1),
        (Kind.PROFILED, 5),
        (Kind.TRIAL, 6),
        (Kind.TRIAL, 2),
    ]:
        outside.add(execution(kind, seconds * S))
    record = outside.facts()
    assert (record.warmup_s, record.profiled_s, record.trial_s) == (4.0, 5.0, 8.0)


def test_the_first_execution_is_kept_with_its_tracing_and_compiling():
    outside = Outside()
    outside.add(execution(Kind.WARMUP, 3 * S))
    outside.add(execution(Kind.WARMUP, 9 * S))
    assert outside.facts().first_execution_s == 3.0


def test_the_steps_of_the_warmup_are_counted_and_no_others():
    outside = Outside()
    for kind, steps in [(Kind.WARMUP, 8), (Kind.WARMUP, 3), (Kind.TRIAL, 64)]:
        outside.add(execution(kind, S, steps=steps))
    assert outside.facts().warmup_steps == 11


def test_an_epoch_gap_is_told_by_its_parts():
    told = Outside().add_gap(gap(2, (VALIDATION, 30), ("A.on_epoch_end", 4), ("B.on_epoch_end", 3)))
    assert told == {
        "perf_between_epochs/validation_ms": 30.0,
        "perf_between_epochs/callbacks_ms": 7.0,
        "perf_between_epochs/rest_ms": 2.0,
    }


def test_its_parts_are_in_the_table_of_metrics():
    assert set(Outside().add_gap(gap(2))) == {metric.tag for metric in OUTSIDE_METRICS}


def test_epoch_gaps_are_summed_by_owner():
    outside = Outside()
    outside.add_gap(gap(2, (VALIDATION, 30), ("A.on_epoch_end", 4)))
    outside.add_gap(gap(3, ("A.on_epoch_end", 6), ("A.on_epoch_begin", 1)))
    record = outside.facts()
    assert record.epoch_gaps == 2
    assert record.validation_s == 0.03
    assert record.epoch_callbacks_s == {
        "A.on_epoch_end": pytest.approx(0.01),
        "A.on_epoch_begin": pytest.approx(0.001),
    }
    assert record.epoch_rest_s == pytest.approx(0.005)
    assert record.usual_epoch_rest_s == pytest.approx(0.002)
    assert record.rest_comes_back


def test_what_compiles_between_epochs_is_a_part_of_the_rest():
    outside = Outside()
    for ms in (3, 1):
        outside.add_gap(gap(5)._replace(compile_ns=ms * MS))
    assert outside.facts().epoch_compiling_s == pytest.approx(0.004)
    assert outside.facts().epoch_rest_s == pytest.approx(0.01)


def test_a_single_long_pause_does_not_come_back():
    outside = Outside()
    outside.add_gap(gap(2))
    assert not outside.facts().rest_comes_back
    for rest in (3000, 2, 3):
        outside.add_gap(gap(rest))
    assert not outside.facts().rest_comes_back


def test_an_iterator_is_made_after_the_hooks_of_an_epoch_s_begin():
    line = Timeline()
    line.begin(0, 0, 0, 1, Kind.STEADY)
    line.returned(5)
    line.flush()
    line.outside("A.on_epoch_end", 6, 8)
    line.outside("A.on_epoch_begin", 10, 12)
    line.host("A.on_train_batch_begin", 20, 23)
    line.host("B.on_train_batch_begin", 23, 24)
    line.begin(24, 25, 1, 1, Kind.STEADY)
    line.returned(26)
    line.flush()
    line.outside("A.on_epoch_end", 27, 28)
    line.close(40)
    followed, last = line.take_epoch_gaps()
    assert (followed.iterator_ns, last.iterator_ns) == (8, None)
    outside = Outside()
    outside.add_gap(last)
    assert outside.facts().usual_iterator_s is None
    outside.add_gap(followed)
    assert outside.facts().usual_iterator_s == pytest.approx(8e-9)


def test_what_the_first_execution_on_a_new_iterator_waits_is_kept():
    outside = Outside()
    outside.add_waits({0: 90})
    assert outside.facts().usual_first_wait_s is None
    for step, renewed in ((40, True), (60, False), (80, True), (100, True)):
        outside.add_gap(gap(2)._replace(step=step, renewed=renewed))
        outside.add_waits({step + 1: 7, step + 2: 9})
        outside.add_waits({step: step * MS, step + 1: 7})
        outside.add_waits({step: 9 * S})
    # The mean without the longest.
    assert outside.facts().usual_first_wait_s == pytest.approx(0.06)
