"""What lies in a train function of Keras's: a `tf.function`, and what that is called with."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from types import CellType
from typing import Any

import keras

from keras_perf.trials.train_functions.set_for_now import set_for_now

EXECUTION, STEP = "multi_step_on_iterator", "one_step_on_data"
"""Names in the closure of Keras's train function, which is private: an execution as a
`tf.function` of the iterator, and a step as one of a batch."""

FETCHES = "get_next_as_optional"
"""Keras from 3.16 on calls this in Python, where an execution is one step."""


@dataclass(frozen=True)
class WithSteps:
    """A train function that asks the model for its steps per execution whenever it is called.

    Attributes:
        function: Keras's.
        steps: that it was made with, and runs.
    """

    function: Any
    model: keras.Model
    steps: int

    def __call__(self, iterator: Any) -> Any:
        """Runs an execution."""
        with set_for_now(self.model, {"steps_per_execution": self.steps}):
            return self.function(iterator)


def _own_of_keras(function: Any) -> Any:
    return function.function if isinstance(function, WithSteps) else function


def closure_of(function: Any) -> Mapping[str, Any]:
    """Name → what a function holds by it, without what was not set yet."""
    code, cells = getattr(function, "__code__", None), getattr(function, "__closure__", None)
    if code is None:
        return {}
    named = zip(code.co_freevars, cells or (), strict=True)
    return {name: cell.cell_contents for name, cell in named if _is_set(cell)}


def _is_set(cell: CellType) -> bool:
    try:
        cell.cell_contents  # noqa: B018  reading is asking
    except ValueError:
        return False
    return True


def is_traced(function: Any) -> bool:
    """It is a `tf.function`."""
    return hasattr(function, "experimental_get_tracing_count")


def asks_for_steps(function: Any) -> bool:
    """It fetches in Python if the model has one step per execution when it is called."""
    code = getattr(function, "__code__", None)
    return code is not None and FETCHES in code.co_names and STEP in closure_of(function)


def steps_of(function: Any) -> int:
    """Of an execution, for a function that asks for them."""
    if isinstance(function, WithSteps):
        return function.steps
    model = closure_of(function).get("self")
    return int(getattr(model, "steps_per_execution", 1))


def takes_batches(function: Any) -> bool:
    """What is traced of it is a step on a batch, and not an execution on an iterator."""
    return asks_for_steps(_own_of_keras(function)) and steps_of(function) == 1


def inner_function(function: Any) -> Any | None:
    """The `tf.function` itself, or the one in the closure of Keras's train function, or None."""
    if is_traced(function):
        return function
    held = closure_of(_own_of_keras(function))
    if takes_batches(function):
        step = inspect.unwrap(held[STEP], stop=is_traced)
        return step if is_traced(step) else None
    return next(filter(is_traced, held.values()), None)


def step_on_batch(function: Any) -> Any:
    """What Keras's function calls with a batch that it has fetched; `takes_batches` it."""
    return closure_of(_own_of_keras(function))[STEP]


def is_of_keras(function: Any) -> bool:
    """Keras has made it, as a function of an iterator that runs executions."""
    found = _own_of_keras(function)
    own = str(getattr(found, "__module__", "")).startswith("keras.")
    return own and EXECUTION in closure_of(found)
