"""The number of steps per execution that an earlier `fit` with a callback led to."""

from __future__ import annotations

import weakref
from collections.abc import Callable

import keras

from keras_perf.observers.steps_trial.trial_times import TrialTimes

FEW = 4
"""Of fewer executions the quickest quarter may be one that something held up."""


class FoundBefore:
    """It holds for the model on which it was found, as long as its steps are not too long for it.

    A copy knows of none.

    Attributes:
        steps: the number, of the newest training that led to one.
    """

    def __init__(self) -> None:
        self.steps, self._execution_ms = 0, 0.0
        self._model: Callable[[], keras.Model | None] | None = None
        self._looked_at = True

    def __reduce__(self) -> tuple[type[FoundBefore], tuple[()]]:
        """What a copy is made of."""
        return FoundBefore, ()

    def keep(self, model: keras.Model, steps: int, execution_ms: float) -> None:
        """A training of this model has led to this number.

        Arguments:
            model: what was trained.
            steps: the number.
            execution_ms: what an execution costs beside its steps.
        """
        self.steps, self._model, self._looked_at = steps, weakref.ref(model), True
        self._execution_ms = execution_ms

    def holds(self, model: keras.Model, epoch_steps: int | None) -> bool:
        """Whether it may be applied in the training that begins, with epochs of so many steps."""
        if self._model is None or self._model() is not model:
            return False
        self._looked_at = False
        # Of a fit with longer epochs it would be applied in none of these.
        return self.steps <= (epoch_steps or self.steps)

    def too_long(self, times: TrialTimes, present: int, most_s: float) -> bool | None:
        """Whether so many steps take longer than that here; None while that is not known.

        Other batches, or compiling the model otherwise, make other steps of them.

        Arguments:
            times: of this training's executions.
            present: steps of an ordinary one.
            most_s: no execution is to last longer.
        """
        if self._looked_at:
            return False
        took_ms = times.ordinary_ms
        if took_ms is None or len(times.samples(present)[present]) < FEW:
            return None
        self._looked_at = True
        step_ms = max(0.0, took_ms - self._execution_ms) / present
        return step_ms * self.steps + self._execution_ms > 1e3 * most_s
