"""Slower is slower, and chance is chance: on drawn runs."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

from keras_perf.analyse.change import Change, step_change


def run(step_ms, steps=None):
    return pd.DataFrame(
        {
            "steps": np.full(len(step_ms), 10.0) if steps is None else steps,
            "step": np.asarray(step_ms, dtype=float),
        }
    )


def drawn(random, count, likeness, runs=300):
    """Runs whose intervals spread by 10% around 4 ms and resemble the one before.

    One in thirty is half as long again, as on a machine with neighbours.
    """
    noise = random.standard_normal((count + 100, runs)) * math.sqrt(1 - likeness**2)
    for place in range(1, len(noise)):
        noise[place] += likeness * noise[place - 1]
    spikes = np.where(random.random((count, runs)) < 1 / 30, 1.5, 1.0)
    return (4.0 * np.exp(0.1 * noise[100:]) * spikes).T


def test_one_interval_that_is_nearly_all_of_a_run_has_bounds_all_the_same():
    """Its variance would need a number that is larger than any."""
    far = run([0.1, 0.1, 2000.0], np.array([5000.0, 5000.0, 5.0]))
    change = step_change(far, run([0.1, 0.1, 0.1]))
    assert change.low < change.ratio < change.high < math.inf


@pytest.mark.parametrize("likeness", [0.0, 0.3, 0.6])
@pytest.mark.parametrize("count", [3, 5, 11, 12, 40, 240])
def test_of_runs_that_differ_by_chance_one_in_twenty_is_called_slower_at_most(likeness, count):
    random = np.random.default_rng(count)
    before, after = drawn(random, count, likeness), drawn(random, count, likeness)
    changes = [step_change(run(a), run(b)) for a, b in zip(before, after, strict=True)]
    for word in ("slower", "faster"):
        assert np.mean([change.word == word for change in changes]) <= 0.05
    assert np.mean([change.exceeds(0.05) is True for change in changes]) <= 0.03


def test_runs_that_resemble_themselves_for_long_are_not_called_slower_either():
    random = np.random.default_rng(1)
    before, after = drawn(random, 480, 0.9), drawn(random, 480, 0.9)
    changes = [step_change(run(a), run(b)) for a, b in zip(before, after, strict=True)]
    assert np.mean([change.word == "slower" for change in changes]) <= 0.05


def test_what_is_slower_is_found():
    random = np.random.default_rng(2)
    before, after = drawn(random, 120, 0.3), 1.15 * drawn(random, 120, 0.3)
    changes = [step_change(run(a), run(b)) for a, b in zip(before, after, strict=True)]
    assert np.mean([change.word == "slower" for change in changes]) > 0.95
    assert np.mean([change.exceeds(0.05) is True for change in changes]) > 0.8
    assert np.mean([change.exceeds(0.3) is False for change in changes]) > 0.95
    held = np.mean([change.low <= 1.15 <= change.high for change in changes])
    assert held >= 0.95


def test_of_few_intervals_what_is_far_slower_is_found():
    random = np.random.default_rng(4)
    before, after = drawn(random, 5, 0.3), 4.0 * drawn(random, 5, 0.3)
    changes = [step_change(run(a), run(b)) for a, b in zip(before, after, strict=True)]
    assert np.mean([change.exceeds(0.05) is True for change in changes]) > 0.6


def test_there_and_back_are_each_other_s_inverse():
    random = np.random.default_rng(3)
    a, b = (run(intervals) for intervals in drawn(random, 60, 0.3, runs=2))
    there, back = step_change(a, b), step_change(b, a)
    assert (there.ratio, there.low) == pytest.approx((1 / back.ratio, 1 / back.high))


def test_intervals_count_by_their_steps():
    steps = np.tile([30.0, 10.0], 12)
    change = step_change(run(np.tile([4.0, 8.0], 12), steps), run([5.0] * 24))
    assert change == Change(1.0, 1.0, 1.0)
    assert change.word == ""


def test_a_larger_batch_may_take_longer():
    assert step_change(run([4.0] * 24), run([6.0] * 24), examples=2.0).ratio == 0.75


@pytest.mark.parametrize("count", [1, 2])
def test_too_few_intervals_tell_nothing(count):
    change = step_change(run([4.0] * count), run([40.0] * 100))
    assert change.ratio == 10.0
    assert math.isnan(change.low)
    assert change.word == ""
    assert change.exceeds(0.05) is None


@pytest.mark.parametrize(
    ("bounds", "tolerance", "told", "word"),
    [
        ((1.06, 1.2), 0.05, True, "slower"),
        ((1.04, 1.2), 0.05, None, "slower"),
        ((1.01, 1.05), 0.05, False, "slower"),
        ((0.9, 1.1), 0.05, None, ""),
        ((0.9, 1.04), 0.05, False, ""),
        ((0.8, 0.9), 0.0, False, "faster"),
    ],
)
def test_what_the_bounds_tell(bounds, tolerance, told, word):
    change = Change(1.0, *bounds)
    assert (change.exceeds(tolerance), change.word) == (told, word)
