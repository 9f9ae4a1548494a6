"""What the machine did while it trained: a lane a figure, over the same steps as the parts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple
from xml.etree.ElementTree import Element

import pandas as pd

from keras_perf.records.figures import figure
from keras_perf.report.page.html import element
from keras_perf.report.page.meanings import meaning
from keras_perf.report.page.plots.lane_plot import Span, lane_plot
from keras_perf.report.page.plots.timeline import span_of
from keras_perf.report.run_report import RunReport


class Lane(NamedTuple):
    """A figure of a device, and how high its axis goes.

    `full` is the value at which the device can give no more; 0 where that is not known.
    """

    name: str
    tag: str
    full: float = 0.0
    only_above: float = -1.0
    """A lane that never rises above this is left out."""


THROTTLING = {
    "the power limit": "throttled_power_cap_pct",
    "heat": "throttled_thermal_pct",
    "the power supply": "throttled_power_brake_pct",
    "the hardware": "throttled_hardware_pct",
}
"""Why clocks were lowered: the part of the tag."""

NONE_SAMPLED = "no GPU was sampled"
SHOWN_GPUS = 2
"""Those of more GPUs are shown on demand."""

SILENT_SHARE = 0.1
"""Of a run's steps: a GPU that has no reading in its last ones is said to have none."""


def lanes_figures(report: RunReport, shown: Span) -> list[Element]:
    """A figure of each sampled GPU, and one of the host; [] where nothing was sampled.

    Arguments:
        report: of a run.
        shown: its steps that are drawn; what is said in words is said of all.
    """
    found = {
        str(tag): points.set_index("step")["value"]
        for tag, points in report.scalars.groupby("tag", observed=True)
        if tag in report.summary.sensors
    }
    gpus = sorted({int(tag.split("/")[1]) for tag in found if re.match(r"gpu/\d+/", tag)})
    facts, means = report.summary.facts, report.summary.sensors
    figures = []
    for gpu in gpus:
        lanes = _drawn(_gpu_lanes(gpu, facts.gpu.gpu_memory_total_mib), found, means, shown)
        name = facts.gpu.gpus.get(f"gpu/{gpu}", "")
        silent = _silent_since(found, f"gpu/{gpu}/", span_of(report))
        figures += [_figure(f"GPU {gpu}", name, lanes, silent)] if lanes else []
    told = figures[:SHOWN_GPUS]
    if others := figures[SHOWN_GPUS:]:
        more = element("summary", f"{len(others)} more GPU{'s' * (len(others) > 1)}")
        told.append(element("details", more, *others))
    host = _drawn(_host_lanes(facts.machine.memory_total_mib), found, means, shown)
    without = "" if gpus or not host else "no GPU trains" if facts.gpu.gpus_unused else NONE_SAMPLED
    return [*told, *([_figure("Host", without, host)] if host else [])]


def _gpu_lanes(gpu: int, memory_mib: float | None) -> Iterator[Lane]:
    at = f"gpu/{gpu}/"
    yield Lane("utilization, %", f"{at}utilization_pct", 100.0)
    yield Lane("SMs active, %", f"{at}sm_active_pct", 100.0)
    yield Lane("memory in use, MiB", f"{at}memory_used_mib", memory_mib or 0.0)
    yield Lane("power, W", f"{at}power_w")
    yield Lane("clock, MHz", f"{at}sm_clock_mhz")
    yield Lane("temperature, °C", f"{at}temperature_c")
    for why, tag in THROTTLING.items():
        yield Lane(f"clocks lowered by {why}, % of samples", f"{at}{tag}", 100.0, 0.0)


def _host_lanes(memory_mib: float | None) -> Iterator[Lane]:
    yield Lane("all CPUs, %", "host/cpu_pct", 100.0)
    yield Lane("this process, % of one CPU", "host/process_cpu_pct")
    yield Lane("memory of the machine, MiB", "host/memory_used_mib", memory_mib or 0.0)
    yield Lane("memory of this process, MiB", "host/process_memory_mib")
    yield Lane("reading from storage, MiB/s", "host/read_mib_per_sec", only_above=0.1)
    yield Lane("busiest disk, % of the time", "host/disk_busy_pct", 100.0, 1.0)
    yield Lane("brought back from swap, MiB/s", "host/swapped_in_mib_per_sec", only_above=0.0)


def _drawn(
    lanes: Iterator[Lane], found: dict[str, pd.Series], means: Mapping[str, float], span: Span
) -> list[Element]:
    there = [
        lane for lane in lanes if lane.tag in found and found[lane.tag].max() > lane.only_above
    ]
    drawn = []
    for place, lane in enumerate(there, 1):
        drawn += _lane(lane, found, means[lane.tag], span, last=place == len(there))
    return drawn


def _lane(
    lane: Lane, found: dict[str, pd.Series], mean: float, span: Span, *, last: bool
) -> list[Element]:
    values = found[lane.tag]
    folder, _, name = lane.tag.rpartition("/")
    low, high = (found.get(f"{folder}/{least}_{name}") for least in ("min", "max"))
    low, high = values if low is None else low, values if high is None else high
    extremes = low is not values or high is not values
    least, most = float(low.min()), float(high.max())
    figures = f"mean {figure(mean)}, {figure(least)} to {figure(most)}"
    head = lane_head(lane.name, re.sub(r"\d+", "<i>", lane.tag), figures)
    title = f"{lane.name} over the steps: {figures}"
    around = (low, high) if extremes else None
    return [head, lane_plot(title, values, span, lane.full or most * 1.1, around, ticks=last)]


def lane_head(name: str, tag: str, figures: str = "") -> Element:
    """What stands above a lane: its name, what that means, and figures of it."""
    quiet = [element("span", figures, class_="quiet")] if figures else []
    told = element("span", name, " ", meaning(tag, name))
    return element("div", told, *quiet, class_="lane-head")


def _figure(title: str, what: str, lanes: list[Element], said: str = "") -> Element:
    caption = [element("small", f" – {what}")] if what else []
    alert = [element("p", said, class_="state")] if said else []
    return element("figure", element("figcaption", title, *caption), *alert, *lanes)


def _silent_since(found: dict[str, pd.Series], gpu: str, span: Span) -> str:
    """A sentence where a GPU has no reading at the run's end, but something else has."""
    ends = {tag: int(values.index.max()) for tag, values in found.items()}
    last = max(step for tag, step in ends.items() if tag.startswith(gpu))
    missing = max(ends.values()) - last
    if missing <= SILENT_SHARE * (span[1] - span[0]):
        return ""
    return f"This GPU gave no reading after step {last:,}."
