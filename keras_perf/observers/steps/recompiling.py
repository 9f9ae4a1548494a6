"""Recognises executions in which XLA compiled, where nothing says so."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from statistics import median

from keras_perf.records.execution import Execution, Kind

MANY_TIMES = 8.0
"""An execution that takes so many times as long per step as fast ones did more than compute."""

WINDOW = 128
ENOUGH = 8


class RecompileGuess:
    """Finds steady executions that compute for many times as long as the fastest tenth.

    XLA compiles anew for every shape, without a new trace, and no public counter tells. A
    compilation takes hundreds of milliseconds where a step takes few. For train functions that
    XLA compiles, on data whose shapes can differ. What it cannot see: compilations where nearly
    every step is one; they are what is usual then.
    """

    def __init__(self) -> None:
        self._newest: deque[float] = deque(maxlen=WINDOW)
        self._waits: deque[int] = deque(maxlen=WINDOW)

    def saw(self, execution: Execution) -> None:
        """One of the warm-up: it is not judged, but tells how fast a step can be."""
        self._newest.append(execution.inside_ns / execution.steps)

    def excesses(self, executions: Iterable[Execution], waits: Mapping[int, int]) -> dict[int, int]:
        """First step → nanoseconds spent on compiling.

        Arguments:
            executions: in their order.
            waits: first step → input wait. Where it is not known it is taken to be the usual one;
                as long as none is known nothing is found.
        """
        found: dict[int, int] = {}
        self._waits.extend(waits.values())
        if not self._waits:
            return found
        usual = round(median(self._waits))
        for execution in executions:
            if execution.kind is not Kind.STEADY:
                continue
            computing = execution.inside_ns - waits.get(execution.first_step, usual)
            self._newest.append(computing / execution.steps)
            fast = sorted(self._newest)[len(self._newest) // 10] * execution.steps
            if len(self._newest) >= ENOUGH and computing > MANY_TIMES * fast:
                found[execution.first_step] = round(computing - fast)
        return found


def gaps_around(fetches: int, since: int, gaps_us: Sequence[int]) -> Sequence[int]:
    """tf.data's times between two `GetNext`, from an execution's first to the one after its last.

    Arguments:
        fetches: how many `GetNext` the execution held.
        since: how many there were after it.
        gaps_us: tf.data's gap times, newest last; each ends with a `GetNext`.

    Returns:
        One more than `fetches`; nothing where they are forgotten, or none came after it yet.
    """
    first = len(gaps_us) - since - fetches
    return gaps_us[first : first + fetches + 1] if since > 0 and first >= 0 else ()


def was_waiting(excess_ns: int, gaps_us: Sequence[int]) -> bool:
    """An execution took so much longer, and none of the times outside of `GetNext` was as long.

    Compiling takes place outside of it. False where those times are not known.
    """
    return bool(gaps_us) and 1000 * max(gaps_us) < excess_ns / 2
