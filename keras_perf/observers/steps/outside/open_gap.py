"""An epoch gap while its times come in."""

from __future__ import annotations

from keras_perf.records.epoch_gap import EpochGap

EPOCH_BEGIN = ".on_epoch_begin"
"""Owners whose name ends so are the last before Keras makes the epoch's iterator."""


class OpenGap:
    """From the end of an epoch's last execution on.

    Attributes:
        begin: when nothing of the execution was left to do, nor of what observes it.
        observed_ns: what that had taken.
        renewed: the executions that follow read from an iterator of their own.
        first_hook: when the first hook began that is called before the next execution.
        validated_ns: from a validation's first execution to its end.
        validation_hook: when a validation's first hook began.
    """

    __slots__ = (
        "_epoch_begins",
        "_owners",
        "_step",
        "begin",
        "first_hook",
        "observed_ns",
        "renewed",
        "validated_ns",
        "validation_hook",
    )

    def __init__(self, step: int, begin: int) -> None:
        self._step, self.begin, self.renewed = step, begin, True
        self._owners: list[tuple[str, int]] = []
        self._epoch_begins: int | None = None
        self.first_hook: int | None = None
        self.validation_hook: int | None = None
        self.validated_ns = self.observed_ns = 0

    def outside(self, owner: str, begin: int | None, end: int) -> None:
        """`owner` had the time from `begin`, or from this gap's, to `end`."""
        self._owners.append((owner, end - (self.begin if begin is None else begin)))
        self._epoch_begins = end if owner.endswith(EPOCH_BEGIN) else None

    def ended(self, now: int, *, followed: bool) -> EpochGap:
        """The record, now that an execution follows, or that none will."""
        return EpochGap(
            self._step,
            self.begin,
            now,
            tuple(self._owners),
            followed,
            self.renewed,
            iterator_ns=self._iterator_ns(now),
            validated_ns=self.validated_ns,
            unvalidated_ns=self._unvalidated_ns(),
            hooked_ns=0 if self.first_hook is None else now - self.first_hook,
            observed_ns=self.observed_ns,
        )

    def _unvalidated_ns(self) -> int:
        return 0 if self.validation_hook is None else self.validation_hook - self.begin

    def _iterator_ns(self, now: int) -> int | None:
        """From the epoch's begin to the first hook of its first batch, or to that itself."""
        if self._epoch_begins is None:
            return None
        return (now if self.first_hook is None else self.first_hook) - self._epoch_begins
