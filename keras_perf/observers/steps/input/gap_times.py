"""Which of tf.data's gap times belong to which execution.

For each `GetNext` tf.data records the time since the one before it ended: everything a step does
but wait for input.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from keras_perf.records.execution import Execution

GAP_HISTORY = 100
"""How many gap times tf.data keeps (tensorflow/core/framework/model.cc)."""

ENTERING_NS = 1e6
"""Leaving an execution of several steps and entering the next takes 0.8 to 3 ms: no less is taken
off the gap in which that lies."""


def fetches_of(steps: int, per_step: float) -> int:
    """How often so many steps ask the iterator, which leaves as many gap times."""
    return steps if per_step == 1 else max(1, round(steps * per_step))


def gaps_of_each(fetches: Sequence[int], gaps_us: Sequence[int], pending: int) -> list[list[int]]:
    """The gap times of consecutive executions, in nanoseconds; the last one's are not over.

    Arguments:
        fetches: how often each execution asked the iterator.
        gaps_us: the iterator's gap times in microseconds, newest last.
        pending: how many of the newest came after the last execution's last `GetNext`.

    Returns:
        Those of the newest executions that tf.data remembers, in their order, without the last
        execution. The last gap of each ends with the first `GetNext` of the execution after it.
    """
    found: list[list[int]] = []
    end = len(gaps_us) - pending - (fetches[-1] - 1)
    for count in reversed(fetches[:-1]):
        if count > end:
            break
        found.append([1000 * gap for gap in gaps_us[end - count : end]])
        end -= count
    return found[::-1]


def step_of(gaps: Sequence[int], outside: int) -> float | None:
    """A step in the graph, by an execution's gaps; None where they do not tell it.

    Of two the first does, if it is no shorter than half of the last, which holds a step or two.
    """
    if len(gaps) > 2:
        return median(gaps[1:-1])
    if len(gaps) == 2 and 2 * gaps[0] >= gaps[1] - outside:
        return gaps[0]
    return None


def waited_ns(execution: Execution, gaps: Sequence[int], next_begin_ns: int) -> int:
    """How long an execution waited for input; below 0 where the gaps are longer than it is.

    Its `GetNext` took what its gaps leave of its cycle. Of several steps all but the first overlap:
    while a step computes, the next one's batch is asked for already. What a step computes then is
    the gap behind such a `GetNext` and the time of this; or, where batches come so late that there
    is no gap, at most what the last gap holds, for no `GetNext` overlaps the last step.

    Arguments:
        execution: a steady one.
        gaps: its own, in nanoseconds.
        next_begin_ns: when the next one began.

    What it cannot see: of several steps that compute for hardly longer than a batch takes, up to
    the milliseconds between two executions count as computing. Where a step asks more or less than
    once, and where nobody saw the function return, all of each `GetNext` counts.
    """
    fetched = next_begin_ns - execution.begin_ns - sum(gaps)
    if not 1 < execution.steps == len(gaps) or execution.returned_ns <= execution.begin_ns:
        return fetched
    each = fetched / len(gaps)
    last = gaps[-1] - (next_begin_ns - execution.returned_ns) - ENTERING_NS
    gap = median(gaps[1:-1]) if len(gaps) > 2 else max(0.0, last - each) / 2
    overlapped = max(0.0, min(each, last - 2 * gap))
    return round(fetched - (len(gaps) - 1) * overlapped)
