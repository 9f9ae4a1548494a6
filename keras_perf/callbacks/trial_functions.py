"""Train functions of other lengths, for trials in a `fit`."""

from __future__ import annotations

import time
from typing import Any

import keras

from keras_perf.trials.train_function import TrainFunction, TrainFunctionAt


class TrialFunctions:
    """Keras's train functions for other numbers of steps, each traced before it is run.

    Attributes:
        tracing_s: seconds that tracing took.
    """

    def __init__(self, model: keras.Model) -> None:
        self._model = model
        self._functions: dict[int, TrainFunctionAt] = {}
        self.tracing_s = 0.0

    @property
    def count(self) -> int:
        """How many there are."""
        return len(self._functions)

    def refuses(self, steps: int, iterator: Any) -> str | None:
        """Traces one for so many steps, if there is none yet; why that cannot be, or None."""
        if steps in self._functions:
            return None
        begin = time.perf_counter()
        try:
            function = TrainFunctionAt(self._model, steps)
            function.trace(iterator)
        except Exception as error:  # noqa: BLE001  monitoring never kills training
            return f"tracing the train function again failed ({error!r})"
        self.tracing_s += time.perf_counter() - begin
        if function.draws_random_numbers:
            return (
                "the train step draws tf.random numbers, whose sequence a second function would "
                "not continue; keras.random continues it"
            )
        self._functions[steps] = function
        return None

    def clear(self) -> None:
        """Lets go of them: the model's own was made anew."""
        self._functions.clear()

    def of(self, steps: int) -> TrainFunction:
        """The one for so many steps, which `refuses` did not refuse."""
        return self._functions[steps].run
