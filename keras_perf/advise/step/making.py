"""What Python code takes of the CPUs to make a step's batch, where tf.data does not tell."""

from __future__ import annotations

from keras_perf.advise.loaders import reads_in_threads
from keras_perf.advise.step.fitted import CROWDED
from keras_perf.analyse.cpu_share import used_pct
from keras_perf.analyse.summary import Summary
from keras_perf.records.run.run_facts import RunFacts

HARDLY = 0.045
"""Waiting for less than this share of a step is not worth its removal: that makes it less than 5%
faster."""

COMPILES = 0.05
"""Of a step's time, what is compiled to make its batch is worth a sentence from here on."""


def made_in_threads(facts: RunFacts) -> bool:
    """Threads of this process, which Python code has started, make the batches."""
    known = facts.input
    of_workers = known.input_kind == "PyDataset" and (known.input_workers or 1) > 1
    return not known.input_processes and (of_workers or reads_in_threads(facts))


def made_by_training(facts: RunFacts) -> bool:
    """The thread that trains makes the batches, and nobody beside it."""
    known = facts.input
    own = not known.stages and known.input_kind != "tf.data"
    return own and not makes_beside(facts)


def makes_beside(facts: RunFacts) -> bool:
    """Processes make the batches, or threads that Python code has started."""
    return _makers(facts) is not None


def making_ms(summary: Summary) -> float:
    """CPU time, in milliseconds, of making a step's batch.

    Where threads make it, all that Python has started since training began are taken for them, and
    where processes do, all that this one has started, as `GPUUtilizationSampler` samples them. On
    JAX, where the thread that trains makes it, that of fetching is timed.

    Returns:
        0 where that is not known, where tf.data tells of its stages, or where processes, of which
        each finds a core, are in nobody's way.
    """
    known = summary.facts.input
    idle = known.input_processes and not _in_use(summary) > CROWDED
    if known.stages or known.input_kind == "tf.data" or idle:
        return 0.0
    if _makers(summary.facts) is not None:
        return makers_cpu_ms(summary) or 0.0
    return known.fetch_cpu_ms or 0.0


def makers_cpu_ms(summary: Summary) -> float | None:
    """CPU time of a step's batch in workers beside training; None without, or if not sampled."""
    makers = _makers(summary.facts)
    used_pct = summary.sensors.get(f"host/{makers}_cpu_pct")
    return None if used_pct is None else used_pct / 100 * summary.step_ms


def _makers(facts: RunFacts) -> str | None:
    """What makes the batches beside the thread that trains."""
    if facts.input.input_processes:
        return "child_processes"
    return "python_threads" if made_in_threads(facts) else None


def pace_ms(summary: Summary) -> float:
    """The least that making a batch takes: workers share it, the thread that trains does not."""
    known, makers = summary.facts.input, 1
    if _makers(summary.facts) is not None:
        loader = known.loader if made_in_threads(summary.facts) else None
        makers = (loader.read_threads if loader else None) or known.input_workers or 1
    return making_ms(summary) / makers


def hidden_making_ms(summary: Summary, wait_ms: float) -> float:
    """CPU time of making a batch while a device, or another thread, computes: no step waits.

    Where nobody knows whether steps wait, those of busy cores are taken for such.
    """
    busy = used_pct(summary) / 100 > CROWDED * summary.facts.machine.cores
    known = "input_wait" in summary.parts or busy
    return making_ms(summary) if known and wait_ms <= HARDLY * summary.step_ms else 0.0


def _in_use(summary: Summary) -> float:
    """Share of the cores' time that anybody uses."""
    own_pct = used_pct(summary) / summary.facts.machine.cores
    return max(own_pct, summary.sensors.get("host/cpu_pct", own_pct)) / 100


def compiled_in_fetches_ms(summary: Summary) -> float:
    """For how long of each step JAX compiled to make batches; 0 where that is not noticeable."""
    steps, step_ms = summary.after_warmup, summary.step_ms
    spent_ms = 1e3 * summary.facts.input.fetch_compiling_s / steps if steps else 0.0
    return spent_ms if spent_ms > COMPILES * step_ms else 0.0
