"""The page of all metrics, made of the code's table.

`python tests/unit/documents/metrics_page.py` writes it.
"""

from __future__ import annotations

from pages import DOCS

from keras_perf.records.metrics.all_metrics import metrics_markdown

PAGE = DOCS / "metrics.md"
HEAD = """# What each number means

Scalars lie in the run `perf` under the log directory (worker *k* of several: `perf/worker_k`);
the step is the optimizer step. Each point is a mean over about half a second of training;
after each 10,000 points over twice as long, up to 8 s.
`keras_perf.load_scalars` has all of them as a frame; TensorBoard's Time Series leaves out
`batch_size/`, `capture/`, `evaluate/` and `host/`, and outside of `perf/` and `gpu/` single points
and lines of zeros.

"""


def page() -> str:
    """The page of today."""
    return HEAD + metrics_markdown()


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
