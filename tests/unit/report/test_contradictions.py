"""The checker that watches over all tests notices what it is there for."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from contradictions import contradictions
from hand_built import FITS_IN_MEMORY, between_epochs, stage, summary

from keras_perf.report.diagnosis import Diagnosis, diagnosis_of

SEQUENTIAL = [
    stage("TensorSlice", 1.0),
    stage("Map", 6.0, bytes_per_batch=2.0**20),
    stage("Batch", 1.0, bytes_per_batch=2.0**20),
]
SLOW_INPUT: dict[str, Any] = {
    "input_wait": 8.0,
    "compute": 2.0,
    "stages": SEQUENTIAL,
    "context": FITS_IN_MEMORY,
}
NO_CACHE = SLOW_INPUT | {"context": {}}
SLOW_HOOK: dict[str, Any] = {
    "compute": 6.0,
    "callbacks": 4.0,
    "owners": {"Mine.on_train_batch_end": 4.0},
}
COMPILING: dict[str, Any] = {
    "compute": 2.0,
    "compile": 30.0,
    "context": between_epochs() | {"jit_compile": True, "shapes_differ": False},
}


def found(**arguments: Any) -> Diagnosis:
    return diagnosis_of(summary(**arguments))


def said_of(diagnosis: Diagnosis) -> str:
    return "; ".join(contradictions(diagnosis))


def with_note(text: str, **arguments: Any) -> str:
    """What is said of a report with this note."""
    return said_of(replace(found(**arguments), notes=(text,)))


def with_advice(diagnosis: Diagnosis, of: str, **changed: Any) -> str:
    """What is said of a report one of whose advice is changed."""
    assert of in {each.id for each in diagnosis.recommendations}
    advice = [
        replace(each, **changed) if each.id == of else each for each in diagnosis.recommendations
    ]
    return said_of(replace(diagnosis, recommendations=tuple(advice)))


@pytest.mark.parametrize("arguments", [SLOW_INPUT, SLOW_HOOK, COMPILING, {"compute": 10.0}])
def test_a_report_as_it_is_has_none(arguments):
    assert said_of(found(**arguments)) == ""


# -- figures -----------------------------------------------------------------------------


def test_parts_that_do_not_add_up():
    whole = found(compute=10.0)
    assert "do not add up" in said_of(replace(whole, breakdown={**whole.breakdown, "step": 12.0}))


def test_bounds_that_are_none():
    assert "are no bounds" in with_advice(found(**SLOW_HOOK), "amortize-callback", low=3.0)
    together = replace(found(**SLOW_HOOK), combined_speedup=(2.0, 2.5, 3.0))
    assert "all together: (2.5, 2.0, 3.0) are no bounds" in said_of(together)
    together = replace(found(**SLOW_HOOK), combined_whole_speedup=(2.0, 1.5, 1.9))
    assert "of the whole training: (1.5, 2.0, 1.9) are no bounds" in said_of(together)


# -- stages ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("Stage Map (2) takes 6 ms of the 8 ms that a batch needs.", ("6 ms", "1.41 ms")),
        ("The stage Map (2) takes 6 ms of the 8 ms that a batch needs.", ("8 ms", "9 ms")),
        ("reading sets the pace: Map (2) takes 6 ms of the 8 ms that a batch needs.", ("6", "7")),
        ("of its 8 ms per batch, on the threads that it has, Map (2) takes 6 ms.", ("8", "43.7")),
        ("those of Map (2), of whose work tf.data counts 6 ms.", ("6 ms", "8 ms")),
        ("Stage Map (2) takes 6 ms a batch over all threads.", ("6 ms", "3 ms")),
        ("Stages up to Map (2) take 7 ms a batch in each pass.", ("7 ms", "8 ms")),
        ("Stage Map (2) is called 1 times per batch, 6,000 µs each.", ("6,000", "3,000")),
        ("They could deliver a batch every 8 ms.", ("8 ms", "2 ms")),
        ("The pipeline's work, 8 ms a batch, takes cores.", ("8 ms", "2 ms")),
        ("Reading takes 6 ms of the 8 ms that a batch needs.", ("6 ms", "5 ms")),
        ("Stage Map (2) takes 6 ms of the 8 ms that a batch needs.", ("Map (2)", "Map (3)")),
    ],
)
def test_stages_that_take_another_time_than_in_their_table(right, wrong):
    assert with_note(right, **SLOW_INPUT) == ""
    assert "beside a table with" in with_note(right.replace(*wrong), **SLOW_INPUT)


def test_a_cache_leaves_the_shuffle_as_it_is():
    shuffled = [*SEQUENTIAL[:1], stage("Shuffle", 5.0), *SEQUENTIAL[1:]]
    text = "Stages up to Map (3) take 7 ms a batch."
    assert with_note(text, **{**SLOW_INPUT, "stages": shuffled}) == ""


def test_a_stage_of_validation_has_a_table_of_its_own():
    text = "the stage Map (2) takes 3 ms a batch."
    calls = {"calls": 5, "executions": 5, "steps": 50, "spent_s": 1.0, "parts_s": {}}
    stages = [stage("TensorSlice", 0.0), stage("Map", 3.0)]
    context = {"inference": {"validation": {**calls, "stages": stages}}}
    assert with_note(text, compute=10.0, context=context) == ""
    assert "beside a table" in with_note(text.replace("3 ms", "4 ms"), compute=10, context=context)


def test_stages_in_a_form_that_is_not_known():
    assert "in a form that nobody checks" in with_note("Map (2) needs 6 ms.", **SLOW_INPUT)


# -- trials ------------------------------------------------------------------------------

TRIED = "not tried: steps took {} in the train function, and those of more than 20 ms are too long"


@pytest.mark.parametrize(
    ("step_ms", "text", "told"),
    [
        (30.0, TRIED.format("23 ms") + " to gain.", ""),
        (16.0, TRIED.format("23 ms") + " to gain.", "beside a step of 16 ms"),
        (16.0, TRIED.format("23 ms") + " to gain. Of the training a step takes 16 ms.", ""),
        (30.0, TRIED.format("13 ms") + " to gain.", "are not"),
        (30.0, "not tried: steps of 30 ms are too long to try.", "does not say how long they were"),
    ],
)
def test_steps_that_are_too_long_for_a_trial_and_not_in_the_split(step_ms, text, told):
    said = with_note(text, compute=step_ms)
    assert told in said
    assert bool(said) is bool(told)


# -- advice against shares and words -----------------------------------------------------


def validating(**evidence: Any) -> Diagnosis:
    return found(compute=10.0, context=between_epochs(10.0) | {"epochs": 10})


@pytest.mark.parametrize(
    "id", ["rarer-validation", "faster-validation", "larger-validation-batches"]
)
def test_advice_on_validation_that_gains_more_than_its_share(id):
    gains = {"id": id, "predicted_speedup": 2.2, "high": 2.3}
    assert f"{id}: 2.20× of a part worth 2.00×" in with_advice(
        validating(), "rarer-validation", **gains
    )


@pytest.mark.parametrize("id", ["amortize-callback", "call-the-model"])
def test_advice_on_epoch_hooks_that_gains_more_than_their_share(id):
    hooks = found(compute=10.0, context=between_epochs(callbacks={"Mine.on_epoch_end": 10.0}))
    gains = {"id": id, "predicted_speedup": 2.2, "high": 2.3}
    assert f"{id}: 2.20× of a part worth 2.00×" in with_advice(hooks, "amortize-callback", **gains)


def test_advice_on_compiling_that_gains_more_than_its_share():
    gains = {"predicted_speedup": 17.0, "high": 18.0}
    said = with_advice(found(**COMPILING), "stable-shapes", **gains)
    assert "stable-shapes: 17.00× of a part worth 4.00×" in said


def test_advice_of_the_whole_training_of_which_nobody_knows_what_it_removes():
    assert "nobody knows" in with_advice(validating(), "rarer-validation", id="something-new")


def test_a_share_of_the_training_that_is_another_one():
    [advice] = validating().recommendations
    for right, wrong in (
        ("50% of the training", "80% of the training"),
        ("10 ms for", "30 ms for"),
    ):
        assert right in advice.reason
        reason = advice.reason.replace(right, wrong)
        assert "of a part that" in with_advice(validating(), advice.id, reason=reason)


def test_advice_on_the_input_that_gains_more_than_its_wait_and_its_work():
    # Of 10 ms it waits for one, and works for one: no more than 8 ms can be left.
    quick = [stage("TensorSlice", 0.1), stage("Map", 0.9, bytes_per_batch=2.0**20)]
    waits = found(input_wait=1.0, compute=9.0, stages=quick, context=FITS_IN_MEMORY)
    gains = {"predicted_speedup": 1.43, "high": 1.5}
    assert "cache: 1.43× of a part worth" in with_advice(waits, "cache", **gains)


def test_a_gain_in_the_text_that_is_another_one():
    said = with_advice(found(**SLOW_HOOK), "amortize-callback", reason="It buys 1.20×.")
    assert "1.20× in the text of a gain of" in said


def test_work_that_does_not_explain_its_gain():
    told = "Mine takes 1 ms of every step of 10 ms; done every 20 steps, it takes 0.05 ms."
    assert "explains" in with_advice(found(**SLOW_HOOK), "amortize-callback", reason=told)


# -- the verdict -------------------------------------------------------------------------

WHOLE = "the whole training, start-up included,"


@pytest.mark.parametrize(
    ("arguments", "right", "wrong", "told"),
    [
        (SLOW_INPUT, "input wait: 8 ms", "input wait: 7 ms", "beside a table with 8 ms"),
        (NO_CACHE, "hence its ", "hence its 1", "beside "),
        (SLOW_HOOK, "would be 1.67×", "would be 1.20×", "yet amortize-callback alone buys"),
        (COMPILING, "would be 4.00×", "would be 2.00×", "yet stable-shapes alone buys"),
        (COMPILING, f"{WHOLE} would be 4.00×", "training would be 16.00×", "without compiling"),
    ],
)
def test_a_verdict_that_says_another_figure(arguments, right, wrong, told):
    diagnosis = found(**arguments)
    assert right in diagnosis.explanation, diagnosis.explanation
    explanation = diagnosis.explanation.replace(right, wrong).replace("; a step 1.91×", "")
    assert told in said_of(replace(diagnosis, explanation=explanation))


NOTHING_ELSE = "no other part's removal would make a step 5% faster"


def test_an_advice_that_is_predicted_all_the_same_with_another_gain():
    told = f"{NOTHING_ELSE}. For cache 1.30× is predicted all the same."
    assert "1.30× is predicted all the same' beside []" in said_of(
        replace(found(compute=10.0), explanation=told)
    )


@pytest.mark.parametrize("part", ["input_wait", "dispatch"])
def test_a_part_that_is_worth_nothing_and_large(part):
    bound = found(**{"compute": 9.0, part: 1.0})
    told = f"{NOTHING_ELSE}: what remains is the model's own computation."
    said = said_of(replace(bound, verdict="compute-bound", explanation=told))
    assert "no other part is worth 5%, beside" in said


def test_advice_on_a_part_where_no_part_is_worth_anything():
    told = f"{NOTHING_ELSE}: what remains is the model's own computation."
    said = said_of(replace(found(**SLOW_HOOK), verdict="compute-bound", explanation=told))
    assert "no part is worth 5%, yet amortize-callback buys 1.82×" in said


def test_what_lies_between_epochs_is_worth_its_share_of_the_whole_training():
    between = found(compute=10.0, context=between_epochs(callbacks={"Mine.on_epoch_end": 10.0}))
    assert between.explanation.startswith("between epochs callbacks take")
    told = between.explanation.replace("2.00×", "1.10×")
    assert "at most 1.10×, yet amortize-callback alone" in said_of(
        replace(between, explanation=told)
    )


@pytest.mark.parametrize(
    "arguments",
    [SLOW_INPUT, SLOW_HOOK, COMPILING, {"compute": 5.0, "dispatch": 5.0}],
    ids=["input", "callbacks", "compiling", "dispatch"],
)
def test_a_verdict_without_advice_and_without_a_reason(arguments):
    bare = replace(found(**arguments), recommendations=(), notes=())
    assert "yet nothing is advised on it, and nothing says why" in said_of(bare)
    told = replace(bare, notes=("Nothing is advised on it: nobody knows how.",))
    assert "nothing says why" not in said_of(told)


def test_a_share_whose_sign_stands_apart():
    assert "percent sign apart" in with_note("43 % of it", compute=10.0)
