"""An evaluation or prediction on TensorFlow."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
import tensorflow as tf

from keras_perf.observation.facts.input.pipeline_model import PipelineModel
from keras_perf.observation.facts.model_facts import evaluated_examples
from keras_perf.observation.facts.tracing_time import trace_counter
from keras_perf.observation.of_calls.asked_of_call import AskedOfCall
from keras_perf.observation.of_calls.rows import rows_of
from keras_perf.observation.of_calls.watched_call import LOOKED_AT, WatchedCall
from keras_perf.observers.steps.input.gap_times import GAP_HISTORY
from keras_perf.observers.steps.timeline import Timeline
from keras_perf.records.execution import Kind


class TensorFlowCall(WatchedCall):
    """`evaluate` fetches its batches inside of the function, `predict` before it.

    There the input wait is what lies between the begin hooks and the function.

    Arguments:
        model: its model.
        predicts: it is a `predict`.
        asked: what it was asked to do.
        clock: nanoseconds.
    """

    at_the_end = (StopIteration, tf.errors.OutOfRangeError)

    def __init__(
        self, model: keras.Model, predicts: bool, asked: AskedOfCall, clock: Callable[[], int]
    ) -> None:
        name = "predict_function" if predicts else "test_function"
        super().__init__(model, name, asked, clock, Timeline())
        self._predicts = predicts
        self._armed = self._begun
        self._pipeline: PipelineModel | None = None
        self._fetches = self._waited = self._traces = self._retraces = 0
        self._rows: float | None = 0.0
        self._exhausted = False
        self._off = name not in vars(model)

    def _replaced(self, function: Any) -> None:
        self._call, self._count_traces = function, trace_counter(function)
        self._traces = self._count_traces()

    def _arm(self) -> None:
        super()._arm()
        self._armed = self._now()

    def _begins(self, data: Any) -> None:
        entry = self._now()
        if self._predicts:
            self._waited += entry - self._armed
            self._rows = rows_of(data, self._rows)
            self._begin(self._armed, self._armed, len(data))
            return
        self._pipeline = self._pipeline or PipelineModel(data)
        if self._fetches >= GAP_HISTORY - 2 * self._steps:
            self._close_stretch(self._steps)
        elif self._executions == LOOKED_AT:
            self._look_at(self._pipeline.read())
        self._begin(entry, self._now(), self._steps)

    def _data_ended(self) -> None:
        super()._data_ended()
        self._exhausted = True

    def _returned(self) -> None:
        super()._returned()
        self._fetches += self._running
        if (traces := self._count_traces()) != self._traces:
            self._retraces += 1 if self._traces else 0
            self._traces = traces
            self._timeline.retag(Kind.TRACED)

    def _close_stretch(self, pending: int | None) -> None:
        """The newest `pending` gaps came after what is complete; None if unknown."""
        self._split.add(self._timeline.take())
        model = self._pipeline.read() if self._pipeline is not None else None
        if model is None or pending is None:
            self._split.close_stretch(None, 0)
        else:
            self._split.close_stretch(model.gap_times, pending)
        self._look_at(model)
        self._fetches = self._steps

    def _ran(self) -> int | None:
        """`predict` knows each execution's batches; else tf.data has counted, where it can."""
        if self._predicts or self._steps == 1:
            return self._done
        counted = self._pipeline.batches() if self._pipeline is not None else None
        if counted is not None and self._done - self._steps < counted <= self._done:
            return counted
        return None if self._exhausted and self._asked.batches is None else super()._ran()

    def _flush(self) -> None:
        missing = self._flush_timeline()
        # tf.data's count of gaps after the end of the data is known for single steps only.
        ended = self._exhausted or missing > 0
        self._close_stretch(None if self._exhausted and self._steps > 1 else int(ended))
        self._pipeline = None

    @property
    def _waited_ns(self) -> int | None:
        return self._waited if self._predicts else None

    def _retraces_and_examples(self) -> tuple[int, float | None]:
        return self._retraces, self._rows if self._predicts else evaluated_examples(self._model)
