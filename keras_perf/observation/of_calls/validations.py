"""The validations of one `fit`, watched."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import keras

from keras_perf.observation.failure_line import warn_of
from keras_perf.observation.of_calls.asked_of_call import asked_of_call
from keras_perf.observation.of_calls.call_hooks import CallHooks, Told, Watch
from keras_perf.observation.of_calls.watched_call import WatchedCall
from keras_perf.records.run.inference import EVALUATE, Inference


class Validations:
    """Watches each `evaluate` that `fit` calls.

    Arguments:
        model: which a `fit` trains.
        told: called with each one.
        clock: nanoseconds.
        watch: watches one.
    """

    def __init__(
        self, model: keras.Model, told: Told, clock: Callable[[], int], watch: Watch
    ) -> None:
        self._model, self._told, self._now, self._watch = model, told, clock, watch
        self._call: WatchedCall | None = None

    def begins(self, callbacks: Sequence[keras.callbacks.Callback]) -> CallHooks | None:
        """Keras evaluates from now on; how the hooks of these callbacks are to be called."""
        try:
            asked = asked_of_call(EVALUATE, written=self._call is None)
            self._call = self._watch(self._model, False, asked, self._now)
        except Exception as error:  # noqa: BLE001  monitoring never kills training
            warn_of(error, "watching the validation", "it is not in the report")
            return None
        return CallHooks(self._call, callbacks, self._now)

    def ended(self, call: Inference | None) -> None:
        """It has; None where that could not be watched."""
        if call is not None:
            self._told(call)

    def release(self) -> None:
        """Leaves the model as it was; again does nothing."""
        if self._call is not None:
            self._call.release()
