"""The whole training has one definition, from figures that one can do in one's head."""

from __future__ import annotations

from typing import Any

import pytest
from hand_built import between_epochs, summary

from keras_perf.advise.situation import situation_of
from keras_perf.analyse.summary import Summary
from keras_perf.analyse.whole_training import training_ms

FIRST = {"before_first_step_s": 8.0, "first_steps": 1, "first_execution_s": 0.0}


def trained(*, steps: int = 1000, compile_ms: float = 0.0, **context: Any) -> Summary:
    """Of 1000 steps, or so many, 200 were measured; the others were trials and captures."""
    known = between_epochs(2.0, {"A.on_epoch_end": 1.0}, 0.5, steps=steps) | {"start_up": FIRST}
    return summary(compute=10.0, compile=compile_ms, context=known | context)


def test_it_is_the_steps_what_lies_between_epochs_and_the_start_up():
    assert training_ms(trained()) == pytest.approx(10 + 3.5 + 8)


def test_without_a_known_start_up_it_is_the_rest_of_it():
    assert training_ms(trained(start_up=None)) == pytest.approx(13.5)


def test_a_training_whose_length_is_not_known_is_its_steps():
    assert training_ms(summary(compute=10.0)) == 10.0


def test_what_is_done_once_is_shared_by_as_many_steps_as_are_asked_for():
    assert training_ms(trained(), 2000) == pytest.approx(13.5 + 4)
    assert training_ms(trained(steps=500), 1000) == pytest.approx(13.5 + 8)


def test_a_first_validation_that_is_traced_is_done_once():
    context = between_epochs(2.0)
    context["outside"]["usual_validation_s"] = 0.1
    found = summary(compute=10.0, context=context)
    # Five of 0.1 s, and 1.5 s of tracing, in 1000 steps.
    assert training_ms(found) == pytest.approx(10 + 0.5 + 1.5)
    assert training_ms(found, 100) == pytest.approx(10 + 0.5 + 15)


def test_validations_take_no_more_than_all_of_them_took():
    context = between_epochs(2.0)
    context["outside"]["usual_validation_s"] = 1.9
    found = summary(compute=10.0, context=context)
    assert training_ms(found) == pytest.approx(10 + 2)


def test_a_shape_compiles_once_and_not_in_steps_that_were_not_measured():
    once = {"jit_compile": True, "shapes_differ": True}
    # 200 steps compiled for 5 ms each: a second in all.
    assert training_ms(trained(compile_ms=5.0, **once)) == pytest.approx(21.5 + 1)
    assert training_ms(trained(compile_ms=5.0, **once), 500) == pytest.approx(13.5 + 2 * 9)


@pytest.mark.parametrize("again", [{"jit_compile": False}, {"function_replacements": 9}])
def test_a_function_that_is_made_anew_compiles_in_other_steps_too(again):
    context = {"jit_compile": True, "shapes_differ": True} | again
    assert training_ms(trained(compile_ms=5.0, **context)) == pytest.approx(21.5 + 5)


@pytest.mark.parametrize("shapes_differ", [True, False])
@pytest.mark.parametrize("compile_ms", [0.0, 5.0])
def test_predictions_are_of_the_same(compile_ms, shapes_differ):
    context = {"jit_compile": True, "shapes_differ": shapes_differ, "rows_differ": False}
    found = trained(compile_ms=compile_ms, **context)
    assert situation_of(found).model.training_ms == pytest.approx(training_ms(found))


@pytest.mark.parametrize(
    ("newest", "steps"), [(None, 1000), (0, 1000), (50, 1000), (550, 500), (1050, 1000)]
)
def test_what_lies_between_epochs_is_shared_by_steps_that_an_epochs_end_follows(newest, steps):
    context = between_epochs(2.0, rest=3.0) | {"epoch_steps": 100}
    context["outside"] |= {"newest_gap_step": newest, "usual_epoch_rest_s": 0.4}
    # 2 s of validation and 2 of the rest in 1000 steps, or in those before the newest gap; a second
    # of the rest came once. A loop's gaps come whenever it evaluates.
    found = summary(compute=10.0, context=context)
    assert training_ms(found) == pytest.approx(10 + 4000 / steps + 1)
    of_a_loop = summary(compute=10.0, context=context | {"epoch_steps": None, "driver": "loop"})
    assert training_ms(of_a_loop) == pytest.approx(15.0)
