"""What came of trying advice on the training itself."""

from __future__ import annotations

from dataclasses import dataclass

from keras_perf.records.reasons.price import Alters, Costs
from keras_perf.records.reasons.reason import worded
from keras_perf.records.reasons.why_not_tried import EndedBy, WhyNotTried
from keras_perf.records.shapes import any_of, count, each, fact, flag, needed, number, record, text

FACTOR = number(most=1e6)
MILLISECONDS = number(most=1e12)

ENVIRONMENT = "environment"
"""Where a change is made that only another process shows."""


WORTHWHILE = 1.02
"""A change is worth it if it is at least so many times as fast at the lower end of its interval."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TriedChange:
    """One change, measured beside the training without it.

    Attributes:
        id: as the recommendation of the same kind is called.
        where: the part of the program that it is about.
        gain, low, high: how many times as fast a step was with it, and the 80% interval.
        before_ms, after_ms: a step without it and with it.
        code: to write it oneself.
        number: what is set in it, where that is a number.
        costs: what it takes beside time.
        alters: what of the training it alters; empty if weights stay those of the training as
            it is, but for rounding.
        after: ids of the changes that were there already in both.
    """

    id: str = needed(text)
    where: str = fact(text, "")
    gain: float = needed(FACTOR)
    low: float = needed(FACTOR)
    high: float = needed(FACTOR)
    before_ms: float = needed(MILLISECONDS)
    after_ms: float = needed(MILLISECONDS)
    code: str = fact(text, "")
    number: int | None = fact(count())
    costs: str = fact(worded(Costs), "")
    alters: str = fact(worded(Alters), "")
    after: tuple[str, ...] = fact(each(text), ())

    @property
    def stands_alone(self) -> bool:
        """It is not put together with others: it alters training, or needs another process."""
        return bool(self.alters) or self.where == ENVIRONMENT


@dataclass(frozen=True, slots=True, kw_only=True)
class NotTried:
    """A change that was not measured, and why."""

    id: str = needed(text)
    where: str = fact(text, "")
    why: str = needed(worded(WhyNotTried))


@dataclass(frozen=True, slots=True, kw_only=True)
class AdviceTrials:
    """All that was tried on one training.

    Attributes:
        step_ms: a step of the training as it is, while it was tried.
        ready_ms: a step that finds its batch ready, beside `step_ms`; no longer than what a step
            surely took with a change of its input alone. None where not measured.
        batch_ms: a batch of the input alone, as fast as it can be made.
        outside_ms: what a step spends in callbacks and in Keras's loop, which trials do not run;
            it is in both sides of every gain, and in the other figures.
        one_shape: the ready batch stands for all of them.
        compilations, compiling_s: in how many executions of the training as it is XLA seems to
            have compiled, for lengths that came for the first time, and their seconds; no gain
            counts them.
        changes: those that were measured alone.
        together: those that were put together, each measured on top of those before.
        total: all of `together` beside the training as it is, as one change.
        not_tried: what was not measured.
        seconds: that all of it took.
        stopped: what ended it before all was tried; "" if nothing did.
    """

    step_ms: float = needed(MILLISECONDS)
    ready_ms: float | None = fact(MILLISECONDS)
    batch_ms: float | None = fact(MILLISECONDS)
    outside_ms: float = fact(MILLISECONDS, 0.0)
    one_shape: bool = fact(flag, default=True)
    compilations: int = fact(count(), 0)
    compiling_s: float = fact(number(), 0.0)
    changes: tuple[TriedChange, ...] = fact(any_of(record(TriedChange)), ())
    together: tuple[TriedChange, ...] = fact(any_of(record(TriedChange)), ())
    total: TriedChange | None = fact(record(TriedChange))
    not_tried: tuple[NotTried, ...] = fact(any_of(record(NotTried)), ())
    seconds: float = fact(number(), 0.0)
    stopped: str = fact(worded(EndedBy), "")

    @property
    def carrier(self) -> TriedChange | None:
        """What gains nothing alone, and without which the others gain nothing; None if none."""
        first, *others = self.together or (None,)
        return first if first is not None and others and first.low < WORTHWHILE else None

    @property
    def measured(self) -> list[TriedChange]:
        """Those measured alone, the best first, then those measured on top of others.

        Of both those alone, unless it is only on top that they gain.
        """
        alone = sorted(self.changes, key=lambda each: -each.gain)
        if self.carrier is not None:
            shown = {(each.id, each.where) for each in self.together}
            alone = [each for each in alone if (each.id, each.where) not in shown]
        known = {(each.id, each.where) for each in alone}
        return alone + [each for each in self.together if (each.id, each.where) not in known]

    @property
    def input_costs_ms(self) -> float:
        """What a step would save if its batch were ready; 0 where that was not measured."""
        if self.ready_ms is None or not self.one_shape:
            return 0.0
        return max(0.0, self.step_ms - self.ready_ms)
