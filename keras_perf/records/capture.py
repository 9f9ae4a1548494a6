"""One capture: a window of steps that the profiler recorded, and what that cost."""

from __future__ import annotations

from typing import NamedTuple


class Capture(NamedTuple):
    """Steps are the optimizer's; `last_step` and `asked_last_step` are the first ones after it.

    What was asked for differs from what was captured where an execution of several steps could
    not be cut, and where something ended the capture early.
    """

    reason: str
    """What started it: `schedule`, or the trigger in words."""
    first_step: int
    last_step: int
    asked_first_step: int
    asked_last_step: int
    start_s: float
    """Time for which starting the profiler blocked training."""
    stop_s: float
    """Time for which stopping and saving blocked training."""
    size_bytes: int
    trace: str
    """The folder, as TensorBoard's Profile tab names it."""
    slowdown: float | None = None
    """Median step inside over median step before; None where one of them is not known."""

    @property
    def as_asked(self) -> bool:
        """Exactly the steps that were asked for were captured."""
        return (self.first_step, self.last_step) == (self.asked_first_step, self.asked_last_step)

    @property
    def rounded(self) -> bool:
        """Other steps were captured too, of executions that cannot be cut."""
        return self.first_step < self.asked_first_step or self.last_step > self.asked_last_step
