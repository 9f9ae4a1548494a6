"""What processes that make batches cost a step: handing over, the cores, starting."""

from __future__ import annotations

from typing import Any

import pytest
from hand_built import H200, situation, stage

from keras_perf.advise.recommendation import Recommendation
from keras_perf.advise.rules.input.handing_over import A_MIB_MS, HANDED_OVER_MS, UNKNOWN_MIB
from keras_perf.advise.rules.input.made_in_processes import STARTED_MS
from keras_perf.advise.rules.input.python_input import parallel_input
from keras_perf.advise.situation import Situation

BUSY = {"input_wait": 2.0, "compute": 8.0, "process_cpu_pct": 130.0}
"""Two cores, of whose 20 ms in a step 13 are used: a batch is made while a step computes."""


def on_two_cores(context: dict[str, Any] | None = None, **changed: Any) -> Situation:
    known = {"input_kind": "PyDataset", "cpu_count": 2} | (context or {})
    return situation(**(BUSY | changed), context=known)


def of_mib(mib: float, **changed: Any) -> Situation:
    """The same, of batches of this size."""
    return on_two_cores(stages=[stage("Generator", 9.9, bytes_per_batch=mib * 2**20)], **changed)


def advised(found: Situation) -> Recommendation:
    advice = parallel_input(found)
    assert advice is not None
    return advice


def test_where_both_cores_are_busy_already_a_step_may_get_slower():
    """With half a MiB to hand over 13 ms become 16.2, and computing loses a quarter of 8 ms."""
    advice = advised(of_mib(0.5))
    assert advice.predicted_speedup == advice.low == 1.0
    # At best the wait goes.
    assert advice.high == pytest.approx(10 / 8, rel=0.01)
    at_worst_ms = (13 + 2 * (HANDED_OVER_MS + A_MIB_MS * 0.5) + 0.45 * 2 * 8) / 2
    assert f"at worst a step takes {at_worst_ms / 10:.2f} times as long as now." in advice.reason


@pytest.mark.parametrize("told_by", ["tf.data", "JAX"])
def test_larger_batches_take_longer_to_hand_over(told_by):
    def cpu_ms(mib: float) -> float:
        full = {"process_cpu_pct": 165.0}
        by_jax = on_two_cores({"fetched_mib": mib}, **full)
        found = by_jax if told_by == "JAX" else of_mib(mib, **full)
        return advised(found).change(found.model, 0.0).cpu_ms

    assert cpu_ms(2.0) - cpu_ms(0.0) == pytest.approx(2 * A_MIB_MS)


@pytest.mark.parametrize(
    ("kind", "steps", "starts"),
    [("PyDataset", 50, 1), ("PyDataset", None, 0), ("DataLoader", 50, 0)],
)
def test_keras_starts_its_processes_in_each_epoch(kind, steps, starts):
    found = on_two_cores({"input_kind": kind, "epoch_steps": steps}, process_cpu_pct=85.0)
    moved = advised(found).change(found.model, 0.0)
    assert moved.whole_ms - moved.step_ms == pytest.approx(starts * 2 * STARTED_MS / 50)


def test_starting_them_often_is_said():
    often, seldom = (advised(on_two_cores({"epoch_steps": steps})) for steps in (20, 2000))
    assert " Each epoch starts them anew, which takes about 80 ms: longer epochs" in often.reason
    assert "anew" not in seldom.reason


def test_in_a_custom_loop_they_are_started_once_and_as_many_as_are_advised():
    known = {"epoch_steps": 20, "driver": "loop", "input_kind": "generator"}
    advice = advised(found := on_two_cores(known, process_cpu_pct=85.0))
    assert "anew" not in advice.reason
    assert f"for part in range({advice.evidence['advised']}):" in advice.action
    moved = advice.change(found.model, 0.0)
    assert moved.whole_ms == moved.step_ms


def test_a_batch_of_unknown_size_may_be_a_large_one():
    full = {"process_cpu_pct": 165.0}
    unknown, tiny = on_two_cores(**full), of_mib(0.0, **full)
    cpu_ms = [
        advised(found).change(found.model, optimism).cpu_ms
        for optimism in (-1.0, 0.0)
        for found in (unknown, tiny)
    ]
    assert cpu_ms[0] - cpu_ms[1] == pytest.approx(2 * UNKNOWN_MIB * A_MIB_MS, rel=0.01)
    assert cpu_ms[2] == pytest.approx(cpu_ms[3], rel=0.01)


def test_where_a_gpu_computes_it_loses_nothing():
    advice = advised(of_mib(0.0, context=H200))
    assert advice.low == pytest.approx(10 / 8, rel=0.01)
    assert "at worst" not in advice.reason


def test_on_many_cores_as_many_are_advised_as_keep_up():
    """A batch takes 22 ms to make, and a step 10: three processes are a little quicker."""
    waits = {"input_wait": 12.0, "compute": 10.0, "process_cpu_pct": 150.0}
    ahead = [stage("Generator", 22.0), stage("Prefetch", 0.0)]
    found = on_two_cores({"cpu_count": 64}, stages=ahead, **waits)
    assert "(..., workers=3, use_multiprocessing=True)" in advised(found).action
    # A hook may go: they keep up with computing alone.
    slow_hook = {"input_wait": 12.0, "compute": 1.0, "callbacks": 9.0, "process_cpu_pct": 150.0}
    found = on_two_cores({"cpu_count": 64}, stages=ahead, **slow_hook)
    assert advised(found).evidence["advised"] == 28
    # Few of many cores take little of computing's time.
    assert "at worst" not in advised(found).reason


def test_of_many_each_has_a_batch_to_make():
    waits = {"input_wait": 99.0, "compute": 1.0, "process_cpu_pct": 20.0}
    advice = advised(on_two_cores({"cpu_count": 64}, **waits))
    assert "(..., workers=64, max_queue_size=64, use_multiprocessing=True)" in advice.action
