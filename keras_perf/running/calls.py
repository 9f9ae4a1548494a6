"""`evaluate` and `predict` outside of any `fit` are watched; those of one model are one run."""

from __future__ import annotations

import functools
import inspect
import threading
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from keras_perf.records.observed_backends import NOT_WATCHED, OBSERVED, refusal
from keras_perf.records.run_names import CALLS
from keras_perf.running.given_callbacks import has_ours, with_ours
from keras_perf.running.numbered_directories import NumberedDirectories, without_path
from keras_perf.running.options import Options
from keras_perf.running.replaced_methods import ReplacedMethods

if TYPE_CHECKING:
    from keras_perf.callbacks.step_gap_detector import StepGapDetector

MANY_MODELS = 20
"""Calls of so many models are watched."""


class ObservedCalls(ReplacedMethods):
    """Stands in place of `keras.Model.evaluate` and `predict`, until it is removed.

    Arguments:
        options: what is asked.
        say: gets a line for the user.
        in_a_fit: a `fit` runs, whose calls are told with it.
    """

    names = ("evaluate", "predict")
    one = "an evaluate or predict"

    def __init__(
        self, options: Options, say: Callable[[str], None], in_a_fit: Callable[[], bool]
    ) -> None:
        super().__init__(say)
        self._in_a_fit = in_a_fit
        self._directories = NumberedDirectories(options.log_dir, CALLS)
        self._models: weakref.WeakKeyDictionary[Any, _Watched] = weakref.WeakKeyDictionary()
        self._failed = ""
        self._all: list[_Watched] = []

    @property
    def log_dirs(self) -> list[str]:
        """One of each model that called, in their order."""
        return [each.log_dir for each in self._all]

    def finish(self) -> None:
        """Writes what is not written yet, also of models that are gone."""
        for each in self._all:
            each.gaps.finish_calls()

    def _around(self, original: Callable[..., Any], signature: inspect.Signature) -> Any:
        @functools.wraps(original)
        def observed(model: Any, *args: Any, **named: Any) -> Any:
            arguments = self._bound(signature, model, args, named)
            if arguments is None or self._in_a_fit():
                return original(model, *args, **named)
            watched = self._begun(original.__name__, model, arguments)
            if watched is None:
                return original(model, *args, **named)
            returned = False
            try:
                result = original(*arguments.args, **arguments.kwargs)
                returned = True
                return result
            finally:
                watched.ends()
                if not returned:
                    self._directories.leave_no_empty(watched.log_dir)

        return observed

    def _begun(self, name: str, model: Any, arguments: inspect.BoundArguments) -> _Watched | None:
        """What watches the call, and is among its arguments; None where it is to run as it is."""
        try:
            given = arguments.arguments.get("callbacks")
            if has_ours(given, self._keras) or self._is_refused(name, given, model):
                return None
            watched = self._watched(model)
            ours = with_ours(given, [watched.gaps], model, self._keras)
            if not watched.begins():
                self._not("the model is evaluating or predicting already")
                return None
        except Exception as error:  # noqa: BLE001  the program goes on
            self._not(without_path(error))
            return None
        arguments.arguments["callbacks"] = ours
        return watched

    def _is_refused(self, name: str, given: Any, model: Any) -> bool:
        backend = self._keras.config.backend()
        if backend not in OBSERVED:
            self._not(refusal(backend).rstrip("."))
        elif why := NOT_WATCHED.get((backend, name)):
            self._not(why)
        elif isinstance(given, self._keras.callbacks.CallbackList):
            self._not("it was given a CallbackList, which is left as it is")
        elif model in self._models:
            return False
        elif self._failed:
            # Nothing more is tried: there may be very many calls.
            self._not(self._failed)
        elif len(self._all) >= MANY_MODELS:
            self._not(f"those of {MANY_MODELS} models are")
        else:
            return False
        return True

    def _watched(self, model: Any) -> _Watched:
        if (known := self._models.get(model)) is not None:
            return known
        log_dir = None
        try:
            log_dir = self._directories.next()
            made = self._models[model] = _Watched(log_dir, self._callback(log_dir))
        except Exception as error:
            self._failed = without_path(error)
            if log_dir is not None:
                self._directories.leave_no_empty(log_dir)
            raise
        self._all.append(made)
        return made

    def _callback(self, log_dir: str) -> StepGapDetector:
        from keras_perf.callbacks.step_gap_detector import StepGapDetector

        return StepGapDetector(log_dir, summary=False)


class _Watched:
    """The callback that watches all calls of one model, one at a time."""

    def __init__(self, log_dir: str, gaps: StepGapDetector) -> None:
        self.log_dir, self.gaps = log_dir, gaps
        self._at_work = threading.Lock()

    def begins(self) -> bool:
        """False where a call is at work, in another thread or around this one."""
        return self._at_work.acquire(blocking=False)

    def ends(self) -> None:
        """Lets go of the model, which may be gone before the next call."""
        self.gaps.set_model(None)
        self._at_work.release()
