"""Two runs side by side, to the letter."""

from __future__ import annotations

import pandas as pd
import pytest
from hand_built import stage, summary, write_fit

from keras_perf.read.event_files import NoRunError
from keras_perf.records.interval import PARTS
from keras_perf.report.comparison import Comparison, compare
from keras_perf.report.diagnosis import diagnosis_of
from keras_perf.write.events import RunWriter

SEQUENTIAL = [stage("TensorSlice", 1.0), stage("Map", 6.0), stage("Batch", 1.0)]

BEFORE = {
    "input_wait": 8.0,
    "compute": 1.5,
    "callbacks": 0.25,
    "other_host": 0.25,
    "compile": 0.0,
    "stages": SEQUENTIAL,
}

AFTER = {
    "input_wait": 0.0,
    "compute": 3.875,
    "callbacks": 0.0625,
    "other_host": 0.0625,
    "compile": 0.0,
}


def comparison(after: dict) -> Comparison:
    return Comparison(
        2.5, 2.4, 2.6, diagnosis_of(summary(**BEFORE)), diagnosis_of(summary(**after))
    )


TEXT = """\
2.50× as fast (2.40–2.60): input-bound before, compute-bound after

part of a step  before ms  after ms  saved ms
--------------  ---------  --------  --------
input wait          8.000     0.000     8.000
compute             1.500     3.875    -2.375
dispatch            0.000     0.000     0.000
callbacks           0.250     0.062     0.188
other host          0.250     0.062     0.188
compile             0.000     0.000     0.000
step               10.000     4.000     6.000

Predicted for all recommendations together: 3.19× (2.74–3.64); measured: 2.50×.
"""

MARKDOWN = """\
## 2.50× as fast (2.40–2.60): input-bound before, compute-bound after

| part of a step | before ms | after ms | saved ms |
| --- | ---: | ---: | ---: |
| input wait | 8.000 | 0.000 | 8.000 |
| compute | 1.500 | 3.875 | -2.375 |
| dispatch | 0.000 | 0.000 | 0.000 |
| callbacks | 0.250 | 0.062 | 0.188 |
| other host | 0.250 | 0.062 | 0.188 |
| compile | 0.000 | 0.000 | 0.000 |
| step | 10.000 | 4.000 | 6.000 |

Predicted for all recommendations together: 3.19× (2.74–3.64); measured: 2.50×.
"""


def test_a_comparison_reads_like_this_in_a_terminal():
    assert str(comparison(AFTER)) == TEXT


def test_a_comparison_reads_like_this_in_markdown():
    assert comparison(AFTER).to_markdown() == MARKDOWN


def test_advice_that_was_not_taken_is_named():
    again = BEFORE | {"stages": [stage("ParallelMap", 8.0, parallelism=8)]}
    assert str(comparison(again)).endswith("measured: 2.50×. Still recommended: prefetch.\n")


def test_without_advice_before_nothing_had_been_recommended():
    found = Comparison(
        1.0, 1.0, 1.0, diagnosis_of(summary(**AFTER)), diagnosis_of(summary(**AFTER))
    )
    assert str(found).endswith("No change had been recommended.\n")


def test_the_frame_has_a_row_a_part_and_one_for_the_step():
    expected = pd.DataFrame(
        {
            "part": [*PARTS, "step"],
            "before_ms": [8.0, 1.5, 0.0, 0.25, 0.25, 0.0, 10.0],
            "after_ms": [0.0, 3.875, 0.0, 0.0625, 0.0625, 0.0, 4.0],
            "saved_ms": [8.0, -2.375, 0.0, 0.1875, 0.1875, 0.0, 6.0],
        }
    )
    pd.testing.assert_frame_equal(comparison(AFTER).to_frame(), expected)


# -- from two directories ----------------------------------------------------------------


def write_both(tmp_path, before: dict, after: dict) -> Comparison:
    write_fit(tmp_path / "before", step_ms=6.0, context=before)
    write_fit(tmp_path / "after", step_ms=3.0, context=after)
    return compare(tmp_path / "before", tmp_path / "after")


def test_steps_half_as_long_are_twice_as_fast(tmp_path):
    found = write_both(tmp_path, {}, {})
    assert (found.speedup, found.low, found.high) == (2.0, 2.0, 2.0)
    assert found.before.breakdown["step"] == 6.0
    assert found.after.breakdown["step"] == 3.0


def test_a_speedup_is_per_example_where_both_know_their_batch_size(tmp_path):
    found = write_both(tmp_path, {"examples_per_step": 64.0}, {"examples_per_step": 32.0})
    assert (found.speedup, found.low, found.high) == (1.0, 1.0, 1.0)


def test_a_speedup_is_per_step_where_one_does_not_know_its_batch_size(tmp_path):
    found = write_both(tmp_path, {"examples_per_step": 64.0}, {"examples_per_step": None})
    assert found.speedup == 2.0


def test_the_bounds_hold_the_speedup(tmp_path):
    for name, times in {"before": (5.0, 6.0, 7.0), "after": (2.0, 3.0, 4.0)}.items():
        writer = RunWriter(str(tmp_path / name))
        for place, step_ms in enumerate(times * 4):
            writer.scalars(
                place, {"perf/step_time_ms": step_ms, "perf/interval_steps": 10.0}, wall_time=1.0
            )
        writer.close()
    found = compare(tmp_path / "before", tmp_path / "after")
    assert found.speedup == pytest.approx(2.0)
    assert found.low < 2.0 < found.high


@pytest.mark.parametrize("empty", ["before", "after"])
def test_a_run_that_measured_nothing_is_refused_by_name(tmp_path, empty):
    for name in ("before", "after"):
        if name == empty:
            RunWriter(str(tmp_path / name)).close()
        else:
            write_fit(tmp_path / name, step_ms=4.0)
    with pytest.raises(ValueError, match=f"^{empty} must hold a run with measured steps"):
        compare(tmp_path / "before", tmp_path / "after")


def test_a_directory_without_a_run_is_no_comparison(tmp_path):
    write_fit(tmp_path / "before", step_ms=4.0)
    with pytest.raises(NoRunError):
        compare(tmp_path / "before", tmp_path / "after")
