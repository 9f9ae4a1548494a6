"""Training steps on trial on JAX, and the batches for them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import keras
import numpy as np
from numpy.typing import NDArray

from keras_perf.trials.backends.jax_state import restored, state_of
from keras_perf.trials.learning_rate.losses import Losses


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
    return each_array(batch, keras.ops.convert_to_tensor)


def in_numpy(element: Any) -> Any:
    """An element of a `tf.data.Dataset`.

    Raises:
        ValueError: a tensor of it is not dense.
    """
    return each_array(element, _dense)


def _dense(leaf: Any) -> Any:
    if not hasattr(leaf, "__array__"):
        raise ValueError(f"dataset must yield dense tensors, got {type(leaf).__name__}.")
    return np.array(leaf)


def each_array(batch: Any, change: Callable[[Any], Any]) -> Any:
    """The batch with each of its arrays changed."""
    return keras.tree.map_structure(lambda leaf: None if leaf is None else change(leaf), batch)


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
