"""One step, or one pause between steps, that took far longer than usual."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from keras_perf.records.shapes import any_of, count, fact, needed, number, record, text, word_of


class Cause(str, Enum):
    """Why a step or a pause was long; `CAUSES` says what each means."""

    RETRACE = "retrace"
    RECOMPILE = "xla-recompile"
    GARBAGE = "garbage-collection"
    CALLBACK = "callback"
    CHECKPOINT = "checkpoint"
    VALIDATION = "validation"
    SHUFFLE = "shuffle-refill"
    ITERATOR = "new-iterator"
    INPUT = "input-stall"
    UNKNOWN = "unknown"

    @property
    def tag(self) -> str:
        """The scalar that shows it."""
        return f"perf_outliers/{self.value.replace('-', '_')}_ms"


def cause_name(cause: str) -> str:
    """A cause as a reader is shown it."""
    return cause.replace("xla-", "XLA ").replace("-", " ")


CAUSES = {
    Cause.RETRACE: "The train function was traced again.",
    Cause.RECOMPILE: "XLA compiled for a new shape, or for the first time between epochs.",
    Cause.GARBAGE: "Python's garbage collector ran.",
    Cause.CALLBACK: "One callback's hook took most of it.",
    Cause.CHECKPOINT: "A callback that writes checkpoints took most of it.",
    Cause.VALIDATION: "Keras evaluated the model between two epochs.",
    Cause.SHUFFLE: "An epoch began, and its shuffle buffer had to be filled.",
    Cause.ITERATOR: "An epoch began, and its input pipeline with it.",
    Cause.INPUT: "The input pipeline had no batch ready.",
    Cause.UNKNOWN: "None of the other causes accounts for most of it.",
}


@dataclass(frozen=True, slots=True)
class Outlier:
    """What was long, and by how much.

    `step` is how many optimizer steps were done before it, `owner` the callback's `Class.hook`
    or the pipeline's stage, empty where there is none; `usual_ms` is what is usual there.
    """

    step: int = needed(count())
    cause: Cause = needed(word_of(Cause))
    owner: str = needed(text)
    excess_ms: float = needed(number(most=1e12))
    usual_ms: float = needed(number(most=1e12))


@dataclass(frozen=True, slots=True)
class OutlierTotal:
    """All outliers of one cause and owner."""

    cause: str = needed(text)
    owner: str = needed(text)
    count: int = needed(count(1))
    total_ms: float = needed(number(most=1e12))


@dataclass(frozen=True)
class Outliers:
    """The worst of a training, longest first, and sums over all of them, the largest first."""

    events: tuple[Outlier, ...] = fact(any_of(record(Outlier)), ())
    event_totals: tuple[OutlierTotal, ...] = fact(any_of(record(OutlierTotal)), ())

    def of(self, *causes: Cause) -> tuple[int, float]:
        """How many there were of these causes, and milliseconds of all of them."""
        found = [total for total in self.event_totals if total.cause in causes]
        return sum(total.count for total in found), sum(total.total_ms for total in found)
