"""Values that a command line's words stand for."""

from __future__ import annotations

import argparse


def positive(word: str) -> int:
    """A whole number of at least 1; for `argparse`, which then names the argument."""
    if not word.isdecimal() or int(word) < 1:
        raise argparse.ArgumentTypeError(f"must be a whole number of at least 1, got {word!r}")
    return int(word)
