"""The input wait of executions that were timed while they waited."""

from __future__ import annotations

from collections.abc import Iterable

from keras_perf.records.execution import Execution


def timed_waits(executions: Iterable[Execution]) -> tuple[dict[int, int], float | None]:
    """First step → nanoseconds, and all of it as a share of the time inside; None if none was."""
    known = [e for e in executions if e.input_wait_ns is not None]
    waits = {e.first_step: e.input_wait_ns or 0 for e in known}
    inside = sum(e.inside_ns - (e.compile_ns or 0) for e in known)
    return waits, min(1.0, sum(waits.values()) / max(1, inside)) if known else None
