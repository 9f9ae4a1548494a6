"""Another train function is put in the place of a model's."""

from __future__ import annotations

from typing import Any

import keras


def put_train_function(model: keras.Model, function: Any) -> None:
    """Makes it the model's train function.

    Past Keras's own `__setattr__`, which looks for variables to track and takes 3 µs.
    """
    vars(model)["train_function"] = function
