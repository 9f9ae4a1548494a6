"""What exchanging gradients costs GPUs, by the collectives in a trace."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import fmean

CLEARLY = 1.1
"""A GPU is slow by itself that computes so many times as long as the others."""

WORTH_SAYING = 0.05
"""Share of a traced step that it computes longer."""

_COMPUTING = re.compile(r"gpu_(\d+)_computing_ms")


def traced_exchange(trace: Mapping[str, float], parts: Mapping[str, float]) -> dict[str, float]:
    """`communication`, and of it `peer_wait`, in milliseconds per step; {} where no trace tells.

    Collectives that run beside other kernels cost nothing and do not count.

    Arguments:
        trace: means of a trace, by names as `exchange_ms`.
        parts: of a step; the exchange lies in its compute.
    """
    exchange = trace.get("exchange_ms")
    if exchange is None or "compute" not in parts:
        return {}
    communication = min(exchange, parts["compute"])
    wait = min(trace.get("exchange_wait_ms", 0.0), communication)
    return {"communication": communication, "peer_wait": wait}


@dataclass(frozen=True)
class SlowGpu:
    """The GPU that computes longest; times in milliseconds per step."""

    number: int
    own_ms: float
    others_ms: float


def slow_gpu(trace: Mapping[str, float]) -> SlowGpu | None:
    """The one that clearly computes longer than the others; None where they take as long.

    Arguments:
        trace: means of a trace, by names as `gpu_0_computing_ms`.
    """
    named = {found[1]: ms for name, ms in trace.items() if (found := _COMPUTING.fullmatch(name))}
    if len(named) < 2:
        return None
    slowest = max(named, key=lambda number: named[number])
    others = fmean(ms for number, ms in named.items() if number != slowest)
    worth_saying = WORTH_SAYING * trace.get("step_time_ms", 0.0)
    if named[slowest] < max(CLEARLY * others, others + worth_saying):
        return None
    return SlowGpu(int(slowest), named[slowest], others)
