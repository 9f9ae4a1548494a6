"""Which callbacks of a list have which hooks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import keras

from keras_perf.records.owners import owner_of

Hooks = list[tuple[keras.callbacks.Callback, str]]


def overridden(callbacks: list[keras.callbacks.Callback], hook: str, alias: str) -> Hooks:
    """The callbacks whose hook does something; Keras's own default does nothing."""
    base = keras.callbacks.Callback

    def is_default(callback: keras.callbacks.Callback, name: str) -> bool:
        # As it is found on the callback: its own, its class's, or that of what it stands for.
        found = getattr(callback, name, None)
        return getattr(found, "__func__", None) is getattr(base, name)

    return [
        (callback, owner_of(callback, hook))
        for callback in callbacks
        if not (is_default(callback, hook) and is_default(callback, alias))
    ]


def leaves(callbacks: list[Any]) -> Iterator[keras.callbacks.Callback]:
    """The callbacks themselves, also those of lists inside the list."""
    for callback in callbacks:
        # A list of a class of its own may call its callbacks in a way of its own.
        if type(callback) is keras.callbacks.CallbackList:
            yield from leaves(callback.callbacks)
        else:
            yield callback
