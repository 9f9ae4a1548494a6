"""Plots over the steps of a run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from xml.etree.ElementTree import Element

import numpy as np
import pandas as pd

from keras_perf.records.interval import PARTS
from keras_perf.records.run.outlier import Cause, Outlier
from keras_perf.report.page.downsampling import MOST, thinned
from keras_perf.report.page.drawing import Axis, area, keys, line, mark, plot, stretched
from keras_perf.report.page.html import element

COMMUNICATION = "#8a6fc9"
"""Of what several workers exchange; elsewhere it lies inside compute."""

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

SILENT_TIMES = 4.0
"""Where two points lie so many times as far apart as usual, no line joins them."""

PLOT_PX, LANE_PX = 150, 44

Span = tuple[int, int]
"""First and last step that the plots of a run show."""


def parts_plot(intervals: pd.DataFrame, span: Span) -> list[Element]:
    """The step's parts over the steps, stacked, behind what their colours mean.

    Arguments:
        intervals: as in `Summary.intervals`, not empty.
        span: of all plots.
    """
    shown = [part for part in PARTS if part in intervals and intervals[part].max() > 0]
    heights = thinned(intervals[shown].fillna(0.0), intervals["steps"])
    tops = np.cumsum(heights.to_numpy(dtype=float), axis=1)
    over, up = Axis(*span), Axis(0.0, float(tops.max(initial=0.0)) * 1.05 or 1.0)
    begin = intervals.index[0] - intervals["steps"].iloc[0]
    xs = [max(0.0, over.percent(step)) for step in (begin, *heights.index)]
    shapes = []
    for place, part in enumerate(shown):
        upper = [up.percent(top) for top in tops[:, place]]
        lower = [up.percent(top) for top in tops[:, place - 1]] if place else [0.0] * len(upper)
        outline = [*_stairs(xs, upper), *reversed([*_stairs(xs, lower)])]
        shapes.append(area(outline, f"var(--{part})"))
    named = [(part.replace("_", " "), f"var(--{part})", "s") for part in shown]
    title = "Parts of a step, in milliseconds, over the steps"
    drawn = plot(title, over, up, [stretched(*shapes)], height=PLOT_PX)
    return [keys(named, "from below: " if len(named) > 1 else ""), drawn]


def _stairs(xs: Sequence[float], ys: Sequence[float]) -> Iterator[tuple[float, float]]:
    for (begin, end), y in zip(pairwise(xs), ys, strict=True):
        yield begin, y
        yield end, y


def events_plot(events: Sequence[Outlier], span: Span) -> list[Element]:
    """How much longer than usual the longest steps and pauses were.

    Arguments:
        events: at least one, worst first; of very many only the worst are drawn.
        span: of all plots.
    """
    events = events[:MOST]
    least, most = (bound(event.excess_ms for event in events) for bound in (min, max))
    over, up = Axis(*span), Axis(0.0, most * 1.12 or 1.0)
    if most > 20 * least > 0:
        up = Axis(least / 2, most * 1.5, logarithmic=True)
    stems, marks = [], []
    for event in reversed(events):
        colour, shape = CAUSE_MARKS[event.cause]
        x, y = over.percent(event.step), up.percent(event.excess_ms)
        stems.append(
            element(
                "line",
                class_="stem",
                x1=f"{x:.2f}%",
                x2=f"{x:.2f}%",
                y1=f"{100 - y:.2f}%",
                y2="100%",
                style=f"stroke: {colour}",
            )
        )
        whose = f", {event.owner}" if event.owner else ""
        said = f"step {event.step:,}: {event.cause.value}{whose}, {event.excess_ms:,.1f} ms longer"
        marks.append(mark(x, y, shape, colour, said))
    causes = [cause for cause in Cause if any(event.cause is cause for event in events)]
    title = "Longest steps and pauses over the steps, by cause"
    named = [(cause.value, *CAUSE_MARKS[cause]) for cause in causes]
    return [keys(named), plot(title, over, up, [*stems, *marks], height=PLOT_PX - 20)]


def lane_plot(
    title: str,
    samples: pd.Series,
    span: Span,
    most: float,
    around: tuple[pd.Series, pd.Series] | None = None,
    *,
    ticks: bool,
) -> Element:
    """One figure over the steps, as a low plot among others; a gap where there are no samples.

    Arguments:
        title: what it shows.
        samples: value by step.
        span: of all plots.
        most: the highest value of the axis.
        around: the least and the greatest value of each sample's time.
        ticks: below it the labels of the steps.
    """
    over, up = Axis(*span), Axis(0.0, most or 1.0)
    values = _thinned(samples)
    shapes = []
    if around is not None:
        low, high = (_thinned(*each) for each in zip(around, ("min", "max"), strict=True))
        outline = [*_points(high, over, up), *reversed([*_points(low, over, up)])]
        shapes.append(area(outline, "var(--compute)", "band"))
    for stretch in _unbroken(values):
        shapes.append(line(_points(stretch, over, up), "var(--compute)"))
    drawn = [stretched(*shapes)]
    if len(values) == 1:
        [(x, y)] = _points(values, over, up)
        drawn.append(mark(x, y, "o", "var(--compute)"))
    return plot(title, over, up, drawn, height=LANE_PX, ticks=ticks, lines=3)


def _thinned(samples: pd.Series, how: str = "mean") -> pd.Series:
    """At most `MOST` values: the mean, the least or the greatest of consecutive ones."""
    if len(samples) <= MOST:
        return samples
    group = np.arange(len(samples)) * MOST // len(samples)
    found = samples.groupby(group).agg(how)
    return found.set_axis(samples.index.to_series().groupby(group).last(), axis=0)


def _points(values: pd.Series, over: Axis, up: Axis) -> Iterator[tuple[float, float]]:
    for step, value in zip(values.index.to_numpy(dtype=float), values, strict=True):
        yield over.percent(step), min(100.0, up.percent(value))


def _unbroken(values: pd.Series) -> list[pd.Series]:
    """The stretches in which no reading is missing."""
    steps = values.index.to_numpy(dtype=float)
    if len(steps) < 3:
        return [values]
    apart = np.diff(steps)
    ends = np.flatnonzero(apart > SILENT_TIMES * np.median(apart)) + 1
    return [values.iloc[begin:end] for begin, end in pairwise([0, *ends, len(values)])]
