"""Slow steps among scripted ones."""

from __future__ import annotations

import pytest

from keras_perf.observers.capture_windows.slow_steps import BLOCK, SlowSteps, Throttle
from keras_perf.records.execution import Execution, Kind

MS = 1_000_000


def executions(times_ms, first=0, steps=1, kind=Kind.STEADY):
    """Executions of these cycle times, one after the other."""
    found, now = [], 0
    for number, ms in enumerate(times_ms):
        end = now + round(ms * MS)
        ready = end - MS // 10
        found.append(Execution(first + number * steps, steps, kind, now, ready, ready, end))
        now = end
    return found


def wobbling(count, ms=1.0):
    return [ms * (1 + 0.01 * (number % 5)) for number in range(count)]


def test_steps_of_one_length_are_not_slow():
    slow = SlowSteps(1.5)
    assert [slow.add(executions(wobbling(50), first=50 * n)) for n in range(10)] == [None] * 10


def test_a_single_step_far_longer_than_usual_is_found_once():
    slow = SlowSteps(1.5)
    slow.add(executions(wobbling(64)))
    times = wobbling(32)
    times[10] = 8.0
    found = slow.add(executions(times, first=64))
    assert found == ("step 74 took 6.98 ms longer than usual", False)
    assert slow.add(executions(wobbling(32), first=96)) is None


def test_a_step_that_was_traced_again_is_not_worth_a_capture():
    slow = SlowSteps(1.5)
    slow.add(executions(wobbling(64)))
    assert slow.add(executions([500.0], first=64, kind=Kind.TRACED)) is None


def test_a_median_step_that_slows_by_the_factor_is_found_once_at_each_level():
    slow = SlowSteps(1.5)
    assert slow.add(executions(wobbling(4 * BLOCK))) is None
    reasons = [slow.add(executions(wobbling(BLOCK, 2.0), first=1000 + n)) for n in range(4)]
    assert reasons[0] == ("steps take 2.04 ms, 2.00 times the usual", True)
    later = [slow.add(executions(wobbling(BLOCK, 4.0), first=2000 + n)) for n in range(4)]
    assert later[0] == ("steps take 4.08 ms, 2.00 times the usual", True)
    assert not any(found and found.lasts for found in (*reasons[1:], *later[1:]))


def test_training_that_slows_down_bit_by_bit_is_noticed():
    slow = SlowSteps(1.5)
    reasons = [slow.add(executions(wobbling(BLOCK, 1.05**n), first=BLOCK * n)) for n in range(12)]
    assert any(found and found.lasts for found in reasons)


def test_the_median_is_that_of_a_step_whatever_the_executions_length():
    slow = SlowSteps(1.5)
    slow.add(executions(wobbling(2 * BLOCK)))
    longer = executions(wobbling(2 * BLOCK, 8.0), first=2 * BLOCK, steps=8)
    found = slow.add(longer)
    assert found is None or not found.lasts


@pytest.mark.parametrize("kind", [Kind.WARMUP, Kind.PROFILED, Kind.TRIAL])
def test_executions_of_another_kind_are_not_judged(kind):
    slow = SlowSteps(1.5)
    slow.add(executions(wobbling(64)))
    assert slow.add(executions([900.0] * 64, first=64, kind=kind)) is None


def test_the_throttle_allows_so_many_with_a_cooldown():
    throttle = Throttle(2, 60.0)
    allowed = []
    for now in (0.0, 59.0, 60.0, 500.0):
        allowed.append(throttle.allows(now))
        if allowed[-1]:
            throttle.count(now)
    assert allowed == [True, False, True, False]


def test_what_the_throttle_allowed_and_nobody_took_does_not_count():
    throttle = Throttle(1, 60.0)
    assert [throttle.allows(now) for now in (0.0, 1.0)] == [True, True]
