"""What may ask for a window in the middle of training: time, slow steps, and people."""

from __future__ import annotations

import logging
import signal
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from types import FrameType
from typing import Any

from keras_perf.capture.window_requests import WindowRequests
from keras_perf.files.any_path import any_path, size_and_time
from keras_perf.files.remote_path import is_remote
from keras_perf.observers.capture_windows.may_compile import MayCompile
from keras_perf.observers.capture_windows.slow_steps import Slow, SlowSteps, Throttle
from keras_perf.observers.capture_windows.varying_compute import VaryingCompute
from keras_perf.observers.steps.input.gap_times import GAP_HISTORY
from keras_perf.records.execution import Execution, Kind
from keras_perf.records.reasons.capture_reason import CaptureReason

logger = logging.getLogger("keras_perf")

Request = Callable[[str], bool]
Waits = Callable[[Sequence[Execution]], Mapping[int, int] | None]
"""First step → nanoseconds that an execution waited for its input, as far as known."""

Clock = Callable[[], int]
"""In nanoseconds."""

REQUEST_FILE = "capture_now"
"""Touching this file in the log directory asks for a window."""

FIRST_NS, LOOK_EVERY_NS = 2_000_000_000, 10_000_000_000
"""Until steps' computing is looked at, and until it is again: a look takes about a millisecond."""

REMOTE_LOOK_S = 10.0
"""Between two looks at a remote file system, where each takes tens of milliseconds."""


class EverySeconds:
    """Asks for a window each time that so many seconds of training have passed."""

    def __init__(self, every_s: float, request: Request, clock: Clock) -> None:
        self._every_s, self._request, self._now = every_s, request, clock
        self._next_s = clock() / 1e9 + every_s

    def interval_ends(self) -> None:
        """Looks at the clock."""
        now_s = self._now() / 1e9
        if now_s >= self._next_s and self._request(CaptureReason.EVERY.of(every_s=self._every_s)):
            self._next_s = now_s + self._every_s


class OnSlowStep:
    """Asks for a window when steps are slow, as often as the throttle allows."""

    def __init__(self, factor: float, throttle: Throttle, request: Request, clock: Clock) -> None:
        self._slow, self._throttle, self._request = SlowSteps(factor), throttle, request
        self._now = clock
        self._waiting: Slow | None = None

    def executions(self, executions: Sequence[Execution]) -> None:
        """Judges them; many at once, between two executions."""
        found = self._slow.add(executions)
        if found is None or not found.lasts:
            found = self._waiting or found
        if found is None:
            return
        now_s = self._now() / 1e9
        if self._throttle.allows(now_s) and self._request(found.reason):
            self._throttle.count(now_s)
            self._waiting = None
        elif found.lasts:
            self._waiting = found


class OnShapesThatDiffer:
    """Asks for a window, once, where XLA may compile for the shape of nearly every batch."""

    def __init__(self, shapes_differ: Callable[[], bool], request: Request) -> None:
        self._shapes_differ, self._request = shapes_differ, request
        self._may_compile: MayCompile | None = MayCompile()

    def executions(self, executions: Sequence[Execution]) -> None:
        """Judges them."""
        if self._may_compile is None or not self._shapes_differ():
            return
        if self._may_compile.add(executions) and self._request(CaptureReason.SHAPES_DIFFER.of()):
            self._may_compile = None


class OnVaryingCompute:
    """Asks for a window, once, where steps compute for long and nothing known makes them."""

    def __init__(self, request: Request, clock: Clock) -> None:
        self._request, self._now = request, clock
        self._varying: VaryingCompute | None = VaryingCompute()
        self._stretch, self._next_ns = deque[Execution](maxlen=GAP_HISTORY), clock() + FIRST_NS

    def executions(self, executions: Sequence[Execution]) -> None:
        """Notes them: those after the last that was not steady, as far as waits are known."""
        if self._varying is None or self._now() < self._next_ns:
            return
        for execution in executions:
            if execution.kind is Kind.STEADY:
                self._stretch.append(execution)
            else:
                self._stretch.clear()

    def stretch_ends(self, waits: Waits) -> None:
        """Judges them, once it is known how long they waited for their input."""
        stretch = list(self._stretch)
        self._stretch.clear()
        if self._varying is None or not stretch:
            return
        times = self._varying.add(stretch, waits(stretch) or {})
        if times and self._request(CaptureReason.COMPUTE_VARIES.of(times=times)):
            self._varying = None
        elif self._varying.enough and not times:
            self._varying, self._next_ns = VaryingCompute(), self._now() + LOOK_EVERY_NS


