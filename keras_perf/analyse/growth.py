"""Whether a figure keeps growing over a training, and how fast."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pandas as pd

from keras_perf.records.run.length import Length

BLOCKS, LEAST_BLOCKS = 12, 6
"""Medians of so many stretches are looked at, of whole epochs where there are enough of them: a
staircase with a step an epoch, a collector's saw tooth and single outliers are evened out."""

LEAST_POINTS = 5 * BLOCKS
"""Fewer points, half a minute at the sampler's pace, tell too little."""

LEFT_OUT = 0.25
"""Share of the points at the beginning in which caches, pools and buffers fill; at least the
first epoch, if that is no more than half of them."""

GOES_ON = 0.8
"""What levels out is slower in the later half than in the earlier one; what keeps growing is at
least nearly as fast."""

EVENLY = 0.7
"""Standard deviation of the rises from block to block over their mean: chance is less even, and
what wanders by chance also rises at times."""

LEAST_RISE_MIB, LEAST_RISE = 32.0, 0.01
"""A rise below this, or below this share of what is there, is not worth a sentence."""

ONE_SIDED = 1.645
"""Of the normal distribution: 5% lie beyond it on either side."""


@dataclass(frozen=True)
class Growth:
    """How fast a figure in MiB grows.

    Attributes:
        mib_per_hour: the median slope; `low` and `high` are bounds that hold it in 9 of 10 cases.
        mib_per_step: the same for an optimizer step.
        rise_mib: over the time that was looked at.
        seconds: how long that was.
        between_epochs: share of the rise (0 to 1) that happened where an epoch ended; None if
            that is not known.
    """

    mib_per_hour: float
    low: float
    high: float
    mib_per_step: float
    rise_mib: float
    seconds: float
    between_epochs: float | None


def growth_of(points: pd.DataFrame, length: Length) -> Growth | None:
    """None where it does not grow, levels out, or was not watched for long enough.

    Arguments:
        points: `step`, `wall_time` and `value` (MiB) of one tag, as they were logged.
        length: of the training.

    The slope is the median of those between all pairs of blocks, its bounds those of Sen (Journal
    of the American Statistical Association 63, 1968).

    What it cannot see: what would level out later than it was watched for.
    """
    points = points.sort_values("step")
    points = points.iloc[_settled(points["step"].to_numpy(), length) :]
    if len(points) < LEAST_POINTS or (points["wall_time"].diff().iloc[1:] < 0).any():
        return None
    times, steps, values = _block_medians(points, length)
    slope, low, high = _sen(times, values)
    rise = float(values[-1] - values[0])
    if low <= 0 or all(_levels_out(each, values) for each in (times, steps)):
        return None
    if np.std(np.diff(values)) > EVENLY * np.mean(np.diff(values)):
        return None
    if rise < max(LEAST_RISE_MIB, LEAST_RISE * values[-1]):
        return None
    return Growth(
        mib_per_hour=3600 * slope,
        low=3600 * low,
        high=3600 * high,
        mib_per_step=_sen(steps, values)[0],
        rise_mib=rise,
        seconds=float(times[-1] - times[0]),
        between_epochs=_between_epochs(points, length),
    )


def _levels_out(along: np.ndarray, values: np.ndarray) -> bool:
    """In time, or in steps: a training that becomes slower also grows more slowly in time."""
    half = len(along) // 2
    earlier, later = _sen(along[:half], values[:half]), _sen(along[half:], values[half:])
    return later[1] <= 0 or later[0] < GOES_ON * earlier[0]


def _settled(steps: np.ndarray, length: Length) -> int:
    """How many points at the beginning are left out."""
    first = math.ceil(LEFT_OUT * len(steps))
    if length.epoch_steps and length.first_step is not None:
        epoch = int((steps <= length.first_step + length.epoch_steps).sum()) + 1
        first = max(first, epoch) if epoch <= len(steps) / 2 else first
    return first


def _block_medians(points: pd.DataFrame, length: Length) -> np.ndarray:
    """Rows of time, step and value, a column a block."""
    epochs = _epochs(points, length)
    whole = np.unique(epochs)[:-1]
    if len(whole) >= LEAST_BLOCKS:
        groups = np.array_split(whole, min(BLOCKS, len(whole)))
        places = [np.isin(epochs, group) for group in groups]
    else:
        places = np.array_split(np.arange(len(points)), BLOCKS)
    figures = points[["wall_time", "step", "value"]].to_numpy(dtype=float)
    return np.array([np.median(figures[place], axis=0) for place in places]).T


def _epochs(points: pd.DataFrame, length: Length) -> np.ndarray:
    """The number of each point's epoch; all 0 where that is not known."""
    steps = points["step"].to_numpy()
    if not length.epoch_steps or length.first_step is None:
        return np.zeros_like(steps)
    return (steps - 1 - length.first_step) // length.epoch_steps


def _sen(x: np.ndarray, y: np.ndarray) -> tuple[float, float, float]:
    """Median slope between pairs, and its bounds; 0 where nothing lies apart."""
    slopes = sorted(
        (y[b] - y[a]) / (x[b] - x[a]) for a, b in combinations(range(len(x)), 2) if x[b] > x[a]
    )
    if not slopes:
        return 0.0, 0.0, 0.0
    n = len(x)
    spread = ONE_SIDED * math.sqrt(n * (n - 1) * (2 * n + 5) / 18)
    low = max(0, math.floor((len(slopes) - spread) / 2) - 1)
    return float(np.median(slopes)), float(slopes[low]), float(slopes[-1 - low])


LEAST_EPOCHS, LEAST_POINTS_OF_EPOCH = 3, 6
"""Of fewer it is not known where a rise lies."""


def _between_epochs(points: pd.DataFrame, length: Length) -> float | None:
    """Share of the rise that lies where epochs end.

    A point there may hold some of both, so the last and the first whole point around it count.
    """
    values = points["value"].to_numpy()
    ends = np.flatnonzero(np.diff(_epochs(points, length)))
    ends = ends[(ends >= 1) & (ends + 2 < len(values))]
    if len(ends) < LEAST_EPOCHS or np.diff(ends).min() < LEAST_POINTS_OF_EPOCH:
        return None
    # A rise within an epoch takes part in the three distances between the four points.
    within = np.median(np.diff(values))
    jumps = values[ends + 2] - values[ends - 1] - 3 * within
    rise = values[-1] - values[0]
    return float(np.clip(jumps.sum() / rise, 0.0, 1.0)) if rise > 0 else None
