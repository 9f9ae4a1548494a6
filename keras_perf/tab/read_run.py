"""A run that was read, and what of it TensorBoard's Profile tab shows."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

from keras_perf.advise.notes.memory.ending import runs_here
from keras_perf.read.fits import Fit
from keras_perf.records.run.capture import Capture
from keras_perf.records.run.ending import How
from keras_perf.report.page.plots.timeline import Timeline, timeline_of
from keras_perf.report.run_report import RunReport

TRACES = ("plugins", "profile")
"""Where the Profile tab looks, below a run's folder."""


@dataclass(frozen=True, eq=False)
class ReadRun:
    """One run as it was when it was read.

    Attributes:
        report: what is told of it.
        fit: that it is of.
        of_tensorboard: the folder as TensorBoard calls it; None where the Profile tab shows
            nothing, as with `--logdir_spec`.
    """

    report: RunReport
    fit: Fit = field(repr=False)
    of_tensorboard: str | None = None
    ran: bool | None = field(init=False, repr=False)

    def __post_init__(self) -> None:
        ending = self.fit.facts.ending
        goes_on = ending is None or ending.how is How.RUNNING
        object.__setattr__(self, "ran", runs_here(self.fit) if goes_on else None)

    @property
    def was_killed(self) -> bool:
        """Since it was read its process has ended, and has written nothing."""
        return bool(self.ran) and runs_here(self.fit) is False

    @cached_property
    def timeline(self) -> Timeline:
        """Its steps."""
        return timeline_of(self.report)

    def trace_of(self, capture: Capture) -> str | None:
        """What the Profile tab calls the capture's trace; None where it has none."""
        if self.of_tensorboard is None or not self._is_there(capture.trace):
            return None
        return f"{self.of_tensorboard}/{capture.trace}".removeprefix("./")

    def _is_there(self, trace: str) -> bool:
        # The name comes from an event file, and could lead anywhere.
        if not trace or "/" in trace or "\\" in trace or trace in (".", ".."):
            return False
        try:
            folder = self.fit.path.parent
            for name in (*TRACES, trace):
                folder = folder / name
            return folder.is_dir()
        except (OSError, ValueError):
            return False
