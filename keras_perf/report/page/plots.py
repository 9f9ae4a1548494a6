"""Plots over the steps of a run, as SVG elements that take on the page's ink."""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from typing import Any
from xml.etree.ElementTree import Element, fromstring

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, NullFormatter, StrMethodFormatter

from keras_perf.records.interval import PARTS
from keras_perf.records.run.outlier import Cause, Outlier
from keras_perf.report.page.downsampling import MOST, thinned
from keras_perf.report.page.html import element
from keras_perf.showing.colours import PART_COLOURS

LINE_COLOURS = tuple(PART_COLOURS.values())

CAUSE_MARKS = {
    Cause.RETRACE: ("#0c9a72", "s"),
    Cause.RECOMPILE: ("#0c9a72", "D"),
    Cause.GARBAGE: ("#7f7f7f", "P"),
    Cause.CALLBACK: ("#b8860b", "^"),
    Cause.CHECKPOINT: ("#b8860b", "v"),
    Cause.VALIDATION: ("#b86399", "s"),
    Cause.SHUFFLE: ("#d55e00", "<"),
    Cause.ITERATOR: ("#d55e00", ">"),
    Cause.INPUT: ("#d55e00", "o"),
    Cause.UNKNOWN: ("#7f7f7f", "X"),
}
"""Colour of the part that the cause belongs to, and a shape: no two causes share both."""

LEGEND_COLUMNS = 6

INK = "#123456"
"""Stands for the page's own colour of text while a plot is drawn."""


def parts_plot(intervals: pd.DataFrame, span: tuple[int, int], name: str) -> Element:
    """The step's parts over the steps, stacked.

    Arguments:
        intervals: as in `Summary.intervals`, not empty.
        span: first and last step to show.
        name: sets its ids apart from those of the page's other plots.
    """
    figure, axes = _axes(span, "ms per step")
    shown = [part for part in PARTS if part in intervals and intervals[part].max() > 0]
    heights = thinned(intervals[shown].fillna(0.0), intervals["steps"])
    begin = intervals.index[0] - intervals["steps"].iloc[0]
    axes.stackplot(
        [begin, *heights.index],
        [[heights[part].iloc[0], *heights[part]] for part in shown],
        colors=[PART_COLOURS[part] for part in shown],
        labels=[part.replace("_", " ") for part in shown],
        step="pre",
        linewidth=0,
    )
    axes.set_ylim(bottom=0)
    return _svg(figure, name, "Parts of a step, in milliseconds, over the steps")


def events_plot(events: Sequence[Outlier], span: tuple[int, int], name: str) -> Element:
    """How much longer than usual the longest steps and pauses were.

    Arguments:
        events: at least one, worst first; of very many only the worst are drawn.
        span: first and last step to show.
        name: sets its ids apart from those of the page's other plots.
    """
    events = events[:MOST]
    causes = [cause for cause in Cause if any(event.cause is cause for event in events)]
    figure, axes = _axes(span, "ms longer than usual", math.ceil(len(causes) / LEGEND_COLUMNS))
    for cause in causes:
        colour, marker = CAUSE_MARKS[cause]
        steps = [event.step for event in events if event.cause is cause]
        excess = [event.excess_ms for event in events if event.cause is cause]
        axes.vlines(steps, 0, excess, colors=colour, linewidth=1, alpha=0.5)
        axes.plot(steps, excess, marker, color=colour, label=cause.value, clip_on=False)
    least, most = (bound(event.excess_ms for event in events) for bound in (min, max))
    axes.set_ylim(0, most * 1.1)
    if most > 20 * least > 0:
        axes.set_yscale("log")
        axes.set_ylim(least / 2, most * 1.5)
        axes.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
        axes.yaxis.set_minor_formatter(NullFormatter())
    return _svg(figure, name, "Longest steps and pauses over the steps, by cause")


def utilization_plot(series: dict[str, pd.Series], span: tuple[int, int], name: str) -> Element:
    """Utilization in percent over the steps: a line a device."""
    figure, axes = _axes(span, "%")
    for place, (device, samples) in enumerate(series.items()):
        colour = LINE_COLOURS[(place + 1) % len(LINE_COLOURS)]
        values = thinned(samples.to_frame(), pd.Series(1.0, index=samples.index))
        axes.plot(values.index, values, ".-", color=colour, linewidth=1.8, label=device)
    axes.set_ylim(0, 105)
    return _svg(figure, name, f"Utilization of {', '.join(series)} over the steps")


def _axes(span: tuple[int, int], unit: str, legend_rows: int = 1) -> tuple[Figure, Any]:
    """A wide, low plot; all have the same frame, so that steps lie below each other."""
    height = 2.4 + 0.22 * legend_rows
    figure = Figure(figsize=(10.0, height))
    axes = figure.add_axes((0.07, 0.5 / height, 0.91, 1.8 / height))
    axes.set_xlim(*span)
    axes.set_xlabel("optimizer step", color=INK)
    axes.set_ylabel(unit, color=INK)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["bottom", "left"]].set_color(INK)
    axes.tick_params(colors=INK)
    axes.grid(axis="y", color=INK, alpha=0.15, linewidth=0.8)
    axes.set_axisbelow(True)
    return figure, axes


def _svg(figure: Figure, name: str, title: str) -> Element:
    """The figure as an element, without what ties a file of its own to the outside."""
    figure.legend(
        loc="upper left",
        bbox_to_anchor=(0.063, 1.0),
        ncols=LEGEND_COLUMNS,
        frameon=False,
        labelcolor=INK,
        fontsize=9.5,
        handlelength=1.2,
        columnspacing=1.6,
    )
    stream = io.BytesIO()
    nothing = dict.fromkeys(("Creator", "Date", "Format", "Type"))
    figure.savefig(stream, format="svg", transparent=True, metadata=nothing)
    drawn = fromstring(stream.getvalue())
    ids: dict[str, str] = {}
    for part in drawn.iter():
        part.tag = _local(part.tag)
        part.attrib = {_local(key): value for key, value in part.attrib.items()}
        if "style" in part.attrib:
            part.attrib["style"] = part.attrib["style"].replace(INK, "currentColor")
        if "id" in part.attrib:
            ids[part.attrib["id"]] = f"{name}-{len(ids) + 1}"
    for part in drawn.iter():
        for key, value in part.attrib.items():
            part.attrib[key] = _renamed(key, value, ids)
    return element(
        "svg", element("title", title), *drawn, role="img", viewBox=drawn.attrib["viewBox"]
    )


def _local(name: str) -> str:
    """A name without its namespace: a page in HTML knows SVG by itself."""
    return name.rpartition("}")[2]


def _renamed(key: str, value: str, ids: dict[str, str]) -> str:
    if key == "id":
        return ids[value]
    if key == "href":
        return "#" + ids[value[1:]]
    if value.startswith("url(#"):
        return f"url(#{ids[value[5:-1]]})"
    return value
