"""Asking for a window in the middle of training."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from keras_perf.observers.capture_windows.windows import Windows


class WindowRequests(NamedTuple):
    """Ways to ask for one; each is told a reason, and whether it was granted.

    Attributes:
        windows: of this training.
        step: tells how many steps it has had.
        tried: tells whether a capture was tried already.
    """

    windows: Windows
    step: Callable[[], int]
    tried: Callable[[], bool]

    @property
    def captured(self) -> bool:
        """A window has begun, or could not."""
        return bool(self.windows.reached) or self.tried()

    def now(self, reason: str) -> bool:
        """Unless one is open."""
        return self.windows.request(reason)

    def when_warm(self, reason: str) -> bool:
        """Likewise, and once the warm-up is over."""
        return self.step() >= self.windows.schedule.warmup_steps and self.now(reason)

    def first(self, reason: str) -> bool:
        """Likewise, and if nothing was captured, or asked for, before."""
        asked = self.captured or self.windows.asked is not None
        return not asked and self.when_warm(reason)
