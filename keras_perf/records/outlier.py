"""One step, or one pause between steps, that took far longer than usual."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple


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


CAUSES = {
    Cause.RETRACE: "TensorFlow traced the train function again.",
    Cause.RECOMPILE: "XLA compiled for a shape that it had not seen.",
    Cause.GARBAGE: "Python's garbage collector ran.",
    Cause.CALLBACK: "One callback's hook took most of it.",
    Cause.CHECKPOINT: "A callback that writes checkpoints took most of it.",
    Cause.VALIDATION: "Keras evaluated the model between two epochs.",
    Cause.SHUFFLE: "An epoch began, and its shuffle buffer had to be filled.",
    Cause.ITERATOR: "An epoch began, and its input pipeline with it.",
    Cause.INPUT: "The input pipeline had no batch ready.",
    Cause.UNKNOWN: "None of the other causes accounts for most of it.",
}


class GapEvent(NamedTuple):
    """What was long, and by how much."""

    step: int
    """Optimizer steps done before it."""
    cause: Cause
    owner: str
    """The callback's `Class.hook`, or the pipeline's stage; empty where there is none."""
    excess_ms: float
    """How much longer than usual."""
    usual_ms: float
    """What is usual there."""
