"""What is said of steps that compute and hold few examples."""

from __future__ import annotations

import pytest
from hand_built import H200, diagnosed, summary

from keras_perf.advise.notes.small_batches import small_batch_notes


def said(verdict="compute-bound", **context):
    return list(small_batch_notes(diagnosed(summary(compute=10.0, context=context), verdict)))


def test_what_larger_batches_give_can_be_measured():
    [note] = said(examples_per_step=8)
    assert note.startswith("A step holds 8 examples.")
    assert "keras_perf.sweep_batch_size" in note


@pytest.mark.parametrize("context", [{}, {"examples_per_step": 33}])
def test_of_larger_batches_nothing_is_said(context):
    assert said(**context) == []


def test_each_replica_has_its_share():
    assert said(examples_per_step=64) == []
    [note] = said(examples_per_step=64, replicas=2)
    assert "64 examples" in note


EMBEDDING = {
    "optimizer": "Adam",
    "trainable_parameters": 1_000_000,
    "optimizer_values": 2_000_002,
    "step_work": {"flops": {"float32": 1e4}, "product_bytes": 1e4},
}
"""Steps of 10 ms that move 28 MB; with as many parameters again, 56."""
TWICE = {"trainable_parameters": 2_000_000, "optimizer_values": 4_000_002}


def test_of_updates_that_move_much_memory_the_batch_is_named_whatever_it_holds():
    [note] = said(examples_per_step=512, **EMBEDDING | TWICE)
    assert note.startswith(
        "Each step's update by Adam reads and writes about 53.4 MiB, of 2,000,000 parameters"
    )
    assert "SGD without momentum updates only the rows" in note
    assert note.endswith("keras_perf.sweep_batch_size(model, data) measures what they gain.")


DENSE = {"step_work": {"flops": {"float32": 1e9}, "product_bytes": 1e8}}


@pytest.mark.parametrize(
    "context",
    [
        DENSE,
        {"step_work": EMBEDDING["step_work"] | {"passed_over": ["SparseTensorDenseMatMul"]}},
        {"step_work": {"not_counted": "loop"}},
        {"versions": {"jax": "0.10.2"}},  # whose gradients are as large as what they are of
    ],
)
def test_of_parameters_that_may_be_multiplied_nobody_is_told_of_rows(context):
    [note] = said(**EMBEDDING | TWICE | context)
    assert "rows" not in note


def test_updates_by_what_keeps_nothing_are_told_of_where_parameters_are_multiplied():
    many = {"trainable_parameters": 4_000_000, "optimizer_values": 2}
    [note] = said(**EMBEDDING | DENSE | many)
    assert note.startswith("Each step's update")


@pytest.mark.parametrize(
    "context",
    [
        {},
        TWICE | {"optimizer_values": None},
        TWICE | {"trainable_parameters": None},
        TWICE | H200,
        TWICE | {"optimizer_values": 2},  # SGD, which updates the rows of a batch alone
        TWICE | {"own_train_step": True},
        TWICE | {"strategy": "TPUStrategyV2"},
        TWICE | {"dtype_policy": "float16"},
        TWICE | {"driver": "loop"},
    ],
)
def test_of_updates_that_move_little_or_on_a_gpu_nothing_is_said(context):
    assert said(examples_per_step=512, **EMBEDDING | context) == []


@pytest.mark.parametrize("verdict", ["input-bound", "dispatch-bound", "inconclusive"])
def test_where_something_else_binds_it_comes_first(verdict):
    assert said(verdict, examples_per_step=8) == []


def test_in_a_loop_of_the_user_s_there_is_nothing_to_sweep():
    assert said(examples_per_step=8, driver="loop") == []
