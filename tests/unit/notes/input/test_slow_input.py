"""What is said where the input is slow and nothing is advised."""

from __future__ import annotations

from typing import Any

import pytest
from hand_built import FITS_IN_MEMORY, diagnosed, situation, stage

from keras_perf.advise.notes.input.slow_input import slow_input_notes
from keras_perf.advise.rules.input.caching import cache
from keras_perf.advise.rules.input.python_input import parallel_input

SLOW = situation(
    input_wait=8.0,
    compute=2.0,
    stages=[stage("TensorSlice", 1.0), stage("ParallelMap", 14.0, parallelism=2)],
)


def test_the_slowest_stage_is_named_with_the_tables_figures():
    (said,) = slow_input_notes(diagnosed(SLOW, "input-bound", ["amortize-callback"]))
    assert "of its 8 ms per batch" in said
    assert "ParallelMap (2) takes 7 ms" in said


def once(epochs: int):
    """A map whose work two threads share, and that computes."""
    written = {"kind": "map", "function": "prepare"}
    written["source"] = {"file": "train.py", "line": 31, "name": "prepare"}
    chain = [{"kind": "tensor_slice"}, {"kind": "batch"}, written]
    stages = [stage("TensorSlice", 0.05), stage("BatchV2", 0.02)]
    stages += [stage("ParallelMap", 19.4, parallelism=2, bytes_per_batch=1152.0)]
    context = FITS_IN_MEMORY | {"epochs": epochs, "epoch_steps": 200, "cpu_count": 2}
    context |= {"dataset": {"chains": [chain]}}
    return situation(input_wait=4.0, compute=3.8, stages=stages, context=context)


def repeated(**context: Any):
    """The same behind a shuffle that repeats, in epochs of 200 steps."""
    maps = {"kind": "map", "function": "prepare"}
    chain = [{"kind": "text_line"}, maps, {"kind": "shuffle"}, {"kind": "repeat"}]
    stages = [stage("TextLine", 0.05), stage("ParallelMap", 19.4, parallelism=2)]
    stages += [stage("ShuffleAndRepeat", 0.02), stage("BatchV2", 0.02)]
    known = FITS_IN_MEMORY | {"epochs": 4, "epoch_steps": 200, "cpu_count": 2}
    known |= {"dataset": {"chains": [[*chain, {"kind": "batch"}]]}}
    return situation(input_wait=4.0, compute=3.8, stages=stages, context=known | context)


def test_where_repeat_hides_the_passes_a_cache_is_named_under_that_condition():
    (said,) = slow_input_notes(diagnosed(repeated(), "input-bound"))
    assert "does not go through its data twice" not in said
    assert (
        " How long a pass through the data is, repeat() hides: from the second one on "
        "dataset.map(prepare).cache() in front of it saves 9.75 ms of each batch, if the memory is "
        "there for all of them." in said
    )
    assert cache(repeated()) is None


def test_a_training_of_one_pass_is_told_what_a_cache_would_save_in_more():
    (said,) = slow_input_notes(diagnosed(once(1), "input-bound"))
    assert said.startswith(
        "No change to the pipeline is predicted to gain 2% in this training, which does not go "
        "through its data twice: of its 9.77 ms per batch, on the threads that it has, "
        "ParallelMap (3) takes 9.7 ms. In more passes dataset.map(prepare).cache() would save "
        "9.77 ms of each batch from the second one on. Its function prepare is in train.py, "
        "line 31. try_advice "
    )
    (said,) = slow_input_notes(diagnosed(once(5), "input-bound"))
    assert ".cache()" not in said


def test_what_was_tried_is_not_said_to_be_unknown():
    (said,) = slow_input_notes(diagnosed(SLOW, "input-bound"))
    assert "try_advice measures" in said
    context = {"advice_trials": {"step_ms": 10.0}}
    tried = situation(
        input_wait=8.0, compute=2.0, stages=[stage("ParallelMap", 8.0)], context=context
    )
    (said,) = slow_input_notes(diagnosed(tried, "input-bound"))
    assert "try_advice" not in said


def test_advice_on_the_input_says_it_itself():
    assert list(slow_input_notes(diagnosed(SLOW, "input-bound", ["cache"]))) == []


def test_nothing_is_said_of_an_input_that_is_not_the_bottleneck():
    assert list(slow_input_notes(diagnosed(SLOW, "compute-bound"))) == []


def test_of_a_pipeline_whose_stages_are_not_known_it_is_said_why_nothing_is_advised():
    unknown = situation(input_wait=8.0, compute=2.0)
    (said,) = slow_input_notes(diagnosed(unknown, "input-bound"))
    assert said.startswith("Nothing is advised on the input: tf.data reported none of its stages")


def test_python_code_is_told_what_stands_in_its_place():
    context = {"dataset": {"chains": [[{"kind": "map", "function": "load", "python": True}]]}}
    slow = situation(input_wait=8.0, compute=2.0, stages=[stage("Map", 8.0)], context=context)
    (said,) = slow_input_notes(diagnosed(slow, "input-bound"))
    assert said.endswith("in place of Python code let threads share the work.")
    assert "No change to the pipeline is predicted to gain 2%: of its" in said
    (said,) = slow_input_notes(diagnosed(SLOW, "input-bound"))
    assert "Python" not in said


