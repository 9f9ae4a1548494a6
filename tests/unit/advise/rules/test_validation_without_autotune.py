"""When validation's data are told to end at once, and what that is predicted to gain."""

from __future__ import annotations

from typing import Any

import pytest
import tensorflow as tf
from hand_built import assert_predicts, between_epochs, facts_of, situation

from keras_perf.advise.rules.all_rules import known_of
from keras_perf.advise.rules.between_epochs.epochs import rarer_validation
from keras_perf.advise.rules.between_epochs.iterator_ends import validation_without_autotune
from keras_perf.advise.rules.between_epochs.longer_epochs import longer_epochs
from keras_perf.advise.rules.between_epochs.one_iterator import one_iterator
from keras_perf.advise.rules.between_epochs.own_work_of_keras import OR_UNTUNED
from keras_perf.advise.rules.between_epochs.validation_batches import larger_validation_batches
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
        "usual_validation_end_s": waited / 5,
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
        "up to as long as the iterator has lived, and a minute at most. Validations take 0.8 s, "
        "and training waits 1.2 s for such an end on average, 27% of the training. A stage with "
        "AUTOTUNE then runs as many calls as there are cores, 16 at most. Results stay the same."
    )
    assert advice.evidence == {"waited_ms": pytest.approx(6.0), "share": pytest.approx(6 / 22)}


def test_where_an_iterator_ended_as_the_next_validation_began_it_is_said_that_it_lives_on():
    advice = validation_without_autotune(waiting(outside={"late_validation_ends": 2}))
    assert (
        "and a minute at most; with validation_steps, and where Keras does not know the number of "
        "batches, it lives until the next validation. Validations take 0.8 s"
    ) in advice.reason


def test_on_many_cores_calls_that_are_waited_for_may_be_fewer_then():
    of = {"parts_s": {"compute": 3.0, "input_wait": 1.0}}
    advice = validation_without_autotune(waiting(of=of, cpu_count=64))
    # Of a validation's 4 ms one waits for 64 calls, of which 16 are left.
    assert_predicts(advice, 16.4 + 3.0, 16.0, 16.0, before=22.0)


def test_what_came_once_is_not_counted_on():
    known = {"usual_epoch_rest_s": 0.4, "usual_validation_end_s": 0.3}
    advice = validation_without_autotune(waiting(rest=8.0, outside=known))
    assert advice.evidence["waited_ms"] == pytest.approx(1.5)


def test_what_lives_until_the_next_validation_is_waited_for_as_much_longer_as_that_is_rarer():
    found = waiting(6.0, rest=12.0, epochs=50, outside={"late_validation_ends": 5})
    for rule in (rarer_validation, longer_epochs):
        assert rule(found).change(found.model, 0.0).outside["validation_ends"] == pytest.approx(6.0)
    found = waiting(6.0, rest=12.0, epochs=50)
    for rule in (rarer_validation, longer_epochs):
        assert rule(found).change(found.model, 0.0).outside["validation_ends"] < 2.0


def test_less_validation_has_fewer_ends_to_wait_for():
    found = waiting(epochs=10)
    with_waits = rarer_validation(found)
    without = rarer_validation(waiting(0.0, rest=2.0, epochs=10))
    assert with_waits.predicted_speedup > without.predicted_speedup
    both = validation_without_autotune(found).change(with_waits.change(found.model, 0.0), 0.0)
    assert both.outside["validation_ends"] == 0.0
    assert both.outside["epoch_rest"] >= 1.0


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


def test_the_dataset_of_arrays_has_the_larger_batches_that_are_advised():
    """Of a dataset Keras ignores `validation_batch_size`."""
    many = {"executions": 400, "steps": 400, "parts_s": {"dispatch": 3.0, "compute": 1.0}}
    found = waiting(of={"input_kind": "arrays", "dataset": None, "batch_size": 4} | many)
    assert "validation_batch_size=16" in larger_validation_batches(found).action
    made = "from_tensor_slices((x_val, y_val)).batch"
    assert f"{made}(16)" in validation_without_autotune(found).action
    # Fewer of them are as many examples.
    counted = waiting(
        of={"input_kind": "arrays", "dataset": None, "batch_size": 4} | many, validation_steps=80
    )
    assert f"{made}(16)" in validation_without_autotune(counted).action
    assert validation_without_autotune(counted).action.endswith("_data, validation_steps=20)")


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
    advice = one_iterator(waiting(0.0, outside=told | {"usual_iterator_end_s": 0.75}))
    assert (
        "takes 1,000 ms, 18% of the training: most of it for the end of the last one, while the "
        "thread that tunes tf.data's pipeline sleeps, for up to as long as the iterator has lived, "
        "and a minute at most. One such wait stays, before fit returns: up to 18 s. Keras keeps"
    ) in advice.reason
    assert advice.action.endswith(OR_UNTUNED)
    untuned = {"dataset": {"chains": [BATCHED], "autotuned": False}, "input_kind": "tf.data"}
    assert known_of("one-iterator").followed(facts_of(untuned), advice)
    others = [
        waiting(0.0, outside=told | {"usual_iterator_end_s": 0.25}),
        waiting(
            0.0,
            outside=told | {"usual_iterator_end_s": 0.75},
            input_kind="tf.data",
            dataset={"chains": [BATCHED], "autotuned": False},
        ),
    ]
    for each in others:
        assert "18% of the training. Keras keeps the iterator" in one_iterator(each).reason
        assert "autotune" not in one_iterator(each).action
        assert not known_of("one-iterator").followed(facts_of(untuned), one_iterator(each))


def test_longer_epochs_spare_ends_of_validations_and_none_of_epochs():
    assert longer_epochs(waiting(0.0, epochs=50)).evidence["rest_ms"] == pytest.approx(8.0)
    of_validations = longer_epochs(waiting(3.0, epochs=50))
    assert of_validations.evidence["rest_ms"] == pytest.approx(5.0)
    times = of_validations.evidence["advised"] / 200
    # Of 22 ms a step takes 10, and of the others each is as much rarer.
    assert of_validations.predicted_speedup == pytest.approx(22 / (10 + 12 / times))
    ends = {"usual_iterator_end_s": 1.0}
    found = longer_epochs(waiting(0.0, epochs=50, outside=ends))
    assert found.evidence["rest_ms"] == pytest.approx(4.0)
    assert longer_epochs(waiting(4.0, epochs=50, outside=ends)) is None
