"""Which of tf.data's gap times belong to which execution.

For each `GetNext` tf.data records the time since the one before it ended: everything a step does
but wait for input.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
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


def waits_of(
    executions: Sequence[Execution],
    per_step: float,
    gaps_us: Sequence[int],
    pending: int,
    next_begin_ns: int | None,
) -> dict[int, int]:
    """First step → input wait in nanoseconds, as far as tf.data remembers.

    Arguments:
        executions: consecutive ones on one iterator.
        per_step: how often a step asks the iterator for an element.
        gaps_us: the iterator's gap times in microseconds, newest last.
        pending: how many of the newest came after the last execution's last `GetNext`.
        next_begin_ns: when the execution began that follows and has run, whose `GetNext` are
            those that are pending; None where none follows, and the last one's wait is not known.
    """
    begins = [execution.begin_ns for execution in executions]
    fetches = [fetches_of(execution.steps, per_step) for execution in executions]
    if next_begin_ns is not None:
        begins.append(next_begin_ns)
        fetches.append(pending)
        pending = 0
    gaps = gaps_of_each(fetches, gaps_us, pending)
    cycles = [after - begin for begin, after in pairwise(begins)]
    known = zip(reversed(executions[: len(cycles)]), reversed(cycles), reversed(gaps), strict=False)
    return {e.first_step: max(0, cycle - sum(own)) for e, cycle, own in known}
