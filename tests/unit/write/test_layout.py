"""The dashboard's charts, for the tags that there are."""

from __future__ import annotations

import re

import pytest
from tensorboard.plugins.custom_scalar import layout_pb2

from keras_perf.records.metrics.all_metrics import METRICS
from keras_perf.write.layout import layout_bytes

STANDS_FOR = {
    "<i>": "0",
    "<owner>": "A.on_train_batch_end",
    "<call>": "evaluate",
    "<part>": "compute",
}
EVERY_TAG = [re.sub("<.*?>", lambda found: STANDS_FOR[found[0]], m.tag) for m in METRICS]


def charts(tags: list[str]) -> dict[str, dict[str, str]]:
    """Category → title → pattern."""
    layout = layout_pb2.Layout.FromString(layout_bytes(tags))
    return {
        category.title: {chart.title: chart.multiline.tag[0] for chart in category.chart}
        for category in layout.category
    }


def test_all_tags_make_all_charts():
    found = {category: list(titles) for category, titles in charts(EVERY_TAG).items()}
    assert found == {
        "Step time": ["Parts of a step (ms)", "Step time (ms)", "Callbacks (ms per step)"],
        "Workers": ["Exchange of gradients (ms)"],
        "Gaps": ["Steps and pauses far longer than usual (ms)", "Between epochs (ms)"],
        "Calls": ["Parts of a batch (ms)"],
        "Throughput": ["Steps per second", "Examples per second"],
        "GPU": [
            "Activity (%)",
            "Throttled (%)",
            "Energy per step (J)",
            "Memory used (MiB)",
            "Allocated by TensorFlow (MiB)",
            "Power (W)",
        ],
        "Host": [
            "CPU (%)",
            "Memory (MiB)",
            "Disk, network and swap (MiB/s)",
            "Wait for the interpreter (ms)",
        ],
    }


def test_a_chart_without_tags_is_left_out():
    found = {category: list(titles) for category, titles in charts(["host/cpu_pct"]).items()}
    assert found == {"Host": ["CPU (%)"]}


def test_no_tags_make_no_charts():
    assert charts([]) == {}


@pytest.mark.parametrize(
    ("title", "shown"),
    [
        (
            "Parts of a step (ms)",
            ["input_wait", "compute", "dispatch", "callbacks", "other_host", "compile"],
        ),
        ("Step time (ms)", ["step_time"]),
    ],
)
def test_a_chart_shows_the_tags_it_is_named_for_and_no_other(title, shown):
    pattern = charts(EVERY_TAG)["Step time"][title]
    matching = [tag for tag in EVERY_TAG if re.match(pattern, tag)]
    assert sorted(matching) == sorted(f"perf/{part}_ms" for part in shown)


def test_charts_of_gpus_show_every_gpu():
    pattern = charts(EVERY_TAG)["GPU"]["Power (W)"]
    assert re.match(pattern, "gpu/11/power_w")
    assert not re.match(pattern, "gpu/0/power_w_of_another")
