"""Keras's own train function for another number of steps per execution."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras

TrainFunction = Callable[[Any], Any]


def train_function_at(model: keras.Model, steps: int) -> TrainFunction:
    """The function that `fit` would call with `steps_per_execution=steps`.

    The model keeps its own. Each call with an iterator runs that many training steps, fewer at
    the end of the data, and returns the logs; the first one traces, and compiles with XLA.
    """
    kept_function, kept_steps = model.train_function, model.steps_per_execution
    try:
        model.steps_per_execution = steps
        model.make_train_function(force=True)
        run = model.train_function
    finally:
        model.steps_per_execution, model.train_function = kept_steps, kept_function

    def at_that_length(iterator: Any) -> Any:
        # Keras reads the attribute when the function is traced, at its first call.
        usual = model.steps_per_execution
        model.steps_per_execution = steps
        try:
            return run(iterator)
        finally:
            model.steps_per_execution = usual

    return at_that_length
