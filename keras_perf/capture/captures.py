"""The captures of one `fit`: opened, closed, and written down with what they cost."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from types import ModuleType

from keras_perf.capture.trace_files import CaptureError, Saved
from keras_perf.observers.capture_windows.cost import Slowdown, bytes_per_step
from keras_perf.observers.capture_windows.windows import Window
from keras_perf.observers.delayed_signals import uninterrupted
from keras_perf.records.execution import Execution
from keras_perf.records.figures import in_bytes
from keras_perf.records.run.capture import Capture

logger = logging.getLogger("keras_perf")


class Captures:
    """Opens and closes captures, and keeps their records.

    Steps given to it are the optimizer's. What went wrong is said; nothing is raised.

    Arguments:
        log_dir: under which traces are kept.
        profiler: the door to the one that takes them.
        clock: nanoseconds.

    Attributes:
        open: a capture is running.
        lost: a capture could not be saved; another would not be either.
        refused: another could not be started.
        saved: where the newest one lies.
    """

    def __init__(self, log_dir: str, profiler: ModuleType, clock: Callable[[], int]) -> None:
        self._log_dir, self._profiler, self._now = log_dir, profiler, clock
        self.open = self.lost = self.refused = False
        self.saved: Saved | None = None
        self._records: list[Capture] = []
        self._unsettled: Capture | None = None
        self._slowdown = Slowdown()
        self._window = Window(0, 0, "")
        self._first_step = 0
        self._start_s = 0.0

    @uninterrupted()
    def begin(self, step: int, window: Window) -> bool:
        """Starts a capture of `window` before `step`; False, and said, if that cannot be."""
        self._window, self._first_step = window, step
        begin = self._now()
        try:
            self._profiler.start(self._log_dir)
        except CaptureError as error:
            self.refused = True
            logger.warning("keras_perf: no trace of this window: %s.", str(error))
            return False
        self._start_s = self._seconds_since(begin)
        self.open = True
        return True

    @uninterrupted()
    def end(self, step: int) -> None:
        """Saves the capture, which ends before `step`."""
        self.open = False
        begin = self._now()
        try:
            self.saved = self._profiler.stop()
        except CaptureError as error:
            self.lost = True
            logger.warning(
                "keras_perf: the trace of steps %d to %d was lost: %s. No other window of this "
                "training is captured.",
                self._first_step,
                max(self._first_step, step - 1),
                str(error),
            )
            return
        self._unsettled = self._record(step, self.saved, self._seconds_since(begin))

    def _seconds_since(self, begin: int) -> float:
        return (self._now() - begin) / 1e9

    def _record(self, step: int, saved: Saved, stop_s: float) -> Capture:
        return Capture(
            reason=self._window.reason,
            first_step=self._first_step,
            last_step=step,
            asked_first_step=self._window.first_step,
            asked_last_step=self._window.end_step,
            start_s=self._start_s,
            stop_s=stop_s,
            size_bytes=saved.size_bytes,
            trace=os.path.basename(saved.folder),
        )

    def executions(self, executions: Sequence[Execution]) -> None:
        """Learns what steps take, inside and before."""
        self._slowdown.add(executions)

    def settle(self) -> Capture | None:
        """The newest record, now that the window's last execution has been told of; only once."""
        record, self._unsettled = self._unsettled, None
        if record is None:
            return None
        record = replace(record, slowdown=self._slowdown.take())
        self._records.append(record)
        logger.info("keras_perf: %s.", line_of(record))
        return record

    @property
    def bytes_per_step(self) -> float | None:
        """What a step took in the newest trace; None where that does not tell."""
        newest = self._unsettled or (self._records[-1] if self._records else None)
        if newest is None:
            return None
        return bytes_per_step(newest.size_bytes, newest.last_step - newest.first_step)

    def records(self) -> tuple[Capture, ...]:
        """All of them."""
        return tuple(self._records)


def line_of(capture: Capture) -> str:
    """A capture in one line."""
    whole = "; executions of several steps are captured whole" if capture.rounded else ""
    asked = f" (asked for: {capture.asked_first_step} to {capture.asked_last_step - 1}{whole})"
    asked = "" if capture.as_asked else asked
    slower = "" if capture.slowdown is None else f"steps took {capture.slowdown:.2f}× as long, "
    return (
        f"captured steps {capture.first_step} to {capture.last_step - 1}{asked}, "
        f"reason: {capture.reason}; {slower}saving blocked {capture.stop_s * 1e3:.0f} ms, "
        f"{in_bytes(capture.size_bytes)} in {capture.trace} (TensorBoard's Profile tab, whose "
        "charts need a network)"
    )


def scalars_of(capture: Capture) -> dict[str, float]:
    """Tag → value; what was not measured is absent."""
    values = {
        "capture/start_ms": capture.start_s * 1e3,
        "capture/stop_ms": capture.stop_s * 1e3,
        "capture/size_mib": capture.size_bytes / 2**20,
    }
    if capture.slowdown is not None:
        values["capture/slowdown_ratio"] = capture.slowdown
    return values
