"""The begin of a training, from scripted executions."""

from __future__ import annotations

import pytest

from keras_perf.observers.steps.outside.start_up_times import StartUpTimes
from keras_perf.records.execution import Execution, Kind
from keras_perf.records.run.times.start_up import StartUp

S = 10**9


def execution(first_step: int, begin_s: float, end_s: float, steps: int = 1) -> Execution:
    begin, end = round(begin_s * S), round(end_s * S)
    return Execution(first_step, steps, Kind.WARMUP, begin, end, end, end)


def timed(*, traced_s: float | None, wait_s: float | None) -> StartUp:
    """Of 10 s of a first execution, that begins 2 s after the training."""
    times = StartUpTimes(5 * S, None if traced_s is None else 30.0)
    waits = {} if wait_s is None else {0: round(wait_s * S)}
    times.add([execution(0, 7, 17)], waits, None if traced_s is None else 30.0 + traced_s)
    found = times.facts()
    assert found is not None
    return found


def test_the_first_execution_is_traced_then_waits_and_then_computes():
    # Seven of the ten seconds lie before its `GetNext` has ended; TensorFlow traced for four.
    found = timed(traced_s=4.0, wait_s=7.0)
    assert found == StartUp(2.0, 1, 10.0, tracing_s=4.0, computing_s=3.0)
    assert found.first_batch_s == 3.0


def test_where_the_batch_alone_was_waited_for_tracing_is_not_computing():
    times = StartUpTimes(5 * S, 30.0)
    times.add([execution(0, 7, 17)._replace(input_wait_ns=S)], {0: S}, 34.0)
    assert times.facts() == StartUp(2.0, 1, 10.0, tracing_s=4.0, computing_s=5.0)
    assert times.facts().first_batch_s == 1.0


def test_where_the_batch_is_fetched_before_it_is_traced_the_wait_is_the_batchs():
    times = StartUpTimes(5 * S, 30.0)
    times.add([execution(0, 7, 17)], {0: 3 * S}, 34.0, fetches_first=True)
    assert times.facts() == StartUp(2.0, 1, 10.0, tracing_s=4.0, computing_s=3.0)
    assert times.facts().first_batch_s == 3.0


@pytest.mark.parametrize(("traced_s", "wait_s"), [(None, 7.0), (4.0, None), (None, None)])
def test_what_is_not_told_is_not_known(traced_s, wait_s):
    found = timed(traced_s=traced_s, wait_s=wait_s)
    assert (found.first_execution_s, found.first_batch_s) == (10.0, None)


def test_no_part_is_longer_than_the_whole():
    # Another thread traces too, and a clock is coarse.
    found = timed(traced_s=11.0, wait_s=12.0)
    assert (found.tracing_s, found.computing_s, found.first_batch_s) == (10.0, 0.0, 0.0)


def test_the_rest_of_the_warmup_waits_as_far_as_is_known():
    times = StartUpTimes(0, 0.0)
    times.add([execution(0, 1, 2)], {0: S}, 1.0)
    times.add([execution(1, 2, 3), execution(2, 3, 4)], {1: S // 2}, 9.0)
    times.add([execution(3, 4, 5)], {3: S // 4}, 9.0)
    found = times.facts()
    assert found == StartUp(1.0, 1, 1.0, 1.0, 0.0, warmup_wait_s=0.75)


def test_what_the_rest_of_the_warmup_compiles_is_known_where_it_is_told():
    times = StartUpTimes(0, 0.0)
    compiled = execution(2, 3, 4)._replace(compile_ns=S // 2)
    times.add([execution(0, 1, 2)._replace(compile_ns=S), execution(1, 2, 3), compiled], {}, 1.0)
    found = times.facts()
    assert found is not None
    assert (found.warmup_compiling_s, found.warmup_wait_s) == (0.5, None)


def test_before_the_first_execution_nothing_is_known():
    assert StartUpTimes(0, 0.0).facts() is None
