"""What steps compute for, execution by execution."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from keras_perf.records.execution import Execution

NOTICED_TOGETHER = 32
"""Of so many executions that the host runs ahead of the mean is what one computes for: another
thread notices that the device is done with one, now and then late and with the next one too."""


def computing_ms(executions: Sequence[Execution], waits: Mapping[int, int]) -> Iterator[float]:
    """What a step of each computes for, without its input wait; milliseconds.

    Arguments:
        executions: in their order.
        waits: first step → input wait in nanoseconds.
    """
    together: list[Execution] = []
    for place, execution in enumerate(executions):
        runs_ahead = together and execution.begin_ns == together[-1].ready_ns
        # What is left over is no group of its own.
        full = len(together) >= NOTICED_TOGETHER <= len(executions) - place
        if together and (full or not runs_ahead):
            yield from _mean_ms(together, waits)
            together = []
        together.append(execution)
    yield from _mean_ms(together, waits)


def _mean_ms(executions: Sequence[Execution], waits: Mapping[int, int]) -> list[float]:
    computed = sum(max(0, e.ready_ns - e.begin_ns - waits[e.first_step]) for e in executions)
    steps = sum(e.steps for e in executions)
    return [computed / max(1, steps) / 1e6] * len(executions)
