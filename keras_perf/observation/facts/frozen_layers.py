"""Layers before all that is trained: what they compute of an example is the same in every epoch."""

from __future__ import annotations

from collections.abc import Iterator

import keras


def frozen_in_front(model: keras.Model) -> int:
    """How many parameters they have, as far as none of them draws random numbers in training.

    Those of an embedding do not count: looking rows up is next to no work.

    A functional or sequential model tells the order of its layers; of any other it is 0.

    What it cannot see: that a layer which draws is called with `training=False`, as those of a base
    often are: it is taken for one that draws.
    """
    found = 0
    for layer in _in_order(model):
        draws = any(isinstance(each, keras.random.SeedGenerator) for each in vars(layer).values())
        if layer.trainable_weights or draws:
            return found
        if not isinstance(layer, keras.layers.Embedding):
            found += layer.count_params()
    return 0


def _in_order(model: keras.Model) -> Iterator[keras.layers.Layer]:
    if not (model.built and type(model).__module__.startswith("keras.")):
        return
    for layer in model.layers:
        if isinstance(layer, keras.Model):
            yield from _in_order(layer)
        else:
            yield layer
