"""Steps that call for a closer look, and how often that may be taken."""

from __future__ import annotations

from collections.abc import Iterable
from statistics import median
from typing import NamedTuple

from keras_perf.observers.steps.outliers import OutlierJudge
from keras_perf.records.execution import Execution, Kind
from keras_perf.records.reasons.capture_reason import CaptureReason
from keras_perf.records.run.times.outlier import Cause

BLOCK = 32
"""Executions of which one median is taken."""


class Slow(NamedTuple):
    """What was slow."""

    reason: str
    lasts: bool
    """Steps go on being so slow; a capture that comes later still shows it."""


class SlowSteps:
    """Finds single steps far longer than usual, and a median step that has become slower.

    The usual median is the fastest block's so far, so that training that slows down bit by bit
    is noticed too; once noticed, the slower one is usual. What it cannot see: training that is
    slow from its beginning.
    """

    def __init__(self, factor: float) -> None:
        self._factor = factor
        self._outliers = OutlierJudge()
        self._block: list[float] = []
        self._usual_ms: float | None = None

    def add(self, executions: Iterable[Execution]) -> Slow | None:
        """What was slow among these executions, or None."""
        executions = [e for e in executions if e.kind in (Kind.STEADY, Kind.TRACED)]
        self._outliers.add(executions)
        self._outliers.close_stretch({}, shuffles=False)
        # What was traced again is not slow any more: a trace would not show it.
        found = [e for e in self._outliers.take() if e.cause is not Cause.RETRACE]
        slower = None
        for execution in executions:
            if execution.kind is Kind.STEADY:
                self._block.append(execution.cycle_ns / execution.steps / 1e6)
            if len(self._block) == BLOCK:
                slower = self._judge() or slower
        if slower is None and found:
            worst = max(found, key=lambda event: event.excess_ms)
            reason = CaptureReason.SLOW_STEP.of(step=worst.step, excess_ms=worst.excess_ms)
            return Slow(reason, lasts=False)
        return slower

    def _judge(self) -> Slow | None:
        now_ms, self._block = median(self._block), []
        usual_ms = self._usual_ms
        if usual_ms is None or now_ms < usual_ms:
            self._usual_ms = now_ms
        elif now_ms > self._factor * usual_ms:
            self._usual_ms = now_ms
            reason = CaptureReason.SLOW_STEPS.of(step_ms=now_ms, times=now_ms / usual_ms)
            return Slow(reason, lasts=True)
        return None


class Throttle:
    """Allows so many, and none within `cooldown_s` of the one before."""

    def __init__(self, most: int, cooldown_s: float) -> None:
        self._left = most
        self._cooldown_s = cooldown_s
        self._next_s: float | None = None

    def allows(self, now_s: float) -> bool:
        """Whether one may come now."""
        return self._left > 0 and (self._next_s is None or now_s >= self._next_s)

    def count(self, now_s: float) -> None:
        """One has come."""
        self._left -= 1
        self._next_s = now_s + self._cooldown_s
