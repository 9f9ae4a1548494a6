"""The memory that training takes of this process, and its limit."""

from __future__ import annotations

import contextlib
import math
import re
import resource
from pathlib import Path
from typing import Protocol

from keras_perf.observers.container.limits import memory_available_mib

_MIB = 2**20
_PROC = Path("/proc/self")

AVAILABLE = 0.9
"""Share of the memory available that training may take: the rest is for other programs."""

UNUSED_MIB = 64
"""Linux limits what a process has asked for: stacks of threads and heaps, too, hardly ever used."""


class TrainingMemory(Protocol):
    """Memory from its making on; about `limit_mib` more, and asking for memory fails."""

    limit_mib: float

    def peak_mib(self) -> float:
        """The most that was held at once."""


class HostMemory:
    """Resident memory of this process beyond what it holds when this is made.

    Arguments:
        limit_mib: what training may take; None for most of what is available.
    """

    def __init__(self, limit_mib: float | None) -> None:
        available = AVAILABLE * memory_available_mib()
        self.limit_mib = min(available, math.inf if limit_mib is None else limit_mib)
        with contextlib.suppress(OSError):
            # The peak so far is that of starting the library.
            (_PROC / "clear_refs").write_text("5")
        self._before = _status("VmRSS")
        limit = _status("VmData") + int((self.limit_mib + UNUSED_MIB) * _MIB)
        _, hard = resource.getrlimit(resource.RLIMIT_DATA)
        if hard == resource.RLIM_INFINITY or limit < hard:
            resource.setrlimit(resource.RLIMIT_DATA, (limit, hard))

    def peak_mib(self) -> float:
        """The kernel's own peak, less what was there before."""
        return (_status("VmHWM") - self._before) / _MIB


def _status(field: str) -> int:
    """Bytes of a field that Linux gives in kB."""
    found = re.search(rf"^{field}:\s+(\d+) kB", (_PROC / "status").read_text(), re.MULTILINE)
    assert found is not None
    return 1024 * int(found[1])
