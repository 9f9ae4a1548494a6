"""One of several workers beside the others."""

from __future__ import annotations

from typing import NamedTuple


class Worker(NamedTuple):
    """Means over a worker's steps, in milliseconds per step; the parts add up to `step_ms`.

    None is what was not measured: the input wait, and the communication, are then in `compute_ms`.
    """

    number: int
    steps: int
    step_ms: float
    input_wait_ms: float | None
    compute_ms: float
    communication_ms: float | None
    host_ms: float
    """All that is neither of the three: dispatch, the loop's own work, compiling."""
    beside_cpu_pct: float = 0.0
    """What it uses of the CPUs of the first worker's machine, 100 a logical CPU; 0 elsewhere."""

    @property
    def busy_with(self) -> dict[str, float]:
        """What it does before it can hand its gradients over, by the table's names."""
        wait = 0.0 if self.input_wait_ms is None else self.input_wait_ms
        return {"input wait": wait, "compute": self.compute_ms, "host": self.host_ms}
