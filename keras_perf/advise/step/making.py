"""What Python code takes of the CPUs to make a step's batch, where tf.data does not tell."""

from __future__ import annotations

from keras_perf.advise.loaders import reads_in_threads
from keras_perf.analyse.summary import Summary
from keras_perf.records.run.run_facts import RunFacts


def made_in_threads(facts: RunFacts) -> bool:
    """Threads of this process, which Python code has started, make the batches."""
    known = facts.input
    of_workers = known.input_kind == "PyDataset" and (known.input_workers or 1) > 1
    return not known.input_processes and (of_workers or reads_in_threads(facts))


def making_ms(summary: Summary) -> float:
    """CPU time, in milliseconds, of making a step's batch.

    Where threads make it, all of Python's threads beside the one that trains are taken for them,
    as `GPUUtilizationSampler` samples them. On JAX, where the thread that trains makes it, that of
    fetching is timed.

    Returns:
        0 where that is not known, where tf.data tells of its stages, or where other processes
        make the batches.
    """
    facts = summary.facts
    if facts.input.stages or facts.input.input_processes:
        return 0.0
    if made_in_threads(facts):
        used_pct = summary.sensors.get("host/python_threads_cpu_pct", 0.0)
        return used_pct / 100 * summary.step_ms
    return facts.input.fetch_cpu_ms or 0.0
