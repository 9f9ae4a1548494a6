"""What plots are drawn with: they stretch with the page, and their text keeps its size.

A plot is a grid of HTML with an SVG in it: the text of its axes lies outside, in the page's own
font, so that it is as large on a telephone as on a screen. All plots have the same margins, so
that steps lie below each other.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple
from xml.etree.ElementTree import Element

from keras_perf.records.figures import figure
from keras_perf.report.page.html import element

MOST_TICKS = 6
WIDTH, HEIGHT = 1000.0, 100.0
"""Of what is drawn in a plot's own units; the page stretches it."""

NEAR_THE_EDGE = 5.0
"""Percent of the width: a tick's label that is nearer stays inside."""

MARKS = {
    "o": "M-4.5 0a4.5 4.5 0 1 0 9 0a4.5 4.5 0 1 0 -9 0z",
    "s": "M-4-4h8v8h-8z",
    "D": "M0-5.5L5.5 0L0 5.5L-5.5 0z",
}
"""Shapes around a point, in pixels."""


class Axis(NamedTuple):
    """From one value to another; on a logarithmic one both are above 0."""

    first: float
    last: float
    logarithmic: bool = False

    def percent(self, value: float) -> float:
        """Where a value lies, 0 to 100."""
        first, last = self.first, self.last
        if self.logarithmic:
            first, last, value = math.log(first), math.log(last), math.log(value)
        return 100.0 * (value - first) / (last - first) if last > first else 0.0

    def ticks(self, most: int = MOST_TICKS, least_distance: float = 0.0) -> list[float]:
        """Round values within, at most so many."""
        if self.logarithmic:
            powers = range(math.ceil(math.log10(self.first)), math.floor(math.log10(self.last)) + 1)
            found = [10.0**power for power in powers]
            return found[:: math.ceil(len(found) / most)] if found else []
        distance = max(_round_above((self.last - self.first) / most), least_distance)
        begin = math.ceil(self.first / distance - 1e-9)
        return [k * distance for k in range(begin, math.floor(self.last / distance + 1e-9) + 1)]


def _round_above(value: float) -> float:
    """The least of 1, 2 and 5 times a power of ten that is no smaller."""
    if value <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(value))
    return next(k * power for k in (1, 2, 5, 10) if k * power >= value * (1 - 1e-9))


def plot(
    title: str,
    over: Axis,
    up: Axis,
    drawn: Iterable[Element],
    *,
    height: int,
    ticks: bool = True,
    lines: int = 4,
    x_ticks: Sequence[tuple[float, str]] | None = None,
) -> Element:
    """A plot in its frame.

    Arguments:
        title: what it shows, for those who cannot see it.
        over: the axis to the right, of steps.
        up: the axis upwards.
        drawn: as from `stretched` and `mark`.
        height: of the drawing, in pixels.
        ticks: with the labels of the axis to the right.
        lines: lines across it, at most.
        x_ticks: value and label of those ticks, where they are not round numbers of steps.
    """
    levels = [(up.percent(value), value) for value in up.ticks(lines)]
    grid = [
        element(
            "line", class_="grid", x1="0", x2="100%", y1=f"{100 - y:.2f}%", y2=f"{100 - y:.2f}%"
        )
        for y, _ in levels
    ]
    labels = [element("span", short(value), style=f"bottom: {y:.2f}%") for y, value in levels]
    shown = [
        element("div", *labels, class_="scale", aria_hidden="true"),
        element(
            "svg",
            element("title", title),
            *grid,
            *drawn,
            role="img",
            style=f"height: {height}px",
        ),
    ]
    if ticks:
        places = x_ticks or [(x, short(x)) for x in over.ticks(least_distance=1.0)]
        shown.append(element("div", *_steps(over, places), class_="steps", aria_hidden="true"))
    return element("div", *shown, class_="plot")


def _steps(over: Axis, places: Iterable[tuple[float, str]]) -> list[Element]:
    made = []
    for value, label in places:
        x = over.percent(value)
        edge = "first" if x < NEAR_THE_EDGE else "last" if x > 100 - NEAR_THE_EDGE else ""
        made.append(element("span", label, class_=edge, style=f"left: {x:.2f}%"))
    return made


def short(value: float) -> str:
    """A number as an axis has it: 20k, 1.5M."""
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
        if abs(value) >= size:
            return f"{figure(value / (1e3 if letter == 'k' else size))}{letter}"
    return figure(value)


def stretched(*shapes: Element) -> Element:
    """Shapes in units of `WIDTH` and `HEIGHT`, as wide and high as the plot."""
    box = f"0 0 {WIDTH:g} {HEIGHT:g}"
    return element(
        "svg", *shapes, viewBox=box, preserveAspectRatio="none", width="100%", height="100%"
    )


def mark(x: float, y: float, shape: str, colour: str, said: str = "") -> Element:
    """A mark of `MARKS` at so many percent of width and height, which keeps its shape."""
    told = [element("title", said)] if said else []
    path = element("path", *told, d=MARKS[shape], style=f"fill: {colour}")
    return element("svg", path, class_="mark", x=f"{x:.2f}%", y=f"{100 - y:.2f}%")


def line(points: Iterable[tuple[float, float]], colour: str) -> Element:
    """A line through points in percent of width and height."""
    return element("path", class_="line", d=_path(points), style=f"stroke: {colour}")


def band(points: Iterable[tuple[float, float]], colour: str) -> Element:
    """What lies between points in percent of width and height."""
    return element("path", class_="band", d=f"{_path(points)}z", style=f"fill: {colour}")


def _path(points: Iterable[tuple[float, float]]) -> str:
    placed = [(x * WIDTH / 100, (100 - y) * HEIGHT / 100) for x, y in points]
    return "M" + "L".join(f"{x:.2f} {y:.2f}" for x, y in placed)


def keys(named: Iterable[tuple[str, str, str]]) -> Element:
    """What colours and shapes stand for: name, colour, shape of each."""
    shown = []
    for name, colour, shape in named:
        path = element("path", d=MARKS[shape], style=f"fill: {colour}")
        glyph = element("svg", path, class_="glyph", viewBox="-6 -6 12 12", aria_hidden="true")
        shown.append(element("span", glyph, name))
    return element("div", *shown, class_="keys")
