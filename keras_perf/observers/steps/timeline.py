"""Times of a training in, executions and epoch gaps out."""

from __future__ import annotations

from keras_perf.observers.steps.outside.open_gap import OpenGap
from keras_perf.observers.steps.row import Row
from keras_perf.records.epoch_gap import VALIDATION, EpochGap
from keras_perf.records.execution import Execution, Kind
from keras_perf.records.run.inference import Inference


class Timeline:
    """Builds `Execution` records from times in nanoseconds.

    Whoever drives the training (`fit`, a custom loop) calls, for each execution, `begin`,
    `returned`, `ready` and any number of `host`; `flush` when an epoch's last execution is over,
    any number of `outside` until the next `begin`, and `close` at the end. Records are made in
    `take`, many at once: between two executions every microsecond is the training's.
    """

    _new_row: type[Row] = Row

    def __init__(self) -> None:
        self._row: Row | None = None
        self._made_ready: Row | None = None
        self._rows: list[Row] = []
        self._last = 0
        self._gap: OpenGap | None = None
        self._gaps: list[EpochGap] = []
        self._ended = self._validates = False

    @property
    def begun_ns(self) -> int | None:
        """When the execution began that is not complete; None where there is none."""
        return None if self._row is None else self._row.begin

    @property
    def asked_ns(self) -> int | None:
        """When it began to ask for its batch; None where TensorFlow had work to do before."""
        row = self._row
        late = row is None or row is self._made_ready or row.kind is Kind.TRACED
        return None if late else self.begun_ns

    def made_ready(self) -> None:
        """The execution that runs is the first of its function, which is made ready in it."""
        self._made_ready = self._row

    def begin(self, entry: int, now: int, step: int, steps: int, kind: Kind) -> None:
        """The train function is about to be called.

        Arguments:
            entry: when the training came to this execution; the one before ends there.
            now: when the call begins; what lies between is neither's.
            step: optimizer steps before it.
            steps: how many it will run.
            kind: what it is good for.
        """
        row = self._row
        if row is not None:
            row.end = entry
            self._rows.append(row)
        else:
            self._without_a_cut_off_validation()
            self._close_gap(entry, followed=True)
        self._row = self._new_row(now, step, steps, kind)

    def fetched(self, begin: int, end: int) -> None:
        """The execution waited for a batch, in whichever thread.

        One of several steps asks for the next batch while it computes: it is not known whether it
        waited.
        """
        row = self._row
        if row is not None and row.steps == 1:
            row.waited = (row.waited or 0) + max(0, end - max(begin, row.begin))

    def returned(self, now: int, own_ns: int = 0) -> None:
        """The train function has returned.

        Arguments:
            now: when.
            own_ns: for how long the thread that called it was at work meanwhile, or had no core.
        """
        if self._row is not None:
            self._row.returned = self._last = now
            self._row.own = own_ns

    def retag(self, kind: Kind, traced_ns: int | None = None) -> None:
        """What the execution is good for turned out only while it ran.

        Arguments:
            kind: what that is.
            traced_ns: for how long at least it traced, where that is known.
        """
        if self._row is not None:
            self._row.kind, self._row.traced = kind, traced_ns

    def ready(self, now: int, batch: int | None = None) -> None:
        """Its results have been read: the device is done.

        Arguments:
            now: when.
            batch: the last one of its epoch that the execution ran.
        """
        row = self._row
        if row is not None and not row.ready:
            row.ready = self._last = now

    def host(self, owner: str, begin: int, end: int) -> None:
        """A callback ran from `begin` to `end`."""
        row = self._row
        if row is not None:
            if row.hooks:
                row.hooks.append((owner, begin, end))
            else:
                row.hooks = [(owner, begin, end)]
            self._last = end
        elif self._gap is not None and self._gap.first_hook is None:
            self._gap.first_hook = begin

    def collected(self, begin: int, end: int) -> None:
        """Python's garbage collector ran from `begin` to `end`, whatever else did."""
        row = self._row
        if row is not None:
            if row.pauses:
                row.pauses.append((begin, end))
            else:
                row.pauses = [(begin, end)]

    def outside(self, owner: str, begin: int | None, end: int) -> None:
        """Between two epochs, `owner` had the time from `begin`, or from the gap's, to `end`."""
        if owner == VALIDATION:
            self._validates = False
        if self._gap is not None:
            self._gap.outside(owner, begin, end)

    def validates(self, hooked: int | None = None) -> None:
        """The time is validation's, until `outside` says how long.

        Arguments:
            hooked: when its first hook began; None where it has no hooks.
        """
        self._validates = True
        if self._gap is not None:
            self._gap.validation_hook = hooked

    def validated(self, found: Inference | None) -> None:
        """What is known of the validation, which is over; None where nothing is."""
        if self._gap is not None and found is not None:
            self._gap.validated_ns = round(1e9 * found.executing_s)

    def observed_ns(self, spent: int) -> None:
        """So much of the time since the epoch's last execution is the observer's, and nobody's."""
        if self._gap is not None:
            self._gap.begin += spent
            self._gap.observed_ns += spent

    def keep_input(self) -> None:
        """The executions that follow read on from the iterator of those before."""
        if self._gap is not None:
            self._gap.renewed = False

    def discard(self) -> None:
        """The execution raised, or found no data: it never was."""
        self._row = None

    def flush(self, missing_steps: int = 0, *, may_have_compiled: bool = False) -> None:
        """The epoch's last execution is over, with its last callback.

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
                last.kind = Kind.RECOMPILED
            if not self._ended:
                self._gap = self._gap or OpenGap(last.step + last.steps, last.end)

    def close(self, now: int) -> None:
        """No epoch follows; an epoch gap, if there is one, ends, and none begins any more.

        A gap whose validation was cut off is no gap: how long it would have been nobody knows.
        """
        self._without_a_cut_off_validation()
        self._close_gap(now, followed=False)
        self._ended = True

    def _without_a_cut_off_validation(self) -> None:
        if self._validates:
            self._gap, self._validates = None, False

    def _close_gap(self, now: int, *, followed: bool) -> None:
        gap, self._gap = self._gap, None
        if gap is not None:
            self._gaps.append(gap.ended(now, followed=followed))

    def take(self) -> list[Execution]:
        """The executions that have ended since the last time, oldest first."""
        rows, self._rows = self._rows, []
        return [row.execution() for row in rows]

    def take_epoch_gaps(self) -> list[EpochGap]:
        """The epoch gaps that have ended since the last time, oldest first."""
        gaps, self._gaps = self._gaps, []
        return gaps
