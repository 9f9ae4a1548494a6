"""How many cores there are for this process."""

from __future__ import annotations

import os


def usable_cores() -> int | None:
    """Logical ones that it may run on, where the system tells, or else all; None if unknown."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count()
