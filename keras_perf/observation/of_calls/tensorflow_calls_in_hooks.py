"""Calls in hooks on TensorFlow, where the predict function tells what it takes of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from keras_perf.observation.of_calls.calls_in_hooks import CallsInHooks, of_arrays
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

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        begin = self._now()
        outputs = self.function(*arguments, **named)
        if self.executions < WAITED_FOR:
            self.known = self.known and _is_done()
        self.spent_ns += self._now() - begin
        self.executions += 1
        self.rows = rows_of(arguments[0] if len(arguments) == 1 else None, self.rows)
        return outputs


class TensorFlowCallsInHooks(CallsInHooks):
    """Times the predict function in them, too."""

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
            spent_s = (self._now() - begin) / 1e9
            self._add(
                self._predicts, lambda: _as_timed(spent_s, inside, of_arrays(arguments, named))
            )


def _as_timed(spent_s: float, inside: _Inside | None, arrays: bool) -> PredictCalls:
    if inside is None or not inside.known:
        return PredictCalls(1, spent_s, 0, examples=0.0, of_arrays=arrays)
    inside_s, done = inside.spent_ns / 1e9, inside.executions
    return PredictCalls(1, spent_s, done, 1, spent_s, inside_s, inside.rows, arrays)


def _is_done() -> bool:
    """The devices have computed; a GPU does on after the function has returned."""
    if not tf.config.list_logical_devices("GPU"):
        return True
    try:
        tf.test.experimental.sync_devices()
    except Exception:  # noqa: BLE001  another version: then the call counts as not timed
        return False
    return True
