"""Copies of a user's callbacks, whose hooks of batches trials may call."""

from __future__ import annotations

import copy
from collections.abc import Iterable

import keras

from keras_perf.callbacks.observing_callback import ObservingCallback
from keras_perf.observation.facts.hooks.called_again import named_attributes, why_not_again
from keras_perf.observation.facts.hooks.held_data import size_of
from keras_perf.records.advice_ids import AMORTIZE_CALLBACK
from keras_perf.records.figures import in_bytes
from keras_perf.records.reasons.why_not_tried import WhyNotTried
from keras_perf.records.run.tried.advice_trials import NotTried
from keras_perf.records.text.error_line import error_line

PROGRESS_BAR = "ProgbarLogger"
"""Keras adds it, and `verbose` leaves it out: nothing that a user has written."""

MOST_BYTES = 2**28
"""Of a callback that holds more no copy is made."""


def copied(
    callbacks: Iterable[keras.callbacks.Callback],
) -> tuple[tuple[keras.callbacks.Callback, ...], tuple[NotTried, ...]]:
    """Copies of those that may be called again, and the others with the reason.

    Our own are neither. A copy trains with the same model; what its hooks of batches name of the
    callback is copied, and all else shared.
    """
    found, left = [], []
    for callback in dict.fromkeys(callbacks):
        name = type(callback).__name__
        if isinstance(callback, ObservingCallback) or name == PROGRESS_BAR:
            continue
        try:
            why = why_not_again(callback)
            if why is None:
                found.append(_copy(callback))
                continue
        except Exception as error:  # noqa: BLE001  the user's objects may answer as they like
            why = WhyNotTried.NOT_COPIED.of(error=error_line(error))
        left.append(NotTried(id=AMORTIZE_CALLBACK, where=name, why=why))
    return tuple(found), tuple(left)


def _copy(callback: keras.callbacks.Callback) -> keras.callbacks.Callback:
    """Raises ValueError where it holds too much."""
    named = dict(named_attributes(callback))
    size = size_of([*named.values()])
    if size > MOST_BYTES:
        raise ValueError(f"it holds {in_bytes(size)}")
    own = object.__new__(type(callback))
    shared = {id(callback): own, id(callback.model): callback.model}
    own.__dict__ |= callback.__dict__ | copy.deepcopy(named, shared)
    return own
