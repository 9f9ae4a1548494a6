"""When warm-up, a stretch of executions and an interval are over."""

from __future__ import annotations

from enum import Enum

from keras_perf.observation.listener import Plan
from keras_perf.observers.steps.input.gap_times import GAP_HISTORY, fetches_of
from keras_perf.records.execution import Kind

WARMUP_STEPS = 10
WARMUP_EXECUTIONS = 3
"""Kept out of every figure: one is not enough, tf.data's autotune needs a few."""

MEASURABLE_EXECUTIONS = 3
"""In a stretch of fewer the input wait cannot be told from the iterator's gap times."""

INTERVAL_S = 0.5
"""Seconds of training between two points, at first."""

MANY_POINTS = 10_000
"""After each so many the time between two is doubled, to LONG_INTERVAL_S: what a training of ten
days has written is read at its end, in the same process."""

LONG_INTERVAL_S = 8.0
"""Who asks for a capture in a running training waits no longer."""

_STEADY = Kind.STEADY


class Over(Enum):
    """What is over before the next execution."""

    STRETCH = "stretch"
    INTERVAL = "interval"
    """And with it the stretch."""


class Pace:
    """Counts executions, and what they fetch from the iterator.

    A stretch is a run of steady executions on one iterator, at whose end tf.data is asked for its
    gap times. An interval is the time between two points, which are made of whole stretches.

    Arguments:
        steps_per_execution: of an ordinary execution.
        fetches_per_step: how often a step asks the iterator for an element.
        now: nanoseconds.

    Attributes:
        warmup_left: executions of the warm-up to come; 0 before the first one after it, then less.
        held_fetches: fetches of the last execution, which is not complete before the next.
        stretch_fetches: of this stretch so far.
        short_epochs: an epoch is over before a stretch is that could be measured.
    """

    def __init__(self, steps_per_execution: int, fetches_per_step: float, now: int) -> None:
        self._fetches_per_step = fetches_per_step
        self.held_fetches = self.stretch_fetches = 0
        self._stretch_limit = 0
        self.short_epochs = False
        self._holds_steady = False
        self._interval_ns = round(INTERVAL_S * 1e9)
        self._interval_begin = now
        self._interval_measured, self._points = False, 0
        self.usual_length(steps_per_execution)

    def usual_length(self, steps: int) -> None:
        """From now on an ordinary execution runs so many steps."""
        self._usual_steps, self._usual_fetches = steps, self.fetches(steps)
        if not self.held_fetches:
            # None has run yet.
            self.warmup_left = max(WARMUP_EXECUTIONS, -(-WARMUP_STEPS // steps))

    def returned(self, plan: Plan) -> None:
        """An execution has run."""
        if self.warmup_left >= 0:
            self.warmup_left -= 1
        steps = plan.steps
        fetches = self._usual_fetches if steps == self._usual_steps else self.fetches(steps)
        self.held_fetches = fetches
        self._holds_steady = plan.kind is _STEADY
        if self._holds_steady:
            self.stretch_fetches += fetches

    def fetches(self, steps: int) -> int:
        """How often so many steps ask the iterator."""
        return fetches_of(steps, self._fetches_per_step)

    def over(self, now: int) -> Over | None:
        """What is over now, before the next execution."""
        if self.warmup_left == 0:
            self._interval_begin = now
        if now - self._interval_begin > self._interval_ns and self._interval_tells():
            return Over.INTERVAL
        return Over.STRETCH if self.stretch_fetches >= self._stretch_limit else None

    def _interval_tells(self) -> bool:
        """It has a stretch long enough to be measured, or none that may still become so."""
        return self._interval_measured or not 0 < self.stretch_fetches < self._measurable()

    def _measurable(self) -> int:
        """Fetches of a stretch in which the input wait can be told from the gaps."""
        return self.fetches(MEASURABLE_EXECUTIONS * self._usual_steps)

    def limit_stretch(self, epoch_steps: int | None, batch: int) -> None:
        """The next stretch ends in time: before tf.data forgets, and once within an epoch.

        An epoch whose end is not known may end soon after each time tf.data was asked.

        Arguments:
            epoch_steps: steps of a whole epoch; None if unknown.
            batch: steps of this epoch so far.
        """
        fetches = self._measurable()
        longest = max(GAP_HISTORY - fetches, fetches)
        within = epoch_steps // 2 if epoch_steps else batch
        self._stretch_limit = min(longest, max(fetches, self.fetches(within)))
        self.short_epochs = bool(epoch_steps) and self.fetches(epoch_steps or 0) <= fetches

    def end_stretch(self, *, holds: bool) -> None:
        """Its executions have been told of.

        Arguments:
            holds: but for the last one, which is not complete: the next stretch begins with it.
        """
        if self.stretch_fetches >= self._measurable():
            self._interval_measured = True
        self.stretch_fetches = self.held_fetches if holds and self._holds_steady else 0

    def begin_interval(self, now: int) -> None:
        """An interval is over, and another begins."""
        self._interval_begin, self._interval_measured = now, False
        self._points += 1
        if self._points % MANY_POINTS == 0 and self._interval_ns < LONG_INTERVAL_S * 1e9:
            self._interval_ns *= 2
