"""Methods that a program has given to one model, not to its class."""

from __future__ import annotations

import keras

TRAINING = ("train_step", "compute_loss", "compute_metrics", "make_train_function", "call")
"""Of those that training calls. What of them stands at the object, no copy of the model has."""


def method_of_object(model: keras.Model) -> str:
    """The first one; "" where there is none."""
    return next((name for name in TRAINING if name in vars(model)), "")
