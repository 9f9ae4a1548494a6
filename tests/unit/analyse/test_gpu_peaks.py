"""The vendor's peaks against what its other documents say of the chips."""

import pytest

from keras_perf.analyse.hardware.gpu_peaks import PEAKS, TF32

WITHIN = 0.04

CHIPS = {
    "P100-PCIE-16GB": (3584, 1.303, 4096, 1.43),
    "V100-SXM2-16GB": (5120, 1.53, 4096, 1.75),
    "V100-SXM2-32GB": (5120, 1.53, 4096, 1.75),
    "V100-PCIE-16GB": (5120, 1.38, 4096, 1.75),
    "V100-PCIE-32GB": (5120, 1.38, 4096, 1.75),
    "V100S-PCIE-32GB": (5120, 1.597, 4096, 2.214),
    "T4": (2560, 1.59, 256, 10),
    "A100-SXM4-40GB": (6912, 1.41, 5120, 2.43),
    "A100-PCIE-40GB": (6912, 1.41, 5120, 2.43),
    "A100-SXM4-80GB": (6912, 1.41, 5120, 3.186),
    "A100 80GB PCIe": (6912, 1.41, 5120, 3.024),
    "A30": (3584, 1.44, 3072, 2.43),
    "A10": (9216, 1.695, 384, 12.5),
    "A40": (10752, 1.74, 384, 14.5),
    "L4": (7424, 2.04, 192, 12.5),
    "L40": (18176, 2.49, 384, 18),
    "L40S": (18176, 2.52, 384, 18),
    "H100 80GB HBM3": (16896, 1.98, 5120, 5.23),
    "H100 PCIe": (14592, 1.755, 5120, 3.2),
    "H100 NVL": (16896, 1.785, 6144, 5.1),
    "H200": (16896, 1.98, 6144, 6.25),
    "H200 NVL": (16896, 1.785, 6144, 6.25),
    "RTX A6000": (10752, 1.8, 384, 16),
    "RTX 3080": (8704, 1.71, 320, 19),
    "RTX 3090": (10496, 1.695, 384, 19.5),
    "RTX 4090": (16384, 2.52, 384, 21),
    "RTX 4080": (9728, 2.505, 256, 22.4),
    "RTX 5090": (21760, 2.407, 512, 28),
    "RTX 6000 Ada Generation": (18176, 2.505, 384, 20),
}
"""Cores, boost clock in GHz, width of the memory's bus in bits, its data rate in Gbit/s a pin."""


def test_every_row_names_its_source_and_is_compared():
    assert set(CHIPS) == set(PEAKS)
    assert all("NVIDIA" in peak.source for peak in PEAKS.values())


@pytest.mark.parametrize("name", PEAKS)
def test_a_peak_is_what_cores_clock_and_bus_allow(name):
    peak, (cores, clock_ghz, bits, gbit_per_s) = PEAKS[name], CHIPS[name]
    # A multiplication with its addition is two operations.
    assert peak.flops["float32"] == pytest.approx(2e9 * cores * clock_ghz, rel=WITHIN)
    assert peak.bytes == pytest.approx(bits / 8 * gbit_per_s * 1e9, rel=WITHIN)
    if "float16" not in peak.flops:
        # Without tensor cores.
        assert set(peak.flops) == {"float32"}
        return
    assert peak.flops.get("bfloat16", peak.flops["float16"]) == peak.flops["float16"]
    if TF32 in peak.flops:
        assert peak.flops["float16"] == pytest.approx(2 * peak.flops[TF32], rel=WITHIN)
    else:
        # Before Ampere: eight times as many in the tensor cores as in the others.
        assert peak.flops["float16"] == pytest.approx(8 * peak.flops["float32"], rel=WITHIN)


def test_no_peak_counts_structured_sparsity():
    # With it a figure is twice as large: the tensor cores do two to sixteen times what cores do.
    for name, peak in PEAKS.items():
        half = peak.flops.get("float16")
        assert half is None or 1.9 < half / peak.flops["float32"] < 16.5, name
