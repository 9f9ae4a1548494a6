"""What to know about the figures of several workers."""

from __future__ import annotations

from collections.abc import Iterator

from keras_perf.advise.notes.diagnosed import Diagnosed
from keras_perf.analyse.ring_time import ring_ms
from keras_perf.records.figures import in_bytes, in_ms

WIRES_GBIT = (1, 10, 100)


def worker_notes(run: Diagnosed) -> Iterator[str]:
    """A sentence each: whose figures these are, what the exchange takes, and would on a ring."""
    summary, settings = run.summary, run.facts.settings
    if summary.workers:
        yield (
            f"The parts of a step are worker {summary.workers[0].number}'s; the workers' table "
            "shows all."
        )
    count = settings.workers
    missing = count - len(summary.workers)
    if summary.workers and missing > 0:
        yield f"{missing} of {count} workers have logged nothing into this directory."
    recorded = summary.facts.exchange
    if recorded is not None and summary.exchange:
        size, workers = recorded.bytes_per_step, recorded.workers
        on_wires = ", ".join(
            f"{in_ms(ring_ms(size, workers, speed))} at {speed} Gbit/s" for speed in WIRES_GBIT
        )
        yield (
            f"In each step {workers} workers exchange {in_bytes(size)} of gradients, which takes "
            f"{in_ms(summary.wire_ms)} apart from waiting for each other. On a ring the same "
            f"bytes need {on_wires} (2 (R − 1) / R × bytes ÷ bandwidth)."
        )
    elif count > 1 and settings.in_a_loop and not summary.exchange:
        why = "the graph's clock does not see a GPU's time. A trace shows the collectives"
        if recorded is not None:
            why = (
                "some worker does something else before each step; in `monitor.host(...)` it is "
                "measured"
            )
        elif not summary.facts.machine.training_gpus:
            why = "LoopMonitor(..., exchange=GradientUpdate(...).exchange) times it"
        yield f"The exchange of gradients was not measured and is inside compute: {why}."
