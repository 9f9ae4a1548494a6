"""What is said of printing, checks and Python in a step, and of how a dataset is shared."""

from __future__ import annotations

import pytest
from hand_built import diagnosed, summary

from keras_perf.advise.notes.in_the_step import distribution_notes, frozen_notes, step_notes


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


FROZEN = {"parameters": 100, "frozen_in_front": 90, "epochs": 5, "input_kind": "arrays"}
READ = {"kind": "map", "function": "read"}


def of_chain(*stages):
    return {"input_kind": "tf.data", "dataset": {"chains": [[{"kind": "tensor_slice"}, *stages]]}}


def frozen(compute=10.0, input_wait=1.0, **context):
    measured = summary(compute=compute, input_wait=input_wait, context=FROZEN | context)
    return list(frozen_notes(diagnosed(measured)))


@pytest.mark.parametrize("known", [{}, of_chain(READ)])
def test_what_frozen_layers_compute_in_each_epoch_can_be_computed_once(known):
    [note] = frozen(**known)
    assert note.startswith("90 of 100 parameters are in layers before the first that is trained")
    assert "each of 5 epochs" in note
    assert "How much of a step it is was not measured." in note


@pytest.mark.parametrize(
    "context",
    [
        {"frozen_in_front": 40},
        {"epochs": 1},
        {"ends_by_steps": True},  # an epoch may be a part of a pass
        {"input_kind": "PyDataset"},
        of_chain(READ | {"random": True}),
        of_chain(READ | {"python": True}),
        {"compute": 1.0, "input_wait": 5.0},
    ],
)
def test_of_frozen_layers_nothing_is_said_where_examples_may_differ_or_it_is_little(context):
    assert frozen(**context) == []


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
