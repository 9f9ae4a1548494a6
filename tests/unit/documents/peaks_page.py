"""The table of what GPUs can do at most, made of the code's.

`python tests/unit/documents/peaks_page.py` writes it.
"""

from __future__ import annotations

from pages import DOCS

from keras_perf.analyse.hardware.gpu_peaks import PEAKS, TF32

PAGE = DOCS / "gpu_peaks.md"
HEAD = """# What GPUs can do at most

Model FLOPs utilization and the roofline hold a step against these peaks. They are the vendor's
figures: dense (without structured sparsity), summed in float32, at boost clock. A GPU that the
table lacks has no such utilization; `benchmark_matmul()` measures what to hold its steps against.

A test compares each row with the chip's cores, clock and memory bus as they are commonly given:
float32 with two operations a clock in each core, memory with the width and the data rate of its
bus, TF32 with half of float16. They agree within 4%. None of them was measured for this table;
of the sheets, those of the A100, L40, L40S, P100 and RTX 5090 were compared by what others quote
of them; of the P100's memory some quote 720 GB/s.

| GPU | memory, GB/s | float32, TFLOP/s | TF32 | float16 | bfloat16 | source |
|---|---|---|---|---|---|---|
"""
FORMATS = "float32", TF32, "float16", "bfloat16"


def page() -> str:
    """The page of today."""
    return HEAD + "".join(map(_row, PEAKS))


def _row(name: str) -> str:
    peak = PEAKS[name]
    told = [f"{peak.flops[kind] / 1e12:g}" if kind in peak.flops else "–" for kind in FORMATS]
    return f"| {' | '.join([name, f'{peak.bytes / 1e9:g}', *told, peak.source])} |\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
