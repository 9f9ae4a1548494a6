"""What steps of a learning rate that grows tell."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Losses = Callable[[NDArray[np.float64]], NDArray[np.float32]]
"""Trains a step at each rate of a list, and returns each batch's own loss."""
