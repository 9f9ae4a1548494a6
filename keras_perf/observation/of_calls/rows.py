"""How many examples a predict function is given."""

from __future__ import annotations

from typing import Any

import tensorflow as tf


def rows_of(data: Any, before: float | None) -> float | None:
    """The rows of these batches beside those before; None where they are not known."""
    if before is None:
        return None
    try:
        return before + sum(int(tf.nest.flatten(batch)[0].shape[0]) for batch in data)
    except (AttributeError, IndexError, TypeError):
        return None
