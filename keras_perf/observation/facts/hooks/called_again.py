"""Whether a callback's hooks of batches do no harm when they are called again, on a copy."""

from __future__ import annotations

from collections.abc import Mapping
from inspect import getattr_static
from types import FunctionType
from typing import Any

import keras

from keras_perf.observation.facts.hooks.named import Judge
from keras_perf.observation.facts.input.python_draws import draws_in_python
from keras_perf.observation.facts.reached_code import own_code
from keras_perf.records.owners import owner_of
from keras_perf.records.reasons.reason import Reason
from keras_perf.records.reasons.why_not_tried import WhyNotTried

HOOKS = ("on_train_batch_begin", "on_batch_begin", "on_train_batch_end", "on_batch_end")

CALLED_TOO = ("set_model", "set_params")
"""Keras calls them for a list of callbacks, before any hook."""

ATTRIBUTES = ("__getattribute__", "__setattr__", "__delattr__")
"""Where a class has its own of them, to read or to set an attribute may do anything."""

ADDED = ("__getattr__", "__del__")
"""Of these `object` has none; the second runs when a copy goes, with what it shares."""

KERAS_OWN = (keras.callbacks.TerminateOnNaN,)
"""Callbacks of Keras's whose hooks do nothing that lasts."""


def why_not_again(callback: keras.callbacks.Callback) -> Reason | None:
    """What its hooks of batches may do beside computing and changing what a copy has of its own.

    Their code is read, and not run. None where all that it names is known to do nothing else;
    whatever is not known speaks against it.
    """
    if (name := _of_the_class(callback)) is not None:
        return WhyNotTried.CALLED_AGAIN_UNKNOWN.of(hook=owner_of(callback, name), name=name)
    if getattr_static(callback, "async_safe", None) is not None:
        return WhyNotTried.ASYNC_SAFE.of(callback=type(callback).__name__)
    for name in HOOKS:
        hook = getattr_static(callback, name)
        if hook is getattr_static(keras.callbacks.Callback, name):
            continue
        if type(callback) in KERAS_OWN and hook is getattr_static(type(callback), name):
            continue
        if (why := _against(hook, callback, name)) is not None:
            return why
    return None


def named_attributes(callback: keras.callbacks.Callback) -> Mapping[str, Any]:
    """What the callback holds and its hooks of batches name: all that they can change of it."""
    judge = Judge(callback)
    for name in HOOKS:
        judge.first_against(getattr(callback, name))
    held = callback.__dict__
    return {name: held[name] for name in judge.held if held[name] is not callback.model}


def _of_the_class(callback: keras.callbacks.Callback) -> str | None:
    """What a class of the user's has that is asked beside its hooks."""
    kind = type(callback)
    for name in ATTRIBUTES:
        if getattr_static(kind, name) is not getattr_static(object, name):
            return name
    for name in ADDED:
        if getattr_static(kind, name, None) is not None:
            return name
    for name in (*CALLED_TOO, "model"):
        if getattr_static(callback, name) is not getattr_static(keras.callbacks.Callback, name):
            return name
    return None


def _against(hook: Any, callback: keras.callbacks.Callback, name: str) -> Reason | None:
    owner = owner_of(callback, name)
    plain = hook.__func__ if isinstance(hook, staticmethod) else hook
    if not isinstance(plain, FunctionType):
        name = type(plain).__name__
        return WhyNotTried.CALLED_AGAIN_UNKNOWN.of(hook=owner, name=name)
    if own_code(plain) is None:
        return WhyNotTried.CALLED_AGAIN_LIBRARY.of(hook=owner)
    bound = getattr(callback, name)
    if draws_in_python(bound):
        return WhyNotTried.CALLED_AGAIN_DRAWS.of(hook=owner)
    found = Judge(callback).first_against(bound)
    if found is None:
        return None
    if found.acts:
        return WhyNotTried.CALLED_AGAIN_NAMES.of(hook=owner, name=found.name)
    return WhyNotTried.CALLED_AGAIN_UNKNOWN.of(hook=owner, name=found.name)
