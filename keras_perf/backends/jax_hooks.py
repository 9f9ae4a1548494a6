"""What callbacks make training on JAX do beside their own work."""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from typing import Any

import keras

from keras_perf.observation.facts.reached_code import names_in, own_code, reached
from keras_perf.observation.of_calls.calling_hook import calling_hook
from keras_perf.observation.of_fit.found_hooks import once_an_epoch
from keras_perf.trials.backends.jax_state import SYNC

BEGIN_HOOKS = "on_train_batch_begin", "on_batch_begin"
END_HOOKS = "on_train_batch_end", "on_batch_end"
BATCH_HOOKS = "_batch_begin", "_batch_end"
"""Between them Keras holds the state; before and after an epoch it is the model's."""

SAVES = keras.callbacks.BackupAndRestore, keras.callbacks.ModelCheckpoint
"""Callbacks of Keras's own that save in batches, or once an epoch."""


def keras_waits(callbacks: keras.callbacks.CallbackList | None) -> bool:
    """Keras calls the hooks of these in the training thread, and waits for each step's logs.

    What it has decided is private (`_async_train`); where that is elsewhere, it may wait, and the
    hooks tell whether.
    """
    return not getattr(callbacks, "_async_train", False)


def waiting_hooks(hooks: Iterable[tuple[keras.callbacks.Callback, str]]) -> list[str]:
    """Those for which Keras waits, where it waits.

    Keras's own bars and histories come after it has decided.
    """
    added = keras.callbacks.ProgbarLogger, keras.callbacks.History
    return sorted(
        owner
        for callback, owner in hooks
        if owner.endswith(".on_train_batch_end")
        and type(callback) not in added
        and not getattr(callback, "async_safe", False)
    )


def late_hooks(hooks: Iterable[tuple[keras.callbacks.Callback, str]]) -> list[str]:
    """Those for which training waits, and that may be called late, from another thread.

    Keras's own that save once an epoch do nothing in a batch; of the user's own, the code shows
    whether they name the model, which is another step's by then, or deleted.

    What it cannot see: what code does with a model that it has under another name.
    """
    known = list(hooks)
    waiting = waiting_hooks(known)
    return sorted({owner for each, owner in known if owner in waiting and _may_be_late(each)})


def _may_be_late(callback: keras.callbacks.Callback) -> bool:
    if type(callback) in SAVES:
        return once_an_epoch(callback)
    if _own_hooks(callback, BEGIN_HOOKS):
        # What it keeps there for a batch's end would be of a later batch.
        return False
    own = _own_hooks(callback, END_HOOKS)
    return bool(own) and not any(map(_names_the_model, own))


def _own_hooks(callback: keras.callbacks.Callback, names: tuple[str, ...]) -> list[Any]:
    defaults = [getattr(keras.callbacks.Callback, name) for name in names]
    found = [getattr(callback, name, None) for name in names]
    return [hook for hook in found if getattr(hook, "__func__", None) not in defaults]


def _names_the_model(hook: Any) -> bool:
    """Or it is not the user's own code, of which nothing is known."""
    codes = [code for each in reached(hook) if (code := own_code(each.value)) is not None]
    names = {name for code in codes for name in (*names_in(code), *code.co_freevars)}
    return own_code(hook) is None or not names.isdisjoint(("model", "_model"))


class StateReads:
    """Stands in for the method `SYNC`, which Keras calls whenever a callback reads `self.model`.

    The name and `_jax_state_synced` are private; without them nothing is said of such callbacks.

    Arguments:
        model: being trained.
        told: called after that where no hook asked for it: at an epoch's end Keras does.

    Attributes:
        counts: by `Class.hook`, how often it had the state handed back within an epoch.
        seconds: how long that took in all; not how long it took to collect the state again.
    """

    def __init__(self, model: keras.Model, told: Callable[[], None]) -> None:
        self.counts: Counter[str] = Counter()
        self.seconds: dict[str, float] = defaultdict(float)
        self._model, self._told = model, told
        self._original: Callable[[], Any] | None = getattr(model, SYNC, None)
        if self._original is not None and SYNC not in vars(model):
            vars(model)[SYNC] = self._sync

    def _sync(self) -> None:
        synced = getattr(self._model, "_jax_state_synced", True)
        owner = None if synced else calling_hook()
        assert self._original is not None
        begin = time.perf_counter()
        self._original()
        if owner is not None and owner.endswith(BATCH_HOOKS):
            self.counts[owner] += 1
            self.seconds[owner] += time.perf_counter() - begin
        if owner is None and not synced:
            self._told()

    def restore(self) -> None:
        """Leaves the model as it was; again does nothing."""
        if getattr(vars(self._model).get(SYNC), "__self__", None) is self:
            del vars(self._model)[SYNC]
