"""Which observation is running on which model, and how each of them ends."""

from __future__ import annotations

import atexit
import logging
import threading
import weakref

import keras

from keras_perf.callbacks.listener import Listener
from keras_perf.callbacks.observation import Observation
from keras_perf.callbacks.relay import calling_list

logger = logging.getLogger("keras_perf")

_running: weakref.WeakKeyDictionary[keras.Model, Observation] = weakref.WeakKeyDictionary()
_closing: set[threading.Thread] = set()


def join(model: keras.Model, listener: Listener) -> Observation:
    """The observation of the `fit` that is beginning on `model`, with `listener` on it."""
    for thread in list(_closing):
        thread.join()
    callbacks = calling_list()
    current = _running.get(model)
    if current is not None and not current.is_of(callbacks):
        current.close(aborted=True)
        current = None
    if current is None:
        if callbacks is None:
            logger.warning(
                "keras_perf: on_train_begin was not called by a keras CallbackList; "
                "callbacks' times are missing and count as other host time."
            )
        current = Observation(model, callbacks, _has_closed)
        _running[model] = current
        if callbacks is not None:
            weakref.finalize(callbacks, _close_elsewhere, current).atexit = False
    current.add(listener)
    return current


def _has_closed(observation: Observation) -> None:
    _running.pop(observation.model, None)


def _close_elsewhere(observation: Observation) -> None:
    """The callback list has died: `fit` raised in a place that only Keras saw.

    That may be noticed by the garbage collector at any point, also while TensorFlow holds a
    lock of its own, so that closing here and now could wait for itself.
    """

    def close() -> None:
        try:
            observation.close(aborted=True)
        finally:
            _closing.discard(threading.current_thread())

    if not observation.closed:
        thread = threading.Thread(target=close, name="keras_perf-closing")
        _closing.add(thread)
        thread.start()


@atexit.register
def _close_all() -> None:
    for observation in list(_running.values()):
        observation.close(aborted=True)
