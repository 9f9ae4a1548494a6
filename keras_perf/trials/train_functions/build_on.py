"""A model's variables made, without training."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import keras


def build_on(model: keras.Model, batch: Callable[[], Any], *, traced: bool = False) -> None:
    """Makes the weights and the optimizer's variables, if nobody did, on any backend.

    Where a layer is only called in training, the trace of a step makes its weights, and then the
    optimizer's: one that was built without them would refuse them.

    Arguments:
        model: compiled or not.
        batch: gives one, if the weights are to be made.
        traced: a step will be, before anything is kept or trained, as on TensorFlow.

    Raises:
        ValueError: it runs eagerly, and only training makes the weights of some layers.
    """
    # A model without a call of its own, as GANs have, is never built itself; its layers are.
    if not model.built and not all(layer.built for layer in model.layers or [model]):
        _call(model, batch())
    # One that was never compiled has none.
    optimizer = getattr(model, "optimizer", None)
    if optimizer is None or optimizer.built:
        return
    if _unbuilt(model):
        if traced and not model.run_eagerly:
            return
        _loss(model, batch())
    if model.run_eagerly and (left := _unbuilt(model)):
        raise ValueError(
            f"model runs eagerly, and only training makes the weights of {', '.join(left)}, which "
            "could not be put back. Train a step before: model.train_on_batch(x, y)."
        )
    optimizer.build(model.trainable_variables)


def _unbuilt(model: keras.Model) -> list[str]:
    """Also of layers in its layers, which no public attribute tells; without it not of these."""
    each = getattr(model, "_flatten_layers", None)
    layers = each(include_self=False) if each else model.layers
    return [layer.name for layer in layers if not layer.built]


def _call(model: keras.Model, batch: Any) -> None:
    """On shapes alone, which draws no random numbers (recurrent layers with dropout do, always).

    Where a model needs values, or its inputs are not of one shape, on the batch itself.
    """
    inputs, _, _ = keras.utils.unpack_x_y_sample_weight(batch)
    try:
        model(_shapes(inputs), training=False)
    except Exception:  # noqa: BLE001  whatever a user's layers raise without values
        model(inputs, training=False)


def _loss(model: keras.Model, batch: Any) -> None:
    """On shapes alone, for layers that only a loss or a call in training has."""

    class Loss(keras.Operation):  # type: ignore[misc]
        def call(self, batch: Any) -> Any:
            x, y, sample_weight = keras.utils.unpack_x_y_sample_weight(batch)
            return model.compute_loss(x, y, model(x, training=True), sample_weight)

    # Whatever it raises without values, its layers are then as they were.
    with contextlib.suppress(Exception):
        Loss()(_shapes(batch))


def _shapes(batch: Any) -> Any:
    return keras.tree.map_structure(
        lambda v: None if v is None else keras.KerasTensor(v.shape, v.dtype), batch
    )
