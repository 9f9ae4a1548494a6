"""So many points as a plot can show: a day of training has more than a page should hold."""

from __future__ import annotations

import numpy as np
import pandas as pd

MOST = 500


def thinned(frame: pd.DataFrame, steps: pd.Series) -> pd.DataFrame:
    """At most `MOST` rows, each the mean of consecutive ones and at the last one's step.

    Arguments:
        frame: a row an interval or sample, indexed by step.
        steps: the weight of each row.

    What it cannot show: a single long interval among many.
    """
    if len(frame) <= MOST:
        return frame
    group = np.arange(len(frame)) * MOST // len(frame)
    weights = steps.to_numpy(dtype=float)
    sums = frame.mul(weights, axis=0).groupby(group).sum()
    means = sums.div(pd.Series(weights).groupby(group).sum(), axis=0)
    return means.set_axis(frame.index.to_series().groupby(group).last(), axis=0)
