"""Whether a run is slower than one asked for, in a line."""

from __future__ import annotations

import math
from typing import NamedTuple

from keras_perf.analyse.change import FEWEST
from keras_perf.analyse.cpu_share import LEAST_SHARE, NOTICED, used_by_others, used_by_strangers
from keras_perf.records.figures import figure, in_percent
from keras_perf.report.compared.comparison import Comparison


class Judgement(NamedTuple):
    """Of a comparison.

    Attributes:
        exceeded: it is slower by more than what is tolerated; None where chance may explain that,
            or what other processes used of the CPUs.
        told: a line on it.
    """

    exceeded: bool | None
    told: str


def judged(comparison: Comparison, tolerance: float) -> Judgement:
    """Whether what is timed takes longer by more than a share of its time."""
    change, timed = comparison.change, comparison.timed
    more = f"slower by more than {figure(100 * tolerance)}%"
    took = f"{timed} takes {change.ratio:.2f}× as long"
    if math.isnan(change.low):
        why = f"one of the runs has fewer than {FEWEST} intervals"
        told = f"inconclusive: {took}, but {why}, so whether it is {more} may be chance"
        return Judgement(None, f"{told}; train longer")
    took += f" (98% interval: {change.low:.2f}–{change.high:.2f})"
    exceeded = change.exceeds(tolerance)
    if exceeded is None:
        told = f"inconclusive: {took}, so whether it is {more} may be chance; train longer"
        return Judgement(None, told)
    if exceeded and (load := _load_that_explains(comparison, tolerance)):
        return Judgement(None, f"inconclusive: {took}, but {load}: train again without them")
    return Judgement(exceeded, f"{more}: {took}" if exceeded else f"not {more}: {took}")


def _load_that_explains(comparison: Comparison, tolerance: float) -> str:
    """What others used of the CPUs, where that alone may have made it slower; "" elsewhere.

    By how much, nothing tells where they used all that a process can be seen to lose.
    """
    before, after = comparison.before.summary, comparison.after.summary
    used = used_by_strangers(before), used_by_strangers(after)
    explained = (1 - used[0]) / (1 - used[1])
    all_of_it = used[1] > NOTICED and used_by_others(after) >= 1 - LEAST_SHARE
    slower = comparison.change.low > explained * (1 + tolerance) and not all_of_it
    no_more_than_before = used[1] - used[0] <= NOTICED and not all_of_it
    if no_more_than_before or slower:
        return ""
    return (
        f"other processes used {in_percent(used[1])} of the CPUs meanwhile, and "
        f"{in_percent(used[0])} before"
    )
