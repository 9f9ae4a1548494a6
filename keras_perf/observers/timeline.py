"""Times of a training loop in, executions out."""

from __future__ import annotations

from keras_perf.records.execution import Execution, Kind


class _Row:
    """An execution while its times come in."""

    __slots__ = ("begin", "end", "kind", "owners", "ready", "returned", "step", "steps")

    def __init__(self, begin: int, step: int, steps: int, kind: Kind) -> None:
        self.begin, self.step, self.steps, self.kind = begin, step, steps, kind
        self.returned = self.ready = self.end = 0
        self.owners: list[tuple[str, int]] = []

    def execution(self) -> Execution:
        ready = self.ready or self.returned
        owners = tuple(self.owners)
        times = self.begin, self.returned, ready, self.end
        return Execution(self.step, self.steps, self.kind, *times, owners)


class Timeline:
    """Builds `Execution` records from times in nanoseconds.

    Whoever drives the loop (a Keras callback, a custom loop) calls, for each execution,
    `begin`, `returned`, `ready` and any number of `host`; and `flush` when an epoch's loop has
    ended. Records are made in `take`, many at once: between two executions every microsecond is
    the training's.
    """

    def __init__(self) -> None:
        self._row: _Row | None = None
        self._rows: list[_Row] = []
        self._last = 0

    def begin(self, entry: int, now: int, step: int, steps: int, kind: Kind) -> None:
        """The train function is about to be called.

        Arguments:
            entry: when the loop came to this execution; the one before ends there.
            now: when the call begins; what lies between is neither's.
            step: optimizer steps before it.
            steps: how many it will run.
            kind: what it is good for.
        """
        row = self._row
        if row is not None:
            row.end = entry
            self._rows.append(row)
        self._row = _Row(now, step, steps, kind)

    def returned(self, now: int) -> None:
        """The train function has returned."""
        if self._row is not None:
            self._row.returned = self._last = now

    def retag(self, kind: Kind) -> None:
        """What the execution is good for turned out only while it ran."""
        if self._row is not None:
            self._row.kind = kind

    def ready(self, now: int) -> None:
        """Its results have been read: the device is done."""
        row = self._row
        if row is not None and not row.ready:
            row.ready = self._last = now

    def host(self, owner: str, begin: int, end: int) -> None:
        """A callback ran from `begin` to `end`."""
        if self._row is not None:
            self._row.owners.append((owner, end - begin))
            self._last = end

    def discard(self) -> None:
        """The execution raised, or found no data: it never was."""
        self._row = None

    def flush(self, missing_steps: int = 0, *, may_have_compiled: bool = False) -> None:
        """The epoch's loop has ended, with its last callback.

        Arguments:
            missing_steps: how many fewer steps the last execution ran.
            may_have_compiled: the last execution, if steady, may have compiled for its shape.
        """
        if self._row is not None:
            self._row.end = self._last
            self._rows.append(self._row)
            self._row = None
        if self._rows:
            last = self._rows[-1]
            last.steps -= missing_steps
            if may_have_compiled and last.kind is Kind.STEADY:
                last.kind = Kind.TRACED

    def take(self) -> list[Execution]:
        """The executions that have ended since the last time, oldest first."""
        rows, self._rows = self._rows, []
        return [row.execution() for row in rows]
