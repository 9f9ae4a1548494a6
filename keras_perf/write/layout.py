"""The Custom Scalars tab: charts that are there without anyone configuring them."""

from __future__ import annotations

import re
from collections.abc import Iterable

from tensorboard.plugins.custom_scalar import layout_pb2

from keras_perf.records.metrics.all_metrics import METRICS

_CATEGORIES = {
    "perf": "Step",
    "gpu": "GPU",
    "perf_callbacks": "Callbacks, per step",
    "perf_between_epochs": "Between epochs",
    "perf_outliers": "Time beyond the usual",
    "validation": "Validation, per batch",
}
"""Category by what a tag begins with."""

_UNITS = {
    "_mib_per_sec": "MiB/s",
    "_per_sec": "per second",
    "_pct": "%",
    "_mib": "MiB",
    "_mhz": "MHz",
    "_ms": "ms",
    "_c": "°C",
    "_j": "J",
    "_w": "W",
}

_ABBREVIATIONS = {"cpu": "CPU", "gpu": "GPU", "sm": "SM", "dram": "DRAM", "pcie": "PCIe"}

_GPU = re.compile(r"^gpu/\d+/")

_ORDER = {metric.tag.replace("<i>", "0"): place for place, metric in enumerate(METRICS)}


def layout_bytes(tags: Iterable[str]) -> bytes:
    """A serialized layout with a chart for each of the tags; all GPUs share theirs.

    One figure a chart: two runs with several figures each would have lines of one colour.
    """
    first = {_pattern(tag): tag for tag in sorted(tags, reverse=True)}
    charts = sorted(first.items(), key=lambda chart: _place(chart[1]))
    layout = layout_pb2.Layout()
    for begin, category in _CATEGORIES.items():
        here = [chart for chart in charts if chart[1].startswith(f"{begin}/")]
        if here:
            added = layout.category.add(title=category)
            for pattern, tag in here:
                added.chart.add(title=_title(tag)).multiline.tag.append(pattern)
    content: bytes = layout.SerializeToString()
    return content


def _pattern(tag: str) -> str:
    """Matches the tag; of a GPU, the same figure of every one."""
    gpu = _GPU.match(tag)
    return rf"^gpu/\d+/{re.escape(tag[gpu.end() :])}$" if gpu else f"^{re.escape(tag)}$"


def _place(tag: str) -> tuple[int, str]:
    """Where the table of metrics has it; what is not in it comes last, by name."""
    return _ORDER.get(_GPU.sub("gpu/0/", tag), len(_ORDER)), tag


def _title(tag: str) -> str:
    """As `perf/input_wait_ms` → "Input wait (ms)"; the name of a callback's hook stays."""
    name, unit = tag.rpartition("/")[2], ""
    for suffix, written in _UNITS.items():
        if name.endswith(suffix):
            name, unit = name.removesuffix(suffix), f" ({written})"
            break
    if "." in name:
        return name + unit
    words = [_ABBREVIATIONS.get(word, word) for word in name.split("_")]
    words[0] = words[0][:1].upper() + words[0][1:]
    return " ".join(words) + unit
