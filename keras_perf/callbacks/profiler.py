"""WindowedProfiler."""

from __future__ import annotations

import logging
import os
import time

from keras_perf.callbacks import profiler_door
from keras_perf.callbacks.listener import Director, Plan
from keras_perf.callbacks.listening import ListeningCallback
from keras_perf.callbacks.observation import Observation
from keras_perf.observers.schedule import CaptureSchedule
from keras_perf.records.execution import Kind
from keras_perf.write.events import RUN

logger = logging.getLogger("keras_perf")


class WindowedProfiler(ListeningCallback, Director):
    """Captures windows of training steps with TensorFlow's profiler, after warm-up.

    The trace goes to `<log_dir>/perf/plugins/profile`, where TensorBoard's Profile tab finds
    it, with step markers that xprof counts. Steps are optimizer steps of this `fit`, whatever
    `steps_per_execution` is; a window is rounded outwards to whole executions. Captured steps
    carry the profiler's cost and are left out of every other figure.

    Arguments:
        log_dir: the directory that TensorBoard is started on; str or os.PathLike.
        skip_first: steps before the first cycle.
        wait_steps: steps at the start of each cycle in which nothing happens.
        warmup_steps: steps to let pass after those: tracing, compiling, autotuning.
        active_steps: steps to capture, at least 1.
        repeat: number of cycles; 0 for no end.

    Raises:
        TypeError, ValueError, OSError: a wrong argument, or `log_dir` cannot be written.

    What it cannot see: with `steps_per_execution` above 1 xprof counts executions as it counts
    steps, and reports none of them.

    >>> import keras_perf as kp
    >>> profiler = kp.WindowedProfiler("logs/run1", warmup_steps=50, active_steps=10)
    """

    def __init__(
        self,
        log_dir: str | os.PathLike[str],
        *,
        skip_first: int = 0,
        wait_steps: int = 0,
        warmup_steps: int = 20,
        active_steps: int = 20,
        repeat: int = 1,
    ) -> None:
        super().__init__(log_dir)
        self.schedule = CaptureSchedule(skip_first, wait_steps, warmup_steps, active_steps, repeat)
        self._forget()

    def _forget(self) -> None:
        self._window: int | None = None
        self._refused: int | None = None
        self._window_begin = 0
        self._captures: list[dict[str, float]] = []

    def observation_begins(self, observation: Observation) -> None:
        """Starts the schedule anew."""
        self._forget()

    def direct(self, plan: Plan) -> Plan:
        """Starts and stops the capture; marks the steps inside."""
        observation = self.observation
        assert observation is not None
        step = observation.step - observation.first_step
        if step + plan.steps <= self.schedule.first_active:
            return plan
        window = self.schedule.window(step, plan.steps)
        if self._window is not None and window != self._window:
            self._stop()
        if window is not None and self._window is None and window != self._refused:
            self._start(window)
        if self._window is None:
            if self.schedule.is_over(step):
                observation.stop_directing(self)
            return plan
        marker = profiler_door.step_marker(observation.step)
        return plan._replace(kind=Kind.PROFILED, around=marker)

    def epoch_ends(self, *, validates: bool) -> None:
        """Closes a window that is complete, or would be filled with validation."""
        observation = self.observation
        assert observation is not None
        if self._window is None:
            return
        next_step = observation.step - observation.first_step
        going_on = self.schedule.window(next_step, 1) == self._window
        if validates or not going_on:
            self._refused = self._window
            self._stop()
        if validates and going_on:
            logger.warning(
                "keras_perf: the window of WindowedProfiler ends at step %d, %d steps early, "
                "because validation begins.",
                next_step,
                self.schedule.end_of(self._refused or 0) - next_step,
            )

    def leaves(self, aborted: bool) -> None:
        """Saves what was captured; says if nothing was."""
        observation = self.observation
        assert observation is not None
        if self._window is not None:
            self._stop()
        elif not self._captures and self._refused is None:
            logger.warning(
                "keras_perf: WindowedProfiler captured nothing: the window begins at step %d "
                "of a fit and this one had %d. Lower warmup_steps or train longer.",
                self.schedule.first_active,
                observation.step - observation.first_step,
            )

    def _start(self, window: int) -> None:
        observation = self.observation
        assert observation is not None
        try:
            profiler_door.start(os.path.join(self.log_dir, RUN))
        except profiler_door.CaptureError as error:
            self._refused = window
            logger.warning("keras_perf: no trace of this window: %s.", str(error))
            return
        self._window, self._window_begin = window, observation.step

    def _stop(self) -> None:
        observation = self.observation
        assert observation is not None
        self._window = None
        begin = time.perf_counter()
        try:
            profiler_door.stop()
        except profiler_door.CaptureError as error:
            self._refused = self.schedule.repeat
            logger.warning("keras_perf: the trace was lost: %s.", str(error))
            return
        self._captures.append(
            {
                "first_step": self._window_begin,
                "last_step": observation.step,
                "stop_s": time.perf_counter() - begin,
            }
        )
        observation.recording.context["captures"] = self._captures
