"""A model trained on trial, and put back as it was."""

from __future__ import annotations

import gc
import random
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from keras_perf.observers.delayed_signals import uninterrupted
from keras_perf.trials.room_for_state import require_room
from keras_perf.trials.train_functions.build_on import build_on
from keras_perf.trials.train_functions.left_behind import require_nothing_left_behind
from keras_perf.trials.train_functions.traced_step import TracedStep, traced_step
from keras_perf.trials.train_functions.train_function import TrainFunction

SETTINGS = ("train_function", "jit_compile", "run_eagerly", "steps_per_execution")


def build(model: keras.Model, dataset: tf.data.Dataset) -> None:
    """Makes the weights and the optimizer's variables, if nobody did, without training.

    Arguments:
        model: compiled or not.
        dataset: of batches; one is taken if the weights are to be made.
    """
    build_on(model, lambda: next(iter(dataset)), traced=True)


@contextmanager
def restored(model: keras.Model, function: TrainFunction, iterator: Any) -> Iterator[None]:
    """Puts every variable that training changes back afterwards, also when a step raises.

    What that is, and what not, `KeptState` says.

    Arguments:
        model: compiled and built.
        function: of this model; its trace tells its variables.
        iterator: what `function` is called with.
    """
    kept = KeptState(model)
    kept.also(function, iterator)
    try:
        yield
    finally:
        kept.put_back()


class KeptState:
    """What training changes, as it is when this is made.

    These are the variables of the model, its optimizer and its metrics, and whatever else its
    train functions use: a second optimizer, a `tf.random.Generator`, the seed of `keras.random`;
    the model's train function and settings; and the states of Python's `random` and NumPy's.

    Where the model runs eagerly, no trace tells its variables: all that there are then are kept.

    What it cannot see: state in Python, and what a step prints; of a model that runs eagerly also
    files, tables, variables that a step makes on trial, but for those of metrics, and how far
    `tf.random` has drawn.

    Arguments:
        model: compiled and built.

    Raises:
        ValueError: there is no memory for a copy.
    """

    def __init__(self, model: keras.Model) -> None:
        self._model = model
        self._values: dict[int, tuple[tf.Variable, Any]] = {}
        self._steps: list[TracedStep] = []
        require_room(self._copies(_variables(model)))
        self._keep(_variables(model))
        if model.run_eagerly or tf.config.functions_run_eagerly():
            self._keep_each(_living_variables())
        self._python, self._numpy = random.getstate(), np.random.get_state()
        self._stops = getattr(model, "stop_training", False)
        self._settings = {name: getattr(model, name) for name in SETTINGS}

    def also(self, function: TrainFunction, iterator: Any) -> None:
        """What this function uses too, before it has run.

        Arguments:
            function: its trace tells its variables.
            iterator: what it is called with.

        Raises:
            ValueError: it changes what could not be put back; see `require_nothing_left_behind`.
        """
        step = traced_step(function, iterator)
        if step is not None and step not in self._steps:
            require_nothing_left_behind(step)
            self._keep(step.concrete.graph.variables)
            self._steps.append(step)

    def _keep(self, variables: Iterable[Any]) -> None:
        self._keep_each(self._copies(variables))

    def _keep_each(self, variables: Iterable[tf.Variable]) -> None:
        for variable in variables:
            if id(variable) not in self._values:
                self._values[id(variable)] = variable, variable.numpy()

    def _copies(self, variables: Iterable[Any]) -> list[tf.Variable]:
        """TensorFlow's own, where Keras's variables wrap them; of each replica, which are several.

        To read them together would add metrics up.
        """
        own = (v if isinstance(v, tf.Variable) else v.value for v in variables)
        strategy = self._model.distribute_strategy
        return [copy for v in own for copy in strategy.experimental_local_results(v)]

    @uninterrupted()
    def put_back(self) -> None:
        """All of it, bit for bit; Ctrl-C meanwhile is answered when it is done.

        Raises what putting back one of them raises, once the others are back.
        """
        with ExitStack() as each:
            each.callback(setattr, self._model, "stop_training", self._stops)
            for name, value in self._settings.items():
                if getattr(self._model, name) is not value:
                    each.callback(setattr, self._model, name, value)
            each.callback(random.setstate, self._python)
            each.callback(np.random.set_state, self._numpy)
            for variable, value in self._values.values():
                each.callback(variable.assign, value)
            for variable in self._copies(self._model.metrics_variables):
                if id(variable) not in self._values:
                    # Metrics make theirs in the first step: at its beginning they are zero.
                    each.callback(variable.assign, tf.zeros_like(variable))


def _variables(model: keras.Model) -> list[Any]:
    optimizer = [] if model.optimizer is None else model.optimizer.variables
    metrics = [v for metric in model.metrics for v in metric.variables]
    return [*model.variables, *optimizer, *metrics]


def _living_variables() -> list[tf.Variable]:
    """Of the whole program, those with a value; of several replicas each one's own."""
    # By type: to ask an object for its class may run code of its own.
    found = [each for each in gc.get_objects() if issubclass(type(each), tf.Variable)]
    return [each for each in found if _is_one_copy(each) and _has_a_value(each)]


def _is_one_copy(variable: tf.Variable) -> bool:
    """Not those of all replicas together, whose values may be a sum."""
    return not issubclass(type(variable), tf.distribute.DistributedValues)


def _has_a_value(variable: tf.Variable) -> bool:
    """It is none of a graph, was set, and can be read."""
    try:
        return bool(variable.dtype.is_numpy_compatible and variable.is_initialized())
    except (tf.errors.OpError, NotImplementedError, RuntimeError, TypeError, ValueError):
        return False
