"""Summaries, situations and log directories with figures that a test can do in its head."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from keras_perf.advise.notes.diagnosed import Diagnosed
from keras_perf.advise.recommendation import Recommendation
from keras_perf.advise.situation import Situation, situation_of
from keras_perf.analyse.summary import Summary
from keras_perf.records.run.run_facts import RunFacts, from_json
from keras_perf.write.reopened_run import ReopenedRun
from keras_perf.write.run_writer import RunWriter

FITS_IN_MEMORY = {
    "epochs": 5,
    "epoch_steps": 100,
    "memory_available_mib": 1000.0,
    "outside": {"warmup_steps": 100},
}
"""A context in which a cache pays: the first epoch, which fills it, is in no figure."""

H200 = {"training_gpus": [{"name": "NVIDIA H200", "compute_capability": [9, 0]}]}
"""The context of a training on a GPU."""


CALL = {
    "calls": 2,
    "executions": 20,
    "steps": 20,
    "spent_s": 0.1,
    "parts_s": {"starting": 0.02, "input_wait": 0.03, "compute": 0.05},
    "examples": 640.0,
}
"""Two of `evaluate`, as a run holds them."""


def frame(*points: tuple[int, dict[str, float]]) -> pd.DataFrame:
    """Scalars as `load_scalars` returns them."""
    rows = [
        ("perf", tag, step, float(step), value)
        for step, values in points
        for tag, value in values.items()
    ]
    scalars = pd.DataFrame(rows, columns=["run", "tag", "step", "wall_time", "value"])
    scalars = scalars.astype({"step": "int64", "wall_time": "float64", "value": "float64"})
    return scalars.astype({"run": "category", "tag": "category"})


def point(last_step: int, steps: int, step: float, **parts: float) -> tuple[int, dict[str, float]]:
    """An interval's scalars."""
    values = {"perf/interval_steps": float(steps), "perf/step_time_ms": step}
    return last_step, values | {f"perf/{part}_ms": ms for part, ms in parts.items()}


def facts_of(context: Mapping[str, Any]) -> RunFacts:
    """The record with these values, each of which must be a fact that there is, and right.

    Of what lies outside, of written stages and of totals a test says what matters to it.
    """
    known = {name: value for name, value in context.items() if value is not None}
    if known.get("outside"):
        known["outside"] = NOTHING_OUTSIDE | known["outside"]
    elif "outside" in known:
        del known["outside"]
    if isinstance(written := known.get("dataset"), dict):
        chains = [[ANY_STAGE | stage for stage in chain] for chain in written.get("chains", [[]])]
        known["dataset"] = {**written, "chains": chains}
    known["event_totals"] = [ANY_TOTAL | each for each in known.get("event_totals", ())]
    facts, wrong = from_json(known)
    assert not wrong, wrong
    assert known.keys() <= facts.to_json().keys()
    return facts


NOTHING_OUTSIDE = {
    "epoch_gaps": 0,
    "validations": 0,
    "usual_validation_s": 0.0,
    "validation_s": 0.0,
    "epoch_callbacks_s": {},
    "epoch_rest_s": 0.0,
}
ANY_STAGE = {
    "kind": "map",
    "function": "",
    "parallel": False,
    "stateful": False,
    "random": False,
    "reads_files": False,
}
ANY_TOTAL = {"cause": "unknown", "owner": "", "count": 1, "total_ms": 0.0}


def stage(
    name: str,
    cost_ms: float,
    *,
    parallelism: int = 1,
    bytes_per_batch: float = 0.0,
    elements_per_batch: float = 1.0,
    **buffer: int,
) -> dict[str, Any]:
    """A stage as the facts of a run hold it; `buffer` is its size and what is in it."""
    return {
        "name": name,
        "cost_ms": cost_ms,
        "parallelism": parallelism,
        "bytes_per_batch": bytes_per_batch,
        "elements_per_batch": elements_per_batch,
        **buffer,
    }


