"""What callbacks make training on JAX do beside their own work."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

import keras

from keras_perf.observation.of_calls.calling_hook import calling_hook
from keras_perf.trials.backends.jax_state import SYNC


def waiting_hooks(hooks: Iterable[tuple[keras.callbacks.Callback, str]]) -> list[str]:
    """Those for which Keras reads each step's logs in the training thread.

    Keras's own bars and histories come after it has decided.
    """
    added = keras.callbacks.ProgbarLogger, keras.callbacks.History
    return sorted(
        owner
        for callback, owner in hooks
        if owner.endswith(".on_train_batch_end")
        and not isinstance(callback, added)
        and not getattr(callback, "async_safe", False)
    )


class StateReads:
    """Stands in for the method `SYNC`, which Keras calls whenever a callback reads `self.model`.

    The name and `_jax_state_synced` are private; without them nothing is said of such callbacks.

    Arguments:
        model: being trained.

    Attributes:
        counts: by `Class.hook`, how often it had the state handed back within an epoch.
    """

    def __init__(self, model: keras.Model) -> None:
        self.counts: Counter[str] = Counter()
        self._model = model
        self._original: Callable[[], Any] | None = getattr(model, SYNC, None)
        if self._original is not None and SYNC not in vars(model):
            vars(model)[SYNC] = self._sync

    def _sync(self) -> None:
        if not getattr(self._model, "_jax_state_synced", True):
            owner = calling_hook()
            if owner is not None:
                self.counts[owner] += 1
        assert self._original is not None
        self._original()

    def restore(self) -> None:
        """Leaves the model as it was; again does nothing."""
        if getattr(vars(self._model).get(SYNC), "__self__", None) is self:
            del vars(self._model)[SYNC]
