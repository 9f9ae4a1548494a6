"""What is said of printing, checks and Python in a step, and of how a dataset is shared."""

from __future__ import annotations

import pytest
from hand_built import diagnosed, summary

from keras_perf.advise.notes.in_the_step import distribution_notes, step_notes


def said(**context):
    return list(step_notes(diagnosed(summary(compute=10.0, context=context))))


@pytest.mark.parametrize(
    ("operations", "words"),
    [
        (["PrintV2"], "prints (tf.print), in every step"),
        (["Assert", "CheckNumerics"], "(tf.debugging.assert_..., tf.debugging.check_numerics)"),
        (["EagerPyFunc"], "calls Python (tf.py_function)"),
        (["PyFunc", "PyFuncStateless"], "calls Python (tf.numpy_function)"),
    ],
)
def test_what_a_step_does_beside_training_is_told_without_a_claim_of_gain(operations, words):
    [note] = said(operations_in_step=operations)
    assert words in note
    assert "was not measured" in note


def test_checks_that_xla_leaves_out_are_not_spoken_of():
    assert said(operations_in_step=["Assert", "CheckNumerics"], jit_compile=True) == []
    assert len(said(operations_in_step=["Assert"], jit_compile=False)) == 1


def test_a_plain_step_is_not_spoken_of():
    assert said() == []
    assert said(steps_per_execution=8) == []


def test_steps_written_out_are_told_with_what_that_costs():
    [note] = said(unrolled_steps_per_execution=4, steps_per_execution=16)
    assert "writes 4 of the 16 steps of an execution out one by one" in note
    [nothing] = said(unrolled_steps_per_execution=4)
    assert "does nothing with one step per execution" in nothing


def shared(options, **context):
    known = {"distribution_options": options} | context
    return list(distribution_notes(diagnosed(summary(compute=10.0, context=known))))


@pytest.mark.parametrize(
    ("policy", "words"),
    [("OFF", "trains on all of the data"), ("DATA", "reads all"), ("FILE", "as many files")],
)
def test_how_workers_share_the_data_is_told(policy, words):
    [note] = shared({"auto_shard_policy": policy}, workers=2)
    assert policy in note
    assert words in note
    assert shared({"auto_shard_policy": policy}) == [], "a single worker shares with nobody"


def test_what_a_function_gives_each_worker_is_sharded_by_nobody_else():
    [note] = shared({"auto_shard_policy": "NONE"}, workers=2)
    assert "shards nothing" in note
    assert "dataset.shard(context.num_input_pipelines, context.input_pipeline_id)" in note
    assert shared({"auto_shard_policy": "NONE"}) == [], "a single worker shares with nobody"


@pytest.mark.parametrize(
    ("option", "value", "words"),
    [
        ("fetch_to_device", "False", "stay in the host's memory"),
        ("replication_mode", "PER_REPLICA", "each of the 2 replicas"),
        ("place_dataset_on_device", "True", "on the devices that train"),
        ("per_replica_buffer_size", "4", "is 4: each device keeps that many batches"),
    ],
)
def test_options_that_somebody_set_are_told(option, value, words):
    [note] = shared({option: value}, replicas=2)
    assert words in note


def test_a_dataset_without_options_is_not_spoken_of():
    assert shared({}, workers=2, replicas=2) == []


def test_a_single_replica_has_the_only_pipeline():
    assert shared({"replication_mode": "PER_REPLICA"}, replicas=1) == []
