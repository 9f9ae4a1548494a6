"""The Custom Scalars tab: charts that are there without anyone configuring them."""

from __future__ import annotations

import re
from collections.abc import Iterable

from tensorboard.plugins.custom_scalar import layout_pb2

from keras_perf.records.interval import PARTS

_PARTS = "|".join(PARTS)

_CHARTS = (
    ("Step time", "Parts of a step (ms)", rf"^perf/({_PARTS})_ms$"),
    ("Step time", "Step time (ms)", r"^perf/step_time_ms$"),
    ("Step time", "Callbacks (ms per step)", r"^callbacks/"),
    ("Workers", "Exchange of gradients (ms)", r"^perf/(communication|peer_wait|skew)_ms$"),
    ("Gaps", "Steps and pauses far longer than usual (ms)", r"^events/"),
    ("Gaps", "Between epochs (ms)", r"^between_epochs/"),
    ("Calls", "Parts of a batch (ms)", rf"^(validation|evaluate|predict)/(starting|{_PARTS})_ms$"),
    ("Throughput", "Steps per second", r"^perf/steps_per_sec$"),
    ("Throughput", "Examples per second", r"^perf/examples_per_sec$"),
    (
        "GPU",
        "Activity (%)",
        r"^gpu/\d+/(utilization|graphics_active|sm_active|tensor_active|occupancy|dram_bandwidth)_pct$",
    ),
    ("GPU", "Throttled (%)", r"^gpu/\d+/throttled_.*_pct$"),
    ("GPU", "Energy per step (J)", r"^gpu/\d+/energy_per_step_j$"),
    ("GPU", "Memory used (MiB)", r"^gpu/\d+/memory_used_mib$"),
    ("GPU", "Allocated by TensorFlow (MiB)", r"^gpu/\d+/(peak_)?allocated_mib$"),
    ("GPU", "Power (W)", r"^gpu/\d+/power_w$"),
    ("Host", "CPU (%)", r"^host/.*_pct$"),
    ("Host", "Memory (MiB)", r"^host/.*_mib$"),
    ("Host", "Disk, network and swap (MiB/s)", r"^host/.*_mib_per_sec$"),
    ("Host", "Wait for the interpreter (ms)", r"^host/interpreter_wait_ms$"),
)


def layout_bytes(tags: Iterable[str]) -> bytes:
    """A serialized layout of the charts for which there are tags."""
    tags = list(tags)
    layout = layout_pb2.Layout()
    categories: dict[str, layout_pb2.Category] = {}
    for category, title, pattern in _CHARTS:
        if not any(re.match(pattern, tag) for tag in tags):
            continue
        if category not in categories:
            categories[category] = layout.category.add(title=category)
        chart = categories[category].chart.add(title=title)
        chart.multiline.tag.append(pattern)
    content: bytes = layout.SerializeToString()
    return content
