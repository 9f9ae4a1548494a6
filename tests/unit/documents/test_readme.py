"""The README says what the code does."""

from __future__ import annotations

from pathlib import Path

import keras_perf
from keras_perf.records.metrics.all_metrics import metrics_markdown

README = (Path(__file__).parents[3] / "README.md").read_text()


def test_the_table_of_metrics_is_the_code_s():
    assert metrics_markdown() in README


def test_every_public_name_is_mentioned():
    records = {"Comparison", "Diagnosis"}
    assert [name for name in keras_perf.__all__ if name not in records and name not in README] == []
