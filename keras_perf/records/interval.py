"""The split of a stretch of steps into its parts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

PARTS = ("input_wait", "compute", "dispatch", "callbacks", "other_host", "compile")
"""The parts that add up to a step, in the order in which they are shown."""


def part_name(part: str) -> str:
    """A part as a reader is shown it."""
    return "other host work" if part == "other_host" else part.replace("_", " ")


@dataclass(frozen=True, slots=True)
class Interval:
    """Totals over consecutive reported steps; every `_ns` is a sum over the interval.

    `input_wait_ns` and `dispatch_ns` are None where they could not be measured; they are then
    inside `compute_ns`. The others tile `total_ns` exactly.
    """

    last_step: int
    steps: int
    executions: int
    total_ns: int
    input_wait_ns: int | None
    compute_ns: int
    dispatch_ns: int | None
    callbacks_ns: int
    other_host_ns: int
    compile_ns: int
    owners: Mapping[str, int] = field(default_factory=dict)
    collector_ns: int = 0
    """Pauses of Python's garbage collector; they lie inside the parts."""

    def per_step_ms(self) -> dict[str, float]:
        """Milliseconds per step, by part, without the parts that were not measured."""
        sums = {part: getattr(self, f"{part}_ns") for part in PARTS}
        return {p: ns / self.steps / 1e6 for p, ns in sums.items() if ns is not None}

    @property
    def step_ms(self) -> float:
        """Milliseconds from one step's begin to the next."""
        return self.total_ns / self.steps / 1e6
