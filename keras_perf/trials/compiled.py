"""What every trial demands of a model."""

from __future__ import annotations

import keras


def require_compiled(model: keras.Model) -> None:
    """Raises ValueError unless it is compiled."""
    if not model.compiled:
        raise ValueError("model must be compiled, got one that is not. Call model.compile first.")
