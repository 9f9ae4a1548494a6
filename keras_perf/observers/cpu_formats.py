"""Which numbers the processor has instructions for."""

from __future__ import annotations

from functools import cache
from pathlib import Path

CPU_FLAGS = "/proc/cpuinfo"
BFLOAT16_FLAGS = ("avx512_bf16", "amx_bf16", "bf16")
"""Instructions for bfloat16, as Linux calls those of Intel's, AMD's and ARM's processors.

With the first, steps of dense layers of 1,024 units took about half as long; without any,
TensorFlow computes in float32 and converts.
"""


def cpu_has_bfloat16() -> bool | None:
    """The processor computes in bfloat16; None where the system does not tell."""
    return _told_in(CPU_FLAGS)


@cache
def _told_in(file: str) -> bool | None:
    try:
        words = Path(file).read_text(encoding="utf-8", errors="replace").split()
    except OSError:
        return None
    return not set(BFLOAT16_FLAGS).isdisjoint(words)
