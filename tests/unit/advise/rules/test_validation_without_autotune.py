"""When validation's data are told to end at once, and what that is predicted to gain."""

from __future__ import annotations

from typing import Any

import pytest
import tensorflow as tf
from hand_built import assert_predicts, between_epochs, situation

from keras_perf.advise.rules.all_rules import known_of
from keras_perf.advise.rules.between_epochs.iterator_ends import validation_without_autotune
from keras_perf.advise.rules.between_epochs.own_work_of_keras import longer_epochs, one_iterator
from keras_perf.advise.situation import Situation

STAGE = {"function": "", "parallel": False, "stateful": False, "random": False}
BATCHED = [{**STAGE, "kind": kind, "reads_files": False} for kind in ("tensor_slice", "batch")]
PREFETCHED = [*BATCHED, {**STAGE, "kind": "prefetch", "reads_files": False}]


def waiting(
    waited: float = 6.0,
    rest: float = 8.0,
    *,
    of: dict[str, Any] | None = None,
    outside: dict[str, Any] | None = None,
    **context: Any,
) -> Situation:
    """Steps of 10 ms, with validations of 4, the ends of which are waited for."""
    validation = {
        "calls": 5,
        "executions": 100,
        "steps": 100,
        "spent_s": 4.0,
        "parts_s": {"compute": 4.0},
        "input_kind": "tf.data",
        "dataset": {"chains": [BATCHED]},
    }
    known = between_epochs(4.0, rest=rest) | {"epochs": 5, "epoch_steps": 200} | context
    known["outside"] |= {
        "usual_epoch_rest_s": rest / 5,
        "validation_iterator_ends_s": waited,
        **(outside or {}),
    }
    known["inference"] = {"validation": validation | (of or {})}
    return situation(compute=10.0, context=known)


def test_what_the_ends_of_validations_iterators_take_goes():
    advice = validation_without_autotune(waiting())
    # Of 22 ms for each step 6 go; at worst a validation takes a tenth more.
    assert_predicts(advice, 16.4, 16.0, 16.0, before=22.0)
    assert (advice.id, advice.of) == ("validation-without-autotune", "whole")
    assert advice.reason == (
        "A validation's iterator ends when the thread that tunes its pipeline wakes, which sleeps "
        "up to as long as the iterator has lived, and a minute at most. After validations that "
        "took 0.8 s training waited 1.2 s for it on average, 27% of the training. Stages with "
        "AUTOTUNE then run as many calls as there are cores, and results stay the same."
    )
    assert advice.evidence == {"waited_ms": pytest.approx(6.0), "share": pytest.approx(6 / 22)}


@pytest.mark.parametrize(("stages", "calls"), [(BATCHED, ".prefetch(2)"), (PREFETCHED, "")])
def test_its_code_makes_a_dataset_that_is_not_tuned(stages, calls):
    advice = validation_without_autotune(waiting(of={"dataset": {"chains": [stages]}}))
    made, fit = advice.action.rsplit("\n", 1)
    assert fit == "model.fit(..., validation_data=validation_data)"
    assert f"validation_data = validation_data{calls}.with_options(options)" in made
    names = {"tf": tf, "validation_data": tf.data.Dataset.range(8).batch(4)}
    exec(made, names)
    assert names["validation_data"].options().autotune.enabled is False
    assert [list(each.numpy()) for each in names["validation_data"]] == [[0, 1, 2, 3], [4, 5, 6, 7]]


def test_of_arrays_the_code_makes_a_dataset_first():
    of = {"input_kind": "arrays", "dataset": None, "batch_size": 4}
    made = validation_without_autotune(waiting(of=of)).action.rsplit("\n", 1)[0]
    names = {"tf": tf, "x_val": list(range(8)), "y_val": list(range(8))}
    exec(made, names)
    assert [int(tf.size(x)) for x, _ in names["validation_data"]] == [4, 4]
    assert names["validation_data"].options().autotune.enabled is False


@pytest.mark.parametrize(
    "found",
    [
        waiting(1.0),
        waiting(of={"dataset": None, "input_kind": "PyDataset"}),
        waiting(of={"dataset": {"chains": [BATCHED], "autotuned": False}}),
        waiting(of={"dataset": None, "input_kind": "arrays"}, versions={"jax": "0.10"}),
    ],
    ids=["short", "PyDataset", "untuned", "arrays on JAX"],
)
def test_nothing_is_said_of_a_validation_that_is(found):
    assert validation_without_autotune(found) is None


@pytest.mark.parametrize(
    ("dataset", "followed"),
    [
        ({"chains": [BATCHED]}, False),
        ({"chains": [BATCHED], "autotuned": False}, True),
        (None, None),
    ],
)
def test_options_show_that_it_was_followed(dataset, followed):
    advice = validation_without_autotune(waiting())
    later = waiting(0.0, of={"dataset": dataset}).facts
    assert known_of("validation-without-autotune").followed(later, advice) is followed


def test_one_iterator_says_where_most_is_for_the_end_of_the_last_one():
    told = {"epoch_gaps": 5, "usual_iterator_s": 1.0}
    advice = one_iterator(waiting(0.0, outside=told | {"epoch_iterator_ends_s": 3.0}))
    assert (
        "takes 800 ms, 18% of the training: most of it for the end of the last one, while the "
        "thread that tunes tf.data's pipeline sleeps, for up to as long as the iterator has lived, "
        "and a minute at most. One such wait stays, before fit returns. Keras keeps the iterator"
    ) in advice.reason
    made = one_iterator(waiting(0.0, outside=told | {"epoch_iterator_ends_s": 1.0}))
    assert "18% of the training. Keras keeps the iterator" in made.reason


def test_longer_epochs_spare_no_ends_of_iterators():
    assert longer_epochs(waiting(0.0, epochs=50)).evidence["rest_ms"] == pytest.approx(8.0)
    assert longer_epochs(waiting(3.0, epochs=50)).evidence["rest_ms"] == pytest.approx(5.0)
    ends = {"epoch_iterator_ends_s": 4.0}
    assert longer_epochs(waiting(1.0, epochs=50, outside=ends)).evidence["rest_ms"] == (
        pytest.approx(3.0)
    )
    assert longer_epochs(waiting(4.0, epochs=50, outside=ends)) is None
