"""Executions whose calls return before the device is done, and that the host runs ahead of."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterable

from keras_perf.observers.steps.row import Row
from keras_perf.observers.steps.timeline import Timeline
from keras_perf.records.execution import Execution, Kind

Span = tuple[int, int]

MOST_AHEAD = 256
"""No host runs further ahead of its device: of an execution so long ago nobody tells any more."""


class _Row(Row):
    """With what the call itself tells."""

    __slots__ = ("compiles", "fetches")

    def __init__(self, begin: int, step: int, steps: int, kind: Kind) -> None:
        super().__init__(begin, step, steps, kind)
        self.fetches: list[Span] = []
        self.compiles: list[Span] = []


class OverlappingTimeline(Timeline):
    """Cuts a training's time by what it waits for: at each moment one thing.

    The device is done with an execution when its logs can be read, which another thread may tell
    much later than its call has returned. From then on training waits for the host: for the next
    batch, for callbacks, for the rest of the loop, until the next execution has been handed over.
    What the host did while the device was still at work delayed nothing, and is no part of a
    step. So an execution begins here when the device is done with the one before, if it was called
    earlier; the parts of all of them add up to the time that has passed.

    What it cannot see: of an execution that fetches several batches, whether the device waited for
    one after the first; so it says nothing of the input wait of such.

    All but `ready` is called in the thread that trains; what other threads tell of hooks and of
    compiling is theirs.

    Attributes:
        compilations: what was compiled in calls of the train function.
        compiled_in_fetches_ns: what compiling took while batches were made, after the warm-up.
        called_late_ns: by `Class.hook`, what it took in threads that do not train.
        calls_ns: what calls of steady executions took while the device had nothing else to do,
            less the wait for batches; the device may have begun meanwhile.
        called_steps: their steps.
        fetches_once: all batches of an execution come in one fetch.
        fetching: a batch is being made in the thread that trains; what is compiled is for that.
    """

    _new_row = _Row

    def __init__(self) -> None:
        super().__init__()
        self._thread = threading.get_ident()
        self._batches = self._at_once = 0
        self._awaited: dict[int, Row] = {}
        self._done = self.compilations = self.compiled_in_fetches_ns = 0
        self._compiled_outside: list[Span] = []
        self.called_late_ns: Counter[str] = Counter()
        self.calls_ns = self.called_steps = 0
        self._counting = threading.Lock()
        self.fetches_once = self.fetching = False

    @property
    def newest(self) -> Row | None:
        """The execution that was called last; None where there is none."""
        return self._row

    def begin(self, entry: int, now: int, step: int, steps: int, kind: Kind) -> None:
        """As `Timeline.begin`; its end is told by the number of its last batch in the epoch."""
        super().begin(entry, now, step, steps, kind)
        self._compiled_outside.clear()
        self._thread, self.fetching = threading.get_ident(), False
        if not self._batches:
            self._awaited.clear()
        self._batches += steps
        self._at_once = steps
        assert self._row is not None
        self._awaited[self._batches - 1] = self._row

    def fetched(self, begin: int, end: int) -> None:
        """The call waited for its batch."""
        self.fetching = False
        if isinstance(self._row, _Row):
            self._row.fetches.append((begin, end))

    def returned(self, now: int, own_ns: int = 0) -> None:
        """As `Timeline.returned`; a fetch that found no batch, of several in a call, is over."""
        self.fetching = False
        super().returned(now, own_ns)

    def compiled(self, begin: int, end: int, *, ends: bool = True) -> None:
        """Something was compiled; it counts in the train function's call and between epochs.

        Within a fetch it is a part of that: code that makes batches may use JAX's operations.

        Arguments:
            begin: when that began.
            end: when it was over.
            ends: the compilation is over with it; what came before it is counted with it.
        """
        row = self._row
        if threading.get_ident() != self._thread:
            return
        if self.fetching:
            steady = row is not None and row.kind is not Kind.WARMUP
            self.compiled_in_fetches_ns += (end - begin) * steady
            return
        if not isinstance(row, _Row) or row.returned:
            self._compiled_outside.append((begin, end))
            return
        row.compiles.append((begin, end))
        self.compilations += ends

    def ready(self, now: int, batch: int | None = None) -> None:
        """The logs of the execution that ended with `batch` have been read, in any thread.

        Keras up to 3.10 tells the first batch of an execution in place of its last.
        """
        row = self._row
        if batch is not None:
            last = batch if batch in self._awaited else batch + self._at_once - 1
            row = self._awaited.pop(last, None)
        if row is not None and not row.ready:
            row.ready = now

    def host(self, owner: str, begin: int, end: int) -> None:
        """A callback ran; in another thread than training's it took none of a step's time."""
        if threading.get_ident() == self._thread:
            super().host(owner, begin, end)
            return
        with self._counting:
            self.called_late_ns[owner] += end - begin

    def discard(self) -> None:
        """The execution raised, or found no data: it never was."""
        self.fetching = False
        if self._row is not None:
            self._awaited.pop(self._batches - 1, None)
        super().discard()

    def flush(self, missing_steps: int = 0, *, may_have_compiled: bool = False) -> None:
        """The epoch's last execution is over; the device may still be at work."""
        super().flush(missing_steps, may_have_compiled=may_have_compiled)
        self._batches = 0

    def outside(self, owner: str, begin: int | None, end: int) -> None:
        """As `Timeline.outside`, from when the device was done with the steps."""
        if self._gap is not None:
            self._gap.begin = min(end, max(self._gap.begin, self._done_by_now()))
            since = self._gap.begin if begin is None else begin
            # What was compiled meanwhile was so for the owner.
            spans = self._compiled_outside
            self._compiled_outside = [span for span in spans if span[1] <= since]
        super().outside(owner, begin, end)

    def _close_gap(self, now: int, *, followed: bool) -> None:
        gap = self._gap
        super()._close_gap(now, followed=followed)
        if gap is not None:
            spans = _merged(_within(self._compiled_outside, gap.begin, now))
            self._gaps[-1] = self._gaps[-1]._replace(compile_ns=_lasting(spans))

    def _done_by_now(self) -> int:
        return max((row.ready for row in self._rows), default=self._done)

    def take(self) -> list[Execution]:
        """The executions that have ended since the last time and that the device is done with."""
        rows = self._rows
        # Once training has ended, what is not known to be done never will be.
        known = len(rows) if self._ended else max(0, len(rows) - MOST_AHEAD)
        for place in range(known, len(rows)):
            if rows[place].ready:
                # A device does one after the other: what came before is done too.
                known = place + 1
        self._rows = rows[known:]
        latest = 0
        for row in reversed(rows[:known]):
            # Who reads the logs may come to know of it only later; the next one is known by then.
            latest = row.ready = min(filter(None, (row.ready, latest)), default=0)
        return [self._execution(row) for row in rows[:known]]

    def _execution(self, row: Row) -> Execution:
        """Each moment is counted once: what the device's work before covers is left out."""
        found = row.execution()
        begin = max(found.begin_ns, self._done)
        ready = self._done = max(begin, found.ready_ns)
        end = max(found.end_ns, ready)
        returned = min(max(found.returned_ns, begin), ready)
        assert isinstance(row, _Row)
        hooks = [(owner, _lasting(_within([(b, e)], ready, end))) for owner, b, e in row.hooks]
        compiled = _lasting(_merged(_within(row.compiles, begin, ready))) if row.compiles else 0
        waited = _lasting(_within(row.fetches, begin, ready))
        if found.kind is Kind.STEADY:
            self.calls_ns += returned - begin - _lasting(_within(row.fetches, begin, returned))
            self.called_steps += found.steps
        return Execution(
            found.first_step,
            found.steps,
            found.kind,
            begin,
            returned,
            ready,
            end,
            tuple(hook for hook in hooks if hook[1]),
            found.collector_ns,
            compiled or None,
            waited if self._at_once == 1 or self.fetches_once else None,
        )


def _within(spans: Iterable[Span], begin: int, end: int) -> list[Span]:
    """The parts of spans from `begin` to `end`."""
    return [(max(b, begin), min(e, end)) for b, e in spans if min(e, end) > max(b, begin)]


def _lasting(spans: Iterable[Span]) -> int:
    return sum([end - begin for begin, end in spans])


def _merged(spans: Iterable[Span]) -> list[Span]:
    """Spans of which none overlaps another: what is compiled within what is traced counts once."""
    found: list[Span] = []
    for begin, end in sorted(spans):
        if found and begin <= found[-1][1]:
            found[-1] = found[-1][0], max(end, found[-1][1])
        else:
            found.append((begin, end))
    return found
