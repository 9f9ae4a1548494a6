"""Stands in the callback list for the callbacks of a `fit`, and times each of their hooks."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from typing import Any, TypeVar

import keras

from keras_perf.observation.facts.ending_facts import ended_by
from keras_perf.observation.of_calls.call_hooks import CallHooks
from keras_perf.observation.of_fit.found_hooks import (
    Hooks,
    histogram_freq,
    hook_sources,
    leaves,
    overridden,
    set_to_epochs,
    steering,
)
from keras_perf.observation.of_fit.observed_fit import ObservedFit
from keras_perf.observers.asking import Questions
from keras_perf.observers.closing_elsewhere import close_elsewhere
from keras_perf.records.epoch_gap import VALIDATION
from keras_perf.records.owners import owner_of

Answer = TypeVar("Answer")


def _forwarded(hook: str) -> Callable[..., None]:
    def forward(self: CallbackTiming, *arguments: Any, **named: Any) -> None:
        """Forwards."""
        self._forward(hook, *arguments, **named)

    return forward


class CallbackTiming(keras.callbacks.Callback):
    """Forwards every hook to the callbacks it stands for, in their order.

    It takes their place in `CallbackList.callbacks`, so that no callback of the user's is
    touched, and gives the list back its own at `restore`.
    """

    def __init__(self, callbacks: keras.callbacks.CallbackList, observation: ObservedFit) -> None:
        super().__init__()
        # Weak: a list that only its `fit` holds tells, by dying, that `fit` has raised.
        self._list = weakref.ref(callbacks)
        self._originals, self._thread = callbacks.callbacks, threading.get_ident()
        self._observation: ObservedFit | None = observation
        self._timeline, self._now = observation.timeline, observation.now
        self._end_of_data = observation.backend.end_of_data
        self._find_hooks()
        self._validation: CallHooks | None = None
        callbacks.callbacks = [self]

    def _find_hooks(self) -> None:
        self._leaves = list(leaves(self._originals))
        self._begin_hooks = overridden(self._leaves, "on_train_batch_begin", "on_batch_begin")
        self._end_hooks = overridden(self._leaves, "on_train_batch_end", "on_batch_end")

    def _follow_the_list(self) -> None:
        """Callbacks may have come into the list, and hooks to callbacks, since we looked."""
        before = self.batch_hooks
        self._take_in()
        self._find_hooks()
        if self._observation is not None and self.batch_hooks != before:
            self._observation.trials.hooks_change()

    def _take_in(self) -> None:
        """Callbacks that somebody has added beside us are among those we stand for."""
        callbacks = self._list()
        if callbacks is not None and callbacks.callbacks != [self]:
            known = [self, *self._originals]
            self._originals.extend(each for each in callbacks.callbacks if each not in known)
            callbacks.callbacks = [self]  # another list: Keras may be running through this one

    @property
    def batch_hooks(self) -> list[tuple[keras.callbacks.Callback, str]]:
        """Each callback with a batch hook of its own, and the hook's name."""
        return [*self._begin_hooks, *self._end_hooks]

    def settings(self) -> Questions:
        """What is asked of the user's hooks."""
        return {
            "once_an_epoch": lambda: set_to_epochs(self.batch_hooks),
            "steering_hooks": lambda: steering(self._leaves),
            "hook_sources": lambda: hook_sources(self._leaves),
            "histogram_freq": lambda: histogram_freq(self._leaves),
        }

    def restore(self) -> None:
        """Leaves the list as it was; hooks go on being forwarded until Keras lets go of us."""
        if (callbacks := self._list()) is not None:
            self._take_in()
            callbacks.callbacks = self._originals
        self._observation = None

    set_model, set_params = map(_forwarded, ("set_model", "set_params"))
    # Keras itself calls the hooks of the longer names.
    on_batch_begin, on_batch_end = map(_forwarded, ("on_batch_begin", "on_batch_end"))
    on_predict_begin, on_predict_end = map(_forwarded, ("on_predict_begin", "on_predict_end"))
    on_predict_batch_begin = _forwarded("on_predict_batch_begin")
    on_predict_batch_end = _forwarded("on_predict_batch_end")

    def on_train_begin(self, logs: Any = None) -> None:
        """Of another training on the same list: the one before never told its end."""
        if self._observation is not None:
            self._observation.close(aborted=True, ending=ended_by(None))
        for callback in self._originals:
            callback.on_train_begin(logs)

    def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
        """Times each callback's hook."""
        observation, hooks = self._observation, self._begin_hooks
        if hooks and (observation is None or not observation.answers.hide_hooks):
            self._run("on_train_batch_begin", hooks, batch, logs, self._now())
        if observation is not None:
            # After the hooks: one of them may train on a batch itself.
            observation.arm()

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        """Notes that the logs have been read, then times each callback's hook."""
        begin = self._now()
        self._timeline.ready(begin, batch)
        observation, hooks = self._observation, self._end_hooks
        if hooks and (observation is None or not observation.answers.hide_hooks):
            self._run("on_train_batch_end", hooks, batch, logs, begin)

    def _run(self, hook: str, hooks: Hooks, batch: int, logs: Any, begin: int) -> None:
        host = self._timeline.host
        try:
            for callback, owner in hooks:
                getattr(callback, hook)(batch, logs=logs)
                end = self._now()
                host(owner, begin, end)
                begin = end
        except BaseException as error:
            # Keras takes the end of an iterator of the hook's for that of the data, and goes on.
            if not isinstance(error, self._end_of_data):
                self._abort(error)
            raise

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        """Times each callback's hook."""
        if self._observation is not None:
            self._observation.examples.epoch_comes()
        self._between("on_epoch_begin", epoch, logs)
        self._follow_the_list()
        if self._observation is not None:
            self._observation.epoch_begins(epoch)

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        """Times each callback's hook, after the epoch's last execution has been closed."""
        if self._observation is not None:
            self._observation.epoch_ends()
        self._between("on_epoch_end", epoch, logs)

    def on_test_begin(self, logs: Any = None) -> None:
        """Forwards, after the epoch's last execution has been closed; then all is timed."""
        if self._observation is not None:
            self._observation.epoch_ends(validates=True)
        self._timeline.validates(self._now())
        self._forward("on_test_begin", logs)
        observation, self._validation = self._observation, None
        if observation is not None and not observation.answers.left:
            self._validation = observation.validations.begins(self._originals)

    def on_train_end(self, logs: Any = None) -> None:
        """Forwards, then ends the observation."""
        self._timeline.close(self._now())
        self._forward("on_train_end", logs)
        if self._observation is not None:
            self._observation.close()

    def on_test_end(self, logs: Any = None) -> None:
        """Forwards; all since the epoch's last execution was for validation."""
        hooks, self._validation = self._validation, None
        if hooks is None:
            self._forward("on_test_end", logs)
        else:
            found = self._aborting(hooks.ends, "on_test_end", logs)
            if self._observation is not None:
                self._observation.validations.ended(found)
            self._timeline.validated(found)
        self._timeline.outside(VALIDATION, None, self._now())

    def on_test_batch_begin(self, batch: int, logs: Any = None) -> None:
        """Times each callback's hook."""
        hooks = self._validation
        timed = None if hooks is None else hooks.batch_begins
        self._test("on_test_batch_begin", timed, batch, logs)

    def on_test_batch_end(self, batch: int, logs: Any = None) -> None:
        """Times each callback's hook."""
        hooks = self._validation
        timed = None if hooks is None else hooks.batch_ends
        self._test("on_test_batch_end", timed, batch, logs)

    def _test(self, hook: str, timed: Callable[..., Any] | None, batch: int, logs: Any) -> None:
        try:
            if timed is not None:
                timed(hook, batch, logs)
                return
            for callback in self._originals:
                getattr(callback, hook)(batch, logs=logs)
        except BaseException as error:
            # As in training, Keras takes the end of an iterator for that of the data.
            if not isinstance(error, self._end_of_data):
                self._abort(error)
            raise

    def _between(self, hook: str, epoch: int, logs: Any) -> None:
        begin = self._now()
        try:
            for callback in self._leaves:
                getattr(callback, hook)(epoch, logs)
                end = self._now()
                self._timeline.outside(owner_of(callback, hook), begin, end)
                begin = end
        except BaseException as error:
            self._abort(error)
            raise

    def _forward(self, hook: str, *arguments: Any, **named: Any) -> None:
        for callback in self._originals:
            self._aborting(getattr(callback, hook), *arguments, **named)

    def _aborting(self, call: Callable[..., Answer], *arguments: Any, **named: Any) -> Answer:
        """What raises ends the observation."""
        try:
            return call(*arguments, **named)
        except BaseException as error:
            self._abort(error)
            raise

    def _abort(self, error: BaseException) -> None:
        if (observation := self._observation) is None:
            return
        if threading.get_ident() == self._thread:
            observation.close(aborted=True, ending=ended_by(error))
        else:
            # A hook that is called late: until its thread is done Keras trains on.
            close_elsewhere(observation, ended_by(error))
