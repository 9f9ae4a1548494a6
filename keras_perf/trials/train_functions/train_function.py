"""A model's train function: the one it has, or one that is made and taken away again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from keras_perf.trials.train_functions.set_for_now import set_for_now

TrainFunction = Callable[[Any], Any]


def inner_function(function: Any) -> Any | None:
    """The `tf.function` itself, or the one in the closure of Keras's train function, or None."""
    if hasattr(function, "experimental_get_tracing_count"):
        return function
    for cell in getattr(function, "__closure__", None) or ():
        if hasattr(cell.cell_contents, "experimental_get_tracing_count"):
            return cell.cell_contents
    return None


def iterated_function(function: Any) -> Any:
    """The `tf.function` of an iterator that a train function calls, and does nothing else.

    Raises:
        LookupError: it is none of Keras's, or Keras's is made otherwise; in Keras's it lies in
            the closure, which is private.
    """
    if hasattr(function, "experimental_get_tracing_count"):
        return function
    code = getattr(function, "__code__", None)
    if getattr(function, "__module__", "").startswith("keras.") and code is not None:
        closure = dict(zip(code.co_freevars, function.__closure__ or (), strict=True))
        if "multi_step_on_iterator" in closure:
            return closure["multi_step_on_iterator"].cell_contents
    raise LookupError("no tf.function of Keras's in the train function")


def require_keras_function(function: Any) -> None:
    """Raises LookupError where it is not Keras's own, whose steps per execution are Keras's."""
    if iterated_function(function) is function:
        raise LookupError("the model makes its train function itself")


def traces_of(function: Any) -> list[Any]:
    """What a train function was traced for so far, the newest last.

    Private: no public name leads to what a `tf.function` has traced without its arguments. Where
    it is missing, traces are costed by their usual size, and trials outside of `fit` trace anew.
    """
    found: list[Any] = getattr(inner_function(function), "_list_all_concrete_functions", list)()
    return found


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
    if kept is not None and as_it_is and _is_traced(kept, iterator):
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
        if (inner := inner_function(made)) is not None:
            # Keras reads the attributes when the function is made and when it is traced.
            inner.get_concrete_function(iterator)
    return made


def _is_traced(function: Any, iterator: Any) -> bool:
    spec = tf.type_spec_from_value(iterator)
    return any(each.structured_input_signature[0] == (spec,) for each in traces_of(function))


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
