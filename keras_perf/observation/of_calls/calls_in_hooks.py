"""Calls of `model.predict` and `model.evaluate` that a callback makes while `fit` runs."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

import keras
import tensorflow as tf

from keras_perf.observation.facts.input.given_input import kind_of_input
from keras_perf.observation.failure_line import warn_of
from keras_perf.observation.of_calls.calling_hook import calling_hook
from keras_perf.observation.of_calls.rows import rows_of
from keras_perf.records.run.inference import EVALUATE, PREDICT, EvaluateCalls, PredictCalls

_Calls = TypeVar("_Calls", PredictCalls, EvaluateCalls)

WAITED_FOR = 2
"""Batches of a `predict` whose end is waited for on a GPU: tiny calls have no more."""


class _Inside:
    """Stands in for the predict function during one `predict`, and times it."""

    def __init__(self, function: Callable[[Any], Any], clock: Callable[[], int]) -> None:
        self.function, self._now = function, clock
        self.spent_ns = self.executions = 0
        self.known = True
        self.rows: float | None = 0.0

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        begin = self._now()
        outputs = self.function(*arguments, **named)
        if self.executions < WAITED_FOR:
            self.known = self.known and _is_done()
        self.spent_ns += self._now() - begin
        self.executions += 1
        self.rows = rows_of(arguments[0] if len(arguments) == 1 else None, self.rows)
        return outputs


class _InPlaceOf:
    """Of a method of a model's, as which it is pickled: another process has none of ours."""

    def __init__(
        self, method: Callable[..., Any], call: Callable[..., Any], model: keras.Model, name: str
    ) -> None:
        functools.update_wrapper(self, method)
        self._call, self._model, self._name = call, model, name

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        return self._call(*arguments, **named)

    def __reduce__(self) -> tuple[Any, ...]:
        return getattr, (self._model, self._name)


class CallsInHooks:
    """Stands in for the public `predict` and `evaluate`, on this model and until `restore`.

    A callback's calls reach no hook of ours, and Keras keeps no list of those who would be told.
    Of `fit` itself only validations pass through here, once each.

    Arguments:
        model: which a `fit` trains.
        clock: nanoseconds.
        raised: called with what a validation of `fit`'s own raised.
    """

    def __init__(
        self,
        model: keras.Model,
        clock: Callable[[], int],
        raised: Callable[[BaseException], None],
    ) -> None:
        self._model, self._now, self._raised = model, clock, raised
        self._predicts: dict[str, PredictCalls] = {}
        self._evaluates: dict[str, EvaluateCalls] = {}
        self._predict, self._evaluate = model.predict, model.evaluate

        self._wrappers = {
            PREDICT: _InPlaceOf(self._predict, self._timed, model, PREDICT),
            EVALUATE: _InPlaceOf(self._evaluate, self._evaluated, model, EVALUATE),
        }
        for name, wrapper in self._wrappers.items():
            # Past Keras's own `__setattr__`, which looks for variables to track.
            vars(model).setdefault(name, wrapper)

    def predicts(self) -> dict[str, PredictCalls]:
        """Those of each `Class.hook`."""
        return dict(self._predicts)

    def evaluates(self) -> dict[str, EvaluateCalls]:
        """Those of each `Class.hook`."""
        return dict(self._evaluates)

    def restore(self) -> None:
        """Leaves the model as it was; again does nothing."""
        for name, wrapper in self._wrappers.items():
            if vars(self._model).get(name) is wrapper:
                del vars(self._model)[name]

    def _timed(self, *arguments: Any, **named: Any) -> Any:
        held, inside, begin = vars(self._model), None, self._now()
        function = held.get("predict_function")
        if function is not None and not isinstance(function, _Inside):
            inside = held["predict_function"] = _Inside(function, self._now)
        try:
            return self._predict(*arguments, **named)
        finally:
            if inside is not None and held.get("predict_function") is inside:
                held["predict_function"] = function
            spent_s, given = (self._now() - begin) / 1e9, (*arguments, named.get("x"))[0]
            self._add(self._predicts, lambda: _as_timed(spent_s, inside, given))

    def _evaluated(self, *arguments: Any, **named: Any) -> Any:
        begin = self._now()
        try:
            return self._evaluate(*arguments, **named)
        except BaseException as error:
            of_fit = isinstance(named.get("callbacks"), keras.callbacks.CallbackList)
            if of_fit and calling_hook() is None:
                self._raised(error)
            raise
        finally:
            spent_s = (self._now() - begin) / 1e9
            self._add(self._evaluates, lambda: EvaluateCalls(1, spent_s))

    def _add(self, found: dict[str, _Calls], call: Callable[[], _Calls]) -> None:
        try:
            if (owner := calling_hook()) is not None:
                found[owner] = call().after(found.get(owner))
        except Exception as error:  # noqa: BLE001  monitoring never kills training
            lost = "callbacks' predictions and evaluations are not in the report"
            warn_of(error, "timing a call in a hook", lost)
            self.restore()


def _as_timed(spent_s: float, inside: _Inside | None, given: Any) -> PredictCalls:
    of_arrays = kind_of_input(given) == "arrays"
    if inside is None or not inside.known:
        return PredictCalls(1, spent_s, 0, examples=0.0, of_arrays=of_arrays)
    inside_s, done = inside.spent_ns / 1e9, inside.executions
    return PredictCalls(1, spent_s, done, 1, spent_s, inside_s, inside.rows, of_arrays)


def _is_done() -> bool:
    """The devices have computed; a GPU does on after the function has returned."""
    if not tf.config.list_logical_devices("GPU"):
        return True
    try:
        tf.test.experimental.sync_devices()
    except Exception:  # noqa: BLE001  another version: then the call counts as not timed
        return False
    return True
