"""Which callback's hook is being run."""

from __future__ import annotations

import sys
from types import FrameType

from keras_perf.records.owners import owner_of


def calling_hook() -> str | None:
    """The callback's hook that is being run, by the frame of ours that calls it; else None."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        ours = str(frame.f_globals.get("__name__")).startswith("keras_perf.observation.")
        if ours and {"callback", "hook"} <= frame.f_locals.keys():
            return owner_of(frame.f_locals["callback"], frame.f_locals["hook"])
        frame = frame.f_back
    return None
