"""Calls of `model.predict` and `model.evaluate` that a callback makes while `fit` runs."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from math import ceil
from typing import Any, TypeVar

import keras

from keras_perf.observation.facts.input.given_input import kind_of_input
from keras_perf.observation.failure_line import warn_of
from keras_perf.observation.of_calls.calling_hook import calling_hook
from keras_perf.records.run.inference import EVALUATE, PREDICT, EvaluateCalls, PredictCalls

_Calls = TypeVar("_Calls", PredictCalls, EvaluateCalls)

OF_PREDICT, BATCH_SIZE = ("x", "batch_size", "verbose", "steps"), 32
"""Its first arguments, and what the second one is where it is not given."""


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
    Their batches are counted by what they were given.
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
        begin, given = self._now(), dict[str, Any]()
        try:
            outputs = self._predict(*arguments, **named)
            given = {**dict(zip(OF_PREDICT, arguments, strict=False)), **named}
            return outputs
        finally:
            spent_s = (self._now() - begin) / 1e9
            self._add(self._predicts, lambda: self._as_asked(spent_s, given))

    def _as_asked(self, spent_s: float, given: Mapping[str, Any]) -> PredictCalls:
        """A `predict` of one's own may mean something else by its arguments."""
        of_keras = str(getattr(self._predict, "__module__", "")).startswith("keras.")
        return _by_arguments(spent_s, given if of_keras else {})

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


def of_arrays(arguments: Sequence[Any], named: Mapping[str, Any]) -> bool:
    """It predicts arrays, or tensors, and no dataset."""
    return kind_of_input((*arguments, named.get("x"))[0]) == "arrays"


def _by_arguments(spent_s: float, given: Mapping[str, Any]) -> PredictCalls:
    """By what Keras's own `predict` was given: how many batches it computed nobody tells."""
    arrays = of_arrays((), given)
    leaves = keras.tree.flatten(given["x"]) if arrays else []
    shape = getattr(next(iter(leaves), None), "shape", None)
    if not shape or shape[0] is None:
        return PredictCalls(1, spent_s, 0, examples=0.0, of_arrays=arrays)
    rows, size = int(shape[0]), given.get("batch_size") or BATCH_SIZE
    batches = min(ceil(rows / size), given.get("steps") or rows)
    return PredictCalls(1, spent_s, batches, examples=float(min(rows, batches * size)))
