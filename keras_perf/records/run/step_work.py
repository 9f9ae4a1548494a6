"""What a training step multiplies, counted from its graph."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from keras_perf.records.shapes import each, fact, named, number, text, word_of

MOST_FLOPS = 1e24
"""No step has more."""


class NotCounted(Enum):
    """Why the multiplications of a step are not known before it runs."""

    EAGER = "eager"
    """There is no graph."""
    BATCH_SIZE = "batch-size"
    SHAPE = "shape"
    """A shape changes from batch to batch, or is known in the run only."""
    LOOP = "loop"
    BRANCH = "branch"
    TRACES = "traces"
    """Several graphs ran, and it is not known how often each did."""
    CALLS = "calls"
    """It is not known how often a step calls the function."""
    NO_FUNCTION = "no-function"
    """Nobody has said which one it is."""


@dataclass(frozen=True)
class StepWork:
    """Of one step on one replica.

    Attributes:
        flops: number format, such as `float32` → floating-point operations.
        product_bytes: operands and results of all of them, each read or written once per use.
        passed_over: operations that may multiply and that count 0 in `flops`.
        not_counted: why `flops` is missing; None where it is not.
    """

    flops: Mapping[str, float] = fact(named(number(0.0, MOST_FLOPS)), {})
    product_bytes: float | None = fact(number(0.0, MOST_FLOPS))
    passed_over: tuple[str, ...] = fact(each(text), ())
    not_counted: NotCounted | None = fact(word_of(NotCounted))
