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
    `garbage_ms` lies inside the parts.
    """

    steps: int
    step_ms: float
    parts: Mapping[str, float]
    owners: Mapping[str, float]
    sensors: Mapping[str, float]
    context: Mapping[str, Any]
    intervals: pd.DataFrame = field(repr=False)
    garbage_ms: float = 0.0

    @property
    def outside(self) -> Mapping[str, float]:
        """What lies between epochs, in milliseconds per step of the whole `fit`."""
        recorded = self.context.get("outside") or {}
        steps = self.context.get("last_step", 0) - self.context.get("first_step", 0)
        if not recorded or steps <= 0:
            return {}
        # The first validation traces and compiles, which no later one does.
        usual_s = recorded["usual_validation_s"] * recorded["validations"]
        seconds = {
            "validation": usual_s,
            "validation_tracing": max(0.0, recorded["validation_s"] - usual_s),
            "epoch_callbacks": sum(recorded["epoch_callbacks_s"].values()),
            "epoch_rest": recorded["epoch_rest_s"],
        }
        return {name: 1e3 * spent / steps for name, spent in seconds.items()}

    @property
    def whole_ms(self) -> float:
        """A step with its share of what lies between epochs."""
        return self.step_ms + sum(self.outside.values())

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
    wide = wide.reindex(columns=sorted({*wide.columns, *tags}))
    measured = wide.dropna(subset=tags)
    intervals = pd.DataFrame({"steps": measured[tags[0]], "step": measured[tags[1]]})
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
        str(tag): _over_time(points)
        for tag, points in scalars.groupby("tag", observed=True)
        if str(tag).startswith(("gpu/", "host/"))
    }
    return Summary(
        steps=int(intervals["steps"].sum()) if len(intervals) else 0,
        step_ms=_weighted(intervals["step"], intervals["steps"]),
        parts=parts,
        owners=owners,
        sensors=sensors,
        context=context,
        intervals=intervals,
        garbage_ms=_mean(measured, "perf/garbage_collection_ms"),
    )


def _mean(measured: pd.DataFrame, tag: str) -> float:
    """Per step; 0 where it was never logged."""
    if tag not in measured or not len(measured):
        return 0.0
    return _weighted(measured[tag].fillna(0.0), measured["perf/interval_steps"])


def _mean_parts(intervals: pd.DataFrame) -> dict[str, float]:
    """Weighted means that add up to the step.

    A part measured in some intervals only (dispatch, once a trial has told it; input wait) is
    taken at its mean there, out of compute in the others.
    """
    if not len(intervals):
        return {}
    steps = intervals["steps"]
    left = _weighted(intervals["step"], steps)
    parts = {}
    measured = [p for p in PARTS if p != "compute" and p in intervals]
    for part in sorted(measured, key=lambda name: intervals[name].isna().sum()):
        known = intervals[part].notna()
        if known.any():
            parts[part] = min(_weighted(intervals.loc[known, part], steps[known]), left)
            left -= parts[part]
    parts["compute"] = left
    return {part: parts[part] for part in PARTS if part in parts}


def _over_time(points: pd.DataFrame) -> float:
    """Mean of a sensor, each point weighted by the time it stands for.

    The first one stands for the time since training began, with tracing and warm-up, and counts
    only where there is no other.
    """
    if len(points) == 1:
        return float(points["value"].iloc[0])
    return _weighted(points["value"].iloc[1:], points["wall_time"].diff().iloc[1:] + 1e-9)


def _weighted(values: pd.Series, weights: pd.Series) -> float:
    if not len(values):
        return float("nan")
    return float(np.average(values.to_numpy(dtype=float), weights=weights.to_numpy(dtype=float)))
