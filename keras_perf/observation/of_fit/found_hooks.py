"""Which callbacks of a list have which hooks."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import keras

from keras_perf.observation.facts.hooks.steering import steered_by
from keras_perf.observation.facts.source_lines import source_of
from keras_perf.records.owners import owner_of
from keras_perf.records.run.source_line import SourceLine

TIMED = ("on_train_batch_begin", "on_train_batch_end", "on_epoch_begin", "on_epoch_end")

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


def hook_sources(callbacks: list[keras.callbacks.Callback]) -> dict[str, SourceLine]:
    """Where the hooks that are timed stand in the user's program, by `Class.hook`."""
    found: dict[str, set[SourceLine]] = {}
    for callback in callbacks:
        for hook in TIMED:
            if (source := source_of(getattr(callback, hook, None))) is not None:
                found.setdefault(owner_of(callback, hook), set()).add(source)
    # Of two with one name nobody knows which of them takes the time.
    return {owner: sources.pop() for owner, sources in found.items() if len(sources) == 1}


def set_to_epochs(hooks: Hooks) -> list[str]:
    """Those whose callback is set to do its work once an epoch."""
    return sorted({owner for callback, owner in hooks if once_an_epoch(callback)})


def steering(callbacks: list[keras.callbacks.Callback]) -> dict[str, str]:
    """Hooks that set what later steps depend on, by `Class.hook`, and what that is."""
    found = {}
    for callback, hook in product(callbacks, TIMED):
        # Keras's own hook of the first name calls the second one.
        for name in (hook, hook.replace("train_", "")):
            if (what := steered_by(getattr(callback, name, None))) is not None:
                found[owner_of(callback, hook)] = what
    return found


def histogram_freq(callbacks: list[keras.callbacks.Callback]) -> int:
    """In one of so many epochs a TensorBoard callback writes histograms; 0 in none."""
    boards = (each for each in callbacks if isinstance(each, keras.callbacks.TensorBoard))
    return max((int(each.histogram_freq or 0) for each in boards), default=0)


def once_an_epoch(callback: keras.callbacks.Callback) -> bool:
    """It is set to do then what it could do in batches."""
    found = [getattr(callback, name, None) for name in ("save_freq", "update_freq")]
    return next((each == "epoch" for each in found if each is not None), False)
