"""Rules on what lies between epochs: when each speaks, what it predicts, when it is silent."""

from __future__ import annotations

from typing import Any

import pytest
import tensorflow as tf
from hand_built import assert_predicts, between_epochs, situation
from hypothesis import given, settings
from hypothesis import strategies as st

from keras_perf.advise.recommendation import Recommendation
from keras_perf.advise.rules.between_epochs.epoch_hooks import amortize_epoch_callback
from keras_perf.advise.rules.between_epochs.epochs import rarer_validation
from keras_perf.advise.rules.followed import validates_less

# -- rarer-validation --------------------------------------------------------------------


def rarer(validation: float, epochs: int | None = 5) -> Recommendation | None:
    """Beside steps of 10 ms."""
    context = between_epochs(validation) | {"epochs": epochs}
    return rarer_validation(situation(compute=10.0, context=context))


def test_validation_as_long_as_training_is_told_to_be_rarer():
    advice = rarer(10.0)
    # A fifth of 10 ms is left, and a fifth of that more or less.
    assert_predicts(advice, 12.4, 12.0, 11.6, before=20.0)
    assert (advice.id, advice.of) == ("rarer-validation", "whole")
    assert advice.reason == (
        "Validation takes 10 ms for every step of 10 ms, 50% of the training. "
        "Callbacks that watch val_ metrics then act as rarely; where they need them in each epoch, "
        "as for a file's name, they fail."
    )
    assert advice.evidence == {
        "validation_ms": 10.0,
        "share": 0.5,
        "present": 1,
        "advised": 5,
    }


@pytest.mark.parametrize(("examples", "followed"), [(3200.0, False), (640.0, True)])
def test_larger_batches_of_the_same_examples_are_no_rarer_validation(examples, followed):
    def of(steps: int, examples: float) -> dict[str, Any]:
        found = {"calls": 2, "executions": steps, "steps": steps, "spent_s": 1.0, "parts_s": {}}
        return between_epochs(10.0) | {
            "epochs": 5,
            "inference": {"validation": found | {"examples": examples}},
        }

    advice = rarer_validation(situation(compute=10.0, context=of(800, 3200.0)))
    later = situation(compute=10.0, context=of(200, examples)).facts
    assert validates_less(later, advice) is followed


def test_of_a_validation_whose_batches_nobody_counted_it_is_not_known_whether_they_are_fewer():
    found = {"calls": 2, "executions": 20, "spent_s": 1.0, "parts_s": {}}

    def of(steps: int) -> dict[str, Any]:
        validated = {"validation": found | {"steps": steps}}
        return between_epochs(10.0) | {"epochs": 5, "inference": validated}

    for before, now in [(0, 160), (160, 0)]:
        advice = rarer_validation(situation(compute=10.0, context=of(before)))
        later = situation(compute=10.0, context=of(now)).facts
        assert validates_less(later, advice) is None


@pytest.mark.parametrize("callback", ["ModelCheckpoint", "RarerModelCheckpoint", "SaveBestEpoch"])
def test_where_checkpoints_are_saved_each_epoch_is_validated_on_less(callback):
    """In an epoch without `val_loss` one fails at its path, or saves what is not the best."""
    context = between_epochs(10.0, callbacks={f"{callback}.on_epoch_end": 0.1}) | {"epochs": 50}
    advice = rarer_validation(situation(compute=10.0, context=context))
    assert advice.title == "Validate on a part of the data"
    assert "validation_freq" not in advice.action
    followed = context | {"validation_steps": 20}
    assert rarer_validation(situation(compute=10.0, context=followed)) is None


def test_in_few_epochs_a_fifth_of_the_batches_is_named_and_what_metrics_then_are():
    found = {"calls": 2, "executions": 800, "steps": 800, "spent_s": 1.0, "parts_s": {}}
    context = between_epochs(10.0) | {"epochs": 2, "inference": {"validation": found}}
    advice = rarer_validation(situation(compute=10.0, context=context))
    assert advice.action == "model.fit(..., validation_steps=80)  # of your present batches"
    assert "val_ metrics are then those of a part of the data, the first one:" in advice.reason


