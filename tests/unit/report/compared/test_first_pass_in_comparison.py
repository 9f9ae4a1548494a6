"""Two trainings with a cache, of which one measured the pass that fills it."""

from __future__ import annotations

import pytest
from hand_built import facts_of, frame, point, stage

from keras_perf.analyse.summary import Summary, summarize
from keras_perf.report.compared.comparison import Comparison, comparison_of
from keras_perf.report.diagnosis import diagnosis_of

CONTEXT = {
    "dataset": {"chains": [[{"kind": "map"}, {"kind": "cache"}]]},
    "stages": [stage("Map", 30.0), stage("Cache", 0.0)],
    "epochs": 4,
    "epoch_steps": 100,
    "first_step": 0,
    "last_step": 400,
}


def trained(warmup: int, step_ms: float, first_ms: float = 40.0) -> Summary:
    """Intervals of 20 steps that compute for all that later steps take."""
    points = [
        point(last, 20, ms, compute=step_ms, input_wait=ms - step_ms)
        for last in range(warmup + 20, 401, 20)
        for ms in [first_ms if last <= 100 else step_ms]
    ]
    return summarize(frame(*points), facts_of(CONTEXT))


def compared(*runs: Summary) -> Comparison:
    return comparison_of(*(diagnosis_of(run) for run in runs))


@pytest.mark.parametrize("later_first", [False, True])
def test_steps_that_only_one_of_them_measured_are_left_out(later_first):
    measured, warmed_up = trained(20, 10.0), trained(100, 2.0)
    runs = (warmed_up, measured) if later_first else (measured, warmed_up)
    found = compared(*runs)
    assert found.speedup == pytest.approx(1 / 5 if later_first else 5.0)
    assert (found.low, found.high) == pytest.approx((found.speedup, found.speedup))
    assert found.change.ratio == pytest.approx(1 / found.speedup)
    step = found.to_frame().set_index("part").loc["step"]
    assert sorted([step["before_ms"], step["after_ms"]]) == pytest.approx([2.0, 10.0])
    where = "after" if later_first else "before"
    assert (
        "Steps of the first pass, which fills the cache(), were measured only in the run "
        f"{where}, where a step took 16.3 ms with them; they are left out here."
    ) in str(found)


@pytest.mark.parametrize(
    "runs",
    [
        (trained(20, 10.0), trained(40, 2.0)),
        (trained(100, 10.0), trained(100, 2.0)),
        # Nothing is filled: the first pass is as quick as the others.
        (trained(20, 10.0, first_ms=10.0), trained(100, 2.0)),
    ],
    ids=["both measured it", "none did", "nothing to fill"],
)
def test_elsewhere_all_steps_count(runs):
    found = compared(*runs)
    assert found.left_out == ""
    assert found.speedup == pytest.approx(runs[0].step_ms / runs[1].step_ms)
