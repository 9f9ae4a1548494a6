"""One capture: a window of steps that the profiler recorded, and what that cost."""

from __future__ import annotations

from dataclasses import dataclass

from keras_perf.records.reasons.capture_reason import CaptureReason
from keras_perf.records.reasons.reason import worded
from keras_perf.records.shapes import count, fact, needed, number, text


@dataclass(frozen=True, slots=True)
class Capture:
    """Steps are the optimizer's; `last_step` and `asked_last_step` are the first ones after it.

    What was asked for differs from what was captured where an execution of several steps could
    not be cut, and where something ended the capture early. `reason` is what started it:
    `schedule`, or the trigger in words; `start_s` and `stop_s` are for how long starting the
    profiler, and stopping and saving, blocked training; `trace` is the folder, as TensorBoard's
    Profile tab names it; `slowdown` the median step inside over the median step before, None
    where one of them is not known.
    """

    reason: str = needed(worded(CaptureReason))
    first_step: int = needed(count())
    last_step: int = needed(count())
    asked_first_step: int = needed(count())
    asked_last_step: int = needed(count())
    start_s: float = needed(number(most=1e9))
    stop_s: float = needed(number(most=1e9))
    size_bytes: int = needed(count())
    trace: str = needed(text)
    slowdown: float | None = fact(number())

    @property
    def as_asked(self) -> bool:
        """Exactly the steps that were asked for were captured."""
        return (self.first_step, self.last_step) == (self.asked_first_step, self.asked_last_step)

    @property
    def rounded(self) -> bool:
        """Other steps were captured too, of executions that cannot be cut."""
        return self.first_step < self.asked_first_step or self.last_step > self.asked_last_step