class OnTouch:
    """Asks for a window when somebody has touched `REQUEST_FILE`."""

    def __init__(self, log_dir: str, request: Request, clock: Clock) -> None:
        self._path, self._request, self._now = f"{log_dir}/{REQUEST_FILE}", request, clock
        self._pause_s = REMOTE_LOOK_S if is_remote(log_dir) else 0.0
        self._next_s = clock() / 1e9 + self._pause_s
        self._seen = self._touched_ns()

    def interval_ends(self) -> None:
        """Looks at the file; it is left where it is, for other workers to see."""
        now_s = self._now() / 1e9
        if now_s < self._next_s:
            return
        self._next_s = now_s + self._pause_s
        touched = self._touched_ns()
        if touched != self._seen:
            self._seen = touched
            if touched is not None:
                self._request(CaptureReason.TOUCHED.of(file=REQUEST_FILE))

    def _touched_ns(self) -> int | None:
        try:
            return round(1e9 * size_and_time(any_path(self._path))[1])
        except OSError:
            return None


class OnSignal:
    """Asks for a window at SIGUSR2; whoever received it before still does."""

    def __init__(self, request: Request) -> None:
        self._request = request
        self._before: Any = None
        self._receives = threading.current_thread() is threading.main_thread()
        if self._receives:
            self._before = signal.signal(signal.SIGUSR2, self._received)
        else:
            logger.warning(
                "keras_perf: SIGUSR2 starts no window: Python lets only the main thread listen "
                "to signals, and fit runs in another. Touch %s in the log directory instead.",
                REQUEST_FILE,
            )

    def _received(self, number: int, frame: FrameType | None) -> None:
        if self._receives:
            self._request(CaptureReason.SIGNAL.of())
        if callable(self._before):
            self._before(number, frame)

    def stop(self) -> None:
        """Gives the signal back, unless somebody else has taken it since.

        Only the main thread can; elsewhere it goes on handing it to whoever received it before.
        """
        was_receiving, self._receives = self._receives, False
        ours = was_receiving and signal.getsignal(signal.SIGUSR2) == self._received
        if ours and threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGUSR2, self._who_still_receives() or signal.SIG_DFL)

    def _who_still_receives(self) -> Any:
        """Of those who received it before, the last one that is none of ours and has stopped."""
        before = self._before
        while isinstance(earlier := getattr(before, "__self__", None), OnSignal):
            if earlier._receives:
                break
            before = earlier._before
        return before


class Triggers:
    """All that may ask for windows in one training, beside the schedule.

    Arguments:
        log_dir: where `REQUEST_FILE` is looked for.
        requests: ask for a window.
        shapes_differ: tells whether XLA may compile for each batch.
        clock: nanoseconds.
        every_s, on_slow_step, throttle, on_signal: what of it is wanted, as in `WindowedProfiler`.
    """

    def __init__(
        self,
        log_dir: str,
        requests: WindowRequests,
        shapes_differ: Callable[[], bool],
        clock: Clock,
        *,
        every_s: float | None,
        on_slow_step: float | None,
        throttle: Throttle,
        on_signal: bool,
    ) -> None:
        self._touch = OnTouch(log_dir, requests.now, clock)
        self._time = self._slow = None
        if every_s is not None:
            self._time = EverySeconds(every_s, requests.when_warm, clock)
        if on_slow_step is not None:
            self._slow = OnSlowStep(on_slow_step, throttle, requests.now, clock)
        self._signal = OnSignal(requests.now) if on_signal else None
        self._shapes = OnShapesThatDiffer(shapes_differ, requests.first)
        self._varying, self._requests = OnVaryingCompute(requests.first, clock), requests

    def executions(self, executions: Sequence[Execution]) -> None:
        """Looks for slow steps, and for steps that may all compile."""
        self._shapes.executions(executions)
        if not self._requests.captured:
            self._varying.executions(executions)
        if self._slow is not None:
            self._slow.executions(executions)

    def stretch_ends(self, waits: Waits) -> None:
        """Looks at what steps computed for, until there is a trace."""
        if not self._requests.captured:
            self._varying.stretch_ends(waits)

    def interval_ends(self) -> None:
        """Looks at the clock and for the file."""
        self._touch.interval_ends()
        if self._time is not None:
            self._time.interval_ends()

    def stop(self) -> None:
        """Gives the signal back; again does nothing."""
        if self._signal is not None:
            self._signal.stop()
