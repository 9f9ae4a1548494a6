"""Whether a trace and the always-on split tell the same of a part, and why not."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from keras_perf.records.figures import in_ms
from keras_perf.records.shapes import count, fact, needed, number, text, word_of


class Why(str, Enum):
    """Why a trace and the split differ; `{…}` stands for a field of `Agreement`."""

    AGREES = "agrees"
    UNEVEN = "uneven"
    FEW = "few"
    DEVICE = "reading-waits-for-the-device"
    AHEAD = "input-is-prepared-ahead"
    COMPILING = "compiling"
    PROFILER = "profiler"
    OTHER_STEPS = "other-steps"


_WORDS = {
    Why.UNEVEN: "the traced steps are too uneven to tell (±{figure})",
    Why.FEW: "one traced execution is too few to tell",
    Why.DEVICE: (
        "reading the logs waits for the device after the train function has returned: "
        "the split counts that as compute, the trace as gap"
    ),
    Why.AHEAD: "the profiler slows the rest of the step, in which input is prepared ahead",
    Why.COMPILING: ("the split's mean holds {figure} of compiling, which the trace has not"),
    Why.PROFILER: "the profiler's own cost, which only traced steps carry",
    Why.OTHER_STEPS: "the {traced_steps} traced steps differ from the other {split_steps}",
}


@dataclass(frozen=True, slots=True)
class Agreement:
    """One part as the trace and as the split has it, in milliseconds per step.

    `figure_ms` is the figure that belongs to `why`, where one does.
    """

    part: str = needed(text)
    trace_ms: float = needed(number(-1e12, 1e12))
    split_ms: float = needed(number(-1e12, 1e12))
    why: Why = needed(word_of(Why))
    figure_ms: float = fact(number(-1e12, 1e12), 0.0)
    traced_steps: int = fact(count(), 0)
    split_steps: int = fact(count(), 0)

    @property
    def agrees(self) -> bool:
        """Whether the difference is too small to tell."""
        return self.why is Why.AGREES

    def __str__(self) -> str:
        both = f"{in_ms(self.trace_ms)} in the trace, {in_ms(self.split_ms)} in the split"
        if self.agrees:
            return f"{self.part}: {both}"
        why = _WORDS[self.why].format(
            figure=in_ms(self.figure_ms),
            traced_steps=self.traced_steps,
            split_steps=self.split_steps,
        )
        return f"{self.part}: {both}: {why}"
