"""One step, or one pause between steps, that took far longer than usual."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple


class Cause(str, Enum):
    """Why a step or a pause was long."""

    RETRACE = "retrace"
    """TensorFlow traced the train function again."""
    RECOMPILE = "xla-recompile"
    """XLA compiled for a shape that it had not seen: the last, partial batch."""
    GARBAGE = "garbage-collection"
    """Python's garbage collector ran."""
    CALLBACK = "callback"
    """One callback's hook took most of it."""
    CHECKPOINT = "checkpoint"
    """A callback that writes checkpoints took most of it."""
    VALIDATION = "validation"
    """Keras evaluated the model between two epochs."""
    SHUFFLE = "shuffle-refill"
    """An epoch began, and its shuffle buffer had to be filled first."""
    ITERATOR = "new-iterator"
    """An epoch began, and its input pipeline had to start anew."""
    INPUT = "input-stall"
    """The input pipeline had no batch ready."""
    UNKNOWN = "unknown"
    """None of the above accounts for most of it."""


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
