"""What is known of the kernels of the GPU that trains."""

from __future__ import annotations

from keras_perf.advise.recommendation import Change, on_compute
from keras_perf.advise.situation import Situation
from keras_perf.analyse.hardware.gpu_busy import busy_share


def in_kernels(situation: Situation) -> float:
    """Share of the compute part in which kernels run, all of it where nobody tells.

    What the host takes to launch them stays, however quick they are.
    """
    busy, compute_ms = busy_share(situation.summary), situation.summary.parts.get("compute")
    if busy is None or not compute_ms:
        return 1.0
    return min(1.0, busy * situation.summary.step_ms / compute_ms)


def on_kernels(situation: Situation, least: float, expected: float, most: float) -> Change:
    """What is left of the kernels' time: pessimistic, expected, optimistic."""
    share = in_kernels(situation)
    return on_compute(*(1 - share * (1 - left) for left in (least, expected, most)))


def was_slower(situation: Situation, without: str) -> bool:
    """A trial in the same directory, before this training, found it quicker without."""
    before = situation.facts.tried_before
    changes = () if before is None else before.changes
    return any(each.id == without and each.low > 1 for each in changes)
