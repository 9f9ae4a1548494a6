"""What was tried over a number, drawn: points, the line through them, and what was chosen."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from xml.etree.ElementTree import Element

from keras_perf.report.page.plots.drawing import Axis, keys, line, mark, plot, stretched

COLOUR = "var(--compute)"
MARKED = {
    "recommended": ("var(--good)", "D"),
    "largest that fits": ("var(--callbacks)", "s"),
}
"""What a marked point is → its colour and shape."""

APART = 16.0
"""Percent of the width that the labels below are apart at least, on a telephone too."""


def curve_keys(marked: Iterable[str]) -> Element:
    """What the points of a curve are."""
    return keys([("measured", COLOUR, "o"), *((name, *MARKED[name]) for name in marked)])


def curve_plot(
    what: str,
    measured: Mapping[int, float],
    through: Iterable[tuple[float, float]],
    marked: Mapping[str, tuple[int, float]],
    *,
    height: int,
    ticks: bool = True,
) -> Element:
    """Measured values over a number, which grows by factors.

    Arguments:
        what: the plot's title, to which the values are added.
        measured: number → value.
        through: places of a line.
        marked: what of `MARKED` lies where.
        height: in pixels.
        ticks: below it the numbers.
    """
    line_through = [*through]
    places = [*measured.items(), *line_through, *marked.values()]
    over = Axis(min(measured), max(x for x, _ in places), logarithmic=True)
    up = Axis(0.0, max(y for _, y in places) * 1.15 or 1.0)
    drawn = []
    if line_through:
        points = [(over.percent(x), up.percent(y)) for x, y in line_through]
        drawn.append(stretched(line(points, COLOUR)))
    for x, y in measured.items():
        drawn.append(mark(over.percent(x), up.percent(y), "o", COLOUR, f"{x:,}: {y:,.3f} measured"))
    for name, (x, y) in marked.items():
        colour, shape = MARKED[name]
        drawn.append(mark(over.percent(x), up.percent(y), shape, colour, f"{x:,}: {name}"))
    title = f"{what}: " + ", ".join(f"{x:,}: {y:.3f}" for x, y in measured.items())
    return plot(title, over, up, drawn, height=height, ticks=ticks, x_ticks=_labels(over, measured))


def _labels(over: Axis, numbers: Iterable[int]) -> list[tuple[float, str]]:
    """The largest, and those that do not lie on each other."""
    shown: list[tuple[float, str]] = []
    for number in sorted(numbers, reverse=True):
        if not shown or over.percent(shown[-1][0]) - over.percent(number) >= APART:
            shown.append((float(number), f"{number:,}"))
    return shown
