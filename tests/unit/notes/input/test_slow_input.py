"""What is said where the input is slow and nothing is advised."""

from __future__ import annotations

from hand_built import situation, stage

from keras_perf.advise.notes.input.slow_input import slow_input_notes

SLOW = situation(
    input_wait=8.0,
    compute=2.0,
    stages=[stage("TensorSlice", 1.0), stage("ParallelMap", 14.0, parallelism=2)],
)


def test_the_slowest_stage_is_named_with_the_tables_figures():
    (said,) = slow_input_notes(SLOW, "input-bound", ["amortize-callback"])
    assert "of its 8 ms per batch" in said
    assert "ParallelMap (2) takes 7 ms" in said


def test_advice_on_the_input_says_it_itself():
    assert list(slow_input_notes(SLOW, "input-bound", ["cache"])) == []


def test_nothing_is_said_of_an_input_that_is_not_the_bottleneck():
    assert list(slow_input_notes(SLOW, "compute-bound", [])) == []


def test_of_a_pipeline_whose_stages_are_not_known_it_is_said_why_nothing_is_advised():
    unknown = situation(input_wait=8.0, compute=2.0)
    (said,) = slow_input_notes(unknown, "input-bound", [])
    assert said.startswith("Nothing is advised on the input: tf.data told nothing of its stages")


def test_python_code_is_told_what_stands_in_its_place():
    context = {"dataset": {"chains": [[{"kind": "map", "function": "load", "python": True}]]}}
    slow = situation(input_wait=8.0, compute=2.0, stages=[stage("Map", 8.0)], context=context)
    (said,) = slow_input_notes(slow, "input-bound", [])
    assert said.endswith("in place of Python code let threads share the work.")
    (said,) = slow_input_notes(SLOW, "input-bound", [])
    assert "Python" not in said


def test_arrays_without_a_record_of_their_stages_have_a_sentence():
    found = situation(input_wait=8.0, compute=2.0, context={"input_kind": "arrays"})
    (said,) = slow_input_notes(found, "input-bound", [])
    assert "larger batches are fetched less often" in said
