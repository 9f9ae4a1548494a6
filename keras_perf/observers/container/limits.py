"""The memory and processors that a container may use, where it is less than the machine's."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import psutil

_MIB = 2**20

NO_LIMIT = 2**60
"""Version 1 of Linux's control groups writes a number above this where there is none."""

_FILES = (
    ("memory.max", "memory.current", "inactive_file"),
    ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
)
"""Limit, use, and what of the use is files that the kernel lets go of, in versions 2 and 1."""


class ContainerMemory(NamedTuple):
    """MiB that may be used, and what of them is left."""

    limit_mib: float
    available_mib: float


def container_memory(root: Path = Path("/")) -> ContainerMemory | None:
    """Of the group of processes that is nearest to its limit; None where no group has one.

    Arguments:
        root: of the file system.

    Source: the kernel's documentation of control groups, "Memory Interface Files".
    """
    groups = _groups(root, "memory")
    found = [known for group in groups if (known := _of_group(group)) is not None]
    return min(found, key=lambda known: known.available_mib, default=None)


def container_cpus(root: Path = Path("/")) -> float | None:
    """Of how many logical CPUs a container may use the time, parts of one too; None if of all.

    Arguments:
        root: of the file system.

    Source: the kernel's documentation of control groups, "CPU Interface Files", and for version 1
    "CFS Bandwidth Control".
    """
    quotas = [q for group in _groups(root, "cpu") if (q := _quota(group)) is not None]
    return min(quotas, default=None)


class QuotaPeriods(NamedTuple):
    """Of a quota of CPU time: those that there were, and those in which it was used up."""

    periods: int
    used_up: int


def quota_periods(root: Path = Path("/")) -> QuotaPeriods | None:
    """Of the smallest quota, since the container was started; None where there is none.

    Arguments:
        root: of the file system.

    Source: as `container_cpus`; `nr_periods` and `nr_throttled` of cpu.stat.
    """
    quotas = [(q, group) for group in _groups(root, "cpu") if (q := _quota(group)) is not None]
    if not quotas:
        return None
    _, group = min(quotas)
    with contextlib.suppress(OSError, ValueError, KeyError):
        told = dict(line.split() for line in (group / "cpu.stat").read_text().splitlines())
        return QuotaPeriods(int(told["nr_periods"]), int(told["nr_throttled"]))
    return None


def memory_available_mib() -> float:
    """What may still be used: of the machine's memory, or of the container's."""
    available_mib = float(psutil.virtual_memory().available / _MIB)
    container = container_memory()
    return available_mib if container is None else min(available_mib, container.available_mib)


def _groups(root: Path, controller: str) -> Iterator[Path]:
    """The group of this process and those around it, in both versions.

    Arguments:
        root: of the file system.
        controller: whose groups are wanted, of those that version 1 keeps apart.
    """
    with contextlib.suppress(OSError, ValueError):
        for line in (root / "proc/self/cgroup").read_text().splitlines():
            _, controllers, name = line.split(":", 2)
            if not controllers or controller in controllers.split(","):
                top = root / "sys/fs/cgroup" / controllers
                group = top / name.strip("/")
                yield from (each for each in (group, *group.parents) if each.is_relative_to(top))


def _of_group(group: Path) -> ContainerMemory | None:
    for limit_file, used_file, files in _FILES:
        with contextlib.suppress(OSError, ValueError):
            # A group without a limit says "max".
            limit = int((group / limit_file).read_text())
            used = int((group / used_file).read_text())
            stat = dict(line.split() for line in (group / "memory.stat").read_text().splitlines())
            kept = used - int(stat.get(files, 0))
            if limit < NO_LIMIT:
                return ContainerMemory(limit / _MIB, max(0, limit - kept) / _MIB)
    return None


def _quota(group: Path) -> float | None:
    with contextlib.suppress(OSError, ValueError):
        quota, period = (group / "cpu.max").read_text().split()
        return None if quota == "max" else int(quota) / int(period)
    with contextlib.suppress(OSError, ValueError):
        least = int((group / "cpu.cfs_quota_us").read_text())
        return least / int((group / "cpu.cfs_period_us").read_text()) if least > 0 else None
    return None