STAGE = {"function": "", "parallel": False, "stateful": False, "random": False}


def on_data_of(*kinds: str, **settings: Any) -> Recommendation | None:
    """What is advised in two epochs, with a validation on such a dataset."""
    chain = [{**STAGE, "kind": kind, "reads_files": False} for kind in kinds]
    found = {"calls": 2, "executions": 800, "steps": 800, "spent_s": 1.0, "parts_s": {}}
    found |= {"dataset": {"chains": [chain]}}
    context = between_epochs(10.0) | {"epochs": 2, "inference": {"validation": found}}
    return rarer_validation(situation(compute=10.0, context=context | settings))


def test_a_part_of_a_dataset_is_taken_so_that_its_iterator_ends_with_the_validation():
    advice = on_data_of("tensor_slice", "batch")
    code, fit = advice.action.split("\n")
    assert fit == "model.fit(..., validation_data=validation_data)"
    names = {"validation_data": tf.data.Dataset.range(400)}
    exec(code, names)
    assert len(names["validation_data"]) == 80


def test_a_part_of_what_is_cached_is_cached_itself():
    code = on_data_of("tensor_slice", "cache", "batch").action.split("\n")[0]
    names = {"validation_data": tf.data.Dataset.range(400).cache()}
    exec(code, names)
    passes = [[int(each) for each in names["validation_data"]] for _ in range(2)]
    assert passes == [list(range(80))] * 2


def test_of_arrays_the_first_rows_are_taken():
    found = {"calls": 2, "executions": 50, "steps": 50, "spent_s": 1.0, "parts_s": {}}
    found |= {"input_kind": "arrays", "examples": 1600.0}
    context = between_epochs(10.0) | {"epochs": 2, "inference": {"validation": found}}
    *code, fit = rarer_validation(situation(compute=10.0, context=context)).action.split("\n")
    assert fit == "model.fit(..., validation_data=validation_data)"
    names = {"x_val": list(range(800)), "y_val": list(range(800))}
    exec("\n".join(code), names)
    assert [len(rows) for rows in names["validation_data"]] == [160, 160]


def test_the_end_of_the_data_cuts_an_execution():
    advice = on_data_of("tensor_slice", "batch", steps_per_execution=400)
    assert advice.predicted_speedup == pytest.approx(20.0 / 12.0)


def test_of_a_part_of_a_dataset_no_part_is_advised():
    assert on_data_of("tensor_slice", "take", "batch") is not None
    assert on_data_of("tensor_slice", "batch", "take") is None
    assert on_data_of("tensor_slice", "batch", "take", "cache", "prefetch") is None
    assert on_data_of("tensor_slice", "batch", validation_steps=20) is None


def test_validation_that_is_rare_already_is_told_to_be_rarer_still():
    context = between_epochs(10.0)
    context["outside"] |= {"epoch_gaps": 50, "validations": 10}
    advice = rarer_validation(situation(compute=10.0, context=context | {"epochs": 50}))
    assert advice.action == "model.fit(..., validation_freq=25)"
    assert (advice.evidence["present"], advice.evidence["advised"]) == (5, 25)


@pytest.mark.parametrize(
    ("epochs", "action"),
    [
        (5, "model.fit(..., validation_freq=5)"),
        (
            4,
            "model.fit(..., validation_steps=max(1, batches // 5))  # of your present batches",
        ),
        (
            None,
            "model.fit(..., validation_steps=max(1, batches // 5))  # of your present batches",
        ),
    ],
)
def test_few_epochs_cannot_skip_validation_but_do_a_part_of_it(epochs, action):
    advice = rarer(10.0, epochs)
    assert advice.action == action
    assert ("every 5 epochs" in advice.title) == ("validation_freq" in action)


