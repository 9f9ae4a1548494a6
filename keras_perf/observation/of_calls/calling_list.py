"""Which callback list a hook of ours is called from."""

from __future__ import annotations

import sys
from types import FrameType

import keras


def calling_list(
    caller: str = "fit", hook: str = "on_train_begin"
) -> keras.callbacks.CallbackList | None:
    """The outermost CallbackList of this `fit` whose `on_train_begin` is being run, or None.

    Nothing public leads from a callback to the list that holds it; the list is `self` of the
    frame that calls.

    Arguments:
        caller: the method of Keras's that calls the list.
        hook: the one that it calls.
    """
    found = None
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_name != caller:
        if frame.f_code.co_name == hook:
            owner = frame.f_locals.get("self")
            if isinstance(owner, keras.callbacks.CallbackList):
                found = owner
        frame = frame.f_back
    return found
