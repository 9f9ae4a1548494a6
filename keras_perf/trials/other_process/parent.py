"""What a child owes the process that started it."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import sys
from pathlib import Path

_PR_SET_PDEATHSIG = 1


def end_with_parent(parent: int) -> None:
    """Linux kills this process when the one that started it ends, however it does, or has ended.

    A parent that is killed cannot end a child that trains, and may hold a GPU's memory meanwhile.
    Elsewhere than on Linux such a child goes on until it is done.

    Arguments:
        parent: its number.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        try:
            os.kill(parent, 0)
        except ProcessLookupError:
            os._exit(1)


def end_before_parent() -> None:
    """Where the whole machine runs out of memory, Linux is to end this process."""
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000")
