"""The callbacks that a program gives to a `fit`, `evaluate` or `predict`, and ours among them."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from keras_perf.callbacks.observing_callback import ObservingCallback


def with_ours(given: Any, ours: Sequence[ObservingCallback], model: Any, keras: Any) -> Any:
    """What Keras is given in place of the program's callbacks."""
    if isinstance(given, keras.callbacks.CallbackList):
        for each in ours:
            each.set_model(model)
            each.set_params(given.params)
        given.callbacks.extend(ours)
        return given
    if isinstance(given, list | tuple) or not given:
        return [*(given or ()), *ours]
    # Of what is no list Keras asks no callback on JAX whether it must not be called late.
    return dict(enumerate([*keras.tree.flatten(given), *ours]))


def has_ours(given: Any, keras: Any) -> bool:
    """The program has put a callback of ours there itself."""
    # Where it was never imported, the program has none of ours.
    ours: Any = sys.modules.get("keras_perf.callbacks.observing_callback")
    theirs = () if ours is None else _flat(given, keras)
    return any(isinstance(each, ours.ObservingCallback) for each in theirs)


def _flat(given: Any, keras: Any) -> Iterator[Any]:
    """Each callback, also those of lists within lists."""
    for each in keras.tree.flatten(given or []):
        if isinstance(each, keras.callbacks.CallbackList):
            yield from _flat(each.callbacks, keras)
        else:
            yield each
