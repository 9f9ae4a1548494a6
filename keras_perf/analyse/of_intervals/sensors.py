"""What sensors tell of a training: on the mean, and in a usual interval."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from keras_perf.records.metrics.all_metrics import STEP_MS, STEPS
from keras_perf.records.run.run_facts import RunFacts

_GPU = "gpu/"
_SENSED = _GPU, "host/"

ENOUGH = 3
"""Of fewer intervals none is the usual one."""


def points_by_tag(scalars: pd.DataFrame, facts: RunFacts) -> dict[str, pd.DataFrame]:
    """The points of each tag, but for those of GPUs that the training does not use."""
    return {
        str(tag): points
        for tag, points in scalars.groupby("tag", observed=True)
        if not (facts.gpu.gpus_unused and str(tag).startswith(_GPU))
    }


def mean_sensors(by_tag: Mapping[str, pd.DataFrame]) -> dict[str, float]:
    """Means of what was sampled of GPUs and host, by tag."""
    trained = _trained_ms(by_tag)
    return {tag: _over_time(p, trained) for tag, p in by_tag.items() if tag.startswith(_SENSED)}


def usual_sensors(by_tag: Mapping[str, pd.DataFrame]) -> dict[str, float]:
    """Medians of what was sampled of GPUs, by tag, without the warm-up's point, the first one.

    A trial that compiles, or a capture that is written, lies in one interval and makes its sensors
    tell of something else; the mean of all would have it in.
    """
    later = {tag: points.iloc[1:] for tag, points in by_tag.items() if tag.startswith(_GPU)}
    return {
        tag: float(points["value"].median())
        for tag, points in later.items()
        if len(points) >= ENOUGH
    }


def _trained_ms(by_tag: Mapping[str, pd.DataFrame]) -> pd.Series:
    """What all steps up to the last one of each interval took, by that step."""
    steps, each = by_tag.get(STEPS), by_tag.get(STEP_MS)
    if steps is None or each is None:
        return pd.Series(dtype=float)
    joined = steps.merge(each, on="step").sort_values("step")
    took = joined["value_x"] * joined["value_y"]
    return pd.Series(took.cumsum().to_numpy(), index=joined["step"].to_numpy())


def _over_time(points: pd.DataFrame, trained_ms: pd.Series) -> float:
    """Mean of a sensor, each point weighted by the steps that it stands for.

    What lies between two of them, such as a validation, was not sampled for it. The first one
    stands for the time since training began, with tracing and warm-up, and counts only where there
    is no other. Where nobody has timed steps, as beside a program of another library, the time
    between points counts.
    """
    values = points["value"].to_numpy(dtype=float)
    if len(values) == 1:
        return float(values[0])
    # Who samples may be an execution ahead of who times.
    until = np.searchsorted(trained_ms.index, points["step"], side="right")
    known = np.diff(np.append(0.0, trained_ms.to_numpy())[until]).clip(min=0.0)
    if known.sum() > 0:
        return float(np.average(values[1:], weights=known))
    # A clock that is set back gives no point less weight than none.
    stood_for = np.diff(points["wall_time"].to_numpy(dtype=float)).clip(min=0.0) + 1e-9
    return float(np.average(values[1:], weights=stood_for))
