"""What is being tried, on a terminal."""

from __future__ import annotations

import sys


class Progress:
    """One line on the terminal that changes; nothing where standard error is none."""

    def tries(self, what: str, left_s: float) -> None:
        """From now on this is tried.

        Arguments:
            what: in a few words.
            left_s: seconds that are left for all.
        """
        if sys.stderr.isatty():
            print(f"\r\x1b[Ktrying {what}, {left_s:.0f} s left", end="", file=sys.stderr)

    def ends(self) -> None:
        """Takes the line away."""
        if sys.stderr.isatty():
            print("\r\x1b[K", end="", file=sys.stderr)
