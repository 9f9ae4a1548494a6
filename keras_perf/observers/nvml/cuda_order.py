"""Which of the driver's GPUs a process has, and in which order: as CUDA says."""

from __future__ import annotations

import functools
import json
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple
from uuid import UUID

_PROGRAM = Path(__file__).with_name("ask_cuda.py")
_PATIENCE_S = 30.0
"""A driver that nobody keeps loaded takes seconds to start on a machine with many GPUs."""


class CudaError(Exception):
    """CUDA cannot be asked; the message says why."""


class Seen(NamedTuple):
    """What a framework in this process says."""

    visible: int | None
    """How many GPUs CUDA shows it; None where it knows only its own."""
    chosen: tuple[int, ...]
    """Which of these it uses, in its own order."""


class Selection(NamedTuple):
    """The GPUs of this process."""

    uuids: dict[int, str]
    """By the process's own number of the GPU."""
    doubt: str = ""
    """What is missing, or why a number may be wrong; empty where all is certain."""


@functools.cache
def cuda_uuids() -> tuple[str, ...]:
    """UUIDs, without "GPU-" or "MIG-", of what CUDA shows this process, in CUDA's order.

    Asked once, as CUDA's list never changes in a process, and in a child, which inherits
    `CUDA_VISIBLE_DEVICES` and `CUDA_DEVICE_ORDER` as they are now.

    Raises:
        CudaError: no libcuda, no child, none possible, or no answer in time.
    """
    if getattr(sys, "frozen", False):
        # There `sys.executable` is the program, which would train again.
        raise CudaError("in a packaged program no Python can be started that asks for it")
    command = [sys.executable or "python3", "-I", "-S", str(_PROGRAM)]
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, timeout=_PATIENCE_S, check=True
        )
        answer = json.loads(done.stdout)
    except subprocess.TimeoutExpired as error:
        raise CudaError(f"it does not answer within {_PATIENCE_S:.0f} s") from error
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        raise CudaError(str(error)) from error
    if "error" in answer:
        raise CudaError(answer["error"])
    return tuple(str(UUID(digits)) for digits in answer["uuids"])


def select(
    listed: Iterable[str],
    seen: Seen | None = None,
    ask: Callable[[], tuple[str, ...]] = cuda_uuids,
) -> Selection:
    """The GPUs that this process uses.

    Arguments:
        listed: UUIDs of all GPUs of the machine as NVML lists them.
        seen: what the framework says; without it all that CUDA shows are taken.
        ask: gives CUDA's own list.

    What it cannot see: a `CUDA_VISIBLE_DEVICES` that was changed after the framework started
    CUDA, where as many GPUs are visible as before.
    """
    try:
        shown = ask()
    except CudaError as error:
        return Selection(
            dict(enumerate(listed)),
            f"CUDA cannot be asked which GPUs this process has ({error}): all GPUs of the machine "
            "are sampled, numbered in NVML's order",
        )
    chosen = seen.chosen if seen is not None else range(len(shown))
    bare = {uuid.partition("-")[2]: uuid for uuid in listed}
    found, missing, doubt = {}, [], ""
    for number, place in enumerate(chosen):
        if place < len(shown) and shown[place] in bare:
            found[number] = bare[shown[place]]
        else:
            missing.append(f"gpu/{number}")
    if seen is not None and seen.visible not in (None, len(shown)):
        doubt = (
            f"the framework sees {seen.visible} GPUs where CUDA now shows {len(shown)}: figures "
            "may stand under another GPU's number"
        )
    elif missing:
        doubt = f"NVML does not list {', '.join(missing)}: its figures are missing"
    return Selection(found, doubt)