def test_arrays_without_a_record_of_their_stages_have_a_sentence():
    found = situation(input_wait=8.0, compute=2.0, context={"input_kind": "arrays"})
    (said,) = slow_input_notes(diagnosed(found, "input-bound"))
    assert "larger batches are fetched less often" in said


def test_an_epoch_of_one_execution_leaves_no_moment_to_ask():
    context = {"input_kind": "tf.data", "steps_per_execution": 40, "epoch_steps": 40}
    found = situation(input_wait=8.0, compute=2.0, context=context)
    (said,) = slow_input_notes(diagnosed(found, "input-bound"))
    assert "an epoch is a single execution" in said
    found = situation(input_wait=8.0, compute=2.0, context=context | {"epoch_steps": 80})
    (said,) = slow_input_notes(diagnosed(found, "input-bound"))
    assert "tf.data reported none of its stages" in said


@pytest.mark.parametrize("kind", ["generator", "PyDataset"])
def test_of_what_python_makes_it_is_said_that_nothing_is_predicted_to_gain(kind):
    made = situation(input_wait=5.0, compute=1.0, context={"input_kind": kind})
    (said,) = slow_input_notes(diagnosed(made, "input-bound"))
    assert said.startswith("Nothing is advised on the input: of other threads or processes")
    assert list(slow_input_notes(diagnosed(made, "input-bound", ["parallel-input"]))) == []


def handed_over(**written: Any):
    """As behind `prefetch_to_device`, or where several replicas train."""
    stages = [stage("Generator", 9.0), stage("Prefetch", 0.1)]
    chain = [{"kind": "tensor_slice"}, {"kind": "map", "function": "load"} | written]
    context = {"dataset": {"chains": [chain]}}
    return situation(input_wait=8.0, compute=2.0, stages=stages, context=context)


def test_a_stage_that_hands_batches_over_is_no_generator_of_the_user_s():
    found = handed_over()
    assert found.facts.input.hidden
    assert not found.runs_python
    assert parallel_input(found) is None
    [note] = slow_input_notes(diagnosed(found, "input-bound"))
    assert note.startswith("Nothing is advised on the input: tf.data shows only the stage")
    own = handed_over(kind="flat_map", function="flat_map_fn", python=True)
    assert not own.facts.input.hidden
    assert own.runs_python


def test_of_a_distributed_dataset_nothing_is_known_but_that_it_is_handed_over():
    stages = [stage("Generator", 9.0), stage("Prefetch", 0.1)]
    found = situation(
        input_wait=8.0, compute=2.0, stages=stages, context={"feeds_devices": True, "replicas": 4}
    )
    assert found.facts.input.hidden
    assert parallel_input(found) is None
    assert cache(found) is None


@pytest.mark.parametrize("kind", ["flat_map", "interleave"])
def test_a_generator_within_a_stage_that_makes_datasets_is_the_user_s(kind):
    found = handed_over(kind=kind, function="", python=True)
    assert not found.facts.input.hidden
    assert found.runs_python


def augmented(*behind: Any, each_ms: float = 0.25, **context: Any):
    """A map of 32 examples a batch, most of whose calls is work."""
    chain = [{"kind": "tensor_slice"}, {"kind": "map", "function": "augment"}, {"kind": "batch"}]
    known = {"dataset": {"chains": [chain]}}
    stages = [stage("TensorSlice", 0.1, elements_per_batch=32.0)]
    stages += [stage("Map", 32 * each_ms, elements_per_batch=32.0), *behind]
    stages += [stage("BatchV2", 0.1)]
    return situation(input_wait=8.0, compute=2.0, stages=stages, context=known | context)


def test_a_map_that_works_on_each_example_may_do_so_on_batches():
    (said,) = slow_input_notes(diagnosed(augmented(), "input-bound"))
    assert (
        "Map (2) is called 32 times a batch, 250 µs each: where its operations take many examples "
        "at once, as Keras's layers for images and text do, which draw for each of them, "
        "dataset.batch(n).map(f) may take less."
    ) in said


TRIED = {"id": "batch-before-map", "gain": 1.0, "low": 1.0, "high": 1.0}
TRIED |= {"before_ms": 10.0, "after_ms": 10.0}


@pytest.mark.parametrize(
    "found",
    [
        SLOW,
        augmented(each_ms=0.002),
        augmented(stage("Filter", 0.1, elements_per_batch=32.0)),
        augmented(advice_trials={"changes": [TRIED], "step_ms": 10.0}),
    ],
    ids=["once a batch", "little work", "a filter behind it", "tried"],
)
def test_where_it_does_not_or_was_tried_that_is_not_said(found):
    (said,) = slow_input_notes(diagnosed(found, "input-bound"))
    assert "is called" not in said
