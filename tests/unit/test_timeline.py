"""Times of a training loop in, executions out."""

from __future__ import annotations

import pytest

from keras_perf.observers.timeline import Timeline
from keras_perf.records.execution import Execution, Kind


@pytest.fixture
def timeline() -> Timeline:
    return Timeline()


def execute(timeline: Timeline, begin: int, *, step: int = 0, steps: int = 1) -> None:
    """One whole execution: 10 inside, 5 for the logs, 3 in a callback."""
    timeline.begin(begin, begin, step, steps, Kind.STEADY)
    timeline.returned(begin + 10)
    timeline.ready(begin + 15)
    timeline.host("Mine.on_train_batch_end", begin + 15, begin + 18)


def test_an_execution_lasts_until_the_next_one_begins(timeline):
    execute(timeline, 100, step=7, steps=4)
    execute(timeline, 120, step=11)
    told = timeline.take()
    assert told == [
        Execution(7, 4, Kind.STEADY, 100, 110, 115, 120, (("Mine.on_train_batch_end", 3),))
    ]
    assert (told[0].inside_ns, told[0].host_ns, told[0].cycle_ns) == (15, 5, 20)


def test_an_execution_is_told_only_when_the_next_one_begins(timeline):
    execute(timeline, 100)
    assert timeline.take() == []
    timeline.begin(120, 120, 1, 1, Kind.STEADY)
    assert [execution.first_step for execution in timeline.take()] == [0]
    assert timeline.take() == []


def test_the_last_execution_of_an_epoch_ends_with_its_last_callback(timeline):
    execute(timeline, 100)
    timeline.flush()
    told = timeline.take()
    assert [execution.end_ns for execution in told] == [118]


def test_an_execution_without_callbacks_ends_when_its_logs_were_read(timeline):
    timeline.begin(100, 100, 0, 1, Kind.STEADY)
    timeline.returned(110)
    timeline.ready(115)
    timeline.flush()
    told = timeline.take()
    assert told == [Execution(0, 1, Kind.STEADY, 100, 110, 115, 115)]


def test_an_execution_whose_logs_nobody_read_was_ready_when_it_returned(timeline):
    timeline.begin(100, 100, 0, 1, Kind.STEADY)
    timeline.returned(110)
    timeline.begin(130, 130, 9, 1, Kind.STEADY)
    timeline.discard()
    timeline.flush()
    told = timeline.take()
    assert told == [Execution(0, 1, Kind.STEADY, 100, 110, 110, 130)]


def test_only_the_first_reading_of_the_logs_counts(timeline):
    timeline.begin(100, 100, 0, 1, Kind.STEADY)
    timeline.returned(110)
    timeline.ready(115)
    timeline.ready(140)
    timeline.begin(150, 150, 9, 1, Kind.STEADY)
    timeline.discard()
    timeline.flush()
    told = timeline.take()
    assert told[0].ready_ns == 115


def test_steps_that_the_data_did_not_last_for_are_taken_off_the_last_execution(timeline):
    execute(timeline, 100, step=0, steps=8)
    execute(timeline, 120, step=8, steps=8)
    timeline.flush(missing_steps=5)
    told = timeline.take()
    assert [(execution.first_step, execution.steps) for execution in told] == [(0, 8), (8, 3)]


def test_a_flush_without_an_execution_tells_nothing(timeline):
    timeline.flush()
    timeline.flush(missing_steps=2)
    told = timeline.take()
    assert told == []


def test_an_execution_that_found_no_data_never_was(timeline):
    execute(timeline, 100)
    timeline.begin(120, 120, 1, 1, Kind.STEADY)
    timeline.discard()
    timeline.ready(125)
    timeline.host("Mine.on_train_batch_end", 125, 129)
    timeline.flush()
    told = timeline.take()
    assert told == [
        Execution(0, 1, Kind.STEADY, 100, 110, 115, 120, (("Mine.on_train_batch_end", 3),))
    ]


def test_an_execution_that_raised_is_not_told_and_takes_none_with_it(timeline):
    execute(timeline, 100, step=0)
    timeline.begin(120, 120, 1, 1, Kind.STEADY)
    # The train function raises: nothing returns, and the observation is closed.
    timeline.discard()
    timeline.flush()
    told = timeline.take()
    assert [execution.first_step for execution in told] == [0]
    assert all(execution.cycle_ns >= 0 for execution in told)


def test_callbacks_of_one_execution_are_not_counted_for_the_next(timeline):
    execute(timeline, 100)
    timeline.begin(120, 120, 1, 1, Kind.STEADY)
    timeline.returned(130)
    timeline.begin(140, 140, 9, 1, Kind.STEADY)
    timeline.discard()
    timeline.flush()
    told = timeline.take()
    assert [execution.owners for execution in told] == [(("Mine.on_train_batch_end", 3),), ()]


def test_host_work_outside_of_any_execution_is_not_counted(timeline):
    timeline.host("Mine.on_train_batch_begin", 50, 90)
    execute(timeline, 100)
    timeline.flush()
    told = timeline.take()
    assert told[0].owners == (("Mine.on_train_batch_end", 3),)


def test_the_begin_hook_of_a_step_belongs_to_the_execution_before_it(timeline):
    execute(timeline, 100)
    timeline.host("Mine.on_train_batch_begin", 118, 122)
    execute(timeline, 124, step=1)
    told = timeline.take()
    assert told[0].owners == (
        ("Mine.on_train_batch_end", 3),
        ("Mine.on_train_batch_begin", 4),
    )
    assert told[0].end_ns == 124


def test_a_retrace_seen_only_at_the_return_retags_the_open_execution(timeline):
    execute(timeline, 100)
    execute(timeline, 120, step=1)
    timeline.retag(Kind.TRACED)
    timeline.flush()
    told = timeline.take()
    assert [execution.kind for execution in told] == [Kind.STEADY, Kind.TRACED]


def test_an_epochs_last_execution_that_may_have_compiled_is_no_steady_one(timeline):
    execute(timeline, 100)
    execute(timeline, 120, step=1)
    timeline.flush(may_have_compiled=True)
    told = timeline.take()
    assert [execution.kind for execution in told] == [Kind.STEADY, Kind.RECOMPILED]


@pytest.mark.parametrize("kind", [Kind.WARMUP, Kind.TRIAL, Kind.PROFILED])
def test_what_was_no_steady_execution_stays_what_it_was(timeline, kind):
    timeline.begin(100, 100, 0, 1, kind)
    timeline.returned(110)
    timeline.flush(may_have_compiled=True)
    told = timeline.take()
    assert [execution.kind for execution in told] == [kind]
