"""What every trial demands of a model, and of its data."""

from __future__ import annotations

import keras

NO_BATCH = (
    "dataset must hold a batch, got none. Do its files exist, and does a filter, take or "
    "ignore_errors leave any element?"
)
"""Where no TensorFlow is imported, as trials on JAX may lack it."""


def require_model(model: object) -> None:
    """Raises TypeError unless it is one."""
    if not isinstance(model, keras.Model):
        raise TypeError(
            f"model must be a keras.Model, got {type(model).__name__}. Give the one that trains."
        )


def require_compiled(model: keras.Model) -> None:
    """Raises TypeError unless it is a model, ValueError unless it is compiled."""
    require_model(model)
    if not model.compiled:
        raise ValueError("model must be compiled, got one that is not. Call model.compile first.")
