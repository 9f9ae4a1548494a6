"""A model's train function: the one it has, or one that is made and taken away again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from keras_perf.trials.train_functions.keras_function import WithSteps, asks_for_steps
from keras_perf.trials.train_functions.set_for_now import set_for_now
from keras_perf.trials.train_functions.traced_step import existing_step, traced_step, traces_of

TrainFunction = Callable[[Any], Any]


def train_function_of(
    model: keras.Model, steps: int, iterator: Any, **settings: bool
) -> TrainFunction:
    """The function that `fit` calls with `steps_per_execution=steps`, for such iterators.

    Where the model has it, traced, that one: no code of the user's runs again. Else one is made,
    and the model is left without it, for its next `fit` has to trace what Python holds by then.

    Arguments:
        model: compiled and built.
        steps: steps per execution.
        iterator: what the function will be called with.
        settings: `jit_compile` and `run_eagerly`, where they are to be others than the model's.
    """
    wanted = {"steps_per_execution": steps, **settings}
    kept: TrainFunction | None = model.train_function
    as_it_is = all(getattr(model, name) == value for name, value in wanted.items())
    if kept is not None and as_it_is and existing_step(kept, iterator) is not None:
        return kept
    return new_train_function(model, steps, iterator, **settings)


def new_train_function(
    model: keras.Model, steps: int, iterator: Any, **settings: bool
) -> TrainFunction:
    """As `train_function_of`, one that the model is left without.

    Raises:
        ValueError: the model does not take a setting.
    """
    kept: TrainFunction | None = model.train_function
    with set_for_now(model, {"steps_per_execution": steps, **settings}):
        try:
            model.make_train_function(force=True)
            made: TrainFunction = model.train_function
        finally:
            model.train_function = kept
        # Keras reads the attributes when the function is made, when it is traced, and newer ones
        # also when it is called.
        if asks_for_steps(made):
            made = WithSteps(made, model, steps)
        traced_step(made, iterator)
    return made


def read_logs(logs: Any) -> None:
    """Reads them as Keras does, which waits for the device."""
    for value in tf.nest.flatten(logs):
        np.asarray(value)


def takes_a_number(function: Any) -> bool:
    """A loop's `tf.function` takes its number of steps as a tensor.

    Another number is run without tracing it again then. Each of its traces has a whole number
    among its tensors, and none a whole number of Python's, which could be it.
    """
    traces = traces_of(function)
    return bool(traces) and all(_holds_only_tensors(each) for each in traces)


def _holds_only_tensors(concrete: Any) -> bool:
    leaves = tf.nest.flatten(concrete.structured_input_signature)
    numbers = any(
        isinstance(leaf, tf.TensorSpec) and leaf.shape == () and leaf.dtype.is_integer
        for leaf in leaves
    )
    return numbers and not any(type(leaf) is int for leaf in leaves)
