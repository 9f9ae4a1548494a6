"""What is said where dispatch was not measured."""

from __future__ import annotations

import pytest
from hand_built import diagnosed, summary

from keras_perf.advise.notes.reliability.not_measured import not_measured_notes


@pytest.mark.parametrize(
    ("step_ms", "steps", "told"),
    [
        (10.0, 1, "inside compute."),
        (10.0, 2, "inside compute: two steps per execution do not show it."),
        (10.0, 4, "inside compute."),
        (40.0, 4, "steps are too long for it to be told from their differences."),
    ],
)
def test_it_is_said_why_several_steps_per_execution_do_not_show_dispatch(step_ms, steps, told):
    context = {"steps_per_execution": steps}
    found = summary(input_wait=0.0, compute=step_ms, context=context)
    [note] = not_measured_notes(diagnosed(found))
    assert note.startswith("Dispatch was not measured")
    assert note.endswith(told)


def test_it_is_said_how_much_of_it_there_can_be():
    found = summary(input_wait=0.0, compute=10.0, context={"call_ms": 0.25})
    [note] = not_measured_notes(diagnosed(found))
    assert note.endswith("inside compute, at most 0.25 ms of a step.")


@pytest.mark.parametrize("kind", ["generator", "PyDataset"])
@pytest.mark.parametrize(("wait_ms", "told"), [(0.1, 0), (2.0, 1), (None, 1)])
def test_workers_are_a_question_only_where_steps_may_wait(kind, wait_ms, told):
    wait = {} if wait_ms is None else {"input_wait": wait_ms}
    found = summary(**wait, compute=6.0, context={"input_kind": kind})
    notes = list(not_measured_notes(diagnosed(found)))
    asked = [note for note in notes if "cannot be predicted" in note]
    begin = (
        f"Input comes from a {kind}" if wait_ms is None else '"Make batches in several processes"'
    )
    assert [note.startswith(begin) for note in asked] == [True] * told


def test_of_too_few_steps_for_advice_it_is_not_said_what_would_gain_little():
    found = summary(13, input_wait=8.0, compute=2.0, context={"input_kind": "generator"})
    assert not [note for note in not_measured_notes(diagnosed(found)) if "generator" in note]


def test_it_is_said_that_steps_which_wait_do_not_show_it():
    found = summary(input_wait=4.0, compute=6.0, context={"steps_per_execution": 4})
    [note] = not_measured_notes(diagnosed(found))
    assert note.endswith("inside compute, since steps that wait for input do not show it.")


@pytest.mark.parametrize(
    ("context", "other_host", "named"),
    [({"driver": "loop"}, 3.0, True), ({"driver": "loop"}, 0.5, False), ({}, 3.0, False)],
)
def test_a_loop_s_own_work_is_named_with_what_tells_whose_it_is(context, other_host, named):
    found = summary(input_wait=0.1, compute=7.0, other_host=other_host, context=context)
    notes = list(not_measured_notes(diagnosed(found)))
    assert any("The loop's own work between two calls" in note for note in notes) is named


@pytest.mark.parametrize(
    ("verdict", "applied", "hidden"),
    [
        ("input-bound", False, True),
        ("input-bound", True, False),
        ("dispatch-bound", False, False),
    ],
)
def test_a_cost_that_the_input_hides_is_said_to_gain_nothing(verdict, applied, hidden):
    trial = {
        "recommended": 6,
        "predicted_speedup": 1.1,
        "low": 1.0,
        "high": 1.2,
        "present": 1,
        "applied": applied,
        "in_graph_ms": 36.0,
        "per_execution_ms": 5.0,
    }
    context = {"steps_per_execution_trial": trial}
    found = summary(input_wait=15.0, compute=20.0, dispatch=5.0, context=context)
    [note] = not_measured_notes(diagnosed(found, verdict))
    assert "steps_per_execution=6 shares that among 6 steps." in note
    assert note.endswith("that is predicted to gain less than 2%.") is hidden
