"""Whether a run is slower than one asked for, in a line."""

from __future__ import annotations

import math

from keras_perf.analyse.change import FEWEST, Change
from keras_perf.records.figures import figure


def judgement(change: Change, tolerance: float, timed: str = "a step") -> str:
    """Whether what is timed takes longer by more than a share of its time."""
    more = f"slower by more than {figure(100 * tolerance)}%"
    took = f"{timed} takes {change.ratio:.2f}× as long"
    if math.isnan(change.low):
        return (
            f"inconclusive: {took}, but one of the runs has fewer than {FEWEST} "
            f"intervals, so whether it is {more} may be chance; train longer"
        )
    took += f" (98% interval: {change.low:.2f}–{change.high:.2f})"
    exceeded = change.exceeds(tolerance)
    if exceeded is None:
        return f"inconclusive: {took}, so whether it is {more} may be chance; train longer"
    return f"{more}: {took}" if exceeded else f"not {more}: {took}"
