"""How far off a predicted speed-up may be, beside what its own rule says of it."""

from __future__ import annotations

from keras_perf.advise.situation import Situation

FROM_RUN_TO_RUN = 0.1
"""Two runs of the same program differ by so much of their time."""

OF_OTHERS = 0.5
"""Where others use some share of the CPUs, so much of it is uncertain: who they will leave them to
is not known."""

NOT_MEASURED = 0.1
"""What input wait or dispatch may be where it was not measured."""

THIN = 0.3
"""What a run of a single interval, half a second, tells of another one; of more, less by the root
of their number."""

TAIL = 1.28
"""Standard deviations that hold 80%."""

MOST = 1.0


def uncertainty(situation: Situation) -> float:
    """By this share a measured speed-up may lie beyond the bounds that a rule gives.

    From run to run, for intervals that differ, cores that others use and parts that were not
    measured; added as variances are.

    What it cannot see: what makes the rule itself wrong.
    """
    summary = situation.summary
    parts = [FROM_RUN_TO_RUN, OF_OTHERS * (1 - situation.share_of_cores), _of_chance(situation)]
    parts += [NOT_MEASURED for name in ("input_wait", "dispatch") if name not in summary.parts]
    return float(min(MOST, sum(part**2 for part in parts) ** 0.5))


def _of_chance(situation: Situation) -> float:
    """Of the step's mean, from its intervals."""
    count = max(1, len(situation.summary.intervals))
    seen = 0.0
    if count > 1 and situation.summary.step_ms:
        seen = float(TAIL * situation.step_draws.std() / situation.summary.step_ms)
    # Few intervals may be alike by chance.
    return float(max(seen, THIN / count**0.5))


def widened(bounds: tuple[float, float, float], by: float) -> tuple[float, float, float]:
    """Expected, low, high, with bounds further out by this share; low is never below 1.

    >>> widened((2.0, 1.5, 2.5), 0.25)
    (2.0, 1.2, 3.125)
    >>> widened((1.02, 1.02, 1.02), 0.5)
    (1.02, 1.0, 1.53)
    """
    expected, low, high = bounds
    return expected, max(1.0, low / (1 + by)), high * (1 + by)
