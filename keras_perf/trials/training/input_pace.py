"""What the input costs a step, and which changes show nothing until it costs less."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from keras_perf.records.run.tried.advice_trials import WORTHWHILE, TriedChange
from keras_perf.trials.measuring.in_turn import Pair
from keras_perf.trials.training.training_change import TrainingChange

AS_SLOW = 0.5
"""An input that alone takes so many times as long as a step on a ready batch may hide its gains."""

FREE = 1.1
"""Input costs nothing more if a step takes at most so many times as long as on a ready batch."""


@dataclass(frozen=True)
class InputPace:
    """How the training goes beside steps on a ready batch.

    Attributes:
        pair: the training as it is, and on a ready batch.
        outside_ms: milliseconds of a step that are in neither.
        one_shape: the ready batch stands for all; else nothing is known.
    """

    pair: Pair
    outside_ms: float
    one_shape: bool

    @property
    def is_free(self) -> bool:
        """Steps take as long on a ready batch."""
        return self.one_shape and self.pair.high < WORTHWHILE

    @property
    def as_ready_ms(self) -> float:
        """Of a step so short the input costs nothing; 0 where that is not known."""
        return FREE * self.pair.after_ms + self.outside_ms if self.one_shape else 0.0

    def ready_ms(
        self, alone: Mapping[TrainingChange, TriedChange], again: Sequence[TriedChange]
    ) -> float:
        """Of a step that finds its batch ready.

        It is no longer than what a step surely took with a change of its input alone: on a machine
        that others use too, that may have been measured at a better moment.

        Arguments:
            alone: what was tried alone.
            again: such changes of the input, measured once more.
        """
        mended = [each for change, each in alone.items() if change.rewriting and not change.alters]
        mended += again
        step_ms = self.pair.before_ms + self.outside_ms
        return min([self.pair.after_ms + self.outside_ms, *(step_ms / each.low for each in mended)])

    def hides(self, change: TrainingChange, alone: Mapping[TrainingChange, TriedChange]) -> bool:
        """What a change of the step gains shows once the input is quick, and it can be.

        Arguments:
            change: not tried yet.
            alone: what others gained alone.
        """
        slow = self.one_shape and self.pair.low > FREE and change.rewriting is None
        mended = (found.low >= WORTHWHILE for other, found in alone.items() if other.rewriting)
        return slow and any(mended)

    def hide_each_other(self, batch_ms: float) -> bool:
        """Neither a quicker input nor a quicker step gains much without the other.

        Arguments:
            batch_ms: milliseconds of a batch of the input alone.
        """
        return self.one_shape and batch_ms >= AS_SLOW * self.pair.after_ms

    def freed_by(self, alone: Mapping[TrainingChange, TriedChange]) -> str:
        """Id of a change of the input that lets a step run as on a ready batch; "" without one."""
        for other, tried in alone.items():
            as_ready = tried.after_ms <= self.as_ready_ms and tried.low >= WORTHWHILE
            if other.rewriting and as_ready:
                return tried.id
        return ""
