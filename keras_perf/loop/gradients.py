"""Gradients: gathered over parts of a batch, summed over all replicas, then applied."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import keras
import tensorflow as tf

from keras_perf.loop.distribution import Distribution
from keras_perf.loop.exchange import Exchange


class GradientUpdate:
    """Sums gradients over all replicas first, then lets the optimizer clip, check and apply them.

    Keras 3 clips each replica's own gradients, and looks for an overflow in the first replica's
    only, before it sums them: the weights differ from one device's, and an overflow on another
    worker stops all of them for good. After the sum every replica sees the same gradients.

    One collective a step: the share of the batch, the request to stop and the workers' times
    travel with the gradients. With `dtype` these take a second one.

    Arguments:
        distribution: where the training runs.
        optimizer: of Keras; a `LossScaleOptimizer` too. It is built here.
        model: built in the strategy's scope.
        exact: batches may have fewer examples than the full one; else no share is looked at.
        dtype: `float16` or `bfloat16` to exchange the gradients in half the bytes; they lose
            digits: about 4e-4 of drift after 20 steps of Adam.

    Attributes:
        exchange: measures the time that the exchange takes.

    Raises:
        ValueError: another `dtype`, or an optimizer that accumulates gradients itself.
        RuntimeError: this version of Keras keeps its own reduction elsewhere.
    """

    def __init__(
        self,
        distribution: Distribution,
        optimizer: keras.optimizers.Optimizer,
        model: keras.Model,
        *,
        exact: bool = False,
        dtype: str | None = None,
    ) -> None:
        if dtype not in (None, "float16", "bfloat16"):
            raise ValueError(f"dtype must be None, 'float16' or 'bfloat16', got {dtype!r}.")
        if getattr(optimizer, "gradient_accumulation_steps", None):
            raise ValueError(
                "gradient_accumulation_steps must be None: it fails under a strategy. Use "
                "keras_perf.loop.accumulate."
            )
        self._optimizer, self._variables = optimizer, model.trainable_variables
        self._alone = distribution.replicas == 1
        self._exact, self._dtype = exact, dtype
        values = sum(int(tf.size(v)) for v in self._variables)
        self.exchange = Exchange(distribution, values * (4 if dtype is None else 2))
        with distribution.strategy.scope():
            optimizer.build(self._variables)
        if not self._alone:
            _turn_own_reduction_off(optimizer)

    def begin(self) -> None:
        """To be called in the graph, before the first step of a call."""
        self.exchange.begin()

    def __call__(self, gradients: Sequence[Any], share: Any, stop: Any) -> Any:
        """Applies them; to be called once a step, by each replica.

        Arguments:
            gradients: of a loss that is divided by the size of the whole, full batch; one for
                each variable.
            share: examples of this replica, or their weights, over the size of the full batch.
            stop: above 0 to ask for a stop; scalar.

        Returns:
            Scalar, the same on all replicas: above 0 if any has asked for a stop.
        """
        if not self._alone:
            gradients, share, stop = self._summed(gradients, share, stop)
        if self._exact:
            gradients = [g / tf.cast(share, g.dtype) for g in gradients]
        self._optimizer.apply(gradients, self._variables)
        return stop

    def _summed(self, gradients: Sequence[Any], share: Any, stop: Any) -> tuple[Any, Any, Any]:
        dtypes = [g.dtype for g in gradients]
        if self._dtype is not None:
            gradients = [tf.cast(g, self._dtype) for g in gradients]
        beside = [tf.stack([tf.cast(share, tf.float32), tf.cast(stop, tf.float32)])]
        since = None
        if self.exchange.measures:
            since, busy = self.exchange.hand_over(gradients)
            beside.append(busy)
        sent = [tf.convert_to_tensor(g) for g in gradients] + [tf.concat(beside, 0)]
        *summed, beside_sum = _sum_over_replicas(sent)
        if self.exchange.measures:
            self.exchange.received(since, beside_sum[2:], [*summed, beside_sum])
        summed = [tf.cast(g, dtype) for g, dtype in zip(summed, dtypes, strict=True)]
        return summed, beside_sum[0], beside_sum[1]


def _sum_over_replicas(tensors: Sequence[Any]) -> list[Any]:
    """One collective for each dtype: TensorFlow joins what it is given, and cannot mix them."""
    context = tf.distribute.get_replica_context()
    summed: dict[int, Any] = {}
    for dtype in dict.fromkeys(tensor.dtype for tensor in tensors):
        places = [place for place, tensor in enumerate(tensors) if tensor.dtype == dtype]
        of_dtype = [tensors[place] for place in places]
        found = context.all_reduce(tf.distribute.ReduceOp.SUM, of_dtype)
        summed.update(zip(places, found, strict=True))
    return [summed[place] for place in range(len(tensors))]


def _turn_own_reduction_off(optimizer: keras.optimizers.Optimizer) -> None:
    """Keras has no public switch for it (`_all_reduce_sum_gradients`, private)."""
    inner = getattr(optimizer, "inner_optimizer", optimizer)
    if not hasattr(inner, "_all_reduce_sum_gradients"):
        raise RuntimeError(
            f"Keras {keras.__version__} sums gradients over replicas in a place that is not "
            "known here, and would sum them twice. Use a version of Keras up to 3.15."
        )
    inner._all_reduce_sum_gradients = lambda gradients_and_variables: gradients_and_variables


def scaled(
    optimizer: keras.optimizers.Optimizer, policy: str, scale: float | None = None
) -> keras.optimizers.Optimizer:
    """The optimizer; under `mixed_float16` with loss scaling, so that gradients do not become 0.

    An overflow skips the step and halves the scale.

    Arguments:
        optimizer: of Keras.
        policy: the name of the dtype policy.
        scale: stays until an overflow; None: starts at 2^15 and doubles after 2000 steps
            without one.
    """
    if policy != "mixed_float16":
        return optimizer
    return keras.optimizers.LossScaleOptimizer(
        optimizer,
        initial_scale=2.0**15 if scale is None else scale,
        dynamic_growth_steps=2000 if scale is None else 2**31 - 1,
    )


def accumulate(
    gradients_of: Callable[..., tuple[Sequence[Any], Any]], batch: Sequence[Any], parts: int
) -> tuple[Sequence[Any], Any]:
    """Sums gradients over equal parts of a batch, one after the other: less memory.

    Arguments:
        gradients_of: called with each part of the batch; gives gradients, all of them tensors,
            and the share of the examples.
        batch: tensors with one row per example.
        parts: how many; the number of rows is a multiple of it.
    """
    if parts == 1:
        return gradients_of(*batch)
    rows = [tf.reshape(each, tf.concat([[parts, -1], tf.shape(each)[1:]], 0)) for each in batch]
    for part, whole in zip(rows, batch, strict=True):
        part.set_shape([parts, None, *whole.shape[1:]])
    first = gradients_of(*(each[0] for each in rows))

    def add(part: Any, total: Any) -> Any:
        found = gradients_of(*(each[part] for each in rows))
        return part + 1, tf.nest.map_structure(tf.add, total, found)

    _, (gradients, share) = tf.while_loop(
        lambda part, _: part < parts,
        add,
        (tf.constant(1), (list(first[0]), first[1])),
        parallel_iterations=1,
    )
    return gradients, share
