"""An evaluation on JAX."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import keras

from keras_perf.backends.jax_compiling import listen, listen_no_more
from keras_perf.backends.jax_input import JaxInput
from keras_perf.backends.jax_steps import StandIn
from keras_perf.observation.of_calls.asked_of_call import AskedOfCall
from keras_perf.observation.of_calls.watched_call import LOOKED_AT, WatchedCall
from keras_perf.observers.steps.overlapping import OverlappingTimeline

_compiled: weakref.WeakSet[Any] = weakref.WeakSet()
"""Test functions that have been called before: what they compile now is for another shape."""


class JaxEvaluation(WatchedCall):
    """Its function takes the state of the model too, and returns before the device is done.

    Arguments:
        model: its model.
        predicts: never; only of what evaluates is it known when the device is done.
        asked: what it was asked to do.
        clock: nanoseconds.
    """

    def __init__(
        self, model: keras.Model, predicts: bool, asked: AskedOfCall, clock: Callable[[], int]
    ) -> None:
        timeline = OverlappingTimeline()
        super().__init__(model, "test_function", asked, clock, timeline)
        self._overlapping = timeline
        self._takes_state = StandIn(timeline, clock)
        self._takes_state.execute = self._execute
        self._takes_state.stands_in(model)
        self._stand_in = self._takes_state
        self._input: JaxInput | None = None
        self._recompiled = 0
        listen(timeline, clock)

    def _replaced(self, function: Any) -> None:
        self._call = self._takes_state.called(function)

    def _begins(self, data: Any) -> None:
        self._input = self._input or JaxInput(data)
        if self._executions == LOOKED_AT:
            self._look_at(self._input.read())
        now = self._now()
        self._begin(now, now, self._steps)

    def release(self) -> None:
        """Gives the function back, and hears of no more compiling; again does nothing."""
        listen_no_more(self._overlapping)
        super().release()

    def _ran(self) -> int | None:
        """All that were fetched."""
        return self._takes_state.batches.fetched

    def _flush(self) -> None:
        self._flush_timeline()
        self._timeline.close(self._now())
        executions = self._timeline.take()
        self._split.add(executions)
        self._split.close_stretch(None, 0)
        compiling = [bool(each.compile_ns) for each in executions]
        known = self._function in _compiled
        self._recompiled = sum(compiling if known else compiling[1:])
        _compiled.add(self._function)
        self._look_at(self._input.read() if self._input is not None else None)
        self._input = None
        self._takes_state.let_go()

    def _retraces_and_examples(self) -> tuple[int, float | None]:
        return self._recompiled, self._takes_state.batches.rows
