"""What training on JAX changes of a model, held and put back."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import keras
import numpy as np

from keras_perf.observers.delayed_signals import uninterrupted
from keras_perf.trials.room_for_state import require_room

STATE_AT_THE_MODEL = ("_jax_state", "_jax_state_synced")
"""Keras 3.7 to 3.15: arrays for callbacks, and whether the variables have them."""

SYNC = "state_sync" if hasattr(keras.Model, "state_sync") else "jax_state_sync"
"""Keras calls it whenever a callback reads `self.model`, from 3.16 on by the first of these names;
without it, such a callback finds the variables used up while it is on trial."""


class KeptState:
    """What training changes, as it is when this is made.

    These are the variables of the model, with its seeds, of its optimizer and its metrics, the
    model's train function and settings, and the states of Python's `random` and NumPy's.

    `train_on_batch` also leaves a whole training state at the model, under a private name; where
    Keras has another, that memory is held until the next `fit`.

    What it cannot see: state in Python.

    Arguments:
        model: compiled and built.

    Raises:
        ValueError: there is no memory for a copy.
    """

    def __init__(self, model: keras.Model) -> None:
        self._model = model
        require_room(_variables(model))
        # Copies: a step uses up the arrays that it is given.
        self._values = {id(v): np.array(v.value, copy=True) for v in _variables(model)}
        self._settings = {
            "train_function": model.train_function,
            "steps_per_execution": model.steps_per_execution,
            "stop_training": getattr(model, "stop_training", False),
        }
        self._settings |= {name: getattr(model, name, None) for name in STATE_AT_THE_MODEL}
        self._python, self._numpy = random.getstate(), np.random.get_state()

    def also(self, function: Any, iterator: Any) -> None:
        """Nothing: a step changes what it is given."""

    def put_back(self) -> None:
        """All of it, bit for bit; Ctrl-C meanwhile is answered when it is done.

        Raises what putting back one of them raises, once the others are back.
        """
        with uninterrupted(), ExitStack() as each:
            each.callback(random.setstate, self._python)
            each.callback(np.random.set_state, self._numpy)
            for name, value in self._settings.items():
                if hasattr(self._model, name):
                    each.callback(setattr, self._model, name, value)
            each.callback(self.put_values_back)

    def put_values_back(self) -> None:
        """Of the variables alone, which a step that failed may have used up."""
        with uninterrupted(), ExitStack() as each:
            for variable in _variables(self._model):
                # Metrics make theirs in the first step: at its beginning they are zero.
                zeros = np.zeros(variable.shape)
                each.callback(variable.assign, self._values.get(id(variable), zeros))


@contextmanager
def restored(model: keras.Model) -> Iterator[None]:
    """Puts back what training changes, bit for bit, also when a step raises; see `KeptState`."""
    kept = KeptState(model)
    try:
        yield
    finally:
        kept.put_back()


def _variables(model: keras.Model) -> list[Any]:
    metrics = [v for metric in model.metrics for v in metric.variables]
    return [*model.variables, *model.optimizer.variables, *metrics]


def state_of(model: keras.Model) -> Any:
    """What Keras's train function takes: values, of which a step uses the arrays up."""
    return tuple([each.value for each in group] for group in _groups(model))


def give_to(model: keras.Model, state: Any) -> None:
    """The variables get the values that a train function has returned."""
    for group, values in zip(_groups(model), state, strict=True):
        for variable, value in zip(group, values, strict=True):
            variable.assign(value)


def _groups(model: keras.Model) -> tuple[list[Any], ...]:
    return (
        model.trainable_variables,
        model.non_trainable_variables,
        model.optimizer.variables,
        model.metrics_variables,
    )
