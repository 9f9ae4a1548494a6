"""Times of a training loop in, executions and epoch gaps out."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keras_perf.observers.steps.timeline import Timeline
from keras_perf.records.epoch_gap import VALIDATION, EpochGap
from keras_perf.records.execution import Execution, Kind
from keras_perf.records.owners import COLLECTOR


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


def test_what_it_turned_out_to_be_may_say_for_how_long_it_traced(timeline):
    for step, told in enumerate((None, 7)):
        timeline.begin(100 * step, 100 * step, step, 1, Kind.STEADY)
        timeline.returned(100 * step + 10)
        timeline.retag(Kind.TRACED, told)
    timeline.flush()
    found = timeline.take()
    assert [(each.kind, each.traced_ns) for each in found] == [
        (Kind.TRACED, None),
        (Kind.TRACED, 7),
    ]


def test_a_validation_that_was_cut_off_is_no_gap_also_where_training_goes_on(timeline):
    execute(timeline, 100)
    timeline.flush()
    timeline.validates()
    execute(timeline, 900, step=1)
    timeline.flush()
    timeline.close(1000)
    [gap] = timeline.take_epoch_gaps()
    assert gap.step == 2


@pytest.mark.parametrize(
    ("fetches", "waited"),
    [
        ([], None),
        ([(101, 104)], 3),
        ([(101, 104), (104, 106)], 5),
        # It was asked for before.
        ([(90, 104)], 4),
        ([(90, 95)], 0),
    ],
)
def test_an_execution_of_one_step_waits_while_its_batch_is_fetched(timeline, fetches, waited):
    timeline.fetched(80, 85)
    for step, steps in ((0, 1), (1, 2)):
        timeline.begin(100, 100, step, steps, Kind.STEADY)
        for begin, end in fetches:
            timeline.fetched(begin, end)
        timeline.returned(110)
    timeline.flush()
    timeline.fetched(120, 125)
    # One of several steps asks for the next batch while it computes.
    assert [each.input_wait_ns for each in timeline.take()] == [waited, None]


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


def test_executions_after_a_gap_have_an_iterator_of_their_own_unless_it_is_said(timeline):
    execute(timeline, 100)
    timeline.flush()
    execute(timeline, 200, step=1)
    timeline.flush()
    timeline.keep_input()
    timeline.begin(300, 300, 2, 1, Kind.STEADY)
    assert [gap.renewed for gap in timeline.take_epoch_gaps()] == [True, False]


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


# -- between epochs ----------------------------------------------------------------------


def test_what_lies_between_two_epochs_is_told_with_its_owners(timeline):
    execute(timeline, 100, step=7)
    timeline.flush()
    timeline.outside("Mine.on_epoch_end", 120, 125)
    timeline.outside("Mine.on_epoch_begin", 131, 133)
    assert timeline.take_epoch_gaps() == []
    execute(timeline, 140, step=8)
    owners = ("Mine.on_epoch_end", 5), ("Mine.on_epoch_begin", 2)
    assert timeline.take_epoch_gaps() == [EpochGap(8, 118, 140, owners, iterator_ns=7)]
    assert timeline.take_epoch_gaps() == []


def test_a_gap_ends_where_the_loop_comes_to_the_next_execution(timeline):
    execute(timeline, 100)
    timeline.flush()
    timeline.begin(150, 170, 1, 1, Kind.STEADY)
    assert [gap.end_ns for gap in timeline.take_epoch_gaps()] == [150]


def test_validation_had_all_the_time_since_the_epochs_last_execution(timeline):
    execute(timeline, 100)
    timeline.flush()
    timeline.outside(VALIDATION, None, 170)
    timeline.outside("Mine.on_epoch_end", 171, 174)
    timeline.begin(180, 180, 1, 1, Kind.STEADY)
    [gap] = timeline.take_epoch_gaps()
    assert gap.owners == ((VALIDATION, 52), ("Mine.on_epoch_end", 3))
    assert (gap.total_ns, gap.rest_ns) == (62, 7)


def test_what_observes_at_an_epoch_s_end_has_no_part_in_the_gap(timeline):
    timeline.observed_ns(1000)
    execute(timeline, 100)
    timeline.flush()
    timeline.observed_ns(1000)
    timeline.validates(1130)
    timeline.outside(VALIDATION, None, 1150)
    timeline.outside("Mine.on_epoch_end", 1150, 1160)
    execute(timeline, 1200)
    [gap] = timeline.take_epoch_gaps()
    assert (gap.total_ns, gap.validation_ns, gap.unvalidated_ns) == (82, 32, 12)
    assert (gap.rest_ns, gap.observed_ns) == (40, 1000)


def test_after_an_execution_that_found_no_data_the_gap_begins_where_that_was_tried(timeline):
    execute(timeline, 100)
    timeline.begin(120, 121, 1, 1, Kind.STEADY)
    timeline.discard()
    timeline.flush()
    timeline.outside(VALIDATION, None, 150)
    timeline.begin(160, 160, 1, 1, Kind.STEADY)
    assert timeline.take_epoch_gaps() == [EpochGap(1, 120, 160, ((VALIDATION, 30),))]


def test_steps_that_the_data_did_not_last_for_are_not_before_the_gap(timeline):
    execute(timeline, 100, step=0, steps=8)
    timeline.flush(missing_steps=5)
    timeline.close(130)
    assert [gap.step for gap in timeline.take_epoch_gaps()] == [3]


def test_taking_the_executions_of_an_epoch_leaves_its_gap_open(timeline):
    execute(timeline, 100)
    timeline.flush()
    timeline.take()
    timeline.flush()
    timeline.outside("Mine.on_epoch_end", 120, 125)
    timeline.close(130)
    assert timeline.take_epoch_gaps() == [
        EpochGap(1, 118, 130, (("Mine.on_epoch_end", 5),), followed=False)
    ]


def test_after_the_last_epoch_the_gap_ends_where_training_does(timeline):
    execute(timeline, 100)
    timeline.flush()
    timeline.close(130)
    timeline.close(190)
    assert timeline.take_epoch_gaps() == [EpochGap(1, 118, 130, followed=False)]


@pytest.mark.parametrize(("hooked", "unvalidated"), [(125, 7), (None, 0)])
def test_what_lies_before_a_validation_s_first_hook_is_known_where_it_has_one(
    timeline, hooked, unvalidated
):
    execute(timeline, 100)
    timeline.flush()
    timeline.validates(hooked)
    timeline.outside(VALIDATION, None, 150)
    timeline.close(160)
    (gap,) = timeline.take_epoch_gaps()
    assert (gap.unvalidated_ns, gap.validation_ns) == (unvalidated, 32)


def test_a_validation_that_is_cut_off_leaves_no_gap(timeline):
    for step, begin in enumerate((100, 200)):
        execute(timeline, begin, step=step)
        timeline.flush()
        timeline.validates()
        if not step:
            timeline.outside(VALIDATION, None, 150)
    timeline.close(230)
    timeline.flush()
    assert timeline.take_epoch_gaps() == [EpochGap(1, 118, 200, ((VALIDATION, 32),))]


def test_after_the_end_there_are_executions_and_no_more_gaps(timeline):
    execute(timeline, 100)
    timeline.flush()
    timeline.close(130)
    timeline.flush()
    timeline.close(190)
    assert len(timeline.take()) == 1
    assert timeline.take_epoch_gaps() == [EpochGap(1, 118, 130, followed=False)]


def test_before_the_first_epoch_there_is_no_gap(timeline):
    timeline.outside("Mine.on_epoch_begin", 50, 60)
    execute(timeline, 100)
    timeline.close(130)
    assert timeline.take_epoch_gaps() == []


def test_an_epoch_without_an_execution_makes_no_gap(timeline):
    timeline.begin(100, 100, 0, 1, Kind.WARMUP)
    timeline.discard()
    timeline.flush()
    timeline.outside("Mine.on_epoch_end", 120, 125)
    timeline.close(130)
    assert timeline.take_epoch_gaps() == []


def test_two_epochs_have_two_gaps(timeline):
    for step, begin in enumerate((100, 200)):
        execute(timeline, begin, step=step)
        timeline.flush()
    timeline.close(230)
    assert timeline.take_epoch_gaps() == [
        EpochGap(1, 118, 200),
        EpochGap(2, 218, 230, followed=False),
    ]


@given(
    parts=st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50)), max_size=6),
    validation=st.none() | st.integers(0, 1000),
    more=st.integers(0, 50),
)
@settings(max_examples=100, deadline=None)
def test_owners_and_rest_tile_the_gap(parts, validation, more):
    timeline = Timeline()
    execute(timeline, 100)
    timeline.flush()
    now = 118
    if validation is not None:
        now += validation
        timeline.outside(VALIDATION, None, now)
    for pause, spent in parts:
        begin = now + pause
        now = begin + spent
        timeline.outside("Mine.on_epoch_end", begin, now)
    timeline.close(now + more)
    [gap] = timeline.take_epoch_gaps()
    assert sum(spent for _, spent in gap.owners) + gap.rest_ns == gap.total_ns
    assert gap.rest_ns == sum(pause for pause, _ in parts) + more


# -- the garbage collector ---------------------------------------------------------------


def test_a_pause_in_a_hook_is_the_collectors_and_not_the_hooks(timeline):
    timeline.begin(100, 100, 0, 1, Kind.STEADY)
    timeline.returned(110)
    timeline.ready(115)
    timeline.collected(116, 120)
    timeline.host("Mine.on_train_batch_end", 115, 122)
    timeline.host("Other.on_train_batch_end", 122, 125)
    timeline.flush()
    [execution] = timeline.take()
    assert execution.collector_ns == 4
    assert execution.owners == (
        (COLLECTOR, 4),
        ("Mine.on_train_batch_end", 3),
        ("Other.on_train_batch_end", 3),
    )


@pytest.mark.parametrize("pause", [(103, 107), (111, 115)])
def test_a_pause_inside_the_train_function_is_charged_to_no_hook(timeline, pause):
    timeline.begin(100, 100, 0, 1, Kind.STEADY)
    if pause[1] < 110:
        timeline.collected(*pause)
    timeline.returned(110)
    if pause[0] > 110:
        timeline.collected(*pause)
    timeline.ready(115)
    timeline.host("Mine.on_train_batch_end", 115, 122)
    timeline.flush()
    [execution] = timeline.take()
    assert execution.collector_ns == 4
    assert execution.owners == (("Mine.on_train_batch_end", 7),)


def test_a_pause_before_logs_that_nobody_reads_is_charged_to_no_hook(timeline):
    timeline.begin(100, 100, 0, 1, Kind.STEADY)
    timeline.collected(103, 107)
    timeline.returned(110)
    timeline.host("Mine.on_train_batch_begin", 112, 118)
    timeline.flush()
    [execution] = timeline.take()
    assert execution.owners == (("Mine.on_train_batch_begin", 6),)


def test_a_pause_between_two_hooks_is_charged_to_neither(timeline):
    execute(timeline, 100)
    timeline.collected(119, 123)
    timeline.host("Mine.on_train_batch_begin", 124, 130)
    timeline.flush()
    [execution] = timeline.take()
    assert execution.collector_ns == 4
    assert execution.owners == (("Mine.on_train_batch_end", 3), ("Mine.on_train_batch_begin", 6))


def test_pauses_of_one_execution_are_not_counted_for_the_next(timeline):
    execute(timeline, 100)
    timeline.collected(118, 119)
    execute(timeline, 120, step=1)
    timeline.flush()
    assert [execution.collector_ns for execution in timeline.take()] == [1, 0]


def test_a_pause_while_the_observer_works_between_two_executions_is_neithers(timeline):
    execute(timeline, 100)
    timeline.collected(121, 128)
    timeline.begin(120, 130, 1, 1, Kind.STEADY)
    timeline.returned(140)
    timeline.flush()
    assert [execution.collector_ns for execution in timeline.take()] == [0, 0]


def test_a_pause_after_an_epochs_last_hook_is_in_no_execution(timeline):
    execute(timeline, 100)
    timeline.collected(119, 129)
    timeline.flush()
    assert [execution.collector_ns for execution in timeline.take()] == [0]


def test_pauses_outside_of_any_execution_are_not_counted(timeline):
    timeline.collected(50, 60)
    execute(timeline, 100)
    timeline.flush()
    timeline.collected(119, 129)
    execute(timeline, 140, step=1)
    timeline.flush()
    assert [execution.collector_ns for execution in timeline.take()] == [0, 0]


@given(
    hooks=st.lists(
        st.tuples(st.integers(0, 50), st.integers(0, 50), st.integers(0, 50)), max_size=6
    ),
    inside=st.integers(0, 10),
)
@settings(max_examples=100, deadline=None)
def test_hooks_and_the_pauses_in_them_add_up_to_the_hooks_time(hooks, inside):
    timeline = Timeline()
    timeline.begin(100, 100, 0, 1, Kind.STEADY)
    timeline.collected(100, 100 + inside)
    timeline.returned(110)
    timeline.ready(115)
    now = 115
    for before, pause, after in hooks:
        if pause:
            timeline.collected(now + before, now + before + pause)
        end = now + before + pause + after
        timeline.host("Mine.on_train_batch_end", now, end)
        now = end
    timeline.flush()
    [execution] = timeline.take()
    spent = {COLLECTOR: 0, "Mine.on_train_batch_end": 0}
    for owner, ns in execution.owners:
        spent[owner] += ns
    assert spent[COLLECTOR] == sum(pause for _, pause, _ in hooks)
    assert sum(spent.values()) == execution.host_ns
    assert execution.collector_ns == spent[COLLECTOR] + inside


def test_when_the_next_one_asked_for_its_batch_is_unknown_where_something_was_built_in_it(timeline):
    assert timeline.asked_ns is None
    execute(timeline, 100)
    assert timeline.asked_ns == timeline.begun_ns == 100
    timeline.made_ready()
    assert (timeline.asked_ns, timeline.begun_ns) == (None, 100)
    execute(timeline, 120, step=1)
    assert timeline.asked_ns == 120
    timeline.retag(Kind.TRACED)
    assert timeline.asked_ns is None
