"""Two epochs, of which the first fills a cache: what is told of the second alone."""

from __future__ import annotations

from typing import Any

import pytest
from hand_built import diagnosed, facts_of, frame, point, stage

from keras_perf.advise.notes.input.first_pass import first_pass_notes
from keras_perf.advise.situation import situation_of
from keras_perf.advise.verdict.verdict import verdict_of
from keras_perf.analyse.filled_cache import (
    filled_cache,
    fills_it_unmeasured,
    without_first_pass,
)
from keras_perf.analyse.summary import Summary, summarize
from keras_perf.analyse.whole_training import training_ms

CACHED = {"dataset": {"chains": [[{"kind": "map"}, {"kind": "cache"}]]}}
LENGTH = {"epochs": 2, "epoch_steps": 100, "first_step": 50, "last_step": 250}


def two_epochs(first_ms: float = 40.0, second_ms: float = 10.0, **changed: Any) -> Summary:
    """Intervals of 20 steps that compute for 10 ms, and wait for the rest."""
    context = {**CACHED, **LENGTH, "stages": [stage("Map", 30.0), stage("Cache", 0.0)], **changed}
    points = []
    for last in range(80, 251, 20):
        # One of them ends in the second epoch and began in the first.
        ms = first_ms if last <= 160 else second_ms
        points.append(point(last, 20, ms, compute=10.0, input_wait=ms - 10.0))
    return summarize(frame(*points), facts_of(context))


def test_the_first_pass_is_told_apart_and_what_filling_took():
    found = filled_cache(two_epochs(second_ms=12.5))
    # Five intervals begin in the first epoch.
    assert found is not None
    assert list(found.first.index) == [80, 100, 120, 140, 160]
    assert (found.waited_ms, found.waits_later_ms) == pytest.approx((30.0, 2.5))
    assert found.longer_s == pytest.approx(100 * 0.0275)


@pytest.mark.parametrize(
    "changed",
    [
        {"dataset": {"chains": [[{"kind": "map"}]]}},
        {"dataset": {"chains": [[{"kind": "map"}, {"kind": "cache"}, {"kind": "repeat"}]]}},
        {"epoch_steps": 190},
        {"epoch_steps": None},
        {"first_step": None},
        {"last_step": 240},
        {"first_ms": 12.0},
    ],
)
def test_other_first_passes_are_not_told_apart(changed):
    assert filled_cache(two_epochs(**changed)) is None


def test_means_without_the_first_pass_are_those_of_the_steps_after_it():
    summary = two_epochs(second_ms=12.5)
    found = filled_cache(summary)
    assert found is not None
    rest = without_first_pass(summary, found)
    assert (rest.steps, rest.step_ms) == (80, 12.5)
    assert rest.breakdown["input_wait"] == pytest.approx(2.5)
    assert rest.breakdown["step"] == pytest.approx(12.5)


@pytest.mark.parametrize(
    ("changed", "unmeasured"),
    [
        # The warm-up of ten steps was the whole first epoch.
        ({"epoch_steps": 10}, True),
        ({"epoch_steps": 11}, False),
        ({"epoch_steps": 10, "dataset": {"chains": [[{"kind": "map"}]]}}, False),
        ({"epoch_steps": None}, False),
        ({"first_step": None}, False),
    ],
)
def test_a_first_pass_that_was_all_warm_up_is_not_measured(changed, unmeasured):
    assert fills_it_unmeasured(two_epochs(**changed)) == unmeasured


def notes_on(summary: Summary) -> list[str]:
    found = situation_of(summary)
    verdict, _ = verdict_of(found)
    return list(first_pass_notes(diagnosed(found, verdict, [])))


def test_where_only_filling_waits_it_is_said_beside_the_verdict():
    [said] = notes_on(two_epochs())
    assert said == (
        "It is the first pass that waits for its input, as it fills the cache(): 30 ms a step, and "
        "0 ms later. Its steps took 3 s longer than as many later ones; more epochs have that "
        "once."
    )


@pytest.mark.parametrize(
    "changed", [{"second_ms": 20.0}, {"dataset": {"chains": [[{"kind": "map"}]]}}]
)
def test_nothing_is_said_of_a_training_that_goes_on_waiting(changed):
    assert not notes_on(two_epochs(**changed))


def test_a_cache_is_filled_once_however_long_the_training():
    # 180 steps were measured of 200: 100 of 40 ms and 80 of 10, which took 3 s longer.
    found = two_epochs()
    assert training_ms(found) == pytest.approx(10 + 3000 / 200)
    assert training_ms(found, 2000) == pytest.approx(10 + 3000 / 2000)
