"""Advice on the train function itself."""

from __future__ import annotations

import pandas as pd

from keras_perf.advise.recommendation import Recommendation, on_compute, predicted
from keras_perf.advise.rules.followed import (
    runs_in_a_graph,
)
from keras_perf.advise.rules.in_a_loop import not_eagerly
from keras_perf.advise.rules.rule import rule
from keras_perf.advise.situation import Situation
from keras_perf.advise.step_model import INSIDE, StepModel

WORTH_MENDING = 0.02
"""Compiling that takes less than this share of a step may be a stall that was taken for it."""

MOSTLY_PYTHON_CORES = 1.3
"""Operations large enough to matter use several cores; Python uses one. Small ones use one too."""

OPERATION_SHARE = 0.1
"""What an operation costs the runtime, compiled or not, as a share of what Python spends on it."""

IN_GRAPH = 0.6
"""Of what operations compute one by one, so much is left in a graph, which fuses some and runs
others side by side. Three MLPs whose steps took 7.7, 8.3 and 14.4 ms, 0.7, 1.1 and 6.5 of them in
operations, took 0.7, 1.0 and 3.9 ms compiled."""


@rule("stable-shapes")
def stable_shapes(situation: Situation) -> Recommendation | None:
    """The train function is traced again and again."""
    spent = situation.model.rest.get("compile", 0.0)
    if not spent or spent < WORTH_MENDING * situation.model.step_ms:
        return None

    usual = _usual_share_of_compute(situation.summary.intervals)
    inside = sum(situation.model.rest.get(part, 0.0) for part in INSIDE)
    quickest = (situation.model.undisturbed_ms or inside) / inside if inside else usual
    quickest = min(usual, quickest)

    def change(model: StepModel, optimism: float) -> StepModel:
        # Between the usual step, which follows on compilations, and the quickest ones.
        expected = (usual + quickest) / 2
        end = quickest if optimism > 0 else 1.0
        left = expected + abs(optimism) * (end - expected)
        compiling = 0.1 * max(0.0, -optimism)
        return model.with_rest({"compile": compiling, **dict.fromkeys(INSIDE, left)})

    replaced = situation.facts.settings.function_replacements
    if replaced:
        title = "Keep the train function that is there"
        why = f"a callback made the train function anew {replaced} times."
        action = (
            "model.make_train_function(force=True)  # only where trainable layers change: for "
            "several of them at once, or between two calls of fit"
        )
    else:
        title = "Give the train function batches of one shape"
        why = "input shapes or Python arguments change."
        action = "dataset = dataset.batch(batch_size, drop_remainder=True)  # and pad other axes"
    return predicted(
        situation.model,
        change,
        title=title,
        reason=(
            f"Tracing and compiling after warm-up takes {spent:.3g} ms per step on average: {why}"
        ),
        action=action,
        evidence={"compile_ms": spent, "function_replacements": replaced},
    )


def _usual_share_of_compute(intervals: pd.DataFrame) -> float:
    """What a step usually computes, as a share of the mean; at most 1.

    A compilation that was not recognised lies in compute, and the steps after one are slower,
    since it has used all cores and caches. Both go with it: the median interval has neither.
    """
    inside = intervals["compute"]
    if "dispatch" in intervals:
        inside = inside + intervals["dispatch"].fillna(0.0)
    steps = intervals["steps"]
    mean = (inside * steps).sum() / steps.sum()
    in_order = inside.sort_values()
    reached = steps[in_order.index].cumsum() >= steps.sum() / 2
    return float(min(1.0, in_order[reached].iloc[0] / mean)) if mean > 0 else 1.0


@rule("disable-run-eagerly", followed=runs_in_a_graph, in_a_loop=not_eagerly)
def disable_run_eagerly(situation: Situation) -> Recommendation | None:
    """Every operation is run from Python."""
    if not situation.facts.settings.run_eagerly:
        return None

    summary = situation.summary
    setting = "run_eagerly=True"
    if situation.facts.settings.in_a_loop:
        setting = "tf.config.run_functions_eagerly(True)"
    reason = f"{setting} runs every operation from Python; it is meant for debugging."
    evidence = {"compute_ms": summary.parts.get("compute")}
    operating = _share_of_operations(situation)
    if operating is not None:
        evidence["operations_share"] = operating
        reason += f" Operations themselves take {operating:.0%} of what it computes."
        own, python = OPERATION_SHARE * (1 - operating), 1 - operating
        computing = max(0.0, operating - own)
        change = on_compute(
            min(1.0, 2 * OPERATION_SHARE * python + computing),
            own + IN_GRAPH * computing,
            0.7 * own + 0.4 * computing,
        )
    else:
        cores_used = summary.sensors.get("host/process_cpu_pct", 200.0) / 100
        evidence["cores_used"] = cores_used
        reason += " How much of that is Python was not traced: what it buys is a guess."
        mostly_python = cores_used < MOSTLY_PYTHON_CORES
        change = on_compute(0.5, 0.13, 0.05) if mostly_python else on_compute(0.95, 0.6, 0.3)
    return predicted(
        situation.model,
        change,
        title="Compile the train step",
        reason=reason,
        action="model.compile(..., run_eagerly=False)",
        evidence=evidence,
    )


def _share_of_operations(situation: Situation) -> float | None:
    """What operations take of an eager step's computing, the rest being Python.

    On a CPU from a trace; a GPU's work runs beside Python, for as long as the GPU is utilized.
    """
    summary = situation.summary
    if situation.model.on_gpu:
        utilized = summary.sensors.get("gpu/0/utilization_pct")
        return None if utilized is None else min(1.0, utilized / 100)
    operations, python = (summary.trace.get(name) for name in ("execution_ms", "python_ms"))
    if operations is None or not python:
        return None
    return operations / (operations + python)
