"""Training steps on trial on JAX, and the model put back as it was."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import keras
import numpy as np
from numpy.typing import NDArray

from keras_perf.observers.delayed_signals import uninterrupted
from keras_perf.trials.learning_rate.losses import Losses

STATE_AT_THE_MODEL = ("_jax_state", "_jax_state_synced")
"""Keras 3.7 to 3.15: arrays for callbacks, and whether the variables have them."""


class Steps:
    """Single steps of Keras's own train function; each waits for its end.

    As in `fit`, the function is called with the values of the model's variables, uses them up and
    returns others, which stay here: around it stands `restored`, unless nobody goes on with the
    model.

    Arguments:
        model: compiled and built; a first step, which traces and compiles, is trained at once.
        batches: to train on, of which the first step takes one.

    Attributes:
        state: values of the trainable variables, the others, the optimizer's and the metrics'.
    """

    def __init__(self, model: keras.Model, batches: Iterable[Any]) -> None:
        model.steps_per_execution = 1
        model.make_train_function(force=True)
        function, elements = model.train_function, iter(batches)
        first = next(elements)
        # It makes the metrics' variables; its own (x, y, sample_weight) is not what `fit` hands on.
        model.train_function = lambda state, _: function(state, iter([first]))
        model.train_on_batch(*keras.utils.unpack_x_y_sample_weight(first))
        self._function, self._batches = function, elements
        self.state = state_of(model)

    def __call__(self) -> Any:
        """Its logs, in NumPy's arrays."""
        logs, self.state = self._function(self.state, self._batches)
        return keras.tree.map_structure(np.asarray, logs)


def on_device(batch: Any) -> Any:
    """The same batch, in JAX's arrays."""

    def moved(leaf: Any) -> Any:
        return None if leaf is None else keras.ops.convert_to_tensor(leaf)

    return keras.tree.map_structure(moved, batch)


def ramped_steps(model: keras.Model, batches: Iterable[Any]) -> Losses:
    """Trains a step at each rate of a list, and returns each batch's own loss.

    What Keras logs is a mean over the batches since its metrics began, so they begin anew each
    step.

    Arguments:
        model: compiled and built, with a learning rate that can be set.
        batches: without end.

    Raises:
        ValueError: the step returns no log "loss".
    """
    with restored(model):
        steps = Steps(model, batches)
        model.reset_metrics()
        fresh = [np.array(each.value, copy=True) for each in model.metrics_variables]
    trained, others, optimizer, _ = state_of(model)
    steps.state = trained, others, optimizer, fresh
    rate = model.optimizer.learning_rate
    place = next(n for n, each in enumerate(model.optimizer.variables) if each is rate)

    def losses(rates: NDArray[np.float64]) -> NDArray[np.float32]:
        return np.array([loss(each) for each in rates], np.float32)

    def loss(each: float) -> float:
        trained, others, optimizer, _ = steps.state
        optimizer[place] = keras.ops.convert_to_tensor(each, rate.dtype)
        steps.state = trained, others, optimizer, fresh
        logs = steps()
        if "loss" not in logs:
            raise ValueError(
                f'the train step must return a dict with the log "loss", got {list(logs)}. '
                'Return {"loss": loss} in train_step.'
            )
        return float(logs["loss"])

    return losses


@contextmanager
def restored(model: keras.Model) -> Iterator[None]:
    """Puts back what training changes, bit for bit, also when a step raises.

    `train_on_batch` also leaves a whole training state at the model, under a private name; where
    Keras has another, that memory is held until the next `fit`.

    These are the variables of the model, with its seeds, of its optimizer and its metrics, the
    model's train function and settings, and the states of Python's `random` and NumPy's.

    Arguments:
        model: compiled and built.
    """
    # Copies: a step uses up the arrays that it is given.
    values = {id(v): np.array(v.value, copy=True) for v in _variables(model)}
    settings = {
        "train_function": model.train_function,
        "steps_per_execution": model.steps_per_execution,
        "stop_training": getattr(model, "stop_training", False),
    }
    settings |= {name: getattr(model, name, None) for name in STATE_AT_THE_MODEL}
    python, numpy = random.getstate(), np.random.get_state()
    try:
        yield
    finally:
        with uninterrupted():
            for variable in _variables(model):
                # Metrics make theirs in the first step: at its beginning they are zero.
                zeros = np.zeros(variable.shape)
                variable.assign(values.get(id(variable), zeros))
            for name, value in settings.items():
                if hasattr(model, name):
                    setattr(model, name, value)
            random.setstate(python)
            np.random.set_state(numpy)


def _variables(model: keras.Model) -> list[Any]:
    metrics = [v for metric in model.metrics for v in metric.variables]
    return [*model.variables, *model.optimizer.variables, *metrics]


def state_of(model: keras.Model) -> Any:
    """What Keras's train function takes: values, of which a step uses the arrays up."""
    groups = (
        model.trainable_variables,
        model.non_trainable_variables,
        model.optimizer.variables,
        model.metrics_variables,
    )
    return tuple([each.value for each in group] for group in groups)
