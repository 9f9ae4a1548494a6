"""Reads CPU and memory of the machine and of this process."""

from __future__ import annotations

import psutil

_MIB = 1024 * 1024


class HostReader:
    """One sample a call; percentages are over the time since the call before.

    Cannot see: child processes, a container's CPU limit.
    """

    def __init__(self) -> None:
        self._process = psutil.Process()
        psutil.cpu_percent()
        self._process.cpu_percent()

    def read(self) -> dict[str, float]:
        """Tag → value in the tag's unit."""
        return {
            "host/cpu_pct": psutil.cpu_percent(),
            "host/process_cpu_pct": self._process.cpu_percent(),
            "host/memory_used_mib": psutil.virtual_memory().used / _MIB,
            "host/process_memory_mib": self._process.memory_info().rss / _MIB,
        }

    def close(self) -> None:
        """Nothing is held."""
