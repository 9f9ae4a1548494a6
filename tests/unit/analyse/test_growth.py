"""What is called growth, and what is not: scripted memory, two points a second."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest

from keras_perf.analyse.growth import LEAST_POINTS, growth_of
from keras_perf.records.run.length import Length

STEPS_PER_S = 20.0
ONE_EPOCH = Length(first_step=0, last_step=20_000)
EPOCHS_OF_30_S = Length(first_step=0, last_step=20_000, epoch_steps=600)


def points(mib: Callable[[float], float], minutes: float = 10.0, noise: float = 0.0):
    """A point each half second; `mib` of seconds."""
    seconds = np.arange(0.5, 60 * minutes, 0.5)
    disturbed = noise * np.random.default_rng(0).normal(size=len(seconds))
    return pd.DataFrame(
        {
            "step": (STEPS_PER_S * seconds).astype(int),
            "wall_time": 1e9 + seconds,
            "value": [mib(s) for s in seconds] + disturbed,
        }
    )


def epoch_at(seconds: float) -> int:
    return int((STEPS_PER_S * seconds - 1) // 600)


@pytest.mark.parametrize("length", [ONE_EPOCH, EPOCHS_OF_30_S])
def test_what_a_list_keeps_of_each_step_is_growth_of_the_right_size(length):
    found = growth_of(points(lambda s: 2000 + 0.5 * s, noise=3.0), length)
    assert found is not None
    assert found.low < 1800 < found.high
    assert found.low > 1700
    assert found.high < 1900
    assert found.mib_per_step == pytest.approx(0.5 / STEPS_PER_S, rel=0.05)
    assert found.rise_mib == pytest.approx(200, abs=40)
    assert (found.between_epochs or 0.0) < 0.3


def test_a_training_that_becomes_slower_grows_as_before():
    """Another program takes the cores: a step takes ever longer, and leaves as much."""
    found = points(lambda s: 2000 + 0.5 * s)
    slower = found.assign(wall_time=1e9 + 0.01 * (found["wall_time"] - 1e9) ** 2)
    grows = growth_of(slower, ONE_EPOCH)
    assert grows is not None
    assert grows.mib_per_step == pytest.approx(0.5 / STEPS_PER_S, rel=0.05)


def test_what_each_epoch_leaves_is_growth_between_epochs():
    found = growth_of(points(lambda s: 2000 + 40 * epoch_at(s), noise=1.0), EPOCHS_OF_30_S)
    assert found is not None
    assert found.mib_per_hour == pytest.approx(40 * 120, rel=0.1)
    assert found.between_epochs == pytest.approx(1.0, abs=0.1)


def test_with_more_than_one_reading_of_an_epoch_a_saw_tooth_hides_no_growth():
    def memory(seconds: float) -> float:
        within = STEPS_PER_S * seconds / 600 % 1
        return 2000 + 30 * epoch_at(seconds) + 100 * within

    found = growth_of(points(memory), EPOCHS_OF_30_S)
    assert found is not None
    assert found.mib_per_hour == pytest.approx(30 * 120, rel=0.1)


HEALTHY = {
    "level": lambda s: 2000.0,
    "buffers that fill in the first minute": lambda s: 1000 + 15 * min(s, 60),
    "a cache that fills for four of ten minutes": lambda s: 1000 + 4 * min(s, 240),
    "a cache that fills for eight of ten minutes": lambda s: 1000 + 4 * min(s, 480),
    "pools that level out slowly": lambda s: 2000 + 500 * (1 - np.exp(-s / 200)),
    "pools that level out very slowly": lambda s: 2000 + 500 * (1 - np.exp(-s / 600)),
    "one jump, as of a first validation": lambda s: 2000 + 400 * (s > 350),
    "a saw tooth, as of a shuffle in each epoch": lambda s: 2000 + 300 * (s / 30 % 1),
    "a saw tooth of the collector": lambda s: 2000 + 200 * (s / 77 % 1),
    "a rise too small to speak of": lambda s: 2000 + 0.04 * s,
    "a fall": lambda s: 3000 - s,
}


@pytest.mark.parametrize("length", [ONE_EPOCH, EPOCHS_OF_30_S], ids=["one epoch", "epochs"])
@pytest.mark.parametrize("memory", HEALTHY.values(), ids=HEALTHY)
@pytest.mark.parametrize("noise", [0.0, 5.0])
def test_what_levels_out_is_no_growth(memory, noise, length):
    assert growth_of(points(memory, noise=noise), length) is None


@pytest.mark.parametrize("scale", [0.5, 4.0])
def test_what_wanders_by_chance_is_no_growth(scale):
    frame = points(lambda s: 0.0)
    for seed in range(30):
        steps = np.random.default_rng(seed).normal(scale=scale, size=len(frame))
        walk = frame.assign(value=2000 + np.cumsum(steps))
        assert growth_of(walk, ONE_EPOCH) is None


def test_a_short_training_is_not_judged():
    leak = points(lambda s: 2000 + 10 * s, minutes=2.0)
    assert growth_of(leak, ONE_EPOCH) is not None
    assert growth_of(leak.iloc[: LEAST_POINTS + 10], ONE_EPOCH) is None
    assert growth_of(leak.iloc[:0], ONE_EPOCH) is None


def test_a_clock_that_was_set_back_is_not_judged():
    leak = points(lambda s: 2000 + 10 * s)
    leak.loc[900:, "wall_time"] -= 3600
    assert growth_of(leak, ONE_EPOCH) is None


def test_of_few_epochs_where_it_rises_is_not_known():
    length = Length(first_step=0, last_step=12_000, epoch_steps=6_000)
    found = growth_of(points(lambda s: 2000 + 0.5 * s), length)
    assert found is not None
    assert found.between_epochs is None
