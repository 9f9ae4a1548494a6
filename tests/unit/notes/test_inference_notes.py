"""Why a validation, an evaluate or a predict takes its time: named, or nothing is said."""

from __future__ import annotations

from typing import Any

import pytest
from hand_built import between_epochs, diagnosed, stage, summary

from keras_perf.advise.notes.inference import inference_notes

WAITS = {
    "calls": 5,
    "executions": 100,
    "steps": 100,
    "spent_s": 1.0,
    "parts_s": {"input_wait": 0.6, "compute": 0.4},
    "input_kind": "tf.data",
}
COMPUTES = WAITS | {"parts_s": {"input_wait": 0.01, "compute": 0.99}}


def said(kind: str, found: dict[str, Any], *, validation: float = 5.0, **context: Any) -> list[str]:
    """Beside steps of 10 ms."""
    known = between_epochs(validation) | {"inference": {kind: found}} | context
    return list(inference_notes(diagnosed(summary(compute=10.0, context=known))))


def written(*kinds: str, **options: Any) -> dict[str, Any]:
    stages = [
        {
            "kind": kind.removeprefix("parallel "),
            "function": "decode" if "map" in kind else "",
            "parallel": kind.startswith("parallel"),
            "stateful": False,
            "random": False,
            "reads_files": False,
        }
        for kind in kinds
    ]
    return {"dataset": {"chains": [stages], **options}}


def test_a_validation_that_waits_is_told_of_its_own_pipeline():
    stages = [stage("TensorSlice", 0.1), stage("Map", 5.9)]
    found = WAITS | written("tensor_slice", "map") | {"stages": stages}
    assert said("validation", found) == [
        "Validation waits for its input: 6 ms of 10 ms a batch. It has an input pipeline of its "
        "own, which advice on the training's does not change. Its slowest stage is "
        "map(decode), 5.9 ms a batch. Change its dataset: map(decode, "
        "num_parallel_calls=tf.data.AUTOTUNE); cache() after its last map, if memory "
        "suffices, computes it once."
    ]


def test_a_lambda_is_named_by_its_line():
    source = {"file": "train.py", "line": 12}
    pipeline = written("tensor_slice", "map", prefetch_added=True)
    pipeline["dataset"]["chains"][0][1] |= {"function": "", "source": source}
    [note] = said("predict", WAITS | pipeline)
    assert "map(your_lambda, num_parallel_calls=tf.data.AUTOTUNE) (train.py, line 12)" in note


def test_of_arrays_no_stage_is_blamed_that_takes_no_time():
    [note] = said("validation", WAITS | {"batch_size": 16, "stages": [stage("FromTensor", 0.0)]})
    assert note.endswith("which advice on the training's does not change.")


def test_what_the_dataset_has_is_not_advised():
    [note] = said("validation", WAITS | written("parallel map", "cache", "prefetch"))
    assert "would help" in note
    assert "num_parallel_calls" not in note


def test_prefetch_is_advised_only_where_tf_data_adds_none():
    [without] = said("evaluate", WAITS | written("parallel map", prefetch_added=False))
    [added] = said("evaluate", WAITS | written("parallel map"))
    assert "prefetch(" in without
    assert "prefetch(" not in added


def test_a_pydataset_is_told_of_its_workers():
    [note] = said("evaluate", WAITS | {"input_kind": "PyDataset"})
    assert note.endswith("Give its PyDataset workers=… and max_queue_size=….")


@pytest.mark.parametrize(
    "found",
    [COMPUTES, WAITS | {"steps": 9}, WAITS | {"parts_s": {"compute": 1.0}}],
    ids=["that computes", "of few batches", "whose wait is not known"],
)
def test_nothing_is_said_of_a_validation(found):
    assert said("validation", found) == []


def test_what_fetching_a_ready_batch_costs_predict_is_no_wait():
    short = WAITS | {"spent_s": 0.1, "parts_s": {"input_wait": 0.06, "compute": 0.04}}
    assert said("predict", short) == []
    assert said("evaluate", short) != []
    assert said("predict", WAITS) != []


def test_nothing_is_said_of_a_validation_that_is_little_of_the_training():
    assert said("validation", WAITS, validation=0.5) == []
    assert said("evaluate", WAITS, validation=0.5) != []


LOOP = {
    "calls": 40,
    "executions": 40,
    "steps": 40,
    "spent_s": 2.0,
    "parts_s": {"starting": 0.9, "other_host": 0.8, "input_wait": 0.1, "compute": 0.2},
    "examples": 40.0,
    "input_kind": "arrays",
}


def test_predict_in_a_loop_is_told_what_each_call_costs():
    assert said("predict", LOOP) == [
        "`predict` was called 40 times, with 1 example a call. Of at least 50 ms a call, 45 ms "
        "go into making and ending an input pipeline: call the model itself, model(x, "
        "training=False), or model.predict_on_batch(x); or gather the inputs and call predict once."
    ]


@pytest.mark.parametrize(
    "parts_s",
    [
        {"starting": 0.3, "other_host": 0.3, "input_wait": 0.9, "compute": 0.5},
        {"starting": 0.3, "other_host": 0.1, "compute": 0.2, "compile": 1.4},
    ],
    ids=["a thread that was waited for", "a first call that traced for long"],
)
def test_a_loop_is_one_however_slow_the_machine_makes_a_part_of_its_calls(parts_s):
    [note] = said("predict", LOOP | {"parts_s": parts_s})
    assert note.startswith("`predict` was called 40 times")


