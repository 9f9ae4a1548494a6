"""When one iterator, and longer epochs, are advised, and what they are predicted to gain."""

from __future__ import annotations

from typing import Any

import pytest
from hand_built import assert_predicts, between_epochs, situation, stage

from keras_perf.advise.as_written import batch_size
from keras_perf.advise.recommendation import Recommendation
from keras_perf.advise.rules.all_rules import known_of
from keras_perf.advise.rules.between_epochs.epochs import rarer_validation
from keras_perf.advise.rules.between_epochs.longer_epochs import longer_epochs
from keras_perf.advise.rules.between_epochs.one_iterator import one_iterator
from keras_perf.advise.situation import Situation

LONGER = "model.fit(dataset, ..., steps_per_epoch=150, epochs=12)"


def short_epochs(
    rest: float = 10.0,
    *,
    iterators: float | None = 0.0,
    outside: dict[str, Any] | None = None,
    **context: Any,
) -> Situation:
    """Steps of 10 ms, 3 in each of 600 epochs, with so much of the rest for each step."""
    known = between_epochs(rest=rest) | {"epoch_steps": 3, "epochs": 600} | context
    known["outside"] |= {"epoch_gaps": 600, "usual_epoch_rest_s": rest / 600} | (outside or {})
    if iterators is not None:
        known["outside"]["usual_iterator_s"] = iterators / 599
    return situation(compute=10.0, context=known)


# -- one-iterator ------------------------------------------------------------------------


def test_new_iterators_in_every_epoch_are_told_to_be_one():
    advice = one_iterator(short_epochs(iterators=6.0))
    assert_predicts(advice, 14.0, 14.0, 14.0, before=20.0)
    assert (advice.id, advice.of) == ("one-iterator", "whole")
    assert advice.reason == (
        "Each epoch of 3 steps begins with the making of a new iterator, which takes 10 ms, 30% of "
        "the training. Keras keeps the iterator of data without an end, and epochs stay as they "
        "are."
    )
    assert advice.action == (
        "dataset = dataset.repeat().prefetch(tf.data.AUTOTUNE)\n"
        "model.fit(dataset, ..., steps_per_epoch=3)"
    )
    assert advice.evidence == {"iterator_ms": pytest.approx(6.0), "share": pytest.approx(0.3)}


def test_executions_of_several_steps_make_epochs_longer_on_data_without_an_end():
    found = short_epochs(iterators=6.0, steps_per_execution=2)
    assert one_iterator(found).reason.endswith(
        "Keras keeps the iterator of data without an end. Keras then runs whole executions: each "
        "epoch gets 1 step more."
    )
    assert "stay as they are" in one_iterator(short_epochs(iterators=6.0)).reason


@pytest.mark.parametrize(
    ("first_s", "at_once", "longer_ms"),
    [
        (None, 1, 0.0),  # A log of before.
        (0.0, 1, 0.0),
        (0.0016, 1, 0.9),  # Of an epoch's 3 ms: the other two wait for 0.7 ms each.
        (0.0031, 1, 3.1),  # Of all of them the mean is less.
        (0.0009, 1, 0.0),
        (0.0016, 3, 0.0),  # Each execution is an epoch's first one.
    ],
)
def test_what_an_epoch_s_first_step_waits_for_longer_than_others_goes(first_s, at_once, longer_ms):
    stalls = [{"cause": "input-stall", "count": 20, "total_ms": 200.0}]
    known = between_epochs(rest=10.0) | {"epoch_steps": 3, "epochs": 600}
    known |= {"prefetch_fill": 0.9, "event_totals": stalls, "steps_per_execution": at_once}
    known["outside"] |= {"epoch_gaps": 600, "usual_epoch_rest_s": 10 / 600}
    known["outside"] |= {"usual_iterator_s": 10 / 599, "usual_first_wait_s": first_s}
    stages = [stage("Map", 2.0), stage("Prefetch", 0.0)]
    found = situation(input_wait=1.0, compute=9.0, stages=stages, context=known)
    # In 599 of 1,000 steps. Others may take a half of it over, at worst; more than all cannot go.
    gone_ms = [min(1.0, 0.599 * longer_ms * share) for share in (0.5, 1.0, 1.0)]
    assert_predicts(one_iterator(found), *(10 - ms for ms in gone_ms), before=20.0)


