"""What stands where a backend's trials, validations and predictions are not watched."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import keras

from keras_perf.observation.trials import TrialsInFit


class NoTrials(TrialsInFit):
    """No other number of steps per execution is tried, for this reason."""

    def __init__(self, why: str) -> None:
        super().__init__()
        self._why = why

    def reason_not_to_try(self) -> str:
        """Always the same."""
        return self._why


class NoValidations:
    """They run as they are."""

    def begins(self, callbacks: Sequence[keras.callbacks.Callback]) -> None:
        """Keras evaluates from now on."""

    def ended(self, call: None) -> None:
        """It has."""

    def release(self) -> None:
        """Nothing is held."""


class NoPredicts:
    """They run as they are."""

    def calls(self) -> dict[str, Any]:
        """None is known."""
        return {}

    def restore(self) -> None:
        """Nothing is held."""
