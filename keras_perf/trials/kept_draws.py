"""What a program's own generators of random numbers give next."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np


@contextmanager
def kept_draws() -> Iterator[None]:
    """Python's and NumPy's give afterwards what they would have given before.

    Functions of the input draw from them whenever batches are made.
    """
    python, numpy = random.getstate(), np.random.get_state()
    try:
        yield
    finally:
        random.setstate(python)
        np.random.set_state(numpy)
