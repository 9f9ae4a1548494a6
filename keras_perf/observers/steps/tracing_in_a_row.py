"""How long executions traced that follow on each other."""

from __future__ import annotations

from collections.abc import Callable


class TracingInARow:
    """Tells it of an execution right behind another that traced.

    Of others it is told by how long usual ones take. What a hook between the two traced lies in it.

    Arguments:
        traced_s: seconds that were spent on tracing so far; None where that is not told.
    """

    def __init__(self, traced_s: Callable[[], float | None]) -> None:
        self._traced_s = traced_s
        self._before: tuple[int, float | None] = (-1, None)

    def traced(self, first_step: int, steps: int) -> int | None:
        """Nanoseconds for which an execution has traced that just ran; None where unknown.

        Arguments:
            first_step: optimizer steps before it.
            steps: how many it ran.
        """
        now_s = self._traced_s()
        (next_step, before_s), self._before = self._before, (first_step + steps, now_s)
        if next_step != first_step or now_s is None or before_s is None:
            return None
        return round(1e9 * (now_s - before_s))
