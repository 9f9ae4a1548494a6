"""Reads how fast disks, network and swap of the machine are read and written."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Collection, Mapping
from pathlib import Path

import psutil

from keras_perf.observers.asking import answers

EVERY_S = 5.0
"""Reading takes half a millisecond to one: a ten thousandth of the time."""

_MIB = 1024 * 1024

NO_DISKS = ("loop", "ram", "zram", "dm-", "md")
"""Block devices that are memory, or that other disks stand behind."""


INTERFACES = Path("/sys/class/net")
"""Where Linux tells what each network interface is."""

STACKED = ("bonding", "bridge", "brport", "tun_flags", "lower_*")
"""In the folder of one that sends through another, which counts the same; a card may be the port of
a bridge, too, and has a `device`."""


class DiskAndNetworkReader:
    """Rates over the time since the call before; nothing at first, or within EVERY_S.

    What the system does not count is left out, and costs no other.

    Arguments:
        clock: monotonic seconds.

    Cannot see: what a file system in the network or in memory reads (as network, or not at all);
    which process it was.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._before: Mapping[str, float] = {}
        self._since = self._due = 0.0

    def read(self) -> dict[str, float]:
        """Tag → value in the tag's unit."""
        now = self._clock()
        if now < self._due:
            return {}
        self._due = now + EVERY_S
        counts, seconds = _counts(), now - self._since
        before, self._before, self._since = self._before, counts, now
        # A counter that is set back, as that of a card that was restarted, says nothing.
        rates = {
            tag: (count - before[tag]) / seconds
            for tag, count in counts.items()
            if count >= before.get(tag, float("inf"))
        }
        busy = [rates.pop(tag) for tag in list(rates) if tag.startswith(_BUSY)]
        # The disk's own clock and ours differ a little.
        return rates | ({"host/disk_busy_pct": min(100.0, max(busy))} if busy else {})

    def close(self) -> None:
        """Nothing is held."""


_BUSY = "busy/"


def _counts() -> dict[str, float]:
    """Tag → sum since the machine was started, in MiB; `busy/<disk>` in hundredths of a second."""
    found: dict[str, float] = {}
    asked = {"swap": _swap, "network": _network, "disks": _disks, "process": _process}
    for counted in answers(asked, {}).values():
        found |= counted
    return found


def _swap() -> dict[str, float]:
    swap = psutil.swap_memory()
    return {
        "host/swapped_in_mib_per_sec": swap.sin / _MIB,
        "host/swapped_out_mib_per_sec": swap.sout / _MIB,
    }


def _network() -> dict[str, float]:
    counted = psutil.net_io_counters(pernic=True)
    names = [name for name in counted if not name.startswith("lo")]
    outside = [counted[name] for name in names if not _is_stacked(name)]
    if not outside:
        return {}
    return {
        "host/network_received_mib_per_sec": sum(each.bytes_recv for each in outside) / _MIB,
        "host/network_sent_mib_per_sec": sum(each.bytes_sent for each in outside) / _MIB,
    }


def _is_stacked(name: str) -> bool:
    folder = INTERFACES / name
    try:
        is_card = (folder / "device").exists()
        return not is_card and any(True for each in STACKED for _ in folder.glob(each))
    except OSError:
        return False


def _disks() -> dict[str, float]:
    counted = psutil.disk_io_counters(perdisk=True) or {}
    disks = {name: count for name, count in counted.items() if _is_whole(name, counted)}
    if not disks:
        return {}
    found = {
        "host/disk_read_mib_per_sec": sum(each.read_bytes for each in disks.values()) / _MIB,
        "host/disk_written_mib_per_sec": sum(each.write_bytes for each in disks.values()) / _MIB,
    }
    # Milliseconds, which not every system tells.
    busy = {_BUSY + name: getattr(count, "busy_time", None) for name, count in disks.items()}
    return found | {tag: ms / 10 for tag, ms in busy.items() if ms is not None}


def _is_whole(name: str, names: Collection[str]) -> bool:
    """It is a disk, and no partition of one that is counted too (`sda1`, `nvme0n1p1`)."""
    disk = re.sub(r"(?<=\d)p\d+$|(?<=[a-z])\d+$", "", name)
    return not name.startswith(NO_DISKS) and (disk == name or disk not in names)


def _process() -> dict[str, float]:
    written = psutil.Process().io_counters().write_bytes
    return {"host/write_mib_per_sec": written / _MIB}
