"""What a `fit`'s observation is, to those who time the hooks of its callbacks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from keras_perf.observation.backend import Backend
from keras_perf.observation.of_calls.validations import Validations
from keras_perf.observation.of_fit.answers_to_keras import Answers
from keras_perf.observation.of_fit.epoch_length import ExamplesPerStep
from keras_perf.observation.trials import TrialsInFit
from keras_perf.observers.steps.timeline import Timeline
from keras_perf.records.run.ending import Ending


class ObservedFit(Protocol):
    """What is told of a `fit`'s hooks.

    Attributes:
        backend: its own.
        now: the clock, in nanoseconds.
        timeline: on which hooks are timed.
        trials: what may have changed with the hooks.
        validations: watches them.
        examples: of a step, which an epoch's hooks may change the count of.
        answers: those that Keras's calls are given for steps that have run ahead.
    """

    backend: Backend
    now: Callable[[], int]
    timeline: Timeline
    answers: Answers
    trials: TrialsInFit
    validations: Validations
    examples: ExamplesPerStep

    def epoch_begins(self, epoch: int) -> None:
        """Before the first execution of the epoch of this number."""

    def epoch_ends(self, *, validates: bool = False) -> None:
        """After its last one; told again after a validation."""

    def arm(self) -> None:
        """Keras calls the train function next."""

    def close(self, *, aborted: bool = False, ending: Ending | None = None) -> None:
        """`fit` has ended, or raised."""
