"""How the time of each hook is spread over its calls."""

from __future__ import annotations

from collections.abc import Iterable

from keras_perf.records.run.times.hook_calls import HookCalls

NEARLY_ALL = 0.9
"""Of a hook's time."""


class HookTimes:
    """Times of hooks by owner, in classes of which each holds times up to twice as long.

    A hook that works in every call and one that works in every twentieth have the same mean; what
    tells them apart is in how few of its calls the time lies. Rare long calls of a hook that
    works in each are not taken for its rhythm: the others hold much of its time, too.
    """

    def __init__(self) -> None:
        self._times: dict[str, dict[int, list[int]]] = {}

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
            owner: HookCalls(sum(calls for calls, _ in classes.values()), working)
            for owner, classes in self._times.items()
            if (working := _working(classes))
        }


def _working(classes: dict[int, list[int]]) -> float:
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
