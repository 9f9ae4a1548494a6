"""Layers before all that is trained: what they compute of an example is the same in every epoch."""

from __future__ import annotations

from collections.abc import Iterator

import keras


def frozen_in_front(model: keras.Model) -> int:
    """How many parameters they have, as far as none of them draws random numbers in training.

    Those of an embedding do not count: looking rows up is next to no work. A functional or
    sequential model tells the order of its layers; of any other it is 0.

    What it cannot see: that a layer which draws is called with `training=False`, as those of a base
    often are: it is taken for one that draws, and so is a user's own.
    """
    found: dict[int, int] = {}
    for layer in _in_order(model):
        if not _is_alike(layer):
            return sum(found.values())
        looks_up = isinstance(layer, keras.layers.Embedding)
        found[id(layer)] = 0 if looks_up else layer.count_params()
    return 0


def _in_order(model: keras.Model) -> Iterator[keras.layers.Layer]:
    for layer in model.layers if model.built and _is_keras_s(model) else ():
        if isinstance(layer, keras.Model) and _is_keras_s(layer):
            yield from _in_order(layer)
        else:
            yield layer


def _is_keras_s(layer: keras.layers.Layer) -> bool:
    return type(layer).__module__.startswith("keras.")


def _is_alike(layer: keras.layers.Layer) -> bool:
    """Whatever epoch it is. States of random numbers are variables, but no weights."""
    draws = len(layer.variables) > len(layer.weights)
    of_the_batch = isinstance(layer, keras.layers.BatchNormalization) and layer.trainable
    known = _is_keras_s(layer) and not isinstance(layer, keras.layers.Lambda)
    return known and not (layer.trainable_weights or draws or of_the_batch)
