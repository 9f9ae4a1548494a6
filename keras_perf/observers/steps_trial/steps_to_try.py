"""Which other lengths of execution are worth trying in a training, and which it has room for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from keras_perf.observers.steps_trial.trial_times import RUN_UP
from keras_perf.records.reasons.why_no_steps import WhyNoSteps

TRIALS = 5
"""Executions of each other length that are measured."""

CONFIRMATIONS = 3
"""Executions of twice the length that the first trials lead to, where none was as long."""

FACTORS = (32, 16, 8, 4, 2)
"""Lengths to try, as multiples of the present one: the longest that fits, and a quarter of it."""

LONG_STEP_MS = 20.0
"""A step this long cannot gain 5%: entering and leaving a function costs about a millisecond."""

LONG_TRIAL_MS = 500.0
"""No trial is meant to take longer."""

SMALL_COST_S = 5.0
COST_SHARE = 0.1
"""The first execution, whose compiling the first trial repeats in part, may have taken so many
seconds, or this share of the time that training has left."""


@dataclass(frozen=True, slots=True)
class Room:
    """What a training leaves for trials.

    Attributes:
        present: steps per execution now.
        step_ms: a step inside the train function.
        first_s: the first execution, with its tracing and compiling.
        epoch_steps: steps of an epoch.
        steps_left: steps until training ends.
        limit: the user's own bound on a length.
        max_execution_s: no execution is to be longer.
        epochs: what epochs are called.
        of_one: why there is no room where each has one execution, if that has a remedy.
    """

    present: int
    step_ms: float
    first_s: float
    epoch_steps: int
    steps_left: int
    limit: int
    max_execution_s: float
    epochs: str = "epochs"
    of_one: str | None = None

    @property
    def _longest(self) -> int:
        longest_ms = min(LONG_TRIAL_MS, self.max_execution_s * 1e3)
        return min(self.limit, self.epoch_steps // 3, int(longest_ms / self.step_ms))

    def _affordable(self, executions: float) -> int:
        """Steps of so many executions, if they may have half of the steps that are left."""
        return int(self.steps_left / (2 * executions * (1 + RUN_UP)))

    def first_lengths(self) -> tuple[list[int], str | None]:
        """Steps of the first trials, or why there are none to be made."""
        # Beside each trial comes one of a quarter of its length.
        longest = min(self._longest, self._affordable(1.25 * TRIALS))
        fitting = [f * self.present for f in FACTORS if f * self.present <= longest]
        lengths = fitting[:3:2]
        left_s = self.steps_left * self.step_ms / 1e3
        if self.step_ms > LONG_STEP_MS:
            return [], WhyNoSteps.LONG_STEPS.of(step_ms=self.step_ms, limit_ms=LONG_STEP_MS)
        if self.limit < FACTORS[-1] * self.present:
            return [], WhyNoSteps.LIMIT.of(limit=self.limit, present=self.present)
        if not lengths and self.of_one is not None and self.epoch_steps <= self.present:
            return [], self.of_one
        if not lengths:
            return [], WhyNoSteps.NO_ROOM.of(
                epochs=self.epochs, epoch_steps=self.epoch_steps, steps_left=self.steps_left
            )
        if self.first_s > max(SMALL_COST_S, COST_SHARE * left_s):
            return [], WhyNoSteps.LONG_TRACING.of(first_s=self.first_s)
        return sorted(lengths), None

    def length_beyond(self, chosen: int, tried: Sequence[int]) -> int | None:
        """A length beyond the one that the trials so far lead to; None if there is no room.

        What a step costs in the graph shows best in long executions.
        """
        length = min(2 * chosen, self._longest, self._affordable(CONFIRMATIONS))
        length -= length % self.present
        return length if length > max(tried) else None

    def length_again(self, tried: Sequence[int], trial_steps: int) -> int | None:
        """The longest of the lengths tried that there is room for once more, or None.

        None is much shorter than the longest of all, and all trials together take no more than
        half of the training.

        Arguments:
            tried: lengths.
            trial_steps: steps of all trials so far.
        """
        executions = 2 * CONFIRMATIONS * (1 + RUN_UP)
        most = min(self._longest, (self.steps_left - trial_steps) // executions)
        return max((n for n in tried if max(tried) / 2 <= n <= most), default=None)


def in_turn(lengths: Sequence[int], trials: int) -> list[int]:
    """Each length in turn, each time with its run-up."""
    return [n for _ in range(trials) for n in lengths for _ in range(1 + RUN_UP)]