def between_epochs(
    validation: float = 0.0,
    callbacks: Mapping[str, float] | None = None,
    rest: float = 0.0,
    *,
    steps: int = 1000,
    warmup_steps: int = 0,
) -> dict[str, Any]:
    """A context with so many milliseconds between epochs for each step of a `fit`."""
    seconds = steps / 1e3
    return {
        "first_step": 50,
        "last_step": 50 + steps,
        "outside": {
            "epoch_gaps": 5,
            "validations": 5 if validation else 0,
            "validation_s": validation * seconds,
            "usual_validation_s": validation * seconds / 5,
            "epoch_callbacks_s": {o: ms * seconds for o, ms in (callbacks or {}).items()},
            "epoch_rest_s": rest * seconds,
            "warmup_steps": warmup_steps,
        },
    }


def summary(
    steps: int = 200,
    *,
    owners: Mapping[str, float] | None = None,
    process_cpu_pct: float = 0.0,
    sensors: Mapping[str, float] | None = None,
    garbage_ms: float = 0.0,
    stages: Sequence[Mapping[str, Any]] = (),
    context: Mapping[str, Any] | None = None,
    **parts: float,
) -> Summary:
    """A summary whose step is the sum of its parts, from intervals of ten steps."""
    step = sum(parts.values())
    count = steps // 10
    columns = {"steps": 10.0, "step": step, **parts}
    cpu = {"host/process_cpu_pct": process_cpu_pct} if process_cpu_pct else {}
    return Summary(
        steps=steps,
        step_ms=step,
        parts=parts,
        owners=owners or {},
        sensors=cpu | dict(sensors or {}),
        usual=dict(sensors or {}),
        facts=facts_of({"stages": list(stages), "cpu_count": 8, **(context or {})}),
        intervals=pd.DataFrame({name: [value] * count for name, value in columns.items()}),
        garbage_ms=garbage_ms,
    )


def situation(steps: int = 200, **arguments: Any) -> Situation:
    """The same, with the model fitted to it."""
    return situation_of(summary(steps, **arguments))


def diagnosed(
    run: Summary | Situation, verdict: str = "compute-bound", advised: Iterable[str] = ()
) -> Diagnosed:
    """What the notes on a run are made of."""
    found = situation_of(run) if isinstance(run, Summary) else run
    return Diagnosed(found, verdict, frozenset(advised))


def assert_predicts(
    advice: Recommendation | None,
    low: float,
    expected: float,
    high: float,
    *,
    before: float = 10.0,
) -> None:
    """The speed-up from `before` to each of three times, in milliseconds per step."""
    assert advice is not None
    assert advice.low == pytest.approx(before / low)
    assert advice.predicted_speedup == pytest.approx(before / expected)
    assert advice.high == pytest.approx(before / high)


AWAKE_MS = 0.4, 1.3, 2.2
"""What a CPU computes less once long pauses are gone: at worst, as expected, at best."""


def awake(compute_ms: float, pauses_ms: Sequence[float], every: int = 1) -> list[float]:
    """What it computes for without pauses of more than 0.5 ms, for each of the three cases.

    They last `pauses_ms` for a step, and come once in `every` steps.
    """
    cases = zip(AWAKE_MS, pauses_ms, strict=True)
    over = [(ms, min(1.0, (every * pause - 0.5) / 6)) for ms, pause in cases]
    return [compute_ms - min(0.6 * compute_ms, ms * share) / every for ms, share in over]


def write_fit(
    log_dir: Path,
    *,
    step_ms: float,
    intervals: int = 10,
    steps: int = 10,
    context: Mapping[str, Any] | None = None,
) -> None:
    """What a `fit` leaves: intervals of equal steps, half input wait and half compute."""
    writer = RunWriter(str(log_dir))
    for place in range(1, intervals + 1):
        values = {
            "perf/step_time_ms": step_ms,
            "perf/input_wait_ms": step_ms / 2,
            "perf/compute_ms": step_ms / 2,
            "perf/callbacks_ms": 0.0,
            "perf/other_host_ms": 0.0,
            "perf/compile_ms": 0.0,
            "perf/interval_steps": float(steps),
        }
        writer.scalars(place * steps, values, wall_time=float(place))
    if context is not None:
        writer.context(intervals * steps, facts_of(context).to_json())
    writer.close()


def write_calls(log_dir: Path, **kinds: Mapping[str, Any]) -> None:
    """What calls of `evaluate` and `predict` leave where nothing was trained."""
    ReopenedRun(str(log_dir)).write(1, {"evaluate/step_time_ms": 5.0}, {"inference": kinds})
