"""Calls of `model.predict` that a callback makes while `fit` runs."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import keras
import tensorflow as tf

from keras_perf.observation.failure_line import warn_of
from keras_perf.observation.of_calls.calling_hook import calling_hook
from keras_perf.observation.of_calls.rows import rows_of
from keras_perf.records.run.inference import PredictCalls

WAITED_FOR = 2
"""Batches of a `predict` whose end is waited for on a GPU: tiny calls have no more."""


class _Inside:
    """Stands in for the predict function during one `predict`, and times it."""

    def __init__(self, function: Callable[[Any], Any], clock: Callable[[], int]) -> None:
        self.function, self._now = function, clock
        self.spent_ns = self.executions = 0
        self.known = True
        self.rows: float | None = 0.0

    def __call__(self, data: Any) -> Any:
        begin = self._now()
        outputs = self.function(data)
        if self.executions < WAITED_FOR:
            self.known = self.known and _is_done()
        self.spent_ns += self._now() - begin
        self.executions += 1
        self.rows = rows_of(data, self.rows)
        return outputs


class PredictsInHooks:
    """Stands in for the public `model.predict`, on this model and until `restore`.

    A callback's `predict` calls no hook of ours, and Keras keeps no list of those who would be
    told. Nothing of this is called by `fit` itself.

    Arguments:
        model: which a `fit` trains.
        clock: nanoseconds.
    """

    def __init__(self, model: keras.Model, clock: Callable[[], int]) -> None:
        self._model, self._now = model, clock
        self._found: dict[str, PredictCalls] = {}
        self._predict = model.predict

        @functools.wraps(self._predict)
        def predict(*arguments: Any, **named: Any) -> Any:
            return self._timed(*arguments, **named)

        self._wrapper = predict
        if "predict" not in vars(model):
            # Past Keras's own `__setattr__`, which looks for variables to track.
            vars(model)["predict"] = self._wrapper

    def calls(self) -> dict[str, PredictCalls]:
        """Those of each `Class.hook`."""
        return dict(self._found)

    def restore(self) -> None:
        """Leaves the model as it was; again does nothing."""
        if vars(self._model).get("predict") is self._wrapper:
            del vars(self._model)["predict"]

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
            self._add((self._now() - begin) / 1e9, inside)

    def _add(self, spent_s: float, inside: _Inside | None) -> None:
        try:
            if (owner := calling_hook()) is None:
                return
            call = PredictCalls(1, spent_s, 0, examples=0.0)
            if inside is not None and inside.known:
                inside_s = inside.spent_ns / 1e9
                done = inside.executions
                call = PredictCalls(1, spent_s, done, 1, spent_s, inside_s, inside.rows)
            self._found[owner] = call.after(self._found.get(owner))
        except Exception as error:  # noqa: BLE001  monitoring never kills training
            warn_of(error, "timing a predict", "callbacks' predictions are not in the report")
            self.restore()


def _is_done() -> bool:
    """The devices have computed; a GPU does on after the function has returned."""
    if not tf.config.list_logical_devices("GPU"):
        return True
    try:
        tf.test.experimental.sync_devices()
    except Exception:  # noqa: BLE001  another version: then the call counts as not timed
        return False
    return True
