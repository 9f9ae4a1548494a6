"""The README and the documentation say what the code does."""

from __future__ import annotations

from pathlib import Path

import keras_perf
from keras_perf.records.metrics.all_metrics import metrics_markdown

ROOT = Path(__file__).parents[3]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
TEXT = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)


def test_the_table_of_metrics_is_the_code_s():
    assert metrics_markdown() in TEXT


def test_every_public_name_is_mentioned():
    records = {"Comparison", "Diagnosis"}
    assert [name for name in keras_perf.__all__ if name not in records and name not in TEXT] == []
