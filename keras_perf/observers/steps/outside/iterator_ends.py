"""Waits for the end of an iterator of tf.data, told by when they end.

A thread of the iterator's tunes the pipeline: when it is made, 10 ms later, and then after waits
each twice as long as the one before, of a minute at most. What ends the iterator wakes the thread,
but only afterwards sets the flag that it looks at; so it may sleep on until it would have tuned
again, and the thread that trains waits for it (`Model::OptimizeLoop` and
`CancellationManager::StartCancelWithStatus` of TensorFlow).
"""

from __future__ import annotations

from keras_perf.records.epoch_gap import VALIDATION, EpochGap

MS, S = 10**6, 10**9

FIRST_NS, LONGEST_NS = 10 * MS, 60 * S
"""The thread's waits."""

LEAST_NS = 20 * MS
"""What took less may be anything."""

NEAR_NS, NEAR_SHARE, NEAREST_NS = 100 * MS, 0.02, 5 * MS
"""A wait is one for the thread if it ends so near to a time of tuning; tuning takes time, too."""

MAKING_NS = 10 * MS
"""The thread begins while the iterator is made, so much before its first batch at most."""


class IteratorEnds:
    """Those between epochs.

    A validation's iterator ends behind its last hook; where `fit` has `validation_steps`, or Keras
    does not know the number of batches, as the next validation begins, before its first hook.

    What it cannot see: whether tf.data makes the batches, and tunes their making; the end of the
    first epoch's iterator, whose begin is not known, of one that lives for several epochs
    (`steps_per_epoch`), and of those that live on when `fit` returns; a wait beside which others
    spent the time, too.

    Attributes:
        epochs_ns: waited for iterators of epochs, one after the other; 0 where none was.
        validations_ns: for those of validations.
        late: of these, how many came as the next validation began.
    """

    def __init__(self) -> None:
        self.epochs_ns: list[int] = []
        self.validations_ns: list[int] = []
        self.late = 0
        self._since: int | None = None
        self._validating_since: int | None = None

    def add(self, gap: EpochGap) -> EpochGap:
        """The gap at whose end the next epoch's iterator gave its first batch.

        Returns it with what a validation waited for the iterator of the last one in its rest.
        """
        made_ns = gap.iterator_ns or 0
        if gap.iterator_ns is not None:
            begun_ns = gap.end_ns - gap.hooked_ns - made_ns
            waited_ns = 0 if self._since is None else awaited_ns(begun_ns - self._since, made_ns)
            self.epochs_ns.append(waited_ns)
        self._since = gap.end_ns
        spent_ns = gap.validation_ns
        return gap if spent_ns is None else self._validated(gap, spent_ns, made_ns)

    def _validated(self, gap: EpochGap, spent_ns: int, made_ns: int) -> EpochGap:
        last, self._validating_since = self._validating_since, None
        before_ns = after_ns = 0
        if last is not None:
            lived_ns = gap.begin_ns - gap.observed_ns - last
            before_ns = awaited_ns(lived_ns, gap.unvalidated_ns)
            self.late += before_ns > 0
        if gap.validated_ns:
            took_ns = gap.rest_ns - made_ns - gap.hooked_ns
            after_ns = awaited_ns(gap.validated_ns, took_ns)
        if gap.validated_ns and not after_ns:
            self._validating_since = gap.begin_ns + spent_ns - gap.validated_ns
        self.validations_ns.append(before_ns + after_ns)
        return gap.with_less(VALIDATION, before_ns)


def awaited_ns(lived_ns: int, took_ns: int) -> int:
    """`took_ns` if an iterator that had lived so long was waited for so long; else 0.

    The wait begins a little later, since the next iterator is made before; it lasts no longer
    than the thread sleeps.
    """
    ended_ns = lived_ns + took_ns
    tuned_ns = wait_ns = FIRST_NS
    while tuned_ns + _near_ns(tuned_ns) < ended_ns:
        wait_ns = min(2 * wait_ns, LONGEST_NS)
        tuned_ns += wait_ns
    near_ns = _near_ns(tuned_ns)
    asleep = tuned_ns - wait_ns <= lived_ns + near_ns
    woke = tuned_ns <= ended_ns + near_ns + MAKING_NS
    return took_ns if asleep and woke and took_ns >= LEAST_NS else 0


def _near_ns(tuned_ns: int) -> float:
    return min(max(NEAR_SHARE * tuned_ns, NEAREST_NS), NEAR_NS)
