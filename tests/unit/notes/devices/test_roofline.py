"""When steps are said to be bound by memory or by arithmetic, and when nothing is said."""

from __future__ import annotations

import pytest

from keras_perf.advise.notes.devices.roofline import roofline_notes
from keras_perf.analyse.hardware.efficiency import Efficiency
from keras_perf.records.run.run_facts import RunFacts
from keras_perf.records.run.settings import Settings


def found(memory, arithmetic, settings=None, **more):
    known = Efficiency(memory_bandwidth_share=memory, model_flops_utilization=arithmetic, **more)
    return list(roofline_notes(known, RunFacts(settings=settings or Settings())))


def test_memory_near_its_peak_binds():
    [note] = found(0.85, 0.1)
    assert "bound by device memory" in note
    assert "85%" in note
    assert "10%" in note


@pytest.mark.parametrize(
    ("settings", "remedies"),
    [
        ({"dtype_policy": "float32", "jit_compile": False}, " (half precision, XLA's fused"),
        ({"dtype_policy": "mixed_bfloat16", "jit_compile": False}, " (XLA's fused operations);"),
        ({"dtype_policy": "float32", "jit_compile": True}, " (half precision);"),
        ({"dtype_policy": "mixed_bfloat16", "jit_compile": True}, "; faster"),
    ],
)
def test_against_memory_only_what_is_not_set_is_recommended(settings, remedies):
    [note] = found(0.85, 0.1, Settings(**settings))
    assert f"What reads and writes less helps{remedies}" in note


def test_arithmetic_near_its_peak_binds():
    [note] = found(0.3, 0.65)
    assert "bound by arithmetic" in note


def test_far_from_both_peaks_neither_binds():
    [note] = found(0.29, 0.2)
    assert "bound neither by device memory, used at 29%" in note
    assert "nor by arithmetic, at 20%" in note
    assert "first limit" not in note


@pytest.mark.parametrize(("memory", "arithmetic"), [(0.59, 0.1), (0.1, 0.59), (0.3, 0.25)])
def test_where_both_peaks_may_take_half_of_a_step_nothing_is_said(memory, arithmetic):
    assert found(memory, arithmetic) == []


@pytest.mark.parametrize(
    ("settings", "remedies"),
    [
        ({"jit_compile": False}, "larger batches, XLA and more steps per execution"),
        ({"jit_compile": True}, "larger batches and more steps per execution"),
        ({"jit_compile": False, "steps_per_execution": 64}, "larger batches and XLA"),
        ({"driver": "loop"}, "larger batches and more steps per call"),
        ({"jit_compile": False, "run_eagerly": True}, "larger batches"),
        ({"jit_compile": True, "tries_steps": False}, "larger batches"),
        (
            {"jit_compile": True, "tries_steps": False, "compiles_executions": True},
            "larger batches and more steps per execution",
        ),
    ],
)
def test_only_what_is_not_set_is_recommended(settings, remedies):
    [note] = found(0.2, 0.1, Settings(**settings))
    assert f"Against such kernels {remedies} help." in note


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
