"""The captures of one training, written where TensorBoard and the diagnosis find them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace

from keras_perf.capture.background_reader import TraceReadings
from keras_perf.capture.captures import Captures, scalars_of
from keras_perf.capture.trace_size import affordable_steps
from keras_perf.observation.listener import Plan
from keras_perf.observation.observation import Observation
from keras_perf.observers.capture_windows.windows import Window
from keras_perf.records.execution import Execution
from keras_perf.trace.trace import trace_scalars


class WrittenCaptures:
    """Opens and closes captures; writes what each cost, and what its trace shows once it is read.

    Arguments:
        log_dir: the directory that TensorBoard is started on.
        observation: of the training.
    """

    def __init__(self, log_dir: str, observation: Observation) -> None:
        self._observation = observation
        self._writer = observation.recording.writer(log_dir)
        self._captures = Captures(
            os.path.join(log_dir, observation.recording.run),
            observation.backend.profiler,
            observation.now,
        )
        self._readings = TraceReadings()

    @property
    def open(self) -> bool:
        """A capture is running."""
        return self._captures.open

    @property
    def reads(self) -> bool:
        """A trace is being read, which slows the steps beside it."""
        return self._readings.busy

    @property
    def tried(self) -> bool:
        """There was one, or another could not be started."""
        return bool(self._captures.records() or self._captures.refused)

    def begin(self, window: Window, plan: Plan) -> int | None:
        """Captures a window, which is counted from the first step of the training.

        Returns:
            How many of its steps a trace has room for; None if it cannot be captured.
        """
        self.settle()
        step, first = self._observation.step, self._observation.first_step
        shifted = window._replace(
            first_step=window.first_step + first, end_step=window.end_step + first
        )
        if self._captures.lost or not self._captures.begin(step, shifted):
            return None
        size = self._captures.bytes_per_step
        return affordable_steps(shifted.end_step - step, plan.function, plan.steps, size)

    def end(self) -> None:
        """Saves the capture that is open, if one is."""
        if self._captures.open:
            self._captures.end(self._observation.step)

    def executions(self, executions: Sequence[Execution]) -> None:
        """Learns what steps take, inside and before."""
        self._captures.executions(executions)

    def settle(self) -> None:
        """Writes down the newest capture with what it cost."""
        record = self._captures.settle()
        if record is not None:
            recording = self._observation.recording
            recording.facts = replace(recording.facts, captures=self._captures.records())
            self._writer.scalars(record.last_step, scalars_of(record))
            if self._captures.saved is not None:
                self._readings.begin(self._captures.saved, record.last_step)

    def tell_what_was_read(self, *, wait: bool) -> None:
        """Writes what the traces show that have been read since the last time."""
        for step, trace in self._readings.take(wait=wait):
            self._writer.scalars(step, trace_scalars(trace))
            self._writer.text(step, "perf/trace", trace.to_markdown())
            self._observation.recording.trace = trace
