"""The loss over a growing learning rate, as a card of the page."""

from __future__ import annotations

import math
from itertools import takewhile
from xml.etree.ElementTree import Element

from keras_perf.records.run.tried.learning_rates import LearningRates
from keras_perf.report.page.html import card, element, table
from keras_perf.report.page.plots.drawing import Axis, line, mark, plot, stretched
from keras_perf.report.run_report import RunReport
from keras_perf.report.text.learning_rates_table import (
    LEARNING_RATES,
    RATES_HEADER,
    learning_rate_rows,
)

COLOUR, SUGGESTED = "var(--compute)", "var(--good)"


def learning_rates_card(report: RunReport) -> Element | None:
    """The smoothed loss, and the rate that follows; None where no loss is known."""
    found = report.summary.facts.learning_rates
    if found is None or not (rows := [*learning_rate_rows(found)]):
        return None
    # One row is the first rate and the last: nothing lies between.
    figures = [_figure(found)] if len(rows) > 1 else []
    told = table([*RATES_HEADER], rows, "The rates that tell the shape of the curve.")
    return card(LEARNING_RATES, element("p", found.reason), *figures, told)


def _figure(found: LearningRates) -> Element:
    caption = element("figcaption", "Smoothed loss", element("small", " – over learning rate"))
    return element("figure", caption, _drawn(found))


def _drawn(found: LearningRates) -> Element:
    rates, losses = found.learning_rates, found.smoothed_losses
    # What follows the least, and may rise a hundredfold, would flatten all before.
    usual = losses[: losses.index(min(losses)) + 1]
    room = 0.2 * (max(usual) - min(usual)) or 1.0
    over = Axis(rates[0], rates[-1], logarithmic=True)
    up = Axis(min(usual) - room, max(usual) + room)
    pairs = takewhile(lambda pair: pair[1] <= up.last, zip(rates, losses, strict=False))
    points = [(over.percent(rate), up.percent(loss)) for rate, loss in pairs]
    shapes = [stretched(line(points, COLOUR))]
    if found.suggestion is not None:
        x = over.percent(found.suggestion)
        near = min(points, key=lambda point: abs(point[0] - x))
        shapes.append(mark(x, near[1], "D", SUGGESTED, "suggested"))
    ticks = [(rate, f"1e{round(math.log10(rate))}") for rate in over.ticks()]
    return plot("Smoothed loss over learning rate", over, up, shapes, height=130, x_ticks=ticks)
