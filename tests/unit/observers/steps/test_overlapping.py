"""Executions that the host runs ahead of: each moment belongs to what training waits for then."""

from __future__ import annotations

import threading
from itertools import pairwise

import pytest

from keras_perf.observers.steps.overlapping import MOST_AHEAD, OverlappingTimeline
from keras_perf.observers.steps.split import Splitter
from keras_perf.records.epoch_gap import VALIDATION, EpochGap
from keras_perf.records.execution import Kind

MS = 1_000_000


def told(steps, timeline=None, **how):
    """Executions of (begin, fetched, returned, done) in milliseconds, each on its own batch."""
    timeline = timeline or OverlappingTimeline()
    for batch, (begin, fetched, returned, _) in enumerate(steps):
        timeline.begin(begin * MS, begin * MS, batch, 1, Kind.STEADY)
        timeline.fetched(begin * MS, fetched * MS)
        timeline.returned(returned * MS)
    for batch, (*_, done) in enumerate(steps):
        if done is not None:
            timeline.ready(done * MS, batch)
    timeline.flush(**how)
    return timeline.take()


def parts(execution):
    """Input wait, the rest inside, and the host's time, in milliseconds."""
    wait = execution.input_wait_ns
    return wait // MS, (execution.inside_ns - wait) // MS, execution.host_ns // MS


def test_what_the_host_does_while_the_device_is_at_work_is_in_no_part():
    # The second batch is fetched from 3 to 8, the device is busy until 12.
    first, second, third = told([(0, 1, 2, 12), (3, 8, 9, 22), (10, 11, 12, 32)])
    assert parts(first) == (1, 11, 0)
    assert parts(second) == (0, 10, 0)
    assert parts(third) == (0, 10, 0)
    assert (first.begin_ns, third.end_ns) == (0, 32 * MS)


def test_what_outlasts_the_device_is_waited_for():
    # The device is done at 4; the batch that is fetched from 3 comes at 8.
    _, second, _ = told([(0, 1, 2, 4), (3, 8, 9, 10), (10, 11, 12, 13)])
    assert parts(second) == (4, 2, 0)


def test_a_call_counts_as_far_as_the_device_has_nothing_else_to_do():
    timeline = OverlappingTimeline()
    # Of the first call one is the fetch's and two its own; of the second, fetched by 8, all lies
    # within the device's work; so does half of the third, which ends two after it.
    told([(0, 1, 3, 12), (3, 8, 9, 22), (10, 11, 24, 32)], timeline)
    assert (timeline.calls_ns, timeline.called_steps) == (4 * MS, 3)


def test_only_steady_calls_count():
    timeline = OverlappingTimeline()
    timeline.begin(0, 0, 0, 1, Kind.WARMUP)
    timeline.returned(2 * MS)
    timeline.ready(4 * MS, 0)
    timeline.flush()
    timeline.take()
    assert (timeline.calls_ns, timeline.called_steps) == (0, 0)


def test_parts_add_up_to_the_time_that_has_passed():
    found = told([(0, 1, 2, 5), (4, 9, 10, 10), (15, 15, 16, 30), (18, 20, 21, 31)])
    assert sum(sum(parts(each)) for each in found) == 31
    for before, after in pairwise(found):
        assert before.end_ns == after.begin_ns


def test_an_execution_is_not_told_of_before_the_device_is_done():
    timeline = OverlappingTimeline()
    assert len(told([(0, 1, 2, 4), (3, 4, 5, None)], timeline)) == 1
    timeline.ready(9 * MS, 1)
    [late] = timeline.take()
    assert late.ready_ns == 9 * MS


def test_of_a_device_that_works_in_order_the_later_tells_of_the_earlier():
    first, second = told([(0, 1, 2, 20), (3, 4, 5, 8)])
    assert (first.ready_ns, second.ready_ns) == (8 * MS, 8 * MS)
    first, second = told([(0, 1, 2, None), (3, 4, 5, 8)])
    assert first.ready_ns <= second.ready_ns == 8 * MS


def test_where_nobody_tells_executions_do_not_pile_up():
    steps = [(10 * n, 10 * n + 1, 10 * n + 2, None) for n in range(MOST_AHEAD + 5)]
    assert len(told(steps)) == 5


