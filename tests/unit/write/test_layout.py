"""The dashboard's charts, for the tags that there are."""

from __future__ import annotations

import re

from tensorboard.plugins.custom_scalar import layout_pb2

from keras_perf.records.metrics.all_metrics import METRICS
from keras_perf.write.layout import layout_bytes

STANDS_FOR = {
    "<i>": "0",
    "<owner>": "A.on_train_batch_end",
    "<call>": "validation",
    "<part>": "compute",
}
EVERY_TAG = [re.sub("<.*?>", lambda found: STANDS_FOR[found[0]], m.tag) for m in METRICS]

NOT_CHARTED = {"trace", "capture", "steps_per_execution", "batch_size", "host"}
"""What is measured once or twice in a training, or beside one, and what is not plotted."""


def charts(tags: list[str]) -> dict[str, dict[str, str]]:
    """Category → title → pattern."""
    layout = layout_pb2.Layout.FromString(layout_bytes(tags))
    return {
        category.title: {chart.title: chart.multiline.tag[0] for chart in category.chart}
        for category in layout.category
    }


def test_each_figure_has_a_chart_that_shows_no_other():
    found = [pattern for titles in charts(EVERY_TAG).values() for pattern in titles.values()]
    shown = [[tag for tag in EVERY_TAG if re.match(pattern, tag)] for pattern in found]
    assert all(len(tags) == 1 for tags in shown)
    left_out = set(EVERY_TAG) - {tag for [tag] in shown}
    assert {tag.partition("/")[0] for tag in left_out} <= NOT_CHARTED


def test_charts_stand_in_the_order_of_the_table_under_names_one_can_read():
    tags = [
        "validation/step_time_ms",
        "perf/steps_per_sec",
        "perf/input_wait_ms",
        "perf/step_time_ms",
        "perf_callbacks/A.on_train_batch_end_ms",
    ]
    found = {category: list(titles) for category, titles in charts(tags).items()}
    assert found == {
        "Step": ["Step time (ms)", "Input wait (ms)", "Steps (per second)"],
        "Callbacks, per step": ["A.on_train_batch_end (ms)"],
        "Validation, per batch": ["Step time (ms)"],
    }


def test_no_tags_make_no_charts():
    assert charts([]) == {}


def test_charts_of_gpus_show_every_gpu():
    pattern = charts(EVERY_TAG)["GPU"]["Power (W)"]
    assert re.match(pattern, "gpu/11/power_w")
    assert not re.match(pattern, "gpu/0/power_w_of_another")
