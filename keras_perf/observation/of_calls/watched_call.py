"""One evaluation or prediction, watched from its begin hook to its end hook."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
import tensorflow as tf

from keras_perf.observation.facts.input.pipeline_model import PipelineModel
from keras_perf.observation.facts.model_facts import evaluated_examples
from keras_perf.observation.facts.tracing_time import trace_counter
from keras_perf.observation.failure_line import warn_of
from keras_perf.observation.of_calls.asked_of_call import AskedOfCall
from keras_perf.observation.of_calls.rows import rows_of
from keras_perf.observers.steps.calls.call_split import CallSplit
from keras_perf.observers.steps.input.gap_times import GAP_HISTORY
from keras_perf.observers.steps.input.pipeline_stages import stages_from_model
from keras_perf.observers.steps.timeline import Timeline
from keras_perf.records.execution import Kind
from keras_perf.records.run.inference import Inference
from keras_perf.records.run.input.pipeline import Stage

LOOKED_AT = 8
"""After so many executions the stages of the pipeline are looked at first: near its end it lets
go of them."""


class WatchedCall:
    """Stands in for the model's test or predict function whenever Keras calls it next.

    `evaluate` fetches its batches inside of the function, `predict` between the begin hooks and
    the function: there the input wait is what lies between.

    Arguments:
        model: its model.
        predicts: it is a `predict`.
        asked: what it was asked to do.
        clock: nanoseconds.
    """

    def __init__(
        self, model: keras.Model, predicts: bool, asked: AskedOfCall, clock: Callable[[], int]
    ) -> None:
        self._model, self._predicts, self._asked, self._now = model, predicts, asked, clock
        self._name = "predict_function" if predicts else "test_function"
        self._wrapper: Callable[[Any], Any] = self._execute
        self._function: Any = None
        self._steps = max(1, int(model.steps_per_execution))
        self._timeline = Timeline()
        self._begun = self._armed = clock()
        self._split = CallSplit(self._begun)
        self._pipeline: PipelineModel | None = None
        self._stages: tuple[Stage, ...] = ()
        self._executions = self._fetches = self._done = self._running = 0
        self._waited = self._hooks = self._traces = self._retraces = 0
        self._rows: float | None = 0.0
        self._exhausted = self._open = False
        self._off = self._name not in vars(model)

    # -- in the call ---------------------------------------------------------------------

    def arm(self) -> None:
        """Keras calls the function next, and it alone finds ours in its place."""
        self._harmless(self._arm)

    def _arm(self) -> None:
        found = vars(self._model).get(self._name)
        if found is None:
            return
        if found is not self._function:
            self._function, self._count_traces = found, trace_counter(found)
            self._traces = self._count_traces()
        vars(self._model)[self._name] = self._wrapper
        self._armed = self._now()

    def ready(self, now: int, batch: int | None = None) -> None:
        """The execution's logs have been read: of the one that ran last, as nothing runs ahead."""
        self._timeline.ready(now)

    def host(self, owner: str, begin: int, end: int) -> None:
        """A callback's hook ran."""
        if self._open:
            self._timeline.host(owner, begin, end)
        else:
            self._hooks += end - begin

    def _execute(self, data: Any) -> Any:
        """In place of the model's function."""
        vars(self._model)[self._name] = self._function
        self._harmless(self._begins, data)
        try:
            result = self._function(data)
        except (StopIteration, tf.errors.OutOfRangeError):
            self._timeline.discard()
            self._exhausted = True
            raise
        self._harmless(self._returned)
        return result

    def _harmless(self, work: Callable[..., None], *arguments: Any) -> None:
        if self._off:
            return
        try:
            work(*arguments)
        except Exception as error:  # noqa: BLE001  monitoring never kills an evaluation
            self._off = True
            warn_of(error, f"watching {self._name}", "this call is not in the report")

    def _begins(self, data: Any) -> None:
        entry = begun = self._now()
        self._running = self._steps
        if self._predicts:
            begun, self._running = self._armed, len(data)
            self._waited += entry - begun
            self._rows = rows_of(data, self._rows)
            entry = begun
        else:
            self._pipeline = self._pipeline or PipelineModel(data)
            if self._fetches >= GAP_HISTORY - 2 * self._steps:
                self._close_stretch(self._steps)
            elif self._executions == LOOKED_AT:
                self._look_at(self._pipeline.read())
            begun = self._now()
        self._timeline.begin(entry, begun, self._done, self._running, Kind.STEADY)
        self._open = True

    def _returned(self) -> None:
        self._timeline.returned(self._now())
        self._executions += 1
        self._done += self._running
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

    def _look_at(self, model: Any) -> None:
        stages = stages_from_model(model) if model is not None else ()
        self._stages = stages if len(stages) >= len(self._stages) else self._stages

    # -- at its end ----------------------------------------------------------------------

    def release(self) -> None:
        """Gives the function back; again does nothing."""
        if vars(self._model).get(self._name) is self._wrapper:
            vars(self._model)[self._name] = self._function

    def executions_end(self) -> None:
        """No execution follows; hooks may."""
        self._open = False
        self.release()
        self._harmless(self._flush)

    def _flush(self) -> None:
        missing = max(0, self._done - (self._asked.steps or self._done))
        self._timeline.flush(min(missing, self._steps - 1))
        # tf.data's count of gaps after the end of the data is known for single steps only.
        ended = self._exhausted or missing > 0
        self._close_stretch(None if self._exhausted and self._steps > 1 else int(ended))
        self._pipeline = None

    def end(self) -> Inference | None:
        """The call as a record; None where it could not be watched."""
        self.executions_end()
        found: list[Inference] = []
        self._harmless(lambda: found.append(self._record()))
        return found[0] if found else None

    def _record(self) -> Inference:
        now = self._now()
        waited = self._waited if self._predicts else None
        parts = self._split.end(now, waited_ns=waited, hooks_ns=self._hooks)
        spent = (now - self._begun) / 1e9
        steps = self._split.steps
        examples = self._rows if self._predicts else evaluated_examples(self._model)
        return Inference(
            calls=1,
            executions=self._split.executions,
            steps=steps,
            spent_s=spent,
            parts_s={part: ns / 1e9 for part, ns in parts.items()},
            first_s=spent,
            traces=self._retraces,
            examples=examples or None,
            steps_per_execution=self._steps,
            batch_size=self._asked.batch_size,
            input_kind=self._asked.input_kind,
            dataset=self._asked.dataset,
            stages=self._stages,
        )
