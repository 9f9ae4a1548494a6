"""A train function whose calls take nothing from the training that follows."""

from __future__ import annotations

from typing import Any

import keras

from keras_perf.trials.train_functions.repeated_function import draws_from_a_state
from keras_perf.trials.train_functions.train_function import (
    TrainFunction,
    new_train_function,
    train_function_of,
)


def function_on_trial(
    model: keras.Model, steps: int, iterator: Any, **settings: bool
) -> TrainFunction:
    """As `train_function_of`; another one where the model's own would go on with other numbers.

    The state that `tf.random` draws from in a trace is not a variable, and cannot be put back.
    """
    made = train_function_of(model, steps, iterator, **settings)
    if made is model.train_function and draws_from_a_state(made, iterator):
        made = new_train_function(model, steps, iterator, **settings)
    return made
