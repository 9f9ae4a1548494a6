"""A slice of work on a pipeline that begins with it, long enough to stand for more."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

LONGEST_WAVE_S = 1.0
"""A first wait that is longer is taken for the filling of a buffer, at least in part."""

WAVES = 2
"""Where what is made at once comes at once, it is measured for so many times as long as one takes
to be made."""

UNEVEN, LARGE = 1.5, 1 / 3
"""One call takes so many times as long as the mean, and so large a share of all."""


@dataclass(frozen=True)
class Stretch:
    """Calls one after the other.

    Attributes:
        units: of work that they did.
        seconds: that they took together, with what lies between them.
        calls: how many there were.
        longest_s: seconds of the longest one.
    """

    units: int
    seconds: float
    calls: int
    longest_s: float

    def __add__(self, other: Stretch) -> Stretch:
        return Stretch(
            self.units + other.units,
            self.seconds + other.seconds,
            self.calls + other.calls,
            max(self.longest_s, other.longest_s),
        )

    @property
    def unit_ms(self) -> float:
        """Milliseconds of a unit, the mean."""
        return 1e3 * self.seconds / self.units

    @property
    def usual_s(self) -> float:
        """Seconds of a call, the mean."""
        return self.seconds / self.calls

    @property
    def has_waves(self) -> bool:
        """One call has waited for far more than the others."""
        return self.longest_s > max(LARGE * self.seconds, UNEVEN * self.usual_s)


def unit_ms(run_for: Callable[[float], Stretch], slice_s: float) -> float:
    """Milliseconds of a unit of work, once its pipeline goes its usual way.

    Batches that are made at the same time are ready at the same time: those made beside the first
    one come without a wait, and the next ones as long after it as that was waited for. So long is
    measured, and longer where that shows.

    Arguments:
        run_for: works for so many seconds, at least one call; its pipeline begins with the first.
        slice_s: of the pipeline, to begin with, and of what is measured.
    """
    before = run_for(slice_s)
    wave_s = min(before.longest_s, LONGEST_WAVE_S)
    stretch = run_for(slice_s)
    if wave_s > UNEVEN * stretch.usual_s:
        if stretch.seconds < wave_s:
            stretch += run_for(wave_s - stretch.seconds)
        if stretch.has_waves:
            stretch = run_for(WAVES * wave_s)
    return stretch.unit_ms
