"""When steps are said to be bound by memory or by arithmetic, and when nothing is said."""

from __future__ import annotations

import pytest

from keras_perf.advise.notes.devices.roofline import roofline_notes
from keras_perf.analyse.hardware.efficiency import Efficiency


def found(memory, arithmetic, **more):
    known = Efficiency(memory_bandwidth_share=memory, model_flops_utilization=arithmetic, **more)
    return list(roofline_notes(known))


def test_memory_near_its_peak_binds():
    [note] = found(0.85, 0.1)
    assert "bound by device memory" in note
    assert "85%" in note
    assert "10%" in note


def test_arithmetic_near_its_peak_binds():
    [note] = found(0.3, 0.65)
    assert "bound by arithmetic" in note


def test_far_from_both_peaks_neither_binds():
    [note] = found(0.5, 0.4)
    assert "bound neither by device memory, used at 50%" in note
    assert "nor by arithmetic, at 40%" in note
    assert "first limit" not in note


@pytest.mark.parametrize(
    ("intensity", "first"), [(20.0, "device memory is the first"), (200.0, "arithmetic is the")]
)
def test_far_from_both_peaks_the_intensity_tells_which_comes_first(intensity, first):
    [note] = found(0.1, 0.05, flops_per_byte=intensity, ridge_flops_per_byte=150.0)
    assert first in note
    assert f"{intensity:.0f} FLOPs a byte, where both peaks meet at 150" in note


@pytest.mark.parametrize(
    ("memory", "arithmetic"), [(None, 0.9), (0.9, None), (None, None), (None, 0.1)]
)
def test_without_one_of_both_shares_nothing_is_said(memory, arithmetic):
    assert found(memory, arithmetic) == []
