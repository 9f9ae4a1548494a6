"""Gradients: gathered over parts of a batch, summed over all replicas, then applied."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import keras
import tensorflow as tf

from keras_perf.loop.all_reduce import sum_over_replicas
from keras_perf.loop.data import part_of
from keras_perf.loop.distribution import Distribution
from keras_perf.loop.exchange import Exchange

_FAILS_UNDER_A_STRATEGY = {
    "gradient_accumulation_steps": "Use keras_perf.loop.accumulate.",
    "ema_overwrite_frequency": "Call optimizer.finalize_variable_values at the end.",
}


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
            digits: 8e-4 and 7e-3 of drift after 20 steps of Adam at a rate of 0.01. What is too
            large for `float16` becomes infinite: it needs a `LossScaleOptimizer`.

    Attributes:
        exchange: measures the time that the exchange takes.

    Raises:
        ValueError: another `dtype`, `float16` without loss scaling, a model that is not built, or
            an optimizer that accumulates gradients, or overwrites weights by their moving
            average, itself.
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
        if dtype == "float16" and not isinstance(optimizer, keras.optimizers.LossScaleOptimizer):
            raise ValueError(
                "dtype 'float16' needs a LossScaleOptimizer, which skips a step whose gradients "
                f"are too large for it, got {type(optimizer).__name__}. Use keras_perf.loop.scaled."
            )
        if not model.built or not model.trainable_variables:
            raise ValueError(
                f"The model must be built and have weights to train, got {model.name!r}, which "
                "has none yet. Give it a keras.Input, or call it on one batch where it is made."
            )
        inner = getattr(optimizer, "inner_optimizer", optimizer)
        for name, instead in _FAILS_UNDER_A_STRATEGY.items():
            if getattr(inner, name, None):
                raise ValueError(f"{name} must be None: it fails under a strategy. {instead}")
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
            since, told = self.exchange.hand_over(gradients)
            beside.append(told)
        sent = [tf.convert_to_tensor(g) for g in gradients] + [tf.concat(beside, 0)]
        *summed, beside_sum = sum_over_replicas(sent)
        if self.exchange.measures:
            self.exchange.received(since, beside_sum[2:], [*summed, beside_sum])
        summed = [tf.cast(g, dtype) for g, dtype in zip(summed, dtypes, strict=True)]
        return summed, beside_sum[0], beside_sum[1]


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
    optimizer: keras.optimizers.Optimizer, *dtypes: str | None, scale: float | None = None
) -> keras.optimizers.Optimizer:
    """The optimizer; with loss scaling where gradients are in float16, which holds no small ones.

    An overflow skips the step and halves the scale.

    Arguments:
        optimizer: of Keras.
        dtypes: the names of the dtype policy and of the exchange's dtype; None for the usual one.
        scale: to begin with, and never to grow; None: begins with 2^15 and doubles after 2000
            steps without an overflow.

    Raises:
        ValueError: a scale, and nothing in float16.
    """
    if not {"mixed_float16", "float16"}.intersection(dtypes):
        if scale is not None:
            raise ValueError(
                f"A loss scale needs mixed_float16 or an exchange in float16, got {scale!r} with "
                "neither. Leave it out."
            )
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
        gradients_of: called with each part of the batch; gives gradients and the share of the
            examples.
        batch: tensors with one row per example, or structures of such.
        parts: how many; the number of rows is a multiple of it.
    """
    if parts == 1:
        return gradients_of(*batch)

    def cut(whole: Any) -> Any:
        pieces = tf.reshape(whole, tf.concat([[parts, -1], tf.shape(whole)[1:]], 0))
        pieces.set_shape([parts, None, *whole.shape[1:]])
        return pieces

    rows = tf.nest.map_structure(cut, tuple(batch))

    def found(part: Any) -> list[Any]:
        gradients, share = gradients_of(*part_of(rows, part))
        return [tf.convert_to_tensor(each) for each in (*gradients, share)]

    def add(part: Any, total: Any) -> Any:
        return part + 1, [t + f for t, f in zip(total, found(part), strict=True)]

    _, (*gradients, share) = tf.while_loop(
        lambda part, _: part < parts, add, (tf.constant(1), found(0)), parallel_iterations=1
    )
    return gradients, share
