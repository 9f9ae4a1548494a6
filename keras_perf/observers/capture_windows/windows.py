"""Which window an execution belongs to: the schedule's, or one that was asked for."""

from __future__ import annotations

import logging
import sys
import weakref
from typing import Any, NamedTuple

from keras_perf.observers.capture_windows.schedule import CaptureSchedule
from keras_perf.records.reasons.capture_reason import CaptureReason

logger = logging.getLogger("keras_perf")

NEVER = sys.maxsize

RESTARTS = 3
"""A program that goes on retracing never warms up: after so many new warm-ups it is captured."""


class Window(NamedTuple):
    """Steps to capture, counted from the first of this `fit`."""

    first_step: int
    end_step: int
    """The first step after it."""
    reason: str


class Windows:
    """Follows a `fit` from execution to execution.

    A window that has begun goes on to its end; then the schedule's next one or a requested one
    may follow. The schedule moves as a whole where its warm-up starts again, where somebody ran a
    longer execution past a window's begin, and where the first execution has more steps than its
    warm-up. Of executions of several steps a window holds two at least: after the last one nothing
    is known of the time between two, nor of what a device had left to do. No second one is waited
    for over the end of an epoch.

    Attributes:
        current: the window of the execution that was asked about last.
        enough_at: where the current or last one would end but for a second execution.
        reached: scheduled windows that have begun, or lay within one that was asked for.
        asked: why a window was asked for that has not begun.
        quiet_until: unless one is asked for, no window begins before this step.
    """

    def __init__(self, schedule: CaptureSchedule) -> None:
        self.schedule = schedule
        self.current: Window | None = None
        self.enough_at = NEVER
        self.reached = 0
        self._shift = self._restarts = self._expected = 0
        self.asked: str | None = None
        self.quiet_until = self.next_start

    @property
    def next_start(self) -> int:
        """The step at which the next scheduled window begins; `NEVER` after the last."""
        if not self.schedule.has(self.reached):
            return NEVER
        return self.schedule.start_of(self.reached) + self._shift

    def at(self, step: int, steps: int) -> Window | None:
        """The window that the execution of `[step, step + steps)` belongs to, or None."""
        before, self.current = self.current, None
        if before is not None and step < before.end_step:
            self.current = before
        else:
            if step > max(self.next_start, self._expected):
                self._shift += step - self.next_start
            found = self._scheduled(step, steps, before) or self._requested(step)
            if found is not None:
                self.enough_at = found.end_step
                if steps > 1:
                    found = found._replace(end_step=max(found.end_step, step + steps + 1))
            self.current = found
        self._expected = step + steps
        self._look_ahead(step)
        return self.current

    def _scheduled(self, step: int, steps: int, before: Window | None) -> Window | None:
        if not step and self.schedule.warmup_steps and steps > self.next_start:
            # It is what warm-up is for.
            self._shift += steps - self.next_start
            return None
        cycle = self.schedule.window(step - self._shift, steps)
        if cycle is None or cycle < self.reached:
            return None
        self.reached, self._restarts = cycle + 1, 0
        self.asked = None
        first = self.schedule.start_of(cycle) + self._shift
        if before is not None:
            first = max(first, before.end_step)
        return Window(first, self.schedule.end_of(cycle) + self._shift, CaptureReason.SCHEDULE.of())

    def _requested(self, step: int) -> Window | None:
        reason = self.asked
        if reason is None:
            return None
        self.asked = None
        return Window(step, step + self.schedule.active_steps, reason)

    def _look_ahead(self, step: int) -> None:
        if self.current is not None:
            self.quiet_until = 0
            return
        while self.next_start + self.schedule.active_steps <= step:
            self.reached += 1
        self.quiet_until = self.next_start

    def free_steps(self, step: int) -> int:
        """Steps before the first scheduled window, which begins where it is asked for.

        Later ones move where an execution runs past their begin, so as to hold nobody up for ever.
        """
        before = self.next_start - step
        return NEVER if self.reached or before <= 0 else before

    def request(self, reason: str) -> bool:
        """Asks for a window from the next execution on; False if one is open that serves."""
        if self.current is not None:
            return False
        self.asked = reason
        return True

    def shorten(self, end_step: int) -> None:
        """The current window ends earlier."""
        if self.current is not None:
            self.current = self.current._replace(end_step=end_step)

    def abandon(self) -> None:
        """The current window has ended here and now."""
        if self.current is not None:
            self.current = None
            self.quiet_until = 0

    def warm_up_again(self, step: int) -> bool:
        """Starts the warm-up before the next scheduled window again at `step`, if it is in one."""
        done = step - self.next_start + self.schedule.warmup_steps
        if self.current is not None or self._restarts == RESTARTS:
            return False
        if not 0 < done <= self.schedule.warmup_steps:
            return False
        self._restarts += 1
        self._shift += done
        self.quiet_until = self.next_start
        return True

    def missed(self, steps: int, *, captured: bool) -> str | None:
        """What is said of scheduled windows that a training did not reach; None if it did.

        Arguments:
            steps: of the whole training.
            captured: another one was captured, or that was tried.
        """
        wanted = self.schedule.repeat or 1
        if self.reached >= wanted or self.next_start == NEVER:
            return None
        what = f"reached {self.reached} of {wanted} scheduled windows"
        return (
            f"{what if captured else 'captured nothing'}: the next window begins at step "
            f"{self.next_start} of a training and this one had {steps}. Lower warmup_steps or "
            "train longer"
        )


_SAID_OF: weakref.WeakKeyDictionary[Any, set[int]] = weakref.WeakKeyDictionary()


def say_missed(missed: str, begins: int, model: Any) -> None:
    """Once for each model and window, by its first step: a loop may call `fit` thousands of times.

    What is said has the steps of the training, too, which may be others each time.
    """
    said = _SAID_OF.setdefault(model, set())
    if begins not in said:
        said.add(begins)
        logger.warning("keras_perf: WindowedProfiler %s.", missed)
