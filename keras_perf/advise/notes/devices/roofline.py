"""What limits the multiplications: the arithmetic itself, or device memory."""

from __future__ import annotations

from collections.abc import Iterator

from keras_perf.analyse.hardware.efficiency import Efficiency
from keras_perf.records.figures import figure, in_percent

NEAR_ITS_LIMIT = 0.6
"""Memory or arithmetic that is used for more than this share of its peak sets the pace: few
programs come nearer."""


def roofline_notes(found: Efficiency) -> Iterator[str]:
    """Where the traffic of device memory was measured: which of the two is near its peak, if any.

    What it cannot see: single kernels, of which some may be limited by the one, some by the other.
    """
    memory, arithmetic = found.memory_bandwidth_share, found.model_flops_utilization
    if memory is None or arithmetic is None:
        return
    if max(memory, arithmetic) < NEAR_ITS_LIMIT:
        yield (
            f"The steps are bound neither by device memory, used at {in_percent(memory)} of its "
            f"bandwidth, nor by arithmetic, at {in_percent(arithmetic)} of the peak: the rest of "
            "the time the GPU waits (for input, the host or other GPUs), or runs kernels that are "
            "too short or too small to fill it. Against such kernels larger batches, XLA and more "
            f"steps per execution help.{_first_limit(found)}"
        )
    elif memory > arithmetic:
        yield (
            f"The steps are bound by device memory: it is used at {in_percent(memory)} of its "
            f"bandwidth, the multiplications at {in_percent(arithmetic)} of the peak. What reads "
            "and writes less helps (half precision, XLA's fused operations); faster "
            "multiplication does not."
        )
    else:
        yield (
            "The steps are bound by arithmetic: the multiplications reach "
            f"{in_percent(arithmetic)} of the GPU's peak, device memory {in_percent(memory)} of "
            "its bandwidth. Only fewer operations, or a number format that is multiplied faster, "
            "make them shorter."
        )


def _first_limit(found: Efficiency) -> str:
    """Which peak comes first when the GPU is kept busy; "" where that is not known."""
    intensity, ridge = found.flops_per_byte, found.ridge_flops_per_byte
    if intensity is None or ridge is None:
        return ""
    first = "device memory" if intensity < ridge else "arithmetic"
    return (
        f" Beyond that {first} is the first limit: {figure(intensity)} FLOPs a byte, where both "
        f"peaks meet at {figure(ridge)}."
    )
