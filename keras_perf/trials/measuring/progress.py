"""What is being tried, on standard error."""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable

logger = logging.getLogger("keras_perf")


class Progress:
    """A first line, and on a terminal one that changes; none where keras_perf may not warn."""

    def begins(self, what: str, seconds: float | None = None) -> None:
        """Says how long it may take, and how to end it.

        Arguments:
            what: will be tried.
            seconds: at most; None where that is not known.
        """
        if _is_silent():
            return
        for_s = "" if seconds is None else f", for {seconds:.0f} s at most"
        line = f"keras_perf tries {what}{for_s}. Ctrl-C ends it with what is"
        print(f"{line} known by then, and everything is put back.", file=sys.stderr, flush=True)

    def tries(self, what: str, left_s: float | None) -> None:
        """From now on this is tried.

        Arguments:
            what: in a few words.
            left_s: seconds that are left for all, about; None where that is not known yet.
        """
        if _has_a_line():
            left = "" if left_s is None else f", {left_s:.0f} s left"
            print(f"\r\x1b[Ktrying {what}{left}", end="", file=sys.stderr, flush=True)

    def ends(self) -> None:
        """Takes the line away."""
        if _has_a_line():
            print("\r\x1b[K", end="", file=sys.stderr)


class Pace:
    """How long it takes until all of equal parts are done.

    Arguments:
        parts: in all.
        clock: seconds.
    """

    def __init__(self, parts: int, clock: Callable[[], float] = time.perf_counter) -> None:
        self._parts, self._clock, self._begin = parts, clock, clock()

    def left_s(self, done: int) -> float | None:
        """Seconds from now on, if parts go on taking what they took; None before the first."""
        if not done:
            return None
        return (self._clock() - self._begin) / done * (self._parts - done)


def _is_silent() -> bool:
    """As `keras-perf run --quiet` asks, and whoever sets the logger's level above warnings."""
    return not logger.isEnabledFor(logging.WARNING)


def _has_a_line() -> bool:
    return sys.stderr.isatty() and not _is_silent()
