"""Figures as they are shown: three significant digits, never an exponent."""

from __future__ import annotations

import math
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import keras_perf
from keras_perf.records.figures import figure, in_bytes, in_mib, in_ms, in_s, in_us


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_no_figure_has_an_exponent_and_each_is_near_its_value(value: float) -> None:
    shown = figure(value)
    assert "e" not in shown
    if 1e-4 <= abs(value) < 1e15:
        assert float(shown.replace(",", "")) == pytest.approx(value, rel=6e-3)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0.0, "0"),
        (9.999, "10"),
        (0.09996, "0.1"),
        (1320.4, "1,320"),
        (4.5, "4.5"),
        (-12.345, "-12.3"),
        (1.44e-8, "<0.0001"),
        (math.inf, "∞"),
        (math.nan, "–"),
        (None, "–"),
    ],
)
def test_three_digits_count_and_zeros_at_the_end_go(value: float | None, shown: str) -> None:
    assert figure(value) == shown


def test_units_follow_the_size() -> None:
    assert in_ms(1320.0) == "1,320 ms"
    assert in_ms(21_300.0) == "21.3 s"
    assert in_us(0.0021) == "2.1 µs"
    assert in_s(0.05) == "0.05 s"
    assert in_bytes(15.0) == "15 bytes"
    assert in_mib(1.44e-8) == "0.0151 bytes"
    assert in_mib(24_576.0) == "24 GiB"


def test_nothing_is_shown_in_a_form_that_may_have_an_exponent() -> None:
    """`:.3g` has one from a thousand on; a learning rate, which is often 1e-4, may."""
    folder = Path(keras_perf.__file__).parent
    found = [
        file.relative_to(folder).as_posix()
        for file in sorted(folder.rglob("*.py"))
        if re.search(r":,?\.\d?g\}", file.read_text(encoding="utf-8"))
    ]
    rounded = ["advise/notes/memory/host_memory.py"]  # to two digits, then shown as a figure
    rates = [
        "records/run/tried/learning_rates.py",
        "report/text/learning_rates_table.py",
        "trials/learning_rate/learning_rate_curve.py",
    ]
    assert found == [*rounded, *rates]
