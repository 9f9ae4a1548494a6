"""`evaluate` and `predict` outside of any `fit` are watched; those of one model are one run."""

from __future__ import annotations

import functools
import inspect
import os
import threading
import weakref
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import TYPE_CHECKING, Any

from keras_perf.records.observed_backends import OBSERVED, refusal
from keras_perf.running.given_callbacks import has_ours, with_ours
from keras_perf.running.numbered_directories import NumberedDirectories, without_path
from keras_perf.running.options import Options

if TYPE_CHECKING:
    from keras_perf.callbacks.step_gap_detector import StepGapDetector

WATCHED = ("evaluate", "predict")

MANY_MODELS = 20
"""Calls of so many models are watched."""


class ObservedCalls:
    """Stands in place of `keras.Model.evaluate` and `predict`, until it is removed.

    Arguments:
        options: what is asked.
        say: gets a line for the user.
        in_a_fit: a `fit` runs, whose calls are told with it.

    Attributes:
        not_observed: how many calls were not, by the reason.
    """

    def __init__(
        self, options: Options, say: Callable[[str], None], in_a_fit: Callable[[], bool]
    ) -> None:
        self._say, self._in_a_fit = say, in_a_fit
        self._directories = NumberedDirectories(options.log_dir, "calls")
        self._process = os.getpid()
        self._models: weakref.WeakKeyDictionary[Any, _Watched] = weakref.WeakKeyDictionary()
        self._keras: Any = None
        self._wrappers: dict[str, Any] = {}
        self._failed = ""
        self._all: list[_Watched] = []
        self.not_observed: dict[str, int] = {}

    @property
    def log_dirs(self) -> list[str]:
        """One of each model that called, in their order."""
        return [each.log_dir for each in self._all]

    def install(self, keras: ModuleType) -> None:
        """Takes the places of both."""
        try:
            for name in WATCHED:
                original = getattr(keras.Model, name)
                self._wrappers[name] = self._around(original, inspect.signature(original))
            for name, wrapper in self._wrappers.items():
                setattr(keras.Model, name, wrapper)
            self._keras = keras
        except Exception as error:  # noqa: BLE001  the program goes on
            self._say(f"no evaluate or predict is observed: {type(error).__name__}: {error}")

    def remove(self) -> None:
        """Leaves both as they were, unless somebody else has put theirs there."""
        for name, wrapper in self._wrappers.items():
            if self._keras is not None and vars(self._keras.Model).get(name) is wrapper:
                # Keras's own is inherited.
                delattr(self._keras.Model, name)
        self._keras = None

    def finish(self) -> None:
        """Writes what is not written yet, also of models that are gone."""
        for each in self._all:
            each.gaps.finish_calls()

    def _around(self, original: Callable[..., Any], signature: inspect.Signature) -> Any:
        @functools.wraps(original)
        def observed(model: Any, *args: Any, **named: Any) -> Any:
            begun = self._begun(original.__name__, signature, model, args, named)
            if begun is None:
                return original(model, *args, **named)
            arguments, watched = begun
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

    def _begun(
        self,
        name: str,
        signature: inspect.Signature,
        model: Any,
        args: tuple[Any, ...],
        named: Mapping[str, Any],
    ) -> tuple[inspect.BoundArguments, _Watched] | None:
        """The call's arguments, ours among them; None where it is to run as it is."""
        # Removed, and called still by whoever has wrapped it; or in a child that was forked.
        if self._keras is None or os.getpid() != self._process or self._in_a_fit():
            return None
        try:
            arguments = signature.bind(model, *args, **named)
        except TypeError:
            # Not what Keras takes, which says so.
            return None
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
        return arguments, watched

    def _is_refused(self, name: str, given: Any, model: Any) -> bool:
        backend = self._keras.config.backend()
        if backend not in OBSERVED:
            self._not(refusal(backend).rstrip("."))
        elif name == "predict" and backend == "jax":
            self._not("on JAX nothing tells when the outputs of predict are computed")
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

    def _not(self, why: str) -> None:
        """One line for each reason."""
        if why not in self.not_observed:
            self._say(f"an evaluate or predict is not observed: {why}.")
        self.not_observed[why] = self.not_observed.get(why, 0) + 1


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
