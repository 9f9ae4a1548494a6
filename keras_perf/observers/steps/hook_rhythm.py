"""How the time of each hook is spread over its calls."""

from __future__ import annotations

from collections.abc import Iterable

from keras_perf.records.run.times.hook_calls import HELD_MS, STOPPED_MS, HookCalls

NEARLY_ALL = 0.9
"""Of a hook's time."""

RARELY = 3
"""A call that takes far longer than the usual one may have waited for a core, if it is one of so
many or fewer."""

FAR_LONGER = 4.0
"""Times the usual call."""

Classes = dict[int, list[int]]
"""Bits of a call's nanoseconds → calls, and the nanoseconds that they took."""


class HookTimes:
    """Times of hooks by owner, in classes of which each holds times up to twice as long.

    A hook that works in every call and one that works in every twentieth have the same mean; what
    tells them apart is in how few of its calls the time lies. Rare long calls of a hook that
    works in each are not taken for its rhythm: the others hold much of its time, too.
    """

    def __init__(self) -> None:
        self._times: dict[str, Classes] = {}

    def add(self, owners: Iterable[tuple[str, int]]) -> None:
        """What hooks took, in nanoseconds, each time that they were called."""
        for owner, spent in owners:
            classes = self._times.setdefault(owner, {})
            of_class = classes.setdefault(spent.bit_length(), [0, 0])
            of_class[0] += 1
            of_class[1] += spent

    def facts(self) -> dict[str, HookCalls]:
        """By owner; hooks that took no time are left out."""
        return {
            owner: HookCalls(_calls(classes), working, *_may_have_waited(classes))
            for owner, classes in self._times.items()
            if (working := _working(classes))
        }


def _calls(classes: Classes) -> int:
    return sum(calls for calls, _ in classes.values())


def _may_have_waited(classes: Classes) -> tuple[float, float]:
    """Shares of all time by which rare calls of 10 and of 100 ms at most exceed the usual one."""
    most, usual_ns = _calls(classes) / RARELY, _usual_ns(classes)
    seen, held_ns, stopped_ns = 0, 0.0, 0.0
    for _, (calls, spent) in sorted(classes.items(), reverse=True):
        seen += calls
        if seen > most or spent < FAR_LONGER * calls * usual_ns:
            break
        beyond_ns = spent - calls * usual_ns
        held_ns += beyond_ns if spent <= 1e6 * calls * HELD_MS else 0.0
        stopped_ns += beyond_ns if spent <= 1e6 * calls * STOPPED_MS else 0.0
    whole_ns = sum(spent for _, spent in classes.values())
    return held_ns / whole_ns, stopped_ns / whole_ns


def _usual_ns(classes: Classes) -> float:
    """The mean of the class in which the median call lies."""
    left = _calls(classes) / 2
    for _, (calls, spent) in sorted(classes.items()):
        left -= calls
        if left <= 0:
            return spent / calls
    raise ValueError("no call at all")


def _working(classes: Classes) -> float:
    """Calls that hold nearly all of the time, the longest first, as if they held all of it."""
    left = NEARLY_ALL * sum(spent for _, spent in classes.values())
    working = 0.0
    for _, (calls, spent) in sorted(classes.items(), reverse=True):
        if left <= 0 or not spent:
            break
        share = min(1.0, left / spent)
        working += share * calls
        left -= share * spent
    return working / NEARLY_ALL
