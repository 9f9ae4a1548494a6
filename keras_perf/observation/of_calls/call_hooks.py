"""Calls the hooks of an evaluation or prediction, and times them."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import Any

import keras

from keras_perf.observation.of_calls.asked_of_call import AskedOfCall
from keras_perf.observation.of_calls.watched_call import WatchedCall
from keras_perf.records.run.inference import Inference

Told = Callable[[Inference], None]

Watch = Callable[[keras.Model, bool, AskedOfCall, Callable[[], int]], WatchedCall]
"""Watches a call: of this model, whether it is a `predict`, what it was asked to do, the clock."""


class CallHooks:
    """The hooks of callbacks in one call.

    Arguments:
        call: watched.
        callbacks: whose hooks are called.
        clock: nanoseconds.
    """

    def __init__(
        self,
        call: WatchedCall,
        callbacks: Sequence[keras.callbacks.Callback],
        clock: Callable[[], int],
    ) -> None:
        self.call, self._callbacks, self._now = call, callbacks, clock

    def batch_begins(self, hook: str, batch: int, logs: Any) -> None:
        """Before an execution."""
        self._run(hook, batch, logs=logs)
        # After the hooks: one of them may evaluate or predict itself.
        self.call.arm()

    def batch_ends(self, hook: str, batch: int, logs: Any) -> None:
        """After one, when its logs have been read."""
        self.call.ready(self._now(), batch)
        self._run(hook, batch, logs=logs)

    def ends(self, hook: str, logs: Any) -> Inference | None:
        """The last hook; what is known of the call."""
        self.call.executions_end()
        self._run(hook, logs)
        return self.call.end()

    def _run(self, hook: str, *arguments: Any, **named: Any) -> None:
        for callback in self._callbacks:
            begin = self._now()
            getattr(callback, hook)(*arguments, **named)
            self.call.host(hook, begin, self._now())


class CallTiming(keras.callbacks.Callback):
    """Stands in a callback list for the time of one `evaluate` or `predict`."""

    def __init__(self, callbacks: keras.callbacks.CallbackList) -> None:
        super().__init__()
        self._list = weakref.ref(callbacks)
        self._raised: Callable[[], object] | None = None
        self._originals = callbacks.callbacks
        self._hooks: CallHooks | None = None
        self._told: list[Told] = []
        # Another list: Keras is running through this one.
        callbacks.callbacks = [self]

    def watches(self, call: WatchedCall, clock: Callable[[], int]) -> None:
        """A call begins."""
        self._hooks, self._told = CallHooks(call, self._originals, clock), []
        if (callbacks := self._list()) is not None:
            # A call that raises tells nobody, and lets go of its list.
            raised = weakref.finalize(callbacks, call.give_back)
            raised.atexit, self._raised = False, raised.detach

    @property
    def at_work(self) -> bool:
        """A call is being watched."""
        return self._hooks is not None

    def tell(self, told: Told) -> None:
        """Calls `told` with what is known of the call at its end."""
        self._told.append(told)

    def on_test_begin(self, logs: Any = None) -> None:
        """Of another call on the same list: the one before has raised."""
        self._begins_anew("on_test_begin", logs)

    def on_predict_begin(self, logs: Any = None) -> None:
        """As `on_test_begin`."""
        self._begins_anew("on_predict_begin", logs)

    def on_train_begin(self, logs: Any = None) -> None:
        """Of a `fit` on the same list, likewise."""
        self._begins_anew("on_train_begin", logs)

    def on_test_batch_begin(self, batch: int, logs: Any = None) -> None:
        """Times each callback's hook."""
        self._batch_begins("on_test_batch_begin", batch, logs)

    def on_predict_batch_begin(self, batch: int, logs: Any = None) -> None:
        """Times each callback's hook."""
        self._batch_begins("on_predict_batch_begin", batch, logs)

    def on_test_batch_end(self, batch: int, logs: Any = None) -> None:
        """Times each callback's hook."""
        self._batch_ends("on_test_batch_end", batch, logs)

    def on_predict_batch_end(self, batch: int, logs: Any = None) -> None:
        """Times each callback's hook."""
        self._batch_ends("on_predict_batch_end", batch, logs)

    def on_test_end(self, logs: Any = None) -> None:
        """Times each callback's hook, and tells."""
        self._ends("on_test_end", logs)

    def on_predict_end(self, logs: Any = None) -> None:
        """Times each callback's hook, and tells."""
        self._ends("on_predict_end", logs)

    def _begins_anew(self, hook: str, logs: Any) -> None:
        self._restore()
        for callback in self._originals:
            getattr(callback, hook)(logs)

    def _batch_begins(self, hook: str, batch: int, logs: Any) -> None:
        assert self._hooks is not None
        self._hooks.batch_begins(hook, batch, logs)

    def _batch_ends(self, hook: str, batch: int, logs: Any) -> None:
        assert self._hooks is not None
        self._hooks.batch_ends(hook, batch, logs)

    def _ends(self, hook: str, logs: Any) -> None:
        assert self._hooks is not None
        found, told = self._hooks.ends(hook, logs), self._told
        self._restore()
        if found is not None:
            for each in told:
                each(found)

    def _restore(self) -> None:
        """Leaves the list as it was."""
        if self._hooks is not None:
            self._hooks.call.release()
        if self._raised is not None:
            # A list of the user's own may outlive thousands of calls: it holds none of them.
            self._raised()
        self._hooks, self._told, self._raised = None, [], None
        if (callbacks := self._list()) is not None:
            callbacks.callbacks = self._originals
