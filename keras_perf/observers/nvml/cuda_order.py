"""Which of the driver's GPUs a process has, and in which order, as CUDA decides it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

UNKNOWN_ORDER = (
    "GPUs of different models are in CUDA's own order, fastest first, which NVML does not tell: "
    "figures may stand under another GPU's number; CUDA_DEVICE_ORDER=PCI_BUS_ID settles it"
)

SILENT = (
    "a GPU of this machine does not answer NVML, and CUDA may or may not count it: figures may "
    "stand under another GPU's number; UUIDs in CUDA_VISIBLE_DEVICES settle it"
)


class Gpu(NamedTuple):
    """A GPU, or a MIG instance, as the driver lists it."""

    name: str
    uuid: str
    instances: tuple[Gpu, ...] | None = None
    """MIG instances; None where MIG is off."""


class Seen(NamedTuple):
    """What a framework in this process says."""

    names: tuple[str, ...]
    """Model names of all GPUs that CUDA shows it, in CUDA's order."""
    chosen: tuple[int, ...]
    """Which of these it uses, in its own order."""


class Selection(NamedTuple):
    """The GPUs of this process, in its order."""

    gpus: tuple[Gpu, ...]
    doubt: str = ""
    """Why the order may be wrong; empty where it is certain."""


def select(
    gpus: Sequence[Gpu], environ: Mapping[str, str], seen: Seen | None = None, silent: int = 0
) -> Selection:
    """The GPUs that this process uses.

    Arguments:
        gpus: all of the machine, in the order of their PCI addresses, as NVML lists them.
        environ: `CUDA_VISIBLE_DEVICES` and `CUDA_DEVICE_ORDER` count.
        seen: what the framework says; without it all that CUDA shows are taken.
        silent: how many others NVML counts that do not answer.

    What it cannot see: the order of GPUs of different models, unless `CUDA_DEVICE_ORDER` or the
    framework's names of them tell. Among equal ones it is that of the PCI addresses.
    """
    # A GPU in MIG mode is reached through its instances only; by index, through its first one.
    pool = [gpu if gpu.instances is None else gpu.instances[0] for gpu in gpus if _usable(gpu)]
    several = seen is not None and len(seen.names) > 1
    wanted = environ.get("CUDA_VISIBLE_DEVICES")
    if wanted is not None and (by_name := _named(gpus, wanted)) is not None:
        listed, doubt = (by_name if several else _one_instance(by_name, gpus)), ""
    else:
        if wanted is None and not several:
            pool = _one_instance(pool, gpus)
        indices = range(len(pool)) if wanted is None else _indices(wanted, len(pool))
        listed, doubt = [pool[i] for i in indices], ""
        by_address = environ.get("CUDA_DEVICE_ORDER") == "PCI_BUS_ID"
        if not by_address and len({gpu.name for gpu in pool}) > 1:
            ordered = _by_models(pool, len(listed), seen)
            listed, doubt = (listed, UNKNOWN_ORDER) if ordered is None else (ordered, "")
        if silent and seen is None:
            doubt = doubt or SILENT
    if seen is None:
        return Selection(tuple(listed), doubt)
    if len(seen.names) != len(listed):
        doubt = doubt or (
            f"the framework sees {len(seen.names)} GPUs where NVML shows {len(listed)} to this "
            "process: figures may stand under another GPU's number"
        )
    return Selection(tuple(listed[i] for i in seen.chosen if i < len(listed)), doubt)


def _usable(gpu: Gpu) -> bool:
    return gpu.instances is None or bool(gpu.instances)


def _one_instance(listed: list[Gpu], gpus: Sequence[Gpu]) -> list[Gpu]:
    """CUDA shows the first MIG instance that it may use, and no other GPU beside it.

    https://docs.nvidia.com/datacenter/tesla/mig-user-guide, "CUDA Device Enumeration". A driver
    may relax that: then the framework sees several.
    """
    instances = {one for gpu in gpus for one in gpu.instances or ()}
    return [gpu for gpu in listed if gpu in instances][:1] or listed


def _named(gpus: Sequence[Gpu], wanted: str) -> list[Gpu] | None:
    """Those named by UUIDs, which may be shortened; None where indices are given."""
    names = [name.strip() for name in wanted.split(",")]
    kind = names[0][:4]
    if kind not in ("GPU-", "MIG-"):
        return None
    whole = [gpu for gpu in gpus if gpu.instances is None]
    instances = [one for gpu in gpus for one in gpu.instances or ()]
    found: list[Gpu] = []
    for name in names:
        fitting = [g for g in (whole + instances) if g.uuid.startswith(name)]
        # CUDA stops at the first name that it does not know, or that could be two.
        if not name.startswith(kind) or len(fitting) != 1:
            break
        found += fitting
    return [] if len(set(found)) < len(found) else found


def _indices(wanted: str, count: int) -> list[int]:
    """The leading numbers of a list; a repeated one makes CUDA show none at all."""
    found: list[int] = []
    for part in wanted.split(","):
        number = re.match(r"\s*\+?(\d+)", part)
        if number is None or int(number[1]) >= count:
            break
        found.append(int(number[1]))
    return [] if len(set(found)) < len(found) else found


def _by_models(pool: Sequence[Gpu], count: int, seen: Seen | None) -> list[Gpu] | None:
    """The GPUs in the order of the framework's names; None where these leave a choice."""
    if seen is None or len(seen.names) != count:
        return None
    there, named = Counter(gpu.name for gpu in pool), Counter(seen.names)
    if any(there[name] != number for name, number in named.items()):
        return None
    left = {name: iter([g for g in pool if g.name == name]) for name in named}
    return [next(left[name]) for name in seen.names]
