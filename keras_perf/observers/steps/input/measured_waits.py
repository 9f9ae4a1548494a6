"""How long executions waited, timed or from the gap times of a stretch; what dispatch took."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from statistics import median
from typing import NamedTuple

from keras_perf.observers.steps.input.gap_times import (
    computed_ns,
    fetched_ns,
    fetches_of,
    gaps_of_each,
    step_of,
)
from keras_perf.records.execution import Execution

LONG_EXECUTION = 16
"""Fewer gaps inside an execution than this say too little about it."""

LITTLE_WAIT = 0.25
"""Of an execution; where its `GetNext` take more, batches come late, and gaps are no steps."""

LONG_STEP_NS = 20e6
"""Of longer steps an execution's dispatch, about a millisecond, is within their differences."""


class Measured(NamedTuple):
    """Of the executions whose gaps are remembered."""

    wait_share: float
    """Input wait, of the time inside the train function."""
    waits: dict[int, int]
    """First step → input wait in nanoseconds, as far as single executions tell it."""
    dispatch_ns: float | None = None
    """Of an execution; None where the gaps do not tell it."""


def timed_waits(executions: Collection[Execution]) -> tuple[dict[int, int], float | None]:
    """Of those that were timed while they waited: first step → nanoseconds, and all of it.

    The latter is a share of the time inside; None if those that were timed are not most of it.
    """
    known = [e for e in executions if e.input_wait_ns is not None]
    waits = {e.first_step: e.input_wait_ns or 0 for e in known}
    inside, whole = (sum(map(training_ns, each)) for each in (known, executions))
    told = bool(known) and 2 * inside >= whole
    return waits, min(1.0, sum(waits.values()) / max(1, inside)) if told else None


def measured_waits(
    executions: Sequence[Execution],
    per_step: float,
    gaps: Sequence[int],
    pending: int,
    next_begin_ns: int | None = None,
) -> Measured | None:
    """Input wait and dispatch; None where the gaps tell nothing.

    Arguments:
        executions: consecutive steady ones on one iterator.
        per_step: how often a step asks the iterator for an element.
        gaps: the iterator's gap times in microseconds, newest last.
        pending: how many of the newest came after the last execution's last `GetNext`.
        next_begin_ns: when the execution began that follows and has run, whose `GetNext` are
            those that are pending; None where none follows, and the last one is not measured.
    """
    if not executions:
        return None
    fetches = [fetches_of(e.steps, per_step) for e in executions]
    ends = [e.begin_ns for e in executions[1:]]
    if next_begin_ns is None:
        gaps_of_executions = gaps_of_each(fetches, gaps, pending)
    else:
        gaps_of_executions = gaps_of_each([*fetches, pending], gaps, 0)
        ends.append(next_begin_ns)
    if not gaps_of_executions:
        last = executions[-1]
        share = _share_of_long_execution(last, fetches_of(last.steps, per_step), gaps, pending)
        return None if share is None else Measured(share, {})
    number = len(gaps_of_executions)
    measured = executions[: len(ends)][-number:]
    waited, waits, dispatches = 0, {}, []
    told_by = list(zip(measured, gaps_of_executions, ends[-number:], strict=True))
    hidden = _hidden_ns(told_by)
    for execution, own, end_ns in told_by:
        wait = fetched_ns(execution, own, end_ns)
        if hidden:
            wait = _less_hidden_ns(wait, len(own), hidden)
        waited += wait
        waits[execution.first_step] = max(0, wait)
        # A single gap holds a step and all around it.
        dispatch = _dispatch_ns(execution, own, end_ns) if len(own) > 1 else None
        if dispatch is not None:
            dispatches.append(dispatch)
    inside = sum(training_ns(execution) for execution in measured)
    share = min(1.0, max(0.0, waited / max(1, inside)))
    told = 2 * len(dispatches) > len(gaps_of_executions)
    return Measured(share, waits, max(0.0, median(dispatches)) if told else None)


def _hidden_ns(told_by: Sequence[tuple[Execution, Sequence[int], int]]) -> float:
    """How long a step computes while a `GetNext` takes longer; 0 where none overlap.

    Of all of a stretch: by a single one, what wakes late counts for each of its steps.
    """
    several = (each for each in told_by if each[0].steps > 1)
    told = [found for each in several if (found := computed_ns(*each)) is not None]
    return max(0.0, median(told)) if told else 0.0


def _less_hidden_ns(fetched: int, fetches: int, hidden: float) -> int:
    """How long an execution waited: for all of the first `GetNext`, and what no step hides."""
    each = max(0.0, fetched / fetches)
    return round(fetched - (fetches - 1) * min(each, hidden))


def _dispatch_ns(execution: Execution, gaps: Sequence[int], next_begin_ns: int) -> float | None:
    """What its gaps exceed its steps by, less the host's own time; None where they do not tell."""
    cycle = next_begin_ns - execution.begin_ns
    if execution.returned_ns <= execution.begin_ns or cycle - sum(gaps) > LITTLE_WAIT * cycle:
        return None
    outside = next_begin_ns - execution.returned_ns
    step = step_of(gaps, outside)
    if step is None or step > LONG_STEP_NS:
        return None
    return sum(gaps) - len(gaps) * step - outside


def _share_of_long_execution(
    execution: Execution, fetches: int, gaps: Sequence[int], pending: int
) -> float | None:
    """Input wait where an execution is longer than tf.data's memory of gaps.

    The newest gaps are steps inside one execution; what its time exceeds them by, it waited
    (or spent on entering and leaving, which is little per step of a long execution).
    """
    if pending > LONG_EXECUTION:
        inner = gaps[-(pending - 1) :]
    else:
        inner = gaps[: len(gaps) - pending][-(fetches - 1) :]
    if fetches <= LONG_EXECUTION or len(inner) < LONG_EXECUTION:
        return None
    in_graph = 1000 * sum(inner) / len(inner) * fetches
    return max(0.0, 1 - in_graph / execution.inside_ns)


def training_ns(execution: Execution) -> int:
    """Time inside the train function in which XLA did not compile."""
    return execution.ready_ns - execution.begin_ns - (execution.compile_ns or 0)
