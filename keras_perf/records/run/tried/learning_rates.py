"""The loss over a growing learning rate, as far as a plot shows it."""

from __future__ import annotations

from dataclasses import dataclass

from keras_perf.records.reasons.reason import worded
from keras_perf.records.reasons.why_not_tried import EndedBy
from keras_perf.records.shapes import each, fact, flag, number

RATE = number(1e-30, 1e9)
LOSS = number(-1e39, 1e39)
"""Where a loss diverges it grows up to float32's largest number, 3.4e38."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LearningRates:
    """What `find_learning_rate` found.

    Attributes:
        learning_rates, smoothed_losses: of the steps whose loss was finite, in their order.
        suggestion: the learning rate; None if inconclusive.
        diverged: the last step diverged.
        stopped: what ended the test before all rates were tried; "" if nothing did.
    """

    learning_rates: tuple[float, ...] = fact(each(RATE), ())
    smoothed_losses: tuple[float, ...] = fact(each(LOSS), ())
    suggestion: float | None = fact(RATE)
    diverged: bool = fact(flag, default=False)
    stopped: str = fact(worded(EndedBy), "")

    @property
    def reason(self) -> str:
        """What follows from it."""
        end = f"; {self.stopped} ended the test" if self.stopped else ""
        end = "; the loss diverged" if self.diverged else end
        if self.suggestion is None:
            return f"No learning rate is suggested: the loss did not fall clearly{end}."
        return f"Learning rate {self.suggestion:.2g}: there the loss fell steepest{end}."
