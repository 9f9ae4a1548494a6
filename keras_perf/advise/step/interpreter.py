"""Whether Python code of the input pipeline keeps the interpreter from training."""

from __future__ import annotations

from keras_perf.advise.step.making import made_in_threads, making_ms
from keras_perf.analyse.cpu_share import share_of_cores
from keras_perf.analyse.summary import Summary
from keras_perf.records.metrics.host_metrics import CORE_WAIT
from keras_perf.records.run.library import library_of

HELD_MS = 0.5
"""A thread that waits for longer than this shares the interpreter with one that does not let go of
it. Where Python code slept, read, or ran TensorFlow the wait was 0.1 to 0.3 ms; where it computed,
0.6 to 5. Beside other processes a thread waits longer, for a core."""

MOSTLY = 0.5
"""Python code that takes less than this share of a step is not what sets its pace."""

OF_OTHERS = 0.2
"""Where callbacks and the loop take more of a step than this, they may be who holds it."""

OTHER_WORK = 0.8
"""Where the process computes beside the pipeline for so much of the time inside the train
function, that is what training waits for."""

AT_WORK = 0.7
"""Whoever holds the interpreter without a pause computes for at least this share of that time."""

LOADERS = {"Grain": "Grain dataset", "DataLoader": "torch DataLoader"}
"""Kinds of input of other libraries, and what they are called."""

KERAS_INPUT = ("generator", "PyDataset", *LOADERS)
"""Kinds of input that Keras makes batches of in Python."""


def interpreter_ms(summary: Summary) -> float:
    """For how much of each step the input pipeline's Python code holds the interpreter (GIL).

    Entering and leaving the train function needs it too: however soon the pipeline could hand
    over a batch, the step waits, and that wait does not lie in the iterator's GetNext but in
    compute and dispatch.

    Returns:
        Milliseconds per step; 0 where that is not seen.

    What it cannot see: anything without `host/interpreter_wait_ms`, which
    `GPUUtilizationSampler` samples; on one core, for which of the two threads wait: for the core,
    it is taken, where Linux tells how long they waited for that; who holds it where callbacks take
    a large part of the step, unless threads of Python that make batches are seen at work.
    """
    waits_ms = summary.sensors.get("host/interpreter_wait_ms", 0.0)
    host_ms = _sum(summary, "callbacks", "other_host")
    may_be_others = host_ms > OF_OTHERS * summary.step_ms and not _threads_at_work(summary)
    if waits_ms * share_of_cores(summary) < HELD_MS or may_be_others:
        return 0.0
    if summary.facts.settings.run_eagerly or not _runs_beside_training(summary):
        return 0.0
    if summary.facts.machine.cores == 1 and CORE_WAIT in summary.sensors:
        return 0.0
    # Tracing is Python code too, and holds it for as long as it lasts.
    left_ms = summary.step_ms - host_ms - _sum(summary, "compile")
    stages = summary.facts.input.stages
    # Behind Keras's own workers there is no model of the pipeline.
    costs = [s.cost_ms for s in stages if may_be_python(s.name)]
    cost_ms = max(costs, default=0.0) if stages else left_ms
    held_ms = min(left_ms, cost_ms)
    used_pct = summary.sensors.get("host/process_cpu_pct")
    if used_pct is not None and used_pct / 100 * summary.step_ms < AT_WORK * held_ms:
        return 0.0
    beside_ms, inside_ms = cpu_beside_ms(summary, held_ms), _sum(summary, "compute", "dispatch")
    if made_in_threads(summary.facts) and not stages:
        # For the interpreter too a batch of workers is late.
        inside_ms += _sum(summary, "input_wait")
    if beside_ms is not None and beside_ms > OTHER_WORK * inside_ms:
        return 0.0
    return held_ms if held_ms > MOSTLY * summary.step_ms else 0.0


def _threads_at_work(summary: Summary) -> bool:
    """Threads that make batches compute nearly all the time."""
    return made_in_threads(summary.facts) and making_ms(summary) > AT_WORK * summary.step_ms


def cpu_beside_ms(summary: Summary, held_ms: float) -> float | None:
    """CPU time of a step that is not the pipeline's; None if not sampled, or if a GPU trains."""
    used_pct = summary.sensors.get("host/process_cpu_pct")
    if used_pct is None or summary.facts.on_gpus:
        return None
    return max(0.0, used_pct / 100 * summary.step_ms - held_ms)


def _sum(summary: Summary, *parts: str) -> float:
    return sum(summary.parts.get(part, 0.0) for part in parts)


def _runs_beside_training(summary: Summary) -> bool:
    """Python code of the input pipeline runs in other threads than the one that trains.

    What makes a batch in the thread that trains is timed whole.
    """
    facts = summary.facts
    by_tf_data = facts.input.input_kind == "tf.data" or library_of(facts).batches_by_tf_data
    if not (by_tf_data or facts.input.stages):
        return made_in_threads(facts)
    return runs_python(summary)


def may_be_python(stage: str) -> bool:
    """The stage calls a function, or a generator."""
    return "Map" in stage or stage.startswith(("Generator", "Filter"))


def runs_python(summary: Summary) -> bool:
    """Something of the input pipeline is Python code that runs in this process."""
    known = summary.facts.input
    return (
        (known.input_kind in KERAS_INPUT and not known.input_processes)
        or (any(s.name.startswith("Generator") for s in known.stages) and not known.hidden)
        or any(stage.python for stage in known.written)
    )
