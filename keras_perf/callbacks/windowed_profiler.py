"""WindowedProfiler."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from typing import Any

from keras_perf.callbacks.observing_callback import ObservingCallback
from keras_perf.callbacks.written_captures import WrittenCaptures
from keras_perf.capture.chosen_worker import captures_here
from keras_perf.capture.triggers import Triggers
from keras_perf.capture.window_requests import WindowRequests
from keras_perf.cluster.worker_number import require_workers
from keras_perf.observation.failure_line import harmless
from keras_perf.observation.input_model import InputModel
from keras_perf.observation.listener import Director, Plan
from keras_perf.observation.observation import Observation
from keras_perf.observers.capture_windows.schedule import CaptureSchedule
from keras_perf.observers.capture_windows.slow_steps import Throttle
from keras_perf.observers.capture_windows.windows import Window, Windows, say_missed
from keras_perf.records.arguments import require_bool, require_int, require_number
from keras_perf.records.execution import Execution, Kind
from keras_perf.records.run.settings import TRAIN_ON_BATCH

logger = logging.getLogger("keras_perf")


class WindowedProfiler(ObservingCallback, Director):
    """Captures windows of training steps with TensorFlow's profiler, after warm-up.

    The trace goes to `<log_dir>/perf/plugins/profile`, where TensorBoard's Profile tab finds
    it, with step markers that xprof counts; its charts need a network. Steps are optimizer
    steps of this `fit`, whatever `steps_per_execution` is; a window is rounded outwards to
    whole executions. Warm-up starts again where the train function was traced or XLA compiled in
    it. Captured steps carry the profiler's cost, which is logged with each capture, and are left
    out of every other figure. What `keras_perf.read_trace` reads of them, in a thread, is logged.

    Touching the file `<log_dir>/capture_now` starts a window in a training that runs. Where only a
    trace tells whether XLA compiles nearly every step, or why most steps compute for far longer
    than the quickest, one is captured ahead of the schedule.

    Arguments:
        log_dir: the directory that TensorBoard is started on; str or os.PathLike.
        skip_first: steps before the first cycle.
        wait_steps: steps at the start of each cycle in which nothing happens.
        warmup_steps: steps to let pass after those: tracing, compiling, autotuning.
        active_steps: steps to capture, at least 1. A window whose trace would be larger than
            about 64 MiB is shortened, with a warning.
        repeat: number of cycles; 0 for no end.
        every_s: seconds between windows that come beside the schedule.
        on_slow_step: a factor above 1: beside the schedule, a window when the median step has
            become slower by it, or a single one took far longer than usual.
        max_captures: how often, at most, `on_slow_step` may start a window in a `fit`.
        cooldown_s: seconds between two such windows, at least.
        on_signal: SIGUSR2 starts a window, as touching the file does.
        workers: of several workers, `"chief"` captures, or `"all"`, or those numbered here.

    Raises:
        TypeError, ValueError, OSError: a wrong argument, or `log_dir` cannot be written.

    What it cannot see: with `steps_per_execution` above 1 xprof counts executions as it counts
    steps, and reports none of them.

    >>> import keras_perf as kp
    >>> profiler = kp.WindowedProfiler("logs/run1", warmup_steps=50, on_slow_step=1.5)
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
        every_s: float | None = None,
        on_slow_step: float | None = None,
        max_captures: int = 3,
        cooldown_s: float = 60.0,
        on_signal: bool = False,
        workers: str | Iterable[int] = "chief",
    ) -> None:
        super().__init__(log_dir)
        self.schedule = CaptureSchedule(skip_first, wait_steps, warmup_steps, active_steps, repeat)
        if every_s is not None:
            every_s = require_number("every_s", every_s, above=0, remedy="None starts none.")
        if on_slow_step is not None:
            remedy = "1.5 starts a window when steps take half as long again."
            on_slow_step = require_number("on_slow_step", on_slow_step, above=1, remedy=remedy)
        remedy = " To start none at slow steps, leave on_slow_step out."
        self.max_captures = require_int("max_captures", max_captures, 1, remedy)
        remedy = "The default is 60."
        self.cooldown_s = require_number("cooldown_s", cooldown_s, above=0, remedy=remedy)
        self.every_s, self.on_slow_step = every_s, on_slow_step
        self.on_signal = require_bool("on_signal", on_signal)
        self.workers = require_workers(workers)
        self._forget()

    def _forget(self) -> None:
        self._windows, self._traces = Windows(self.schedule), 0
        self._written: WrittenCaptures | None = None
        self._triggers: Triggers | None = None

    @harmless
    def on_train_begin(self, logs: Any = None) -> None:
        """Joins, if this worker is to capture."""
        if captures_here(self.workers):
            super().on_train_begin(logs)

    def observation_begins(self, observation: Observation) -> None:
        """Starts the schedule and the triggers anew."""
        self._forget()
        self._written = WrittenCaptures(self.log_dir, observation)
        captures = self._captures
        self._triggers = Triggers(
            self.log_dir,
            WindowRequests(self._windows, lambda: self._step, lambda: captures.tried),
            lambda: observation.shapes_differ,
            observation.now,
            every_s=self.every_s,
            on_slow_step=self.on_slow_step,
            throttle=Throttle(self.max_captures, self.cooldown_s),
            on_signal=self.on_signal,
        )

    @property
    def _captures(self) -> WrittenCaptures:
        assert self._written is not None
        return self._written

    @property
    def _step(self) -> int:
        """Steps of this `fit` so far."""
        return self._training.step - self._training.first_step

    def wants(self, plan: Plan) -> bool:
        """Where a window may begin or end, and where TensorFlow has traced."""
        observation, windows = self.observation, self._windows
        assert observation is not None
        after = observation.step - observation.first_step + plan.steps
        is_quiet = windows.asked is None and after <= windows.quiet_until
        return not is_quiet or observation.traces != self._traces

    def direct(self, plan: Plan) -> Plan:
        """Starts and stops the capture; marks the steps inside."""
        step = self._step
        if self._training.traces != self._traces:
            self._traces = self._training.traces
            # The first execution's trace is what warm-up is for.
            if step > plan.steps:
                self._warm_up_again(step, "the train function was traced again")
        if not self.wants(plan):
            return plan
        before = self._windows.current
        window = self._windows.at(step, plan.steps)
        if before is not None and window is not before:
            self._captures.end()
        if window is not None and window is not before and not self._begin(window, plan):
            return plan
        if not self._captures.open:
            return plan
        marker = self._training.backend.profiler.step_marker(self._training.step)
        return plan._replace(kind=Kind.PROFILED, around=marker)

    def free_steps(self) -> int:
        """No trial runs past the begin of the first window."""
        return self._windows.free_steps(self._step)

    def _warm_up_again(self, step: int, why: str) -> None:
        if self._windows.warm_up_again(step):
            logger.info("keras_perf: warm-up starts again at step %d: %s.", step, why)

    def _begin(self, window: Window, plan: Plan) -> bool:
        steps = self._captures.begin(window, plan)
        if steps is None:
            self._windows.abandon()
            return False
        if self._step + steps < window.end_step:
            self._windows.shorten(self._step + steps)
        return True

    def executions(self, executions: Sequence[Execution]) -> None:
        """Looks for recompilations and slow steps."""
        self._captures.executions(executions)
        for execution in executions:
            if execution.kind is Kind.RECOMPILED:
                after = execution.first_step + execution.steps - self._training.first_step
                self._warm_up_again(after, "XLA compiled the train function again")
        # Reading a trace slows the steps beside it; that is no reason for another.
        if self._triggers is not None and not self._captures.reads:
            self._triggers.executions(executions)

    def stretch_ends(self, pipeline: InputModel | None, pending_gaps: int | None) -> None:
        """Looks at what steps computed for."""
        if self._triggers is None:
            return
        if pipeline is None or pending_gaps is None:
            self._triggers.stretch_ends(lambda stretch: None)
            return
        asked = self._training.fetches_per_step, pending_gaps, self._training.timeline.asked_ns
        self._triggers.stretch_ends(lambda stretch: pipeline.waits(stretch, *asked))

    def interval_ends(self, step: int, wall_time: float, final: bool) -> None:
        """Writes the newest capture down; looks whether something asks for another."""
        if final or not self._captures.open:
            self._captures.settle()
        self._captures.tell_what_was_read(wait=False)
        if self._triggers is not None:
            self._triggers.interval_ends()

    def epoch_ends(self, *, validates: bool) -> None:
        """Closes a window that is complete, or would be filled with validation."""
        window = self._windows.current
        if window is None:
            return
        left = 0 if self._step >= self._windows.enough_at else window.end_step - self._step
        if left > 0 and not validates:
            return
        self._captures.end()
        self._windows.abandon()
        if left > 0:
            logger.warning(
                "keras_perf: the window of WindowedProfiler ends at step %d, %d steps early, "
                "because validation begins.",
                self._step,
                left,
            )

    def executions_end(self) -> None:
        """Saves what was captured."""
        self._captures.end()

    def leaves(self, aborted: bool) -> None:
        """Saves what was captured; says if a window was not reached."""
        with ExitStack() as held:
            held.callback(self._forget)
            if self._triggers is not None:
                held.callback(self._triggers.stop)
            if self._written is not None:
                held.callback(self._written.end)
                self._written.end()
                self._written.settle()
                self._written.tell_what_was_read(wait=True)
                missed = self._windows.missed(self._step, captured=self._captures.tried)
                if missed and self._training.settings()["driver"]() != TRAIN_ON_BATCH:
                    say_missed(missed, self._windows.next_start, self._training.model)
