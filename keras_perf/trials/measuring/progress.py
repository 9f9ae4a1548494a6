"""What is being tried, on standard error."""

from __future__ import annotations

import logging
import sys

logger = logging.getLogger("keras_perf")


class Progress:
    """A first line, and on a terminal one that changes; none where keras_perf may not warn."""

    def begins(self, what: str, seconds: float) -> None:
        """Says how long it may take, and how to end it.

        Arguments:
            what: will be tried.
            seconds: at most.
        """
        if _is_silent():
            return
        line = f"keras_perf tries {what}, for {seconds:.0f} s at most. Ctrl-C ends it with what is"
        print(f"{line} known by then, and everything is put back.", file=sys.stderr, flush=True)

    def tries(self, what: str, left_s: float) -> None:
        """From now on this is tried.

        Arguments:
            what: in a few words.
            left_s: seconds that are left for all.
        """
        if _has_a_line():
            print(f"\r\x1b[Ktrying {what}, {left_s:.0f} s left", end="", file=sys.stderr)

    def ends(self) -> None:
        """Takes the line away."""
        if _has_a_line():
            print("\r\x1b[K", end="", file=sys.stderr)


def _is_silent() -> bool:
    """As `keras-perf run --quiet` asks, and whoever sets the logger's level above warnings."""
    return not logger.isEnabledFor(logging.WARNING)


def _has_a_line() -> bool:
    return sys.stderr.isatty() and not _is_silent()
