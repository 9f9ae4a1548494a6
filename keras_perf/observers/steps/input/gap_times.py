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


def fetched_ns(execution: Execution, gaps: Sequence[int], next_begin_ns: int) -> int:
    """What all `GetNext` of an execution took; below 0 where the gaps are longer than it is.

    Arguments:
        execution: a steady one.
        gaps: its own, in nanoseconds.
        next_begin_ns: when the next one began.
    """
    return next_begin_ns - execution.begin_ns - sum(gaps)


def computed_ns(execution: Execution, gaps: Sequence[int], next_begin_ns: int) -> float | None:
    """What a step computes while the next one's batch is asked for, if that takes so long.

    Of several steps all `GetNext` but the first overlap such computing. No `GetNext` overlaps the
    last step, which lies in the last gap, beside the time outside of the function and what
    entering and leaving it take. The gap between two `GetNext` is no overlap, and the last gap
    holds it twice: while the step before it ends, and in the last step. Of two steps the first
    gap is empty, or a step where none asks ahead.

    The arguments are those of `fetched_ns`.

    Returns:
        Nanoseconds, below 0 by what other threads were late; None where it is not known: a step
        asks more or less than once, or nobody saw the function return.
    """
    if not 1 < execution.steps == len(gaps) or execution.returned_ns <= execution.begin_ns:
        return None
    outside = next_begin_ns - execution.returned_ns
    last = gaps[-1] - outside - execution.own_ns
    return last - (2 * median(gaps[1:-1]) if len(gaps) > 2 else gaps[0])
