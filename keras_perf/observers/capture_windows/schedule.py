"""When to capture: a pure function of the step."""

from __future__ import annotations

from dataclasses import dataclass, fields

from keras_perf.records.arguments import require_int


@dataclass(frozen=True, slots=True)
class CaptureSchedule:
    """Cycles of waiting, warming up and capturing, counted in optimizer steps of this `fit`.

    After `skip_first` steps, each cycle is `wait_steps` + `warmup_steps` + `active_steps` long;
    the active ones are captured. `repeat` cycles in all, 0 for no end.
    """

    skip_first: int = 0
    wait_steps: int = 0
    warmup_steps: int = 20
    active_steps: int = 20
    repeat: int = 1

    def __post_init__(self) -> None:
        """Refuses what cannot be meant."""
        for each in fields(self):
            least, remedy = 0, ""
            if each.name == "active_steps":
                least, remedy = 1, " To capture nothing, leave WindowedProfiler out."
            value = require_int(each.name, getattr(self, each.name), least, remedy)
            object.__setattr__(self, each.name, value)

    def window(self, first: int, steps: int) -> int | None:
        """The cycle whose active steps overlap `[first, first + steps)`, or None.

        An execution of several steps cannot be cut: if any of its steps is active, all of it is
        captured.
        """
        last = first + steps - 1
        cycle = (last - self.first_active) // self._length
        if self.repeat:
            cycle = min(cycle, self.repeat - 1)
        if cycle < 0 or first >= self.end_of(cycle):
            return None
        return cycle

    @property
    def first_active(self) -> int:
        """The first step that is captured."""
        return self.skip_first + self.wait_steps + self.warmup_steps

    def start_of(self, cycle: int) -> int:
        """The first step of a cycle's window."""
        return self.first_active + cycle * self._length

    def end_of(self, cycle: int) -> int:
        """The first step after a cycle's window."""
        return self.start_of(cycle) + self.active_steps

    def has(self, cycle: int) -> bool:
        """There is such a cycle."""
        return not self.repeat or cycle < self.repeat

    @property
    def _length(self) -> int:
        return self.wait_steps + self.warmup_steps + self.active_steps
