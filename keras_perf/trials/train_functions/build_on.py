"""A model's variables made, without training."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras


def build_on(model: keras.Model, batch: Callable[[], Any]) -> None:
    """Makes the weights and the optimizer's variables, if nobody did, on any backend.

    Arguments:
        model: compiled or not.
        batch: gives one, if the weights are to be made.
    """
    # A model without a call of its own, as GANs have, is never built itself; its layers are.
    if not model.built and not all(layer.built for layer in model.layers or [model]):
        inputs, _, _ = keras.utils.unpack_x_y_sample_weight(batch())
        _call(model, inputs)
    # One that was never compiled has none.
    optimizer = getattr(model, "optimizer", None)
    if optimizer is not None and not optimizer.built:
        optimizer.build(model.trainable_variables)


def _call(model: keras.Model, inputs: Any) -> None:
    """On shapes alone, which draws no random numbers (recurrent layers with dropout do, always).

    Where a model needs values, or its inputs are not of one shape, on the batch itself.
    """
    try:
        shapes = keras.tree.map_structure(lambda v: keras.KerasTensor(v.shape, v.dtype), inputs)
        model(shapes, training=False)
    except Exception:  # noqa: BLE001  whatever a user's layers raise without values
        model(inputs, training=False)
