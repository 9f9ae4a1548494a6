"""Which observation is running on which model, and how each of them ends."""

from __future__ import annotations

import atexit
import logging
import sys
import weakref
from collections.abc import Callable
from typing import Any

import keras

from keras_perf.observation.backend import Backend
from keras_perf.observation.facts.ending_facts import ended_by
from keras_perf.observation.listener import Listener
from keras_perf.observation.of_calls.calling_list import calling_list
from keras_perf.observation.of_fit.fit import FitObservation
from keras_perf.observers.closing_elsewhere import (
    close_elsewhere,
    wait_for_those_closing,
)

logger = logging.getLogger("keras_perf")

_running: weakref.WeakKeyDictionary[keras.Model, FitObservation] = weakref.WeakKeyDictionary()
_told: weakref.WeakSet[FitObservation] = weakref.WeakSet()
_deaths: weakref.WeakKeyDictionary[FitObservation, weakref.finalize[Any, Any]]
_deaths = weakref.WeakKeyDictionary()


def join(
    model: keras.Model,
    listener: Listener,
    joined: FitObservation | None,
    clock: Callable[[], int],
    backend: Callable[[Callable[[], int]], Backend],
) -> FitObservation | None:
    """The observation of the `fit` that is beginning on `model`, with `listener` on it.

    None if that `fit` is inside another one, which is observed with the same model or the same
    listener and goes on being so.

    Arguments:
        model: about to be trained.
        listener: to be told.
        joined: what it has joined before and was not told the end of.
        clock: in nanoseconds; that of the first listener counts.
        backend: makes the one that the model trains with, of a clock.
    """
    wait_for_those_closing()
    callbacks = calling_list()
    for outer in (joined, _running.get(model)):
        if outer is not None and outer.in_a_hook and not outer.is_of(callbacks):
            _tell_of_fit_inside(outer)
            return None
    if joined is not None:
        if callbacks is not None and joined.is_of(callbacks) and not joined.closed:
            # The listener is in the list twice.
            return joined
        # Of a training that raised, and was not told of its end yet.
        joined.close(aborted=True, ending=ended_by(None))
    current = _running.get(model)
    if current is not None and (current.closed or not current.is_of(callbacks)):
        current.close(aborted=True, ending=ended_by(None))
        current = None
    if current is None:
        if callbacks is None:
            logger.warning(
                "keras_perf: on_train_begin was not called by a keras CallbackList; "
                "callbacks' times are missing and count as other host time."
            )
        current = FitObservation(model, backend(clock), callbacks, _has_closed, clock)
        _running[model] = current
        if callbacks is not None:
            # A list of the user's own may outlive thousands of fits: it holds none of them.
            death = weakref.finalize(callbacks, _list_has_died, weakref.ref(current))
            death.atexit, _deaths[current] = False, death
    current.audience.add(listener)
    return current


def _tell_of_fit_inside(outer: FitObservation) -> None:
    """Once, however many of our callbacks and of such fits there are."""
    if outer not in _told:
        _told.add(outer)
        logger.warning(
            "keras_perf: a fit began inside another one, with the same model or the same "
            "callbacks: only the outer fit is observed; the inner one counts as its callback's "
            "time. To observe it too, give it a model and perf_callbacks of its own."
        )


def _has_closed(observation: FitObservation) -> None:
    if _running.get(observation.model) is observation:
        del _running[observation.model]
    if (death := _deaths.pop(observation, None)) is not None:
        death.detach()


def _list_has_died(running: weakref.ref[FitObservation]) -> None:
    """The callback list has died: `fit` raised in a place that only Keras saw.

    That may be noticed by the garbage collector at any point, also while TensorFlow holds a
    lock of its own, so that closing here and now could wait for itself.
    """
    observation = running()
    if observation is not None and not observation.closed:
        close_elsewhere(observation, ended_by(None))


@atexit.register
def _close_all() -> None:
    # What nobody caught has ended the program; what a prompt has shown may be of long before.
    error = None if hasattr(sys, "ps1") else getattr(sys, "last_value", None)
    for observation in list(_running.values()):
        observation.close(aborted=True, ending=ended_by(error))
