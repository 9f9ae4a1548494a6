"""The loss over a growing learning rate, and the rate that follows from it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from keras_perf.records.run.tried.learning_rates import LearningRates
from keras_perf.showing import html

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CLEAR = 5.0
"""The fall must be as many standard errors of a difference of two smoothed losses: of 2,000 curves
of normal noise alone, 3 fell so far."""

DIVERGED = 3.0
"""The loss lies above its least by as many times the least, or what it had fallen, the larger."""


KEPT_STEPS = 200
"""As many as a plot can show."""


@dataclass(frozen=True)
class LearningRateCurve:
    """What `find_learning_rate` returns.

    Attributes:
        learning_rates, losses, smoothed_losses: one for each step that was run; the losses are
            the batches' own.
        diverged: the last step diverged.
        suggestion: the learning rate suggested; NaN if inconclusive.
        reason: why this one, or why none.
        stopped: what ended the test before all rates were tried; "" if nothing did.
    """

    learning_rates: tuple[float, ...]
    losses: tuple[float, ...]
    smoothed_losses: tuple[float, ...]
    diverged: bool
    suggestion: float
    reason: str
    stopped: str = ""

    def cut_short(self, by: str) -> LearningRateCurve:
        """The same, ended by something before all rates were tried."""
        reason = self.reason
        if math.isnan(self.suggestion):
            reason = f"Ended by {by}, before the loss had fallen and risen again."
        return replace(self, reason=reason, stopped=by)

    def to_frame(self) -> pd.DataFrame:
        """A row a step: `step` (from 1), `learning_rate`, `loss`, `smoothed_loss`."""
        columns = (self.learning_rates, self.losses, self.smoothed_losses)
        rows = [(step, *row) for step, row in enumerate(zip(*columns, strict=True), 1)]
        return pd.DataFrame(rows, columns=["step", "learning_rate", "loss", "smoothed_loss"])

    @property
    def record(self) -> LearningRates:
        """What is kept of it in a run: of very many steps some."""
        pairs = zip(self.learning_rates, self.smoothed_losses, strict=True)
        known = [pair for pair in pairs if math.isfinite(pair[1])]
        shown = known[:: 1 + len(known) // KEPT_STEPS]
        return LearningRates(
            learning_rates=tuple(rate for rate, _ in shown),
            smoothed_losses=tuple(loss for _, loss in shown),
            suggestion=None if math.isnan(self.suggestion) else self.suggestion,
            diverged=self.diverged,
            stopped=self.stopped,
        )

    def plot(self) -> Figure:
        """Loss over learning rate, as a figure of matplotlib's."""
        from keras_perf.showing.figures import empty

        figure, axes = empty(4, "")
        self._draw(axes)
        return figure

    def _repr_html_(self) -> str:
        from keras_perf.showing.figures import png

        found, *others = str(self).splitlines()
        pieces = [html.heading(found), *map(html.paragraph, others)]
        return html.whole([*pieces, html.picture(png(self.plot()), "Loss over learning rate")])

    def _draw(self, axes: Any) -> None:
        frame = self.to_frame()
        axes.plot(frame["learning_rate"], frame["loss"], color="0.75", label="each batch")
        axes.plot(frame["learning_rate"], frame["smoothed_loss"], label="smoothed")
        if not math.isnan(self.suggestion):
            axes.axvline(self.suggestion, color="C1", ls="--", label=f"{self.suggestion:.2g}")
        if self.diverged and len(frame) > 1:
            low, high = frame["loss"].min(), frame["smoothed_loss"].iloc[:-1].max()
            axes.set_ylim(low - 0.1 * (high - low), high + 0.1 * (high - low))
        axes.set_xscale("log")
        axes.set_xlabel("learning rate")
        axes.set_ylabel("loss")
        axes.legend()

    def __str__(self) -> str:
        found = f"Learning rate {self.suggestion:.2g}"
        if math.isnan(self.suggestion):
            found = "No learning rate: inconclusive"
        return f"{found}. {self.reason}\n{self._steps}\n"

    @property
    def _steps(self) -> str:
        if not self.losses:
            return "No step was run."
        first, last = self.learning_rates[0], self.learning_rates[-1]
        end = f", where {self.stopped} ended it" if self.stopped else ""
        end = ", where the loss diverged" if self.diverged else end
        return f"{len(self.losses)} steps from {first:.2g} to {last:.2g}{end}."