def test_a_loop_over_data_of_its_own_waits_for_that():
    waits = {"parts_s": {"starting": 0.2, "input_wait": 1.4, "compute": 0.4}}
    [note] = said("predict", LOOP | waits | {"input_kind": "tf.data"})
    assert note.startswith("`predict` waits for its input")


def test_what_a_skip_makes_in_vain_is_told_of_a_validation_s_own_input():
    known = written("map", "skip", "batch")
    for written_stage, elements in zip(known["dataset"]["chains"][0], (40, 40, 10), strict=True):
        written_stage["elements"] = elements
    [note] = said("validation", WAITS | known)
    assert "skip() comes after map(decode): each pass makes the 30 elements of 40 " in note


@pytest.mark.parametrize(("kind", "notes"), [("arrays", 0), ("PyDataset", 1)])
def test_rows_of_arrays_wait_for_nothing_but_to_be_fetched(kind, notes):
    told = said("predict", WAITS | {"calls": 1, "input_kind": kind})
    assert [note.startswith("`predict` waits for its input") for note in told] == [True] * notes


def test_a_validation_of_one_batch_is_no_loop_of_the_user_s():
    assert said("validation", LOOP) == []
    waits = {"parts_s": {"starting": 0.2, "input_wait": 1.4, "compute": 0.4}}
    [note] = said("validation", LOOP | waits)
    assert note.startswith("Validation waits for its input")


def test_evaluate_in_a_loop_is_told_of_its_own_remedy():
    [note] = said("evaluate", LOOP)
    assert "model.reset_metrics() and model.test_on_batch(x, y)" in note
    assert "predict" not in note


@pytest.mark.parametrize(
    "changed",
    [
        {"calls": 9, "executions": 9},
        {"executions": 400},
        {"parts_s": {"starting": 0.1, "compute": 1.9}},
    ],
    ids=["a few calls", "calls of many batches", "a model that is slow itself"],
)
def test_nothing_is_said_of(changed):
    assert said("predict", LOOP | changed) == []


def test_tracing_again_and_again_is_named():
    found = COMPUTES | {"traces": 4, "parts_s": {"compile": 0.5, "compute": 0.5}}
    [note] = said("predict", found)
    assert note.startswith("`predict` was traced again after its first batch (count: 4)")
    assert "50% of its time" in note
    assert said("predict", found | {"traces": 0}) == []


def test_one_more_trace_is_told_as_one_and_only_where_it_took_much():
    found = COMPUTES | {"traces": 1, "parts_s": {"compile": 0.5, "compute": 0.5}}
    assert said("evaluate", found) == [], "a half of it is the first trace"
    [note] = said("evaluate", found | {"parts_s": {"compile": 0.7, "compute": 0.3}})
    assert note.startswith("`evaluate` was traced once more after its first batch")
    assert "about 35% of its time" in note
    assert "nothing in later calls" in note


TRIAL = {"steps_per_execution_trial": {"recommended": 8, "per_execution_ms": 5.0}}


def test_small_executions_are_told_by_what_training_s_cost():
    [note] = said("validation", COMPUTES | {"batch_size": 32}, **TRIAL)
    assert note.startswith("Validation takes 10 ms a batch, of which 5 ms are the measured cost")
    assert "batches are of 32 examples" in note
    assert "steps_per_execution" in note


def test_nothing_is_said_where_the_cost_was_not_measured_or_is_small():
    assert said("validation", COMPUTES | {"batch_size": 32}) == []
    shared = COMPUTES | {"steps_per_execution": 8}
    assert said("validation", shared, **TRIAL) == []


def test_fits_of_a_few_steps_each_are_told_what_trains_without_an_input_pipeline():
    """Also where their steps are not one for each call."""
    parts = {"starting": 0.3, "compute": 0.1, "callbacks": 0.0, "compile": 0.5}
    found = {
        "calls": 20,
        "executions": 80,
        "steps": 80,
        "spent_s": 0.9,
        "parts_s": parts,
        "examples": 640.0,
    }
    assert said("fit", found) == [
        "`fit` was called 20 times, with 32 examples a call. Of at least 20 ms a call, 15 ms go "
        "into making and ending an input pipeline: call model.train_on_batch(x, y) for each "
        "batch of each epoch, whose metrics go on from call to call until model.reset_metrics(), "
        "or gather the data and call fit less often."
    ]
    [once] = said("fit", found | {"steps": 20, "executions": 20})
    assert "call model.train_on_batch(x, y), whose metrics go on" in once
    assert said("fit", found | {"calls": 9}) == []
    assert said("fit", found | {"parts_s": parts | {"compute": 0.4}, "spent_s": 1.2}) == []


def test_what_runs_in_parallel_by_itself_or_is_taken_of_is_told_nothing_that_fails():
    stages = [stage("ParallelMapV2", 5.9, parallelism=2)]
    [note] = said("validation", WAITS | written("tensor_slice", "map", "take") | {"stages": stages})
    assert "num_parallel_calls" not in note
    assert "cache()" not in note
