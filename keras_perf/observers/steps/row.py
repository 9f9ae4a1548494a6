"""One execution while its times come in."""

from __future__ import annotations

from collections.abc import Iterator

from keras_perf.records.execution import Execution, Kind
from keras_perf.records.owners import COLLECTOR


class Row:
    """An execution while its times come in."""

    __slots__ = (
        "begin",
        "end",
        "hooks",
        "kind",
        "own",
        "pauses",
        "ready",
        "returned",
        "step",
        "steps",
        "traced",
        "waited",
    )

    def __init__(self, begin: int, step: int, steps: int, kind: Kind) -> None:
        self.begin, self.step, self.steps, self.kind = begin, step, steps, kind
        self.returned = self.ready = self.end = self.own = 0
        self.waited: int | None = None
        self.traced: int | None = None
        # Most executions have neither, and a list for each is work for Python's collector.
        self.hooks: list[tuple[str, int, int]] | tuple[()] = ()
        self.pauses: list[tuple[int, int]] | tuple[()] = ()

    def execution(self) -> Execution:
        """The record, once all times are there."""
        begin, returned, end = self.begin, self.returned, self.end
        ready = self.ready or returned
        collected = self._paused(begin, end) if self.pauses else 0
        owners: tuple[tuple[str, int], ...] = ()
        if self.hooks:
            owners = tuple(self._owners() if collected else [(o, e - b) for o, b, e in self.hooks])
        waited = self.waited
        kind, step, steps = self.kind, self.step, self.steps
        return Execution(
            step,
            steps,
            kind,
            begin,
            returned,
            ready,
            end,
            owners,
            collected,
            None,
            waited,
            self.own,
            self.traced,
        )

    def _owners(self) -> Iterator[tuple[str, int]]:
        """The collector's pauses in a hook are not the hook's own time."""
        for owner, begin, end in self.hooks:
            if pause := self._paused(begin, end):
                yield COLLECTOR, pause
            yield owner, end - begin - pause

    def _paused(self, begin: int, end: int) -> int:
        """Time from `begin` to `end` in which Python's garbage collector ran."""
        return sum(max(0, min(e, end) - max(b, begin)) for b, e in self.pauses)
