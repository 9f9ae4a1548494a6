"""Tells of executions that are complete, with their final kind."""

from __future__ import annotations

from collections.abc import Callable

from keras_perf.observation.input_model import InputModel
from keras_perf.observation.listeners import Audience
from keras_perf.observers.steps.input.batch_bytes import BatchBytes
from keras_perf.observers.steps.recompiling import RecompileGuess
from keras_perf.observers.steps.timeline import Timeline
from keras_perf.records.execution import Execution, Kind


class Completed:
    """What the timeline has completed, for the audience.

    Arguments:
        timeline: that executions are taken from.
        audience: who is told.
        fetches_per_step: how often a step asks the iterator for an element.
        shapes_may_differ: tells whether XLA may compile for each execution.
        batch_bytes: told of what the iterator has delivered.
        judge: says which executions compiled unseen.
        traced_s: seconds that were spent on tracing so far; None where that is not told.
    """

    def __init__(
        self,
        timeline: Timeline,
        audience: Audience,
        fetches_per_step: float,
        shapes_may_differ: Callable[[], bool],
        batch_bytes: BatchBytes,
        judge: RecompileGuess,
        traced_s: Callable[[], float | None],
    ) -> None:
        self._timeline, self._audience = timeline, audience
        self._fetches_per_step, self._shapes_may_differ = fetches_per_step, shapes_may_differ
        self._batch_bytes, self._judge = batch_bytes, judge
        self._traced_s, self._traced_before_s = traced_s, traced_s()

    def tell(self, pipeline: InputModel | None, pending_gaps: int | None) -> None:
        """Tells of the executions and epoch gaps completed since the last time.

        No execution of the next epoch is complete when the gap before it ends.

        Arguments:
            pipeline: tf.data's model behind the iterator.
            pending_gaps: how many of its newest gap times came after the last execution that is
                complete; None if unknown.
        """
        for gap in self._timeline.take_epoch_gaps():
            self._audience.tell("epoch_gap_ends", gap)
        executions = self._timeline.take()
        if not executions:
            return
        if self._shapes_may_differ():
            executions = self._judged(executions, pipeline, pending_gaps)
        self._audience.tell("executions", executions)

    def _judged(
        self, executions: list[Execution], pipeline: InputModel | None, pending_gaps: int | None
    ) -> list[Execution]:
        self._batch_bytes.add(None if pipeline is None else pipeline.delivered())
        waits: dict[int, int] | None = {}
        asks = self._judge.begins or any(each.kind is Kind.STEADY for each in executions)
        if asks and pipeline is not None and pending_gaps is not None:
            asked_ns, per_step = self._timeline.asked_ns, self._fetches_per_step
            waits = pipeline.waits(executions, per_step, pending_gaps, asked_ns)
        if self._judge.begins:
            self._judge.begin(executions[0], waits or {}, self._traced_ns())
        return self._judge.judged(executions, waits, one_shape=self._batch_bytes.alike)

    def _traced_ns(self) -> int:
        """What tracing took since the training began; 0 where that is not told."""
        now_s = self._traced_s()
        if now_s is None or self._traced_before_s is None:
            return 0
        return round(1e9 * (now_s - self._traced_before_s))
