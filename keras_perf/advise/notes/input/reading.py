"""An input that training waits for, where the process reads rather than computes."""

from __future__ import annotations

from collections.abc import Iterator

from keras_perf.advise.notes.diagnosed import Diagnosed
from keras_perf.records.figures import in_mib, in_percent
from keras_perf.records.run.run_facts import RunFacts

READS_MIB_PER_SEC = 1.0

COMPUTES = 0.5
"""A process whose threads compute for more of the time than this does something with its input."""

BUSY_PCT = 80.0


def reading_notes(run: Diagnosed) -> Iterator[str]:
    """How fast it reads, and whether the disk could give more, as far as that can be known."""
    summary, sensors = run.summary, run.summary.sensors
    cpu_pct, read = sensors.get("host/process_cpu_pct"), sensors.get("host/read_mib_per_sec")
    if run.verdict != "input-bound" or cpu_pct is None or cpu_pct / 100 > COMPUTES:
        return
    if read is not None and read >= READS_MIB_PER_SEC:
        yield (
            f"Training waits while the process reads: {in_mib(read)}/s from storage, "
            f"{in_mib(read * summary.step_ms / 1e3)} a step, and it computes for "
            f"{in_percent(cpu_pct / 100)} of the time of one CPU. "
            f"{_at_its_limit(sensors.get(DISK_BUSY), summary.facts)}"
        )
        return
    received = sensors.get("host/network_received_mib_per_sec", 0.0)
    files = any(stage.reads_files for stage in summary.facts.input.written)
    if files and received >= READS_MIB_PER_SEC:
        yield (
            f"Training waits for files while the machine receives {in_mib(received)}/s from the "
            f"network, and the process computes for {in_percent(cpu_pct / 100)} of the time of "
            "one CPU. Whether the network, or the store behind it, could deliver more is unknown."
        )


DISK_BUSY = "host/disk_busy_pct"


def _at_its_limit(busy_pct: float | None, facts: RunFacts) -> str:
    if busy_pct is None:
        return (
            "Whether the storage could deliver more is unknown: the system does not report "
            "how busy it is."
        )
    if busy_pct < BUSY_PCT:
        return (
            f"The busiest disk has something to do for {in_percent(busy_pct / 100)} of the time, "
            f"so it could deliver more to files read side by side{_how(facts)}."
        )
    return (
        f"The busiest disk has something to do for {in_percent(busy_pct / 100)} of the time: a "
        "hard disk is at its limit then; whether an SSD is, is unknown."
    )


def _how(facts: RunFacts) -> str:
    """In a dataset that does not do so yet."""
    names = [stage.name for stage in facts.input.stages]
    if facts.input.input_kind != "tf.data" or any("ParallelInterleave" in name for name in names):
        return ""
    return " (interleave with num_parallel_calls)"
