"""When epochs are told to be longer, by how much, and what that is predicted to gain."""

from __future__ import annotations

from typing import Any

import pytest
from hand_built import assert_predicts, between_epochs, situation, stage

from keras_perf.advise.recommendation import Recommendation
from keras_perf.advise.rules.all_rules import known_of
from keras_perf.advise.rules.between_epochs.longer_epochs import longer_epochs


def longer(rest: float = 10.0, **context: Any) -> Recommendation | None:
    """Beside steps of 10 ms, 3 in each of 600 epochs, after as much of the rest for each."""
    known = between_epochs(rest=rest) | {"epoch_steps": 3, "epochs": 600} | context
    known["outside"] |= {"epoch_gaps": 600, "usual_epoch_rest_s": rest / 600}
    return longer_epochs(situation(compute=10.0, context=known))


def test_epochs_of_three_steps_are_told_to_be_longer():
    advice = longer(input_kind="tf.data")
    assert_predicts(advice, 10.2, 10.2, 10.2, before=20.0)
    assert (advice.id, advice.of) == ("longer-epochs", "whole")
    assert advice.title == "Make epochs 50 times as long"
    assert advice.reason == (
        "An epoch has 3 steps, and between two of them Keras's own work, with the making of a new "
        "iterator, takes 30 ms, 50% of the training. What is done once an epoch, such as "
        "validation, schedules and checkpoints, is then done once in 50 of the present ones."
    )
    assert advice.action == (
        "dataset = dataset.repeat().prefetch(tf.data.AUTOTUNE)\n"
        "model.fit(dataset, ..., steps_per_epoch=150, epochs=12)"
    )
    assert advice.evidence == {
        "rest_ms": pytest.approx(10.0),
        "share": pytest.approx(0.5),
        "present": 3,
        "advised": 150,
    }


@pytest.mark.parametrize(("epochs", "times"), [(600, 50), (60, 20), (10, 5), (4, 2)])
def test_two_epochs_are_left_at_least(epochs, times):
    assert longer(epochs=epochs).evidence["advised"] == 3 * times


@pytest.mark.parametrize("context", [{"epochs": 3}, {"epochs": None}, {"epoch_steps": None}])
def test_where_epochs_are_few_or_nobody_knows_their_steps_nothing_is_said(context):
    assert longer(**context) is None


def test_less_than_a_tenth_of_the_training_is_left_alone():
    assert longer(1.1) is None
    assert longer(1.2) is not None


def test_what_few_epochs_had_or_what_jax_compiles_meanwhile_is_no_reason():
    known = between_epochs(rest=10.0) | {"epoch_steps": 3, "epochs": 600}
    for told in ({"usual_epoch_rest_s": 0.001}, {"epoch_compiling_s": 6.0}):
        known["outside"] |= {"epoch_gaps": 600, "usual_epoch_rest_s": 10 / 600} | told
        assert longer_epochs(situation(compute=10.0, context=known)) is None


def test_waits_at_the_beginning_of_an_epoch_go_by_half_as_is_expected():
    known = between_epochs(rest=10.0) | {"epoch_steps": 3, "epochs": 600}
    stalls = [{"cause": "input-stall", "count": 20, "total_ms": 200.0}]
    known |= {"prefetch_fill": 0.9, "event_totals": stalls}
    known["outside"] |= {"epoch_gaps": 600, "usual_epoch_rest_s": 10 / 600}
    stages = [stage("Map", 2.0), stage("Prefetch", 0.0)]
    advice = longer_epochs(situation(input_wait=1.0, compute=9.0, stages=stages, context=known))
    # A fiftieth of both stays.
    assert_predicts(advice, 10.2, 9.71, 9.22, before=20.0)


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        (
            "arrays",
            "from_tensor_slices((x, y)).shuffle(len(x)).batch(32)\ndataset = dataset.rep",
        ),
        ("PyDataset", "super().__getitem__(index % super().__len__())\nmodel.fit(Longer("),
    ],
)
def test_other_data_than_a_dataset_have_code_of_their_own(kind, words):
    action = longer(input_kind=kind).action
    assert words in action
    compile(action, "action", "exec")


def test_passes_of_a_generator_are_joined_by_nobody():
    assert longer(input_kind="generator") is None


def test_a_dataset_that_repeats_already_only_gets_longer_epochs():
    chain = [{"kind": "batch"}, {"kind": "repeat"}]
    action = longer(input_kind="tf.data", dataset={"chains": [chain]}).action
    assert action == "model.fit(dataset, ..., steps_per_epoch=150, epochs=12)"


@pytest.mark.parametrize(("steps", "followed"), [(150, True), (3, False), (None, None)])
def test_longer_epochs_show_that_it_was_followed(steps, followed):
    later = situation(compute=10.0, context={"epoch_steps": steps}).facts
    assert known_of("longer-epochs").followed(later, longer()) is followed
