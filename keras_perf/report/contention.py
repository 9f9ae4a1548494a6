"""Who else was at work: what to know of figures that others made longer."""

from __future__ import annotations

from collections.abc import Iterator

from keras_perf.advise.interpreter import HELD_MS, OF_OTHERS, runs_python
from keras_perf.analyse.summary import Summary

NOTICED_PCT = 20.0
"""Other programs that use less than this share of the CPUs are not worth a sentence."""


def contention_notes(summary: Summary) -> Iterator[str]:
    """A sentence each: on other programs, and on other threads of this one."""
    sensors = summary.sensors
    cores = int(summary.context.get("cpu_count") or 1)
    own_pct = sensors.get("host/process_cpu_pct")
    if own_pct is not None and "host/cpu_pct" in sensors:
        others_pct = sensors["host/cpu_pct"] - own_pct / cores
        if others_pct > NOTICED_PCT:
            yield (
                f"Other programs used {others_pct:.0f}% of the CPUs: what needs a CPU took longer "
                "than it does alone."
            )
    waits_ms = sensors.get("host/interpreter_wait_ms", 0.0)
    host_ms = summary.parts.get("callbacks", 0.0) + summary.parts.get("other_host", 0.0)
    if waits_ms > HELD_MS and host_ms < OF_OTHERS * summary.step_ms and not runs_python(summary):
        yield (
            f"A thread waits {waits_ms:.2g} ms for Python's interpreter: a thread of this program, "
            "which is neither a callback nor the input pipeline, runs Python code without a pause. "
            "Entering and leaving the train function waits as long."
        )
