"""A verdict in one sentence, to be understood by whoever reads nothing else."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hand_built import stage, summary
from test_diagnosis import FAST, SLOW_INPUT

from keras_perf.advise.verdict.because import Because
from keras_perf.report.diagnosis import diagnosis_of
from keras_perf.report.in_a_sentence import in_a_sentence


def told(*arguments, **named):
    return in_a_sentence(diagnosis_of(summary(*arguments, **named)))


@pytest.mark.parametrize(
    ("parts", "sentence"),
    [
        (
            SLOW_INPUT,
            "Training waits for its data: input wait takes 80% of a step of 10 ms.",
        ),
        (
            FAST,
            "The model's own computation is the limit: compute takes 99% of a step of 10 ms.",
        ),
        (
            {"input_wait": 0.0, "compute": 1.0, "callbacks": 9.0},
            "Callbacks hold training up: callbacks take 90% of a step of 10 ms.",
        ),
        (
            {"compute": 5.0, "compile": 5.0},
            "Training stops to compile again and again: compile takes 50% of a step of 10 ms.",
        ),
        (
            {"compute": 1.0, "dispatch": 3.0, "other_host": 1.0},
            "Starting each step takes time that can be saved: dispatch and other host work take "
            "80% of a step of 5 ms.",
        ),
        (
            {"compute": 10.0, "context": {"run_eagerly": True}},
            "Python runs the operations one by one: 10 ms of each step; compiled, training would "
            "be 1.05× as fast.",
        ),
    ],
)
def test_it_says_what_the_verdict_means_and_the_share_behind_it(parts, sentence):
    assert told(**parts) == sentence


def test_of_too_few_steps_it_says_all_that_is_missing():
    assert told(3, **FAST) == (
        "Only 3 steps were measured after warm-up, at least 20 are needed: train longer."
    )


def test_of_an_explanation_in_several_sentences_it_has_the_first():
    held = Because("Python 3.11 holds 0.5 ms of each step.", "The rest is told elsewhere.")
    found = replace(diagnosis_of(summary(**SLOW_INPUT)), because=held)
    assert in_a_sentence(found) == (
        "Training waits for its data: Python 3.11 holds 0.5 ms of each step."
    )


def tried(step_ms, ready_ms):
    trials = {"step_ms": step_ms, "ready_ms": ready_ms, "changes": []}
    context = {"advice_trials": trials, "stages": [stage("TensorSlice", 1.0), stage("Map", 7.0)]}
    return told(context=context, input_wait=2.0, compute=8.0)


def test_the_wait_is_told_where_it_is_what_a_ready_batch_saves_and_else_what_was_tried():
    assert tried(10.0, 7.5).endswith(": input wait takes 20% of a step of 10 ms.")
    assert tried(10.0, 2.0) == (
        "Training waits for its data: tried on this training: a step takes 10 ms, and 2 ms where "
        "its batch is ready; if every batch were, training would be 5.00× as fast."
    )
