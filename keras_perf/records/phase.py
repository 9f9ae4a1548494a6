"""What a training run is doing."""

from __future__ import annotations

from enum import Enum


class Phase(str, Enum):
    """Where a moment belongs."""

    TRAINING = "training"
    VALIDATION = "validation"
    BETWEEN = "between"
    """Between epochs, before the first and after the last."""
