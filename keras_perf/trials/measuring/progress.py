"""What is being tried, on standard error."""

from __future__ import annotations

import sys


class Progress:
    """A first line, and on a terminal one that changes."""

    def begins(self, what: str, seconds: float) -> None:
        """Says how long it may take, and how to end it.

        Arguments:
            what: will be tried.
            seconds: at most.
        """
        line = f"keras_perf tries {what}, for {seconds:.0f} s at most. Ctrl-C ends it with what is"
        print(f"{line} known by then, and everything is put back.", file=sys.stderr, flush=True)

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
