"""The table of metrics, beside what is promised of it."""

from __future__ import annotations

import re

import pytest

from keras_perf.records.interval import PARTS
from keras_perf.records.metrics.all_metrics import METRICS, STEP_METRICS, metrics_markdown

SUFFIXES = {
    "kernels": "/kernels",
    "ms": "_ms",
    "%": "_pct",
    "ratio": "_ratio",
    "MiB": "_mib",
    "W": "_w",
    "°C": "_c",
    "MHz": "_mhz",
    "1/s": "_per_sec",
    "steps": "_steps",
    "MiB/s": "_mib_per_sec",
    "lanes": "_lanes",
    "generation": "_generation",
    "processes": "_processes",
    "J": "_j",
    "worker": "_worker",
}

PROMISED = (
    "perf/step_time_ms",
    "perf/input_wait_ms",
    "perf/compute_ms",
    "perf/dispatch_ms",
    "perf/callbacks_ms",
    "perf/other_host_ms",
    "perf/steps_per_sec",
    "perf/examples_per_sec",
    "gpu/<i>/utilization_pct",
    "gpu/<i>/memory_used_mib",
    "gpu/<i>/power_w",
    "gpu/<i>/sm_active_pct",
)


def test_no_tag_is_given_twice():
    tags = [metric.tag for metric in METRICS]
    assert len(tags) == len(set(tags))


@pytest.mark.parametrize("tag", PROMISED)
def test_a_promised_tag_is_in_the_table(tag):
    assert tag in {metric.tag for metric in METRICS}


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.tag)
def test_a_tag_ends_with_its_unit(metric):
    assert metric.tag.endswith(SUFFIXES[metric.unit])


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.tag)
def test_a_metric_says_in_a_sentence_what_it_means(metric):
    assert metric.meaning.endswith(".")
    assert metric.blind_spot == "" or metric.blind_spot.endswith(".")


def test_every_part_of_a_step_is_logged():
    tags = {metric.tag for metric in STEP_METRICS}
    assert {f"perf/{part}_ms" for part in PARTS} <= tags


def test_neither_worker_nor_host_is_in_a_tag():
    assert not [m.tag for m in METRICS if re.search(r"worker[_/]|rank|hostname", m.tag)]


def test_the_markdown_table_has_a_row_of_four_cells_for_each_metric():
    head, rule, *rows = metrics_markdown().splitlines()
    assert head == "| tag | unit | meaning | cannot see |"
    assert rule == "|---|---|---|---|"
    assert len(rows) == len(METRICS)
    assert {row.count("|") for row in rows} == {5}
    assert rows[0].startswith("| `perf/step_time_ms` | ms | Mean time from ")
