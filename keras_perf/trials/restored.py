"""A model trained on trial, and put back as it was."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import keras
import tensorflow as tf

from keras_perf.trials.train_function import TrainFunction, inner_function


def build(model: keras.Model, dataset: tf.data.Dataset) -> None:
    """Makes the weights and the optimizer's variables, if nobody did, without training.

    Arguments:
        model: compiled.
        dataset: of batches; one is taken if the weights are to be made.
    """
    # A model without a call of its own, as GANs have, is never built itself; its layers are.
    if not model.built and not all(layer.built for layer in model.layers or [model]):
        inputs, _, _ = keras.utils.unpack_x_y_sample_weight(next(iter(dataset)))
        model(inputs, training=False)
    if model.optimizer is not None and not model.optimizer.built:
        model.optimizer.build(model.trainable_variables)


@contextmanager
def restored(model: keras.Model, function: TrainFunction, iterator: Any) -> Iterator[None]:
    """Puts every variable that training changes back afterwards, also when a step raises.

    These are the variables of the model, its optimizer and its metrics, and whatever else the
    train function uses: a second optimizer, a `tf.random.Generator`, the seed of `keras.random`.

    What it cannot see: the latter where the model runs eagerly, and state in Python.

    Arguments:
        model: compiled and built.
        function: of this model; its trace tells its variables.
        iterator: what `function` is called with.
    """
    inner = inner_function(function)
    traced = () if inner is None else inner.get_concrete_function(iterator).graph.variables
    values = {id(v): (v, v.numpy()) for v in _in_tensorflow([*_variables(model), *traced])}
    try:
        yield
    finally:
        for variable in _in_tensorflow(_variables(model)):
            if id(variable) not in values:
                # Metrics make theirs in the first step: at its beginning they are zero.
                variable.assign(tf.zeros_like(variable))
        for variable, value in values.values():
            variable.assign(value)


def _variables(model: keras.Model) -> list[Any]:
    optimizer = [] if model.optimizer is None else model.optimizer.variables
    metrics = [v for metric in model.metrics for v in metric.variables]
    return [*model.variables, *optimizer, *metrics]


def _in_tensorflow(variables: Iterable[Any]) -> list[tf.Variable]:
    """TensorFlow's own, where Keras's variables wrap them: the same one counts once."""
    return [v if isinstance(v, tf.Variable) else v.value for v in variables]
