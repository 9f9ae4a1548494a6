"""Times of a training loop in, executions out."""

from __future__ import annotations

from collections.abc import Callable

from keras_perf.records.execution import Execution, Kind


class Timeline:
    """Builds `Execution` records from times in nanoseconds.

    Whoever drives the loop (a Keras callback, a custom loop) calls, for each execution,
    `begin`, `returned`, `ready`, any number of `host`, and `end`. A record is emitted when the
    next execution has returned, or at `flush`, because only then is it known how many steps the
    last execution of an epoch really ran.
    """

    def __init__(self, emit: Callable[[Execution], None]) -> None:
        self._emit = emit
        self._finished: Execution | None = None
        self._open = False
        self._step = 0
        self._steps = 1
        self._kind = Kind.STEADY
        self._begin = self._returned = self._ready = self._last = 0
        self._owners: list[tuple[str, int]] = []

    def begin(self, now: int, step: int, steps: int, kind: Kind) -> None:
        """The train function is about to be called."""
        self._step, self._steps, self._kind = step, steps, kind
        self._begin, self._ready = now, 0
        self._open = True

    def returned(self, now: int) -> None:
        """The train function has returned."""
        self._returned = self._last = now
        if self._finished is not None:
            self._emit(self._finished)
            self._finished = None

    def retag(self, kind: Kind) -> None:
        """What the open execution is good for turned out only while it ran."""
        self._kind = kind

    def ready(self, now: int) -> None:
        """Its results have been read: the device is done."""
        if self._open and not self._ready:
            self._ready = self._last = now

    def host(self, owner: str, begin: int, end: int) -> None:
        """A callback ran from `begin` to `end`."""
        if self._open:
            self._owners.append((owner, end - begin))
            self._last = end

    def end(self, now: int) -> None:
        """The next execution follows at once."""
        if self._open:
            self._finish(now)

    def discard(self) -> None:
        """The open execution raised, or found no data: it never was."""
        self._open = False
        self._owners.clear()

    def flush(self, missing_steps: int = 0, *, may_have_compiled: bool = False) -> None:
        """The epoch's loop has ended.

        Arguments:
            missing_steps: how many fewer steps the last execution ran.
            may_have_compiled: the last execution, if steady, may have compiled for its shape.
        """
        if self._open:
            self._finish(self._last)
        if self._finished is None:
            return
        record, self._finished = self._finished, None
        if may_have_compiled and record.kind is Kind.STEADY:
            record = record._replace(kind=Kind.TRACED)
        self._emit(record._replace(steps=record.steps - missing_steps))

    def _finish(self, now: int) -> None:
        ready = self._ready or self._returned
        self._finished = Execution(
            self._step,
            self._steps,
            self._kind,
            self._begin,
            self._returned,
            ready,
            now,
            tuple(self._owners),
        )
        self._owners.clear()
        self._open = False
