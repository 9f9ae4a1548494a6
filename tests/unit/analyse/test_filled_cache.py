"""Two epochs, of which the first fills a cache: what is told of the second alone."""

from __future__ import annotations

from typing import Any

import pytest
from hand_built import facts_of, frame, point, stage

from keras_perf.advise.judged import judged
from keras_perf.advise.situation import situation_of
from keras_perf.analyse.filled_cache import filled_cache
from keras_perf.analyse.summary import Summary, summarize

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


def test_the_steps_after_the_first_pass_are_told_apart_and_what_filling_took():
    found = filled_cache(two_epochs())
    # Five intervals begin in the first epoch.
    assert found is not None
    assert (found.later.steps, found.later.step_ms) == (80, 10.0)
    assert found.later.parts == pytest.approx({"input_wait": 0.0, "compute": 10.0})
    assert found.longer_s == pytest.approx(100 * 0.030)


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
def test_other_trainings_are_judged_by_all_their_steps(changed):
    summary = two_epochs(**changed)
    assert filled_cache(summary) is None
    if "first_ms" not in changed:
        assert judged(situation_of(summary)).verdict == "input-bound"


def test_where_only_filling_waits_training_is_not_input_bound_and_nothing_is_advised_on_it():
    found = judged(situation_of(two_epochs()))
    assert found.verdict == "compute-bound"
    assert str(found.because).endswith(
        "That is of the 80 steps after the first pass, which filled the cache() and took 3 s "
        "longer than as many of them."
    )
    assert found.advice == ()
    as_ever = judged(situation_of(two_epochs(dataset={"chains": [[{"kind": "map"}]]})))
    assert [advice.id for advice in as_ever.advice] == ["prefetch"]


def test_a_training_that_waits_after_the_filling_too_is_input_bound():
    found = judged(situation_of(two_epochs(second_ms=20.0)))
    assert found.verdict == "input-bound"
    assert "filled the cache()" not in str(found.because)
