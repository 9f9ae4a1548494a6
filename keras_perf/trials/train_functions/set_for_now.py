"""Settings of a model that are others for a while."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import keras


@contextmanager
def set_for_now(model: keras.Model, settings: Mapping[str, int]) -> Iterator[None]:
    """Sets those that differ, and puts them back.

    Raises:
        ValueError: the model does not take one.
    """
    usual = {name: getattr(model, name) for name in settings}
    try:
        for name, value in settings.items():
            if getattr(model, name) != value:
                setattr(model, name, value)
            if getattr(model, name) != value:
                raise ValueError(f"the model does not take {name}={value}")
        yield
    finally:
        for name, value in usual.items():
            if getattr(model, name) != value:
                setattr(model, name, value)
