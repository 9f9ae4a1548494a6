"""How a hook's time is spread over its calls."""

from __future__ import annotations

import random

import pytest

from keras_perf.observers.steps.hook_rhythm import HookTimes

HOOK = "Mine.on_train_batch_end"


def period(times_us: list[float]) -> float:
    found = HookTimes()
    for spent in times_us:
        found.add([(HOOK, round(1e3 * spent))])
    return found.facts()[HOOK].period


def test_a_hook_that_works_as_long_each_time_works_in_each():
    assert period([500.0] * 200) == pytest.approx(1.0)


def test_times_that_vary_are_no_rhythm():
    draws = random.Random(1)
    assert period([draws.lognormvariate(5, 0.8) for _ in range(400)]) < 1.5


@pytest.mark.parametrize("every", [2, 20, 100])
def test_a_hook_that_works_every_so_many_calls_is_seen_to(every):
    times = [5000.0 if place % every == 0 else 1.0 for place in range(20 * every)]
    assert period(times) == pytest.approx(every, rel=0.02)


def test_a_stall_now_and_then_is_not_the_rhythm_of_a_hook_that_works_in_each():
    # Half of its time lies in one call of a hundred.
    assert period([50_000.0 if place % 100 == 0 else 500.0 for place in range(1000)]) < 1.5


def test_a_hook_that_took_no_time_is_left_out():
    found = HookTimes()
    found.add([(HOOK, 0), ("Other.on_epoch_end", 5)])
    assert set(found.facts()) == {"Other.on_epoch_end"}