@pytest.mark.parametrize(("at_once", "left"), [(1, 0.2), (4, 0.2), (8, 0.4), (40, 1.0)])
def test_a_part_of_a_validation_is_no_shorter_than_an_execution(at_once, left):
    # Keras, on 20 batches with validation_steps=4: of 8 steps at once 8 batches, of 40 all of them.
    found = {"calls": 2, "executions": 2, "steps": 40, "spent_s": 1.0, "parts_s": {}}
    context = between_epochs(10.0) | {"epochs": 2, "inference": {"validation": found}}
    context["steps_per_execution"] = at_once
    advice = rarer_validation(situation(compute=10.0, context=context))
    assert advice.predicted_speedup == pytest.approx(20.0 / (10.0 + 10.0 * left))


def test_without_validation_nothing_is_said_of_it():
    assert rarer(0.0) is None
    assert rarer_validation(situation(compute=10.0)) is None


# -- amortize-callback, between epochs ---------------------------------------------------


def amortized(**callbacks: float) -> Recommendation | None:
    named = {owner.replace("__", "."): ms for owner, ms in callbacks.items()}
    found = situation(compute=10.0, context=between_epochs(callbacks=named))
    return amortize_epoch_callback(found)


def test_the_dearest_epoch_hook_is_told_to_work_every_five_epochs():
    advice = amortized(Mine__on_epoch_end=6.0, Other__on_epoch_begin=4.0)
    # Of its 6 ms a fifth is left, and a fifth of that more or less; the other's 4 ms stay.
    assert_predicts(advice, 14 + 1.44, 14 + 1.2, 14 + 0.96, before=20.0)
    assert (advice.id, advice.of) == ("amortize-callback", "whole")
    assert advice.title == "Do the work of Mine.on_epoch_end every 5 epochs"
    assert advice.reason == (
        "Mine.on_epoch_end takes 6 ms for every step of 10 ms, 30% of the training. If training "
        "uses what it makes, as examples that it collects, leave it as it is."
    )
    assert advice.evidence == {
        "owner": "Mine.on_epoch_end",
        "callback_ms": pytest.approx(6.0),
        "each_ms": pytest.approx(1200.0),
        "present": 1,
        "advised": 5,
    }
    compile(advice.action, "action", "exec")
    assert "def on_epoch_end(self, epoch, logs=None):" in advice.action


def test_an_epoch_hook_that_steers_is_passed_over():
    callbacks = {"Mine.on_epoch_end": 6.0, "Other.on_epoch_begin": 4.0}
    context = between_epochs(callbacks=callbacks)
    context["steering_hooks"] = {"Mine.on_epoch_end": "trainable"}
    advice = amortize_epoch_callback(situation(compute=10.0, context=context))
    assert advice.evidence["owner"] == "Other.on_epoch_begin"
    assert advice.evidence["callback_ms"] == pytest.approx(4.0)
    context["steering_hooks"]["Other.on_epoch_begin"] = "learning_rate"
    assert amortize_epoch_callback(situation(compute=10.0, context=context)) is None


@pytest.mark.parametrize(("epochs", "speaks"), [(5, True), (4, False)])
def test_of_few_epochs_no_hook_can_leave_out_most(epochs, speaks):
    context = between_epochs(callbacks={"Mine.on_epoch_end": 6.0}) | {"epochs": epochs}
    found = situation(compute=10.0, context=context)
    assert (amortize_epoch_callback(found) is not None) == speaks


def test_a_checkpoint_of_keras_is_told_to_let_epochs_pass():
    context = between_epochs(callbacks={"ModelCheckpoint.on_epoch_end": 6.0})
    found = situation(compute=10.0, context=context | {"epoch_steps": 100})
    action = amortize_epoch_callback(found).action
    assert action.startswith("class RarerModelCheckpoint(keras.callbacks.ModelCheckpoint):")
    assert "super().on_epoch_end(epoch, logs)" in action


def test_tensorboard_writes_histograms_more_rarely_and_all_curves():
    """With histogram_freq=2 it writes those of epochs 0, 2, 4, counted from 0."""
    owner = "TensorBoard.on_epoch_end"
    known = {"hooks": {owner: {"times": 40, "working": 20}}, "epochs": 40, "histogram_freq": 2}
    found = situation(compute=10.0, context=between_epochs(callbacks={owner: 6.0}) | known)
    advice = amortize_epoch_callback(found)
    assert advice.title == "Write TensorBoard's histograms every 10 epochs"
    assert "TensorBoard(..., histogram_freq=10)" in advice.action