def test_what_is_compiled_within_what_is_traced_counts_once_and_only_in_the_call():
    timeline = OverlappingTimeline()
    timeline.begin(0, 0, 0, 1, Kind.STEADY)
    timeline.compiled(2 * MS, 5 * MS)
    timeline.compiled(1 * MS, 6 * MS)
    timeline.compiled(7 * MS, 9 * MS)
    other = threading.Thread(target=timeline.compiled, args=(0, 10 * MS))
    other.start()
    other.join()
    timeline.returned(10 * MS)
    timeline.compiled(10 * MS, 30 * MS)
    timeline.ready(12 * MS, 0)
    timeline.flush()
    [execution] = timeline.take()
    assert execution.compile_ns == 7 * MS
    assert timeline.compilations == 3


def test_a_hook_in_another_thread_takes_none_of_the_time():
    timeline = OverlappingTimeline()
    timeline.begin(0, 0, 0, 1, Kind.STEADY)
    timeline.returned(1 * MS)
    timeline.ready(2 * MS, 0)
    timeline.host("Here.on_train_batch_begin", 2 * MS, 5 * MS)
    other = threading.Thread(target=timeline.host, args=("There.on_train_batch_end", 2, 9 * MS))
    other.start()
    other.join()
    timeline.flush()
    [execution] = timeline.take()
    assert execution.owners == (("Here.on_train_batch_begin", 3 * MS),)
    assert execution.end_ns == 5 * MS


def test_of_several_steps_in_one_execution_the_wait_is_not_known():
    timeline = OverlappingTimeline()
    timeline.begin(0, 0, 0, 4, Kind.STEADY)
    for begin in range(4):
        timeline.fetched(begin * MS, (begin + 1) * MS)
    timeline.returned(5 * MS)
    timeline.ready(6 * MS, 3)
    timeline.flush()
    [execution] = timeline.take()
    assert execution.input_wait_ns is None


@pytest.mark.parametrize("told", [(0, 4), (3, 7)])
def test_an_execution_is_done_whether_its_first_batch_is_told_or_its_last(told):
    timeline = OverlappingTimeline()
    for number, batch in enumerate(told):
        begin = 20 * number
        timeline.begin(begin * MS, begin * MS, 4 * number, 4, Kind.STEADY)
        timeline.returned((begin + 5) * MS)
        timeline.ready((begin + 6) * MS, batch)
        timeline.host("Slow.on_train_batch_end", (begin + 6) * MS, (begin + 18) * MS)
    timeline.flush()
    found = timeline.take()
    assert [each.ready_ns for each in found] == [6 * MS, 26 * MS]
    assert [each.owners for each in found] == [(("Slow.on_train_batch_end", 12 * MS),)] * 2


def test_one_step_that_was_left_at_the_end_does_not_tell_the_wait_of_the_others():
    timeline = OverlappingTimeline()
    timeline.begin(0, 0, 0, 4, Kind.STEADY)
    timeline.fetched(0, 1 * MS)
    timeline.returned(5 * MS)
    timeline.ready(6 * MS, 3)
    timeline.flush(missing_steps=3)
    [execution] = timeline.take()
    assert (execution.steps, execution.input_wait_ns) == (1, None)


def test_of_several_steps_that_fetch_once_the_wait_is_known():
    timeline = OverlappingTimeline()
    timeline.fetches_once = True
    timeline.begin(0, 0, 0, 4, Kind.STEADY)
    timeline.fetched(0, 3 * MS)
    timeline.returned(5 * MS)
    timeline.ready(6 * MS, 3)
    timeline.flush()
    [execution] = timeline.take()
    assert (execution.steps, execution.input_wait_ns) == (4, 3 * MS)


def test_the_last_validation_is_counted_once_however_late_the_device_is_done():
    timeline = OverlappingTimeline()
    assert told([(0, 1, 2, None), (3, 4, 5, None)], timeline) == []
    timeline.ready(20 * MS, 0)
    timeline.ready(40 * MS, 1)
    timeline.outside(VALIDATION, None, 540 * MS)
    timeline.close(541 * MS)
    timeline.flush()
    timeline.close(550 * MS)
    assert len(timeline.take()) == 2
    assert timeline.take_epoch_gaps() == [
        EpochGap(2, 40 * MS, 541 * MS, ((VALIDATION, 500 * MS),), followed=False)
    ]


