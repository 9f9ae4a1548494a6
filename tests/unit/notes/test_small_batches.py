"""What is said of steps that compute and hold few examples."""

from __future__ import annotations

import pytest
from hand_built import diagnosed, summary

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


@pytest.mark.parametrize("verdict", ["input-bound", "dispatch-bound", "inconclusive"])
def test_where_something_else_binds_it_comes_first(verdict):
    assert said(verdict, examples_per_step=8) == []


def test_in_a_loop_of_the_user_s_there_is_nothing_to_sweep():
    assert said(examples_per_step=8, driver="loop") == []
