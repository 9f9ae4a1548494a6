"""A figure of a device over the steps of a run."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from xml.etree.ElementTree import Element

import numpy as np
import pandas as pd

from keras_perf.report.page.plots.drawing import Axis, band, line, mark, plot, stretched

SILENT_TIMES = 4.0
"""Where two points lie so many times as far apart as usual, no line joins them."""

MOST = 500
"""Points of a lane: a day of training has more than a page should hold."""

LANE_PX = 44

REDUCED_BY = {"mean": np.add, "min": np.minimum, "max": np.maximum}

Span = tuple[int, int]
"""First and last step that the plots of a run show."""


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
        samples: value by step, also of steps beyond the span.
        span: of all plots.
        most: the highest value of the axis.
        around: the least and the greatest value of each sample's time.
        ticks: below it the labels of the steps.
    """
    over, up = Axis(*span), Axis(0.0, most or 1.0)
    values = _thinned(_within(samples, span))
    shapes = []
    if around is not None:
        low, high = (
            _thinned(_within(each, span), how)
            for each, how in zip(around, ("min", "max"), strict=True)
        )
        outline = [*_points(high, over, up), *reversed([*_points(low, over, up)])]
        shapes.append(band(outline, "var(--compute)"))
    for stretch in _unbroken(values):
        shapes.append(line(_points(stretch, over, up), "var(--compute)"))
    drawn = [stretched(*shapes)]
    if len(values) == 1:
        [(x, y)] = _points(values, over, up)
        drawn.append(mark(x, y, "o", "var(--compute)"))
    made = plot(title, over, up, drawn, height=LANE_PX, ticks=ticks, lines=3)
    # With which the page shows fewer steps, as the timeline does.
    made.set("data-steps", f"{span[0]} {span[1]}")
    return made


def _within(samples: pd.Series, span: Span) -> pd.Series:
    """Those of the span, and the next on both sides, to which lines lead."""
    steps = samples.index.to_numpy()
    begin = max(0, int(np.searchsorted(steps, span[0])) - 1)
    return samples.iloc[begin : int(np.searchsorted(steps, span[1], side="right")) + 1]


def _thinned(samples: pd.Series, how: str = "mean") -> pd.Series:
    """At most `MOST` values: the mean, the least or the greatest of consecutive ones."""
    if len(samples) <= MOST:
        return samples
    begins = np.arange(MOST) * len(samples) // MOST
    ends = np.append(begins[1:], len(samples))
    found = REDUCED_BY[how].reduceat(samples.to_numpy(dtype=float), begins)
    if how == "mean":
        found = found / (ends - begins)
    return pd.Series(found, index=samples.index[ends - 1])


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