def test_what_is_compiled_between_epochs_is_of_the_gap_but_for_what_its_owners_did():
    timeline = OverlappingTimeline()
    told([(0, 1, 2, 9)], timeline)
    timeline.compiled(3 * MS, 12 * MS, ends=False)
    timeline.compiled(11 * MS, 20 * MS)
    timeline.compiled(31 * MS, 38 * MS)
    timeline.outside("Mine.on_epoch_end", 30 * MS, 40 * MS)
    timeline.compiled(44 * MS, 50 * MS)
    timeline.begin(60 * MS, 60 * MS, 1, 1, Kind.STEADY)
    # It begins when the device is done.
    owners = (("Mine.on_epoch_end", 10 * MS),)
    assert timeline.take_epoch_gaps() == [
        EpochGap(1, 9 * MS, 60 * MS, owners, compile_ns=(20 - 9 + 50 - 44) * MS)
    ]


def test_what_hooks_compile_between_two_steps_is_of_no_gap():
    timeline = OverlappingTimeline()
    timeline.begin(0, 0, 0, 1, Kind.STEADY)
    timeline.returned(2 * MS)
    timeline.compiled(3 * MS, 5 * MS)
    timeline.begin(6 * MS, 6 * MS, 1, 1, Kind.STEADY)
    timeline.returned(8 * MS)
    timeline.ready(9 * MS, 1)
    timeline.flush()
    timeline.close(20 * MS)
    [gap] = timeline.take_epoch_gaps()
    assert gap.compile_ns == 0


def test_a_splitter_takes_the_wait_from_executions_that_were_timed():
    splitter = Splitter()
    for execution in told([(0, 1, 2, 4), (3, 8, 9, 10), (10, 11, 12, 13)]):
        splitter.add(execution)
    splitter.close_stretch(None)
    interval = splitter.take()
    assert interval.input_wait_ns == 6 * MS
    assert interval.total_ns == 13 * MS
    assert splitter.waits == {0: 1 * MS, 1: 4 * MS, 2: 1 * MS}


def test_what_is_compiled_to_make_a_batch_is_waited_for():
    timeline = OverlappingTimeline()
    timeline.begin(0, 0, 0, 1, Kind.STEADY)
    timeline.fetching = True
    timeline.compiled(1 * MS, 6 * MS)
    timeline.fetched(0, 7 * MS)
    timeline.compiled(8 * MS, 10 * MS)
    timeline.returned(11 * MS)
    timeline.ready(12 * MS, 0)
    timeline.flush()
    [execution] = timeline.take()
    assert (timeline.compilations, timeline.compiled_in_fetches_ns) == (1, 5 * MS)
    assert (execution.compile_ns, execution.input_wait_ns) == (2 * MS, 7 * MS)


def test_a_fetch_that_finds_no_batch_is_over():
    timeline = OverlappingTimeline()
    timeline.begin(0, 0, 0, 1, Kind.STEADY)
    timeline.fetching = True
    timeline.discard()
    timeline.begin(5 * MS, 5 * MS, 0, 1, Kind.STEADY)
    timeline.compiled(6 * MS, 8 * MS)
    assert timeline.compilations == 1


def test_a_call_of_which_one_fetch_found_nothing_fetches_no_more():
    timeline = OverlappingTimeline()
    timeline.begin(0, 0, 0, 2, Kind.STEADY)
    timeline.fetched(0, 1 * MS)
    timeline.fetching = True
    timeline.returned(3 * MS)
    assert not timeline.fetching


def test_what_is_compiled_for_the_first_batches_is_no_cost_of_each():
    timeline = OverlappingTimeline()
    timeline.begin(0, 0, 0, 1, Kind.WARMUP)
    timeline.fetching = True
    timeline.compiled(1 * MS, 6 * MS)
    assert (timeline.compilations, timeline.compiled_in_fetches_ns) == (0, 0)
