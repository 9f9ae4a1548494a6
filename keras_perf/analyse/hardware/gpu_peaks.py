"""What GPUs can do at most, as their vendor says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

TF32 = "tensor-float-32"
"""float32, multiplied with 10 bits of mantissa: what TensorFlow does unless it is told not to."""


@dataclass(frozen=True)
class Peak:
    """Of one GPU.

    Attributes:
        flops: number format → floating-point operations per second, dense (without structured
            sparsity), summed in float32, at boost clock.
        bytes: per second from and to device memory.
        source: the title of what says so.
    """

    flops: Mapping[str, float]
    bytes: float
    source: str

    def flops_in(self, kind: str, *, tensor_float_32: bool) -> float | None:
        """FLOP/s in a number format of TensorFlow; None where the vendor names none."""
        if kind == "float32" and tensor_float_32 and TF32 in self.flops:
            kind = TF32
        return self.flops.get(kind)


def _peak(
    source: str,
    gb_per_s: float,
    float32: float,
    half: float,
    tf32: float | None,
    *,
    bfloat16: bool = True,
) -> Peak:
    """In units of data sheets: GB/s and TFLOP/s. Since Ampere bfloat16 is as fast as float16."""
    flops = {"float32": float32, "float16": half}
    if bfloat16:
        flops["bfloat16"] = half
    if tf32 is not None:
        flops[TF32] = tf32
    return Peak({kind: each * 1e12 for kind, each in flops.items()}, gb_per_s * 1e9, source)


def _before_ampere(source: str, gb_per_s: float, float32: float, half: float) -> Peak:
    return _peak(source, gb_per_s, float32, half, None, bfloat16=False)


_P100 = "NVIDIA P100 data sheet: float16 is not summed in float32"
_V100 = "NVIDIA V100 data sheet"
_A100 = "NVIDIA A100 data sheet (1758950-r4), the columns without sparsity"
_H100 = "NVIDIA H100 data sheet and GH100 white paper, figures with sparsity halved"
_H200 = "NVIDIA H200 data sheet, figures with sparsity halved"
_ADA = "NVIDIA Ada GPU architecture white paper (v2), appendix: float16 summed in float32"
_GA102 = "NVIDIA GA102 white paper, appendix: float16 summed in float32"
_BLACKWELL = "NVIDIA RTX Blackwell white paper, appendix: float16 summed in float32"

PEAKS = {
    "P100-PCIE-16GB": Peak({"float32": 9.3e12}, 732e9, _P100),
    "V100-SXM2-16GB": _before_ampere(_V100, 900, 15.7, 125),
    "V100-SXM2-32GB": _before_ampere(_V100, 900, 15.7, 125),
    "V100-PCIE-16GB": _before_ampere(_V100, 900, 14, 112),
    "V100-PCIE-32GB": _before_ampere(_V100, 900, 14, 112),
    "V100S-PCIE-32GB": _before_ampere(_V100, 1134, 16.4, 130),
    "T4": _before_ampere("NVIDIA T4 data sheet", 320, 8.1, 65),
    "A100-SXM4-40GB": _peak(_A100, 1555, 19.5, 312, 156),
    "A100-PCIE-40GB": _peak(_A100, 1555, 19.5, 312, 156),
    "A100-SXM4-80GB": _peak(_A100, 2039, 19.5, 312, 156),
    "A100 80GB PCIe": _peak(_A100, 1935, 19.5, 312, 156),
    "A30": _peak("NVIDIA A30 data sheet", 933, 10.3, 165, 82),
    "A10": _peak("NVIDIA A10 data sheet", 600, 31.2, 125, 62.5),
    "A40": _peak("NVIDIA A40 data sheet", 696, 37.4, 149.7, 74.8),
    "L4": _peak("NVIDIA L4 data sheet, figures with sparsity halved", 300, 30.3, 121, 60),
    "L40": _peak("NVIDIA L40 data sheet", 864, 90.5, 181.05, 90.5),
    "L40S": _peak("NVIDIA L40S data sheet", 864, 91.6, 362.05, 183),
    "H100 80GB HBM3": _peak(_H100, 3350, 66.9, 989.4, 494.7),
    "H100 PCIe": _peak(_H100, 2000, 51.2, 756, 378),
    "H100 NVL": _peak(_H100, 3900, 60, 835.5, 417.5),
    "H200": _peak(_H200, 4800, 66.9, 989.4, 494.7),
    "H200 NVL": _peak(_H200, 4800, 60, 835.5, 417.5),
    "RTX A6000": _peak("NVIDIA RTX A6000 data sheet", 768, 38.7, 154.8, 77.4),
    "RTX 3080": _peak(_GA102, 760, 29.8, 59.5, 29.8),
    "RTX 3090": _peak(_GA102, 936, 35.6, 71, 35.6),
    "RTX 4090": _peak(_ADA, 1008, 82.6, 165.2, 82.6),
    "RTX 4080": _peak(_ADA, 716.8, 48.7, 97.5, 48.7),
    "RTX 5090": _peak(_BLACKWELL, 1792, 104.8, 209.5, 104.8),
    "RTX 6000 Ada Generation": _peak(_ADA, 960, 91.1, 364.2, 182.1),
}
"""By the name of the driver, without the brand."""

_BRANDS = ("NVIDIA ", "Tesla ", "GeForce ")


def peak_of(name: str) -> Peak | None:
    """Of a GPU by the name that its driver gives it, as NVML and TensorFlow tell; None if unknown.

    The whole name must fit: a laptop's GPU, or a part of one (MIG), is another one.
    """
    for brand in _BRANDS:
        name = name.removeprefix(brand)
    return PEAKS.get(name)