def curve_of(
    rates: Sequence[float], losses: Sequence[float], smoothing: float
) -> LearningRateCurve:
    """What these steps show, up to the one that diverged; `find_learning_rate` has the rule."""
    smoothed = smoothed_losses(losses, smoothing)
    end = first_diverged(smoothed)
    ran = len(losses) if end is None else end + 1
    suggestion, reason = _suggestion(rates, losses, smoothed[:end], smoothing)
    return LearningRateCurve(
        tuple(map(float, rates[:ran])),
        tuple(map(float, losses[:ran])),
        tuple(map(float, smoothed[:ran])),
        end is not None,
        suggestion,
        reason,
    )


def smoothed_losses(losses: Sequence[float], smoothing: float) -> NDArray[np.float64]:
    """Exponential means, without the bias of their begin at zero."""
    mean, found = 0.0, []
    for step, loss in enumerate(losses, 1):
        mean = smoothing * mean + (1 - smoothing) * loss
        found.append(mean / (1 - smoothing**step))
    return np.array(found)


def first_diverged(smoothed: NDArray[np.float64]) -> int | None:
    """The first step whose smoothed loss is not finite or far above the least; None if none."""
    if not len(smoothed):
        return None
    least = smoothed[0]
    for step, loss in enumerate(smoothed):
        far = DIVERGED * max(abs(least), smoothed[0] - least)
        if not math.isfinite(loss) or loss - least > far:
            return step
        least = min(least, loss)
    return None


def window_of(smoothing: float) -> int:
    """Number of steps that a smoothed loss is about the mean of."""
    return max(2, round(1 / (1 - smoothing)))


def _suggestion(
    rates: Sequence[float],
    losses: Sequence[float],
    smoothed: NDArray[np.float64],
    smoothing: float,
) -> tuple[float, str]:
    window = window_of(smoothing)
    if len(smoothed) <= 2 * window:
        return math.nan, f"The loss diverged within {len(smoothed) + 1} steps. Set lowest lower."
    least = window + int(np.argmin(smoothed[window:]))
    fall = smoothed[window] - smoothed[least]
    error = _standard_error(np.asarray(losses[: least + 1]), smoothing)
    if least < 2 * window or fall < CLEAR * error:
        higher = ", or set highest higher" if len(smoothed) == len(rates) else ""
        return math.nan, (
            f"The loss did not fall clearly: by {fall:.3g} at most, where noise alone makes up to "
            f"{CLEAR * error:.3g}. Take more steps or larger batches{higher}. A model that is "
            "trained already shows no fall."
        )
    falls = smoothed[window : least + 1 - window] - smoothed[2 * window : least + 1]
    steepest = int(np.argmax(falls))
    if steepest == 0:
        return math.nan, "The loss fell steepest at the first rates. Set lowest lower."
    if window + steepest + window == len(rates) - 1:
        return math.nan, "The loss fell steepest at the last rates. Set highest higher."
    begin, end = (_center(at, smoothing) for at in (window + steepest, 2 * window + steepest))
    steps = np.arange(len(rates))
    rate = float(np.exp(np.interp((begin + end) / 2, steps, np.log(rates))))
    return rate, (
        f"There the smoothed loss fell steepest, on its way from {smoothed[window]:.3g} to "
        f"{smoothed[least]:.3g}, its least, at {rates[least]:.2g}."
    )


def _standard_error(losses: NDArray[np.float64], smoothing: float) -> float:
    """Of a difference of two smoothed losses, from the differences of successive batches."""
    noise = np.sqrt(np.mean(np.diff(losses) ** 2) / 2)
    return float(noise * np.sqrt(2 * (1 - smoothing) / (1 + smoothing)))


def _center(step: int, smoothing: float) -> float:
    """The mean of the steps whose losses a smoothed loss is made of, by their weights."""
    ages = np.arange(step + 1)
    return float(step - np.average(ages, weights=smoothing**ages))
