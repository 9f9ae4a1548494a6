"""One execution: one call of the compiled train function."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple


class Kind(str, Enum):
    """What an execution is good for."""

    STEADY = "steady"
    """Counted in every figure."""
    WARMUP = "warmup"
    """One of the first of a `fit`: tracing, compiling, autotuning, filling buffers."""
    TRACED = "traced"
    """After warm-up, yet the train function was traced again."""
    RECOMPILED = "recompiled"
    """After warm-up, yet XLA may have compiled for a shape that it had not seen."""
    PROFILED = "profiled"
    """Inside a profiler window, whose cost it carries."""
    TRIAL = "trial"
    """Run with another `steps_per_execution`, to measure its cost."""


class Execution(NamedTuple):
    """Times of one execution, in nanoseconds of one monotonic clock.

    An execution's cycle lasts from its begin to the begin of the next one, or to the end of its
    last callback where none follows in the epoch. The four times cut it into three:

    `begin_ns` → `returned_ns`: the train function's call (input wait, dispatch, compute), empty
    where nobody saw it return;
    `returned_ns` → `ready_ns`: reading the logs, which waits for the device: compute;
    `ready_ns` → `end_ns`: host work: callbacks, and the rest of the training loop.
    """

    first_step: int
    """Optimizer steps done before this execution."""
    steps: int
    kind: Kind
    begin_ns: int
    returned_ns: int
    ready_ns: int
    end_ns: int
    owners: tuple[tuple[str, int], ...] = ()
    """Host time by callback and hook: (`Class.hook`, nanoseconds)."""
    collector_ns: int = 0
    """Pauses of Python's garbage collector in the training thread; they lie in the parts."""
    compile_ns: int | None = None
    """Of one that seems to have compiled: for how long, by what usual ones compute; 0 where that
    cannot be told from waiting for input. Else None."""

    input_wait_ns: int | None = None
    """For how long it waited for its batch, where the iterator itself was timed; else None."""
    own_ns: int = 0
    """Of several steps: for how long the thread that called was at work in the train function, or
    had no core, which is entering and leaving; meanwhile others run its operations."""
    traced_ns: int | None = None
    """Of one that traced right behind another: for how long at least; else None."""

    @property
    def cycle_ns(self) -> int:
        """Begin to the next begin."""
        return self.end_ns - self.begin_ns

    @property
    def inside_ns(self) -> int:
        """Input wait, dispatch and compute together."""
        return self.ready_ns - self.begin_ns

    @property
    def host_ns(self) -> int:
        """Callbacks and the training loop's own work."""
        return self.end_ns - self.ready_ns