def test_a_tensorboard_without_histograms_lets_epochs_pass():
    context = between_epochs(callbacks={"TensorBoard.on_epoch_end": 6.0}) | {"epochs": 40}
    advice = amortize_epoch_callback(situation(compute=10.0, context=context))
    assert advice.title == "Do the work of TensorBoard.on_epoch_end every 5 epochs"
    assert advice.action.startswith("class RarerTensorBoard(keras.callbacks.TensorBoard):")
    assert advice.reason.endswith("Its curves then lack the other epochs.")
    # It writes them more rarely than what takes long.
    rarely = situation(compute=10.0, context=context | {"histogram_freq": 10})
    assert amortize_epoch_callback(rarely).action == advice.action


@pytest.mark.parametrize(
    "callback", ["EarlyStopping", "SwapEMAWeights", "ReduceLROnPlateau", "LearningRateScheduler"]
)
def test_what_keras_must_do_in_every_epoch_is_left_to_it(callback):
    owners = {f"{callback}.on_epoch_end": 6.0, "Mine.on_epoch_end": 4.0}
    found = situation(compute=10.0, context=between_epochs(callbacks=owners) | {"epochs": 40})
    assert amortize_epoch_callback(found).evidence["owner"] == "Mine.on_epoch_end"
    del owners["Mine.on_epoch_end"]
    found = situation(compute=10.0, context=between_epochs(callbacks=owners) | {"epochs": 40})
    assert amortize_epoch_callback(found) is None


def test_without_epoch_hooks_nothing_is_said_of_them():
    assert amortized() is None
    assert amortized(Mine__on_epoch_end=0.0) is None
    assert amortize_epoch_callback(situation(compute=10.0)) is None


@given(pair=st.tuples(st.floats(0.01, 50), st.floats(0.01, 50)), compute=st.floats(0.1, 50))
@settings(max_examples=100, deadline=None)
def test_more_time_between_epochs_never_buys_less(pair, compute):
    for rule in (rarer_validation, amortize_epoch_callback):
        cheap, dear = (
            rule(situation(compute=compute, context=between_epochs(ms, {"Mine.on_epoch_end": ms})))
            for ms in sorted(pair)
        )
        if cheap is not None:
            assert cheap.predicted_speedup <= dear.predicted_speedup * (1 + 1e-9)


def test_where_a_part_is_validated_already_or_few_epochs_are_that_is_not_told_again():
    context = between_epochs(10.0) | {"epochs": 4, "validation_steps": 3}
    assert rarer_validation(situation(compute=10.0, context=context)) is None
    context = between_epochs(10.0) | {"epochs": 8}
    context["outside"] |= {"epoch_gaps": 8, "validations": 1}
    assert rarer_validation(situation(compute=10.0, context=context)) is None


def test_where_each_epoch_is_still_validated_what_lies_around_it_stays():
    context = between_epochs(4.0, rest=10.0)
    few, many = (
        rarer_validation(situation(compute=10.0, context=context | {"epochs": n})) for n in (4, 5)
    )
    assert few.high == pytest.approx(24 / (20 + 4 * 0.16))
    assert few.predicted_speedup < many.predicted_speedup < 24 / (24 - 4 * 0.8 - 4 * 0.8)


def test_an_epoch_hook_that_works_rarely_is_told_from_there():
    hooks = {"Mine.on_epoch_end": {"times": 20, "working": 10.0}}
    context = between_epochs(callbacks={"Mine.on_epoch_end": 6.0}) | {"hooks": hooks, "epochs": 20}
    advice = amortize_epoch_callback(situation(compute=10.0, context=context))
    assert (advice.evidence["present"], advice.evidence["advised"]) == (2, 10)


def test_an_epoch_hook_of_less_than_a_twentieth_of_the_training_is_left_alone():
    assert amortized(Mine__on_epoch_end=0.52) is None
    assert amortized(Mine__on_epoch_end=0.53) is not None
