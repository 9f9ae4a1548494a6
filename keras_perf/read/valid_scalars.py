"""What a scalar can be at all: the door through which figures come to the analysis."""

from __future__ import annotations

import numpy as np
import pandas as pd

from keras_perf.records.fit_identity import LATEST_S

MOST = 1e12
"""No figure of ours is larger: 1e12 ms are thirty years, 1e12 MiB more than any machine has."""

LEAST = {
    # A step of a thousandth of a nanosecond is none, and what divides by it is nonsense.
    "perf/step_time_ms": 1e-9,
    "perf/interval_steps": 1.0,
    # What is left when others are taken from a whole may lie below 0 by rounding.
    "perf/compute_ms": -1e-3,
    "perf/other_host_ms": -1e-3,
}
"""Of these tags; of all others 0."""

LAST_STEP = 2**53


def valid_scalars(scalars: pd.DataFrame) -> tuple[pd.DataFrame, list[str]]:
    """The rows that can be true, and the tags of the others with their values.

    Arguments:
        scalars: as `load_scalars` returns them.

    A value that is NaN is missing, as a sensor's that failed: its row is dropped and not told of.
    """
    values, times = scalars["value"].to_numpy(), scalars["wall_time"].to_numpy()
    tags = pd.Categorical(scalars["tag"])
    least = np.array([_least(str(tag)) for tag in tags.categories] or [0.0])[tags.codes]
    with np.errstate(invalid="ignore"):
        possible = (values >= least) & (values <= MOST) & (np.abs(times) <= LATEST_S)
    possible &= scalars["step"].between(0, LAST_STEP).to_numpy()
    wrong = scalars[~possible & ~np.isnan(values)]
    told = [f"{row.tag} {row.value:g} at step {row.step}" for row in wrong.itertuples()]
    return (scalars if possible.all() else scalars[possible].reset_index(drop=True)), told


def _least(tag: str) -> float:
    # A machine's room may be cold; 0 K is not.
    return LEAST.get(tag, -273.0 if tag.endswith("temperature_c") else 0.0)
