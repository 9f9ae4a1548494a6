"""matplotlib's figures of what was measured; imported by those who draw, when they draw."""

from __future__ import annotations

import io
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from matplotlib.figure import Figure

from keras_perf.showing.colours import TRIAL

Parts = Mapping[str, tuple[float, str]]
"""Name → size and colour."""


class Gain(NamedTuple):
    """A bar with its interval."""

    name: str
    value: float
    low: float
    high: float


class ShownFigure(Figure):
    """A figure that a notebook shows, also where pyplot was never imported."""

    def _repr_png_(self) -> bytes:
        return png(self)


def png(figure: Figure) -> bytes:
    """The figure as an image."""
    stream = io.BytesIO()
    figure.savefig(stream, format="png", dpi=100)
    return stream.getvalue()


def empty(rows: int, title: str) -> tuple[Figure, Any]:
    """A figure with axes for horizontal bars."""
    figure = ShownFigure(figsize=(8.0, 1.6 + 0.45 * rows), layout="constrained")
    axes = figure.add_subplot()
    axes.set_title(textwrap.fill(title, 80), loc="left", fontsize="medium")
    axes.spines[["top", "right"]].set_visible(False)
    return figure, axes


def stacks(axes: Any, bars: Mapping[str, Parts], estimates: Sequence[Gain] = ()) -> None:
    """A horizontal stacked bar each, first on top; below them bars that were predicted.

    Arguments:
        axes: matplotlib's.
        bars: name → its parts.
        estimates: bars of one colour, with intervals.
    """
    named: set[str] = set()
    for place, parts in enumerate(bars.values()):
        left = 0.0
        for part, (size, colour) in parts.items():
            if size > 0:
                label = None if part in named else part
                axes.barh(place, size, left=left, color=colour, label=label)
                named.add(part)
                left += size
    _intervals(axes, estimates, first=len(bars), alpha=0.45)
    _names(axes, [*bars, *(each.name for each in estimates)])
    axes.set_xlabel("ms per step")
    if named:
        axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False)


def gains(axes: Any, tried: Sequence[Gain]) -> None:
    """A bar a change with its interval, beside a line where nothing is gained."""
    _intervals(axes, tried, first=0, alpha=1.0)
    axes.axvline(1.0, color="0.4", linewidth=1, linestyle="--")
    _names(axes, [each.name for each in tried])
    axes.set_xlabel("times as fast")


def stacked_steps(title: str, parts: Mapping[str, tuple[Sequence[float], str]]) -> Figure:
    """A bar a step, its parts stacked.

    Arguments:
        title: above it.
        parts: name → milliseconds of each step, and colour.
    """
    figure, axes = empty(4, title)
    bottom = [0.0] * len(next(iter(parts.values()))[0])
    for name, (sizes, colour) in parts.items():
        axes.bar(range(len(bottom)), sizes, bottom=bottom, color=colour, label=name, width=1)
        bottom = [below + size for below, size in zip(bottom, sizes, strict=True)]
    axes.set_xlabel("traced step")
    axes.set_ylabel("ms")
    axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False)
    return figure


def _intervals(axes: Any, bars: Sequence[Gain], *, first: int, alpha: float) -> None:
    for place, each in enumerate(bars, first):
        below, above = max(0.0, each.value - each.low), max(0.0, each.high - each.value)
        axes.barh(place, each.value, xerr=[[below], [above]], capsize=3, color=TRIAL, alpha=alpha)


def _names(axes: Any, names: Sequence[str]) -> None:
    axes.set_yticks(range(len(names)), names)
    axes.invert_yaxis()
