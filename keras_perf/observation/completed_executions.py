"""Tells of executions that are complete, with their final kind."""

from __future__ import annotations

from collections.abc import Callable

from keras_perf.observation.input_model import InputModel
from keras_perf.observation.listeners import Audience
from keras_perf.observers.steps.recompiling import RecompileGuess
from keras_perf.observers.steps.timeline import Timeline
from keras_perf.records.execution import Kind


class Completed:
    """What the timeline has completed, for the audience.

    Arguments:
        timeline: that executions are taken from.
        audience: who is told.
        fetches_per_step: how often a step asks the iterator for an element.
        shapes_differ: tells whether XLA may compile for each execution.
    """

    def __init__(
        self,
        timeline: Timeline,
        audience: Audience,
        fetches_per_step: float,
        shapes_differ: Callable[[], bool],
    ) -> None:
        self._timeline, self._audience = timeline, audience
        self._fetches_per_step, self._shapes_differ = fetches_per_step, shapes_differ
        self._judge = RecompileGuess()

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
        if self._shapes_differ():
            waits: dict[int, int] | None = {}
            steady = any(execution.kind is Kind.STEADY for execution in executions)
            if steady and pipeline is not None and pending_gaps is not None:
                begun_ns, per_step = self._timeline.begun_ns, self._fetches_per_step
                waits = pipeline.waits(executions, per_step, pending_gaps, begun_ns)
            executions = self._judge.judged(executions, waits)
        self._audience.tell("executions", executions)
