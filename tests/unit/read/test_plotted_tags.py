"""TensorBoard plots what there is to see; our reader has every figure."""

from __future__ import annotations

import math

from tensorboard.backend.event_processing.plugin_event_accumulator import EventAccumulator

from keras_perf.read.scalars import load_scalars
from keras_perf.records.metrics.all_metrics import METRICS, STEP_MS
from keras_perf.trials.kept_in_run import KeptInRun
from keras_perf.write.reopened_run import ReopenedRun
from keras_perf.write.run_writer import RunWriter


def written(tmp_path, *points):
    """Values at steps 1, 2, …; what TensorBoard plots of them, and our frame as rows."""
    writer = RunWriter(str(tmp_path))
    for step, values in enumerate(points, 1):
        writer.scalars(step, values, wall_time=100.0 + step)
    writer.close()
    return read(tmp_path)


def read(tmp_path):
    """What TensorBoard plots, and our frame as rows."""
    seen = EventAccumulator(str(tmp_path / "perf")).Reload()
    plotted = {
        tag: [(each.step, each.tensor_proto.float_val[0]) for each in seen.Tensors(tag)]
        for tag in seen.PluginTagToContent("scalars")
    }
    frame = load_scalars(tmp_path)
    return plotted, [(row.tag, row.step, row.value) for row in frame.itertuples()]


def test_a_single_point_is_not_plotted_but_is_there(tmp_path):
    plotted, rows = written(tmp_path, {"trace/kernel_ms": 3.0}, {STEP_MS: 2.0})
    assert plotted == {STEP_MS: [(2, 2.0)]}
    assert rows == [("trace/kernel_ms", 1, 3.0), (STEP_MS, 2, 2.0)]


def test_zeros_are_not_plotted_but_are_there(tmp_path):
    tag = "perf_outliers/stall_ms"
    plotted, rows = written(tmp_path, {STEP_MS: 2.0}, *[{tag: 0.0}] * 4)
    assert list(plotted) == [STEP_MS]
    assert rows == [(STEP_MS, 1, 2.0), *((tag, step, 0.0) for step in range(2, 6))]


def test_a_line_begins_where_it_was_first_measured_and_no_point_counts_twice(tmp_path):
    tag = "perf_between_epochs/rest_ms"
    plotted, rows = written(tmp_path, {tag: 4.0}, {tag: 5.0}, {tag: 6.0})
    assert plotted == {tag: [(1, 4.0), (2, 5.0), (3, 6.0)]}
    assert rows == [(tag, 1, 4.0), (tag, 2, 5.0), (tag, 3, 6.0)]


def test_zeros_before_the_first_other_figure_are_one_point(tmp_path):
    tag = "perf_outliers/callback_ms"
    plotted, rows = written(tmp_path, {tag: 0.0}, {tag: 0.0}, {tag: 7.0}, {tag: 0.0})
    assert plotted == {tag: [(1, 0.0), (3, 7.0), (4, 0.0)]}
    assert rows == [(tag, 1, 0.0), (tag, 2, 0.0), (tag, 3, 7.0), (tag, 4, 0.0)]


def test_what_is_looked_for_is_always_plotted(tmp_path):
    values = {"perf/compile_ms": 0.0, "gpu/0/throttled_power_cap_pct": 0.0}
    plotted, _ = written(tmp_path, values)
    assert plotted == {tag: [(1, 0.0)] for tag in values}


def test_a_missing_value_is_no_zero(tmp_path):
    tag = "perf_between_epochs/rest_ms"
    plotted, _ = written(tmp_path, {tag: math.nan}, {tag: math.nan})
    assert list(plotted) == [tag]


def test_what_would_fold_the_step_is_not_plotted_but_is_there(tmp_path):
    named = [metric.tag.replace("<call>", "evaluate") for metric in METRICS]
    tags = [tag for tag in named if tag < STEP_MS and not tag.startswith(("gpu/", "perf"))]
    assert {tag.partition("/")[0] for tag in tags} == {"batch_size", "capture", "evaluate", "host"}
    points = [dict.fromkeys([STEP_MS, *tags], ms) for ms in (1.0, 2.0, 3.0)]
    plotted, rows = written(tmp_path, *points)
    assert list(plotted) == [STEP_MS]
    assert [(row[0], row[2]) for row in rows] == [item for each in points for item in each.items()]


def test_calls_outside_of_a_training_follow_the_same_rule(tmp_path):
    run = ReopenedRun(str(tmp_path))
    calls = ("evaluate/step_time_ms", "predict/step_time_ms")
    for number in (1, 2):
        run.write(number, dict.fromkeys(calls, 3.0 * number), {})
    plotted, rows = read(tmp_path)
    assert plotted == {calls[1]: [(1, 3.0), (2, 6.0)]}
    assert rows == [(tag, number, 3.0 * number) for number in (1, 2) for tag in calls]


def test_a_sweep_of_batch_sizes_leaves_the_step_open_and_is_there(tmp_path):
    tag = "batch_size/step_time_ms"
    written(tmp_path, {STEP_MS: 2.0}, {STEP_MS: 3.0})
    KeptInRun(tmp_path).keep({}, {size: {tag: size / 4} for size in (16, 32, 64)})
    plotted, rows = read(tmp_path)
    assert list(plotted) == [STEP_MS]
    assert [row[1:] for row in rows if row[0] == tag] == [(16, 4.0), (32, 8.0), (64, 16.0)]
