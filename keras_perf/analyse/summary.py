"""What one run measured, in one record."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from keras_perf.records.interval import PARTS

ENOUGH_STEPS = 20
"""Fewer reported steps than this say too little."""


@dataclass(frozen=True)
class Summary:
    """Means over all reported steps of one run; times in milliseconds per step.

    `parts` lacks what was not measured: `input_wait` and `dispatch` are then inside `compute`.
    `intervals` has a row an interval, with `steps`, `step` and the parts as columns.
    """

    steps: int
    step_ms: float
    parts: Mapping[str, float]
    owners: Mapping[str, float]
    sensors: Mapping[str, float]
    context: Mapping[str, Any]
    intervals: pd.DataFrame = field(repr=False)

    @property
    def examples_per_step(self) -> float | None:
        """Mean batch size, where it is known."""
        value = self.context.get("examples_per_step")
        return None if value is None else float(value)


def summarize(scalars: pd.DataFrame, context: Mapping[str, Any]) -> Summary:
    """The summary of one `fit`.

    Arguments:
        scalars: its scalars, as `load_scalars` returns them.
        context: its context record.

    """
    wide = scalars.pivot_table(
        index="step", columns="tag", values="value", aggfunc="last", observed=True
    )
    tags = ["perf/interval_steps", "perf/step_time_ms"]
    measured = wide.dropna(subset=tags) if set(tags) <= set(wide.columns) else wide.iloc[:0]
    intervals = pd.DataFrame({"steps": measured.get(tags[0]), "step": measured.get(tags[1])})
    for part in PARTS:
        if f"perf/{part}_ms" in measured:
            intervals[part] = measured[f"perf/{part}_ms"]
    parts = _mean_parts(intervals)
    owners = {
        tag.removeprefix("callbacks/").removesuffix("_ms"): _weighted(
            measured[tag].fillna(0.0), intervals["steps"]
        )
        for tag in measured.columns
        if tag.startswith("callbacks/")
    }
    sensors = {
        tag: float(wide[tag].mean()) for tag in wide.columns if tag.startswith(("gpu/", "host/"))
    }
    return Summary(
        steps=int(intervals["steps"].sum()) if len(intervals) else 0,
        step_ms=_weighted(intervals["step"], intervals["steps"]),
        parts=parts,
        owners=owners,
        sensors=sensors,
        context=context,
        intervals=intervals,
    )


def _mean_parts(intervals: pd.DataFrame) -> dict[str, float]:
    """Weighted means that add up to the step.

    A part measured in some intervals only (dispatch, once a trial has told it; input wait) is
    taken at its mean there, out of compute in the others.
    """
    if not len(intervals):
        return {}
    steps = intervals["steps"]
    parts = {}
    for part in PARTS:
        if part in intervals and part != "compute" and intervals[part].notna().any():
            known = intervals[part].notna()
            parts[part] = _weighted(intervals.loc[known, part], steps[known])
    parts["compute"] = max(0.0, _weighted(intervals["step"], steps) - sum(parts.values()))
    return {part: parts[part] for part in PARTS if part in parts}


def _weighted(values: pd.Series, weights: pd.Series) -> float:
    if not len(values):
        return float("nan")
    return float(np.average(values.to_numpy(dtype=float), weights=weights.to_numpy(dtype=float)))
