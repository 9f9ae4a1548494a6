"""Training steps whose learning rate grows from one to the next, in one compiled function."""

from __future__ import annotations

from typing import Any

import keras
import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from keras_perf.trials.learning_rate.losses import Losses
from keras_perf.trials.train_functions.traced_step import (
    TracedStep,
    require_repeatable,
    traced_step,
)
from keras_perf.trials.train_functions.train_function import TrainFunction


def ramped_steps(model: keras.Model, function: TrainFunction, iterator: Any) -> Losses:
    """A function that trains a step at each rate of a list, and returns each batch's own loss.

    It is a loop around the traced step, so no code of the user's is traced again, and operations
    that keep a random state of their own keep another one here than in the user's function. What
    Keras logs is a mean over the batches since its metrics began, so they begin anew each step.

    Arguments:
        model: compiled and built, with a learning rate that can be set; its metrics are reset.
        function: its train function of one step, made for `iterator`.
        iterator: gives the batches.

    Raises:
        ValueError: the step returns no log "loss", or never reads the model's learning rate.
    """
    require_repeatable(function)
    step = traced_step(function, iterator)
    assert step is not None
    rate = model.optimizer.learning_rate.value
    _check(step, rate)
    model.reset_metrics()
    variables = [v.value for metric in model.metrics for v in metric.variables]
    spec = tf.type_spec_from_value(iterator)
    loop = _looped(step, spec, rate, [(v, v.numpy()) for v in variables])

    def losses(rates: NDArray[np.float64]) -> NDArray[np.float32]:
        found: NDArray[np.float32] = loop(iterator, tf.constant(rates, tf.float32)).numpy()
        return found

    return losses


def _check(step: TracedStep, rate: tf.Variable) -> None:
    logs = step.logs
    if not isinstance(logs, dict) or "loss" not in logs:
        found = list(logs) if isinstance(logs, dict) else type(logs).__name__
        raise ValueError(
            f'the train step must return a dict with the log "loss", got {found}. '
            'Return {"loss": loss} in train_step.'
        )
    # A strategy has one for each replica.
    rates = {id(each) for each in getattr(rate, "values", (rate,))}
    if rates.isdisjoint(map(id, step.concrete.graph.variables)):
        raise ValueError(
            "the train step must update weights with model.optimizer, got one that never reads its "
            "learning rate. Compile with the optimizer that the step uses."
        )


def _looped(
    step: TracedStep, spec: Any, rate: tf.Variable, fresh: list[tuple[tf.Variable, Any]]
) -> Any:
    def loop(iterator: Any, rates: tf.Tensor) -> tf.Tensor:
        def one(number: tf.Tensor, losses: tf.TensorArray) -> Any:
            for variable, value in fresh:
                variable.assign(value)
            rate.assign(tf.cast(rates[number], rate.dtype))
            logs = step(iterator)
            return number + 1, losses.write(number, tf.cast(logs["loss"], tf.float32))

        steps = tf.size(rates)
        empty = tf.TensorArray(tf.float32, steps, element_shape=())
        _, losses = tf.while_loop(
            lambda number, _: number < steps,
            one,
            [tf.constant(0), empty],
            parallel_iterations=1,
        )
        return losses.stack()

    signature = [spec, tf.TensorSpec([None], tf.float32)]
    # Concrete: TensorFlow warns of functions that are made again and again.
    return tf.function(loop, input_signature=signature, autograph=False).get_concrete_function()