@pytest.mark.parametrize(("steps", "at_worst"), [(1000, 20.0), (30_000, 16.0)])
def test_the_end_of_the_one_iterator_may_be_waited_for_a_minute_at_most(steps, at_worst):
    # A step takes 20 ms with all that lies between epochs, and 6 of them a new iterator.
    known = {"epoch_rest_s": steps / 100, "usual_epoch_rest_s": steps / 100 / 600}
    known |= {"usual_iterator_s": 6e-3 * steps / 599, "usual_iterator_end_s": 4e-3 * steps / 599}
    lasting = {"iterators": None, "last_step": 50 + steps}
    advice = one_iterator(short_epochs(outside=known, **lasting))
    assert_predicts(advice, at_worst, 14.0, 14.0, before=20.0)
    without = one_iterator(short_epochs(outside=known | {"usual_iterator_end_s": 0.0}, **lasting))
    assert without.low == without.high


@pytest.mark.parametrize(
    "found",
    [
        short_epochs(iterators=None),
        short_epochs(iterators=0.9),
        short_epochs(iterators=6.0, input_kind="generator"),
        short_epochs(iterators=6.0, input_kind="PyDataset"),
        short_epochs(iterators=6.0, dataset={"chains": [[{"kind": "repeat"}]]}, ends_by_steps=True),
        short_epochs(iterators=6.0, epoch_steps=None),
        short_epochs(iterators=6.0, driver="loop"),
    ],
    ids=["unknown", "quick", "generator", "PyDataset", "repeated", "unknown steps", "loop"],
)
def test_where_there_is_one_or_nobody_can_make_one_nothing_is_said(found):
    assert one_iterator(found) is None


@pytest.mark.parametrize(
    ("kind", "by_steps", "followed"),
    [("repeat", True, True), ("repeat", False, False), ("batch", True, False)],
)
def test_a_repeat_without_an_end_shows_that_it_was_followed(kind, by_steps, followed):
    advice = one_iterator(short_epochs(iterators=6.0))
    later = short_epochs(dataset={"chains": [[{"kind": kind}]]}, ends_by_steps=by_steps).facts
    assert known_of("one-iterator").followed(later, advice) is followed


def test_of_two_epochs_one_iterator_is_spared():
    known = {"epoch_gaps": 2, "usual_epoch_rest_s": 5.0, "usual_iterator_s": 4.0}
    advice = one_iterator(short_epochs(iterators=None, outside=known, epoch_steps=500, epochs=2))
    assert advice.evidence["iterator_ms"] == pytest.approx(4.0)


@pytest.mark.parametrize(
    ("rows", "steps", "size"),
    [(93 * 128, 93, 128), (92 * 128 + 3, 93, 128), (250, 8, 32), (118, 8, 16), (999, 2, None)],
)
def test_the_batch_size_is_named_where_the_examples_of_an_epoch_give_it(rows, steps, size):
    told = {"examples_per_step": rows / steps, "epoch_steps": steps}
    assert batch_size(situation(compute=1.0, context=told).facts) == size


@pytest.mark.parametrize(("told", "size"), [(32, 32), (33, 33), (64, 30), (None, 30)])
def test_the_batch_size_is_what_the_input_tells_where_it_gives_that_epoch(told, size):
    """300 rows in 10 batches: ten of 30, or nine of 32 and one of 12."""
    known = {"examples_per_step": 30.0, "epoch_steps": 10, "batch_rows": told}
    assert batch_size(situation(compute=1.0, context=known).facts) == size


# -- longer-epochs -----------------------------------------------------------------------


def longer(rest: float = 10.0, **known: Any) -> Recommendation | None:
    return longer_epochs(short_epochs(rest, **known))


def test_epochs_of_three_steps_are_told_to_be_longer():
    advice = longer(input_kind="tf.data")
    assert_predicts(advice, 10.2, 10.2, 10.2, before=20.0)
    assert (advice.id, advice.of) == ("longer-epochs", "whole")
    assert advice.title == "Make 12 epochs of 600"
    assert advice.reason == (
        "An epoch has 3 steps, and between two of them Keras's own work takes 30 ms, 50% of the "
        "training. In 12 epochs of 150 steps it, and all else that is done once an epoch "
        "(validation, schedules, checkpoints), is done 12 times, not 600."
    )
    assert advice.action == f"dataset = dataset.repeat().prefetch(tf.data.AUTOTUNE)\n{LONGER}"
    assert advice.evidence == {
        "rest_ms": pytest.approx(10.0),
        "share": pytest.approx(0.5),
        "present": 3,
        "advised": 150,
        "epoch": 3.0,
    }


def test_what_new_iterators_take_is_no_reason_for_longer_epochs():
    assert longer(iterators=9.0) is None
    assert longer(iterators=4.0).evidence["rest_ms"] == pytest.approx(6.0)
    # Nobody makes one of a PyDataset's passes.
    assert longer(iterators=9.0, input_kind="PyDataset").evidence["rest_ms"] == pytest.approx(10.0)


