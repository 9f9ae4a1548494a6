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


def shares(times_us: list[float]) -> tuple[float, float]:
    found = HookTimes()
    for spent in times_us:
        found.add([(HOOK, round(1e3 * spent))])
    return found.facts()[HOOK].held, found.facts()[HOOK].stopped


@pytest.mark.parametrize("own_us", [1.0, 80.0])
def test_rare_short_calls_may_have_waited_for_a_core(own_us):
    # What the hook does itself is no waiting.
    times = [own_us + (4000.0 if place % 10 == 0 else 0.0) for place in range(1000)]
    waited = 100 * 4000.0 / sum(times)
    assert shares(times) == (pytest.approx(waited, rel=0.02), pytest.approx(waited, rel=0.02))


@pytest.mark.parametrize(
    ("longer_us", "every", "held", "stopped"),
    [(60_000.0, 10, False, True), (200_000.0, 10, False, False), (4000.0, 2, False, False)],
)
def test_longer_calls_and_frequent_ones_have_not(longer_us, every, held, stopped):
    found = shares([longer_us if place % every == 0 else 1.0 for place in range(1000)])
    assert tuple(share > 0.9 for share in found) == (held, stopped)


def test_calls_that_vary_a_little_have_not():
    draws = random.Random(1)
    assert max(shares([draws.uniform(500, 1500) for _ in range(400)])) < 0.01


def test_a_hook_that_took_no_time_is_left_out():
    found = HookTimes()
    found.add([(HOOK, 0), ("Other.on_epoch_end", 5)])
    assert set(found.facts()) == {"Other.on_epoch_end"}
