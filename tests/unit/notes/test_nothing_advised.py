"""A verdict without advice on its part says why."""

from __future__ import annotations

from typing import Any

import pytest
from hand_built import between_epochs, diagnosed, situation, summary

from keras_perf.advise.notes.nothing_advised import nothing_advised_notes
from keras_perf.advise.notes.reliability.not_measured import not_measured_notes
from keras_perf.advise.verdict.verdict import verdict_of
from keras_perf.records.reasons.why_no_steps import WhyNoSteps
from keras_perf.report.diagnosis import diagnosis_of

TOO_LONG = WhyNoSteps.LONG_STEPS.of(step_ms=23.0, limit_ms=20.0).to_json()
BETWEEN = between_epochs(callbacks={f"Mine{n}.on_epoch_end": 0.4 for n in range(5)})


def told(*advised: str, **arguments: Any) -> str:
    found = situation(**arguments)
    return " ".join(nothing_advised_notes(diagnosed(found, verdict_of(found)[0], advised)))


MANY_HOOKS = {f"Mine{n}.on_train_batch_end": 0.3 for n in range(10)}


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (
            {"compute": 7.0, "callbacks": 3.0, "owners": MANY_HOOKS},
            "on callbacks: no hook takes 5% of a step",
        ),
        ({"compute": 10.0, "context": BETWEEN}, "on callbacks: no hook between epochs takes 5%"),
        ({"compute": 8.0, "compile": 2.0}, "on compiling: the remedies are predicted"),
        (
            {"compute": 8.0, "compile": 2.0, "context": between_epochs(300.0)},
            "on compiling: without it, the whole training",
        ),
        (
            {"compute": 5.0, "other_host": 5.0},
            "on what each execution costs: no other number of steps was tried.",
        ),
        (
            {"compute": 5.0, "other_host": 5.0, "context": {"tries_steps": False}},
            "on what each execution costs: this backend of Keras cannot share it",
        ),
        (
            {
                "compute": 5.0,
                "other_host": 5.0,
                "context": {"tries_steps": False, "compiles_executions": True},
            },
            "on what each execution costs: on JAX, Keras from 3.16 on compiles the steps of an "
            "execution into one call, so that more of them may save dispatch; training again with "
            "a higher number tells.",
        ),
        (
            {
                "compute": 5.0,
                "dispatch": 5.0,
                "context": {"steps_per_execution_trial": {"recommended": 8, "applied": True}},
            },
            "on what each execution costs: steps_per_execution=8 was set during this training.",
        ),
        (
            {
                "compute": 5.0,
                "other_host": 5.0,
                "context": {"steps_per_execution_trial": {"recommended": 1}},
            },
            "on what each execution costs: by its trials, no other number of steps per execution",
        ),
    ],
)
def test_each_verdict_has_its_reason(arguments, why):
    assert why in told(**arguments)


def test_where_the_note_on_the_trial_tells_what_saves_dispatch_nothing_else_is_said():
    trial = {"not_tried": WhyNoSteps.COMPILED_ON_JAX.of().to_json()}
    context = {"tries_steps": False, "compiles_executions": True}
    context["steps_per_execution_trial"] = trial
    assert told(compute=5.0, other_host=5.0, context=context) == ""
    context["compiles_executions"] = False
    trial["not_tried"] = WhyNoSteps.ON_JAX.of().to_json()
    assert "cannot share it" in told(compute=5.0, other_host=5.0, context=context)


def test_advice_on_the_part_needs_none():
    assert told("amortize-callback", compute=7.0, callbacks=3.0) == ""
    assert told(compute=10.0) == ""


def test_a_trial_that_was_not_made_is_the_reason():
    context = {"steps_per_execution_trial": {"not_tried": "the epoch is short"}}
    found = diagnosis_of(summary(compute=5.0, dispatch=5.0, context=context))
    assert "steps_per_execution: not tried: the epoch is short." in found.notes
    assert not any(note.startswith("Nothing is advised") for note in found.notes)


@pytest.mark.parametrize(
    ("step_ms", "ending"),
    [(16.0, "too long: train again to have it tried."), (30.0, "too long to gain from it.")],
)
def test_steps_that_were_too_long_for_trials_and_are_not_in_the_split(step_ms, ending):
    context = {"steps_per_execution_trial": {"not_tried": TOO_LONG}}
    found = summary(input_wait=0.0, compute=step_ms, context=context)
    [note] = not_measured_notes(diagnosed(found))
    assert "steps took 23 ms in the train function" in note
    assert note.endswith(ending)
    assert ("a step takes 16 ms" in note) is (step_ms == 16.0)


def test_a_hook_by_which_others_go_is_named_as_what_is_left_as_it_is():
    hook = "Mine0.on_epoch_end"
    said = told(compute=10.0, context=BETWEEN | {"steering_hooks": {hook: "logs"}})
    assert said.startswith(f"Nothing is advised on callbacks: {hook} takes ")
    assert "but sets logs, by which other callbacks or later steps go." in said


def test_what_is_said_of_a_hook_s_evaluation_is_advice_without_a_predicted_gain():
    hook = "Mine0.on_epoch_end"
    called = {"evaluates": {hook: {"calls": 4, "spent_s": 2.0, "batches": 40}}}
    assert told(compute=10.0, context=BETWEEN).startswith("Nothing is advised on callbacks: no")
    known = told(compute=10.0, context=BETWEEN | called)
    assert known.startswith("Nothing is advised on callbacks with a predicted gain: no hook")
