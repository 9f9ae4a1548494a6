"""The loss over a growing learning rate, as the few rows that tell its shape."""

from __future__ import annotations

from collections.abc import Iterator

from keras_perf.records.figures import figure
from keras_perf.records.run.tried.learning_rates import LearningRates

LEARNING_RATES = "Learning rates, tried"
RATES_HEADER = ("learning rate", "smoothed loss", "")


def learning_rate_rows(found: LearningRates) -> Iterator[list[str]]:
    """A row each, by rate, for the first, the suggested, the lowest loss and the last."""
    rates, losses = found.learning_rates, found.smoothed_losses
    places = range(min(len(rates), len(losses)))
    if not places:
        return
    names = [(0, "first"), (min(places, key=losses.__getitem__), "lowest loss")]
    if (suggestion := found.suggestion) is not None:
        names.append((min(places, key=lambda at: abs(rates[at] - suggestion)), "suggested"))
    names.append((places[-1], "last"))
    for at in sorted({at for at, _ in names}):
        what = ", ".join(name for place, name in names if place == at)
        yield [f"{rates[at]:.2g}", figure(losses[at]), what]
