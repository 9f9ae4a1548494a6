"""What was counted of a step, or why nothing was."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from keras_perf.records.run.step_work import NotCounted


class NotCountedError(Exception):
    """The multiplications cannot be counted.

    Attributes:
        why: the reason.
    """

    def __init__(self, why: NotCounted) -> None:
        super().__init__(why.value)
        self.why = why


@dataclass
class Counted:
    """Of one batch: FLOPs by number format, bytes of operands and results; 0 of what is missing.

    Attributes:
        flops: format of the operands, such as `float32` → floating-point operations.
        bytes: of all operands and results, each counted at each use.
        passed_over: operations that may multiply, and are not counted.
        batches: how many a graph fetches, of which this is the mean; 0 where none is looked at.
    """

    flops: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    bytes: float = 0.0
    passed_over: set[str] = field(default_factory=set)
    batches: int = 0

    def add(self, other: Counted, times: float = 1.0) -> None:
        """Adds another one, so many times."""
        for kind, flops in other.flops.items():
            self.flops[kind] += times * flops
        self.bytes += times * other.bytes
        self.passed_over |= other.passed_over


def one_of(branches: Sequence[Counted]) -> Counted:
    """Of one of some branches, if all count the same.

    Raises:
        NotCountedError: they do not.
    """
    sums = [sum(each.flops.values()) for each in branches]
    if not all(math.isclose(each, sums[0]) for each in sums):
        raise NotCountedError(NotCounted.BRANCH)
    return branches[0]
