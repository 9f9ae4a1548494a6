"""Rewritings of an input that were measured on it alone."""

from __future__ import annotations

import math
from dataclasses import dataclass

from keras_perf.records.figures import in_ms
from keras_perf.records.reasons.price import Costs
from keras_perf.records.reasons.reason import worded
from keras_perf.records.reasons.why_not_tried import InputEnd
from keras_perf.records.run.tried.advice_trials import FACTOR, MILLISECONDS, NotTried
from keras_perf.records.shapes import any_of, fact, flag, needed, record, text


@dataclass(frozen=True, slots=True, kw_only=True)
class InputChange:
    """One rewriting.

    Attributes:
        id: as the recommendation of the same kind is called.
        where: the stage that it is about.
        kept: it is part of the new pipeline.
        gain, low, high: how many times as fast the pipeline was with it, on top of those kept
            before, and the 80% interval.
        before_ms, after_ms: a batch without it and with it.
        code: to write it oneself.
        costs: what it takes beside time.
    """

    id: str = needed(text)
    where: str = fact(text, "")
    kept: bool = fact(flag, default=False)
    gain: float = needed(FACTOR)
    low: float = needed(FACTOR)
    high: float = needed(FACTOR)
    before_ms: float = needed(MILLISECONDS)
    after_ms: float = needed(MILLISECONDS)
    code: str = fact(text, "")
    costs: str = fact(worded(Costs), "")


@dataclass(frozen=True, slots=True, kw_only=True)
class InputChanges:
    """What `tune_input` found.

    Attributes:
        before_ms, after_ms: a batch of the input as it was, and with what was kept.
        tried: all that were measured, each on top of those kept before.
        not_done: those that were not, and why.
        stopped: why no more was tried; "" if all was.
    """

    before_ms: float = needed(MILLISECONDS)
    after_ms: float = needed(MILLISECONDS)
    tried: tuple[InputChange, ...] = fact(any_of(record(InputChange)), ())
    not_done: tuple[NotTried, ...] = fact(any_of(record(NotTried)), ())
    stopped: str = fact(worded(InputEnd), "")

    @property
    def kept(self) -> tuple[InputChange, ...]:
        """Those that are part of the new pipeline, in the order in which they were made."""
        return tuple(each for each in self.tried if each.kept)

    @property
    def gain(self) -> float:
        """How many times as fast batches come as before."""
        return self.before_ms / self.after_ms if self.after_ms > 0 else 1.0

    @property
    def reason(self) -> str:
        """What came of it."""
        if math.isnan(self.before_ms):
            return "Nothing was measured."
        return (
            f"{in_ms(self.before_ms)} a batch before, {in_ms(self.after_ms)} after: "
            f"{self.gain:.2f}× as fast."
        )
