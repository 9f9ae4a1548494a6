"""What steps that are run from Python, operation by operation, would take compiled."""

from __future__ import annotations

from keras_perf.advise.recommendation import Change, on_compute
from keras_perf.advise.situation import Situation
from keras_perf.analyse.hardware.gpu_busy import busy_share
from keras_perf.records.run.library import JAX, TENSORFLOW, library_of

MOSTLY_PYTHON_CORES = 1.3
"""Operations large enough to matter use several cores; Python uses one. Small ones use one too."""

OPERATION_SHARE = 0.1
"""What an operation costs the runtime, compiled or not, as a share of what Python spends on it."""

IN_GRAPH = 0.6
"""Of what operations compute one by one, so much is left in a graph, which fuses some and runs
others side by side. Three MLPs whose steps took 7.7, 8.3 and 14.4 ms, 0.7, 1.1 and 6.5 of them in
operations, took 0.7, 1.0 and 3.9 ms compiled."""

LEAST = {TENSORFLOW: 0.05, JAX: 0.01}
"""What may be left of computing at best: MLPs whose steps took 13 to 42 ms on JAX took 0.3 to 0.7
compiled; a convolution's 0.2 to 0.3."""


def share_of_operations(situation: Situation) -> float | None:
    """What operations take of an eager step's computing, the rest being Python.

    On a CPU from a trace; a GPU's work runs beside Python, for as long as the GPU is utilized.
    None where neither tells.
    """
    summary = situation.summary
    if situation.model.on_gpu:
        busy, compute_ms = busy_share(summary), summary.parts.get("compute")
        in_step_ms = None if busy is None else busy * summary.step_ms
        return min(1.0, in_step_ms / compute_ms) if in_step_ms is not None and compute_ms else None
    operations, python = (summary.trace.get(name) for name in ("execution_ms", "python_ms"))
    if not operations or not python:
        # A trace in which no execution could be told, as of JAX's operations one by one, has 0.
        return None
    return operations / (operations + python)


def cores_used(situation: Situation) -> float:
    """By this process; two where it was not sampled."""
    return situation.summary.sensors.get("host/process_cpu_pct", 200.0) / 100


def compiled(situation: Situation) -> Change:
    """What is left of computing in a graph; where the operations' share is not known, a guess."""
    operating = share_of_operations(situation)
    if operating is None:
        if cores_used(situation) >= MOSTLY_PYTHON_CORES:
            return on_compute(0.95, 0.6, 0.3)
        return on_compute(0.5, 0.13, LEAST[library_of(situation.facts)])
    own, python = OPERATION_SHARE * (1 - operating), 1 - operating
    computing = max(0.0, operating - own)
    return on_compute(
        min(1.0, 2 * OPERATION_SHARE * python + computing),
        own + IN_GRAPH * computing,
        0.7 * own + 0.4 * computing,
    )
