"""When steps are said to be bound by memory or by arithmetic, and when nothing is said."""

from __future__ import annotations

import pytest

from keras_perf.advise.notes.devices.roofline import roofline_notes
from keras_perf.analyse.hardware.efficiency import Efficiency


def found(memory, arithmetic):
    known = Efficiency(memory_bandwidth_share=memory, model_flops_utilization=arithmetic)
    return list(roofline_notes(known))


def test_memory_near_its_peak_binds():
    [note] = found(0.85, 0.1)
    assert "bound by device memory" in note
    assert "85%" in note
    assert "10%" in note


def test_arithmetic_near_its_peak_binds():
    [note] = found(0.3, 0.65)
    assert "bound by arithmetic" in note


@pytest.mark.parametrize(
    ("memory", "arithmetic"), [(0.5, 0.4), (None, 0.9), (0.9, None), (None, None)]
)
def test_far_from_both_peaks_or_without_one_of_them_nothing_is_said(memory, arithmetic):
    assert found(memory, arithmetic) == []