@pytest.mark.parametrize(("epochs", "times"), [(600, 50), (60, 20), (10, 5), (4, 2)])
def test_two_epochs_are_left_at_least(epochs, times):
    assert longer(epochs=epochs).evidence["advised"] == 3 * times


def test_hardly_a_step_is_added_where_epochs_do_not_divide():
    advice = longer(epochs=103, epoch_steps=8)
    assert advice.title == "Make 2 epochs of 103"
    assert advice.evidence["advised"] == 8 * 103 / 2


def test_validation_is_rarer_then_too():
    known = between_epochs(8.0, rest=10.0) | {"epoch_steps": 3, "epochs": 600}
    known["outside"] |= {"epoch_gaps": 600, "validations": 600, "usual_epoch_rest_s": 10 / 600}
    advice = longer_epochs(situation(compute=10.0, context=known))
    assert_predicts(advice, 10.36, 10.36, 10.36, before=28.0)


def test_what_is_done_in_one_of_several_epochs_is_done_in_the_last_one_at_least():
    known = between_epochs(8.0, rest=10.0) | {"epoch_steps": 3, "epochs": 600}
    known["outside"] |= {"epoch_gaps": 600, "validations": 20, "usual_epoch_rest_s": 10 / 600}
    found = situation(compute=10.0, context=known)
    assert longer_epochs(found).title == "Make 30 epochs of 600"
    assert rarer_validation(found) is None


@pytest.mark.parametrize("callback", ["EarlyStopping", "MyReduceLROnPlateau"])
def test_epochs_that_a_callback_counts_stay_as_long(callback):
    assert longer() is not None
    assert longer(outside={"epoch_callbacks_s": {f"{callback}.on_epoch_end": 0.1}}) is None


def test_epochs_that_never_ran_are_not_made_longer():
    assert longer(epochs_run=600).title == longer().title
    assert longer(epochs_run=3) is None


@pytest.mark.parametrize("context", [{"epochs": 3}, {"epochs": None}, {"epoch_steps": None}])
def test_where_epochs_are_few_or_nobody_knows_their_steps_nothing_is_said(context):
    assert longer(**context) is None


def test_less_than_a_tenth_of_the_training_is_left_alone():
    assert longer(1.1) is None
    assert longer(1.2) is not None


def test_hooks_before_an_epoch_s_first_batch_stay():
    known = between_epochs(rest=10.0) | {"epoch_steps": 3, "epochs": 600}
    known["outside"] |= {"epoch_gaps": 600, "usual_epoch_rest_s": 10 / 600}
    owners = {"Mine.on_train_batch_begin": 6.0}
    found = situation(compute=4.0, callbacks=6.0, owners=owners, context=known)
    assert longer_epochs(found).evidence["rest_ms"] == pytest.approx(8.0)


@pytest.mark.parametrize("told", [{"usual_epoch_rest_s": 0.001}, {"epoch_compiling_s": 6.0}])
def test_what_few_epochs_had_or_what_jax_compiles_meanwhile_is_no_reason(told):
    assert longer(outside=told) is None


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("arrays", "flat_map(a_pass).map(rows_at)\ndataset = dataset.repeat()"),
        ("PyDataset", "return self.inner[index % self.inner.num_batches]\n"),
    ],
)
def test_other_data_than_a_dataset_have_code_of_their_own(kind, words):
    action = longer(input_kind=kind).action
    assert words in action
    compile(action, "action", "exec")


def test_passes_of_a_generator_are_joined_by_nobody():
    assert longer(input_kind="generator") is None


def test_a_dataset_that_repeats_already_only_gets_longer_epochs():
    dataset = {"chains": [[{"kind": "batch"}, {"kind": "repeat"}]]}
    repeats = longer(input_kind="tf.data", dataset=dataset, ends_by_steps=True)
    assert repeats.action == LONGER
    # As repeat(2) does, and what Keras's functions repeat inside.
    ends = longer(input_kind="tf.data", dataset=dataset)
    assert ends.action == f"dataset = dataset.repeat().prefetch(tf.data.AUTOTUNE)\n{LONGER}"


@pytest.mark.parametrize(("steps", "followed"), [(150, True), (3, False), (None, None)])
def test_longer_epochs_show_that_it_was_followed(steps, followed):
    later = situation(compute=10.0, context={"epoch_steps": steps}).facts
    assert known_of("longer-epochs").followed(later, longer()) is followed


@pytest.mark.parametrize(("steps", "followed"), [(150, True), (6, False)])
def test_batches_of_half_the_examples_make_no_longer_epochs(steps, followed):
    context = {"epoch_steps": steps, "examples_per_step": 16.0}
    later = situation(compute=10.0, context=context).facts
    advice = longer(examples_per_step=32.0)
    assert known_of("longer-epochs").followed(later, advice) is followed
