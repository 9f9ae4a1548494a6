"""Trials inside a real fit."""

import keras
import numpy as np
import programs
import pytest

import keras_perf as kp
from keras_perf.observers.timeline import Timeline


def train(callbacks, *, epochs=4, batches=200, **compile_arguments):
    network = programs.model(**compile_arguments)
    data = programs.dataset(batches, shuffle=True)
    history = network.fit(data, epochs=epochs, verbose=0, shuffle=False, callbacks=callbacks)
    return network, history.history


def assert_equal_training(one, other):
    for mine, theirs in zip(one[0].weights, other[0].weights, strict=True):
        np.testing.assert_array_equal(mine.numpy(), theirs.numpy())
    for mine, theirs in zip(one[0].optimizer.variables, other[0].optimizer.variables, strict=True):
        np.testing.assert_array_equal(mine.numpy(), theirs.numpy())
    assert one[1] == other[1]


@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
@pytest.mark.parametrize("dropout", [False, True])
def test_trials_change_neither_weights_nor_history(optimizer, dropout, tmp_path):
    recommender = kp.StepsPerExecutionRecommender(tmp_path)
    arguments = {"optimizer": optimizer, "dropout": dropout}
    assert_equal_training(train([recommender], **arguments), train([], **arguments))
    assert recommender.recommendation.evidence["trials"] == 6


def test_a_tiny_model_is_told_to_run_more_steps_per_execution(tmp_path):
    recommender = kp.StepsPerExecutionRecommender(tmp_path)
    train([recommender])
    record = recommender.recommendation
    assert record.steps_per_execution > 1
    assert record.predicted_speedup > 1.3
    assert 1 <= record.low <= record.predicted_speedup <= record.high
    assert "per_execution_ms" in record.evidence


def test_the_limit_is_kept(tmp_path):
    recommender = kp.StepsPerExecutionRecommender(tmp_path, limit=4)
    train([recommender])
    assert recommender.recommendation.steps_per_execution <= 4


def test_apply_runs_the_rest_at_the_recommended_number_bit_exactly(tmp_path, monkeypatch):
    seen = []
    original = Timeline.take

    def note(self):
        taken = original(self)
        seen.extend(taken)
        return taken

    monkeypatch.setattr(Timeline, "take", note)
    recommender = kp.StepsPerExecutionRecommender(tmp_path, apply=True, limit=32)
    applied = train([recommender])
    chosen = recommender.recommendation.steps_per_execution
    assert chosen > 1
    assert sum(e.steps for e in seen) == 800
    assert sum(e.steps == chosen for e in seen[-20:]) > 3
    assert_equal_training(applied, train([]))

    seen.clear()
    applied[0].fit(programs.dataset(200), verbose=0, shuffle=False, callbacks=[recommender])
    assert sum(e.steps == chosen for e in seen) > 3
    assert recommender.recommendation.steps_per_execution == chosen


def test_callbacks_see_during_a_trial_what_that_number_of_steps_would_show(tmp_path):
    diary = programs.Diary()
    train([diary, kp.StepsPerExecutionRecommender(tmp_path)], epochs=2)
    begins = [index for what, index in diary.entries if what == "begin"]
    ends = [index for what, index in diary.entries if what == "end"]
    lengths = {end - begin + 1 for begin, end in zip(begins, ends, strict=True)}
    assert lengths == {1, 16}
    assert ends.count(199) == 2


def test_a_callback_that_may_steer_is_not_tried_around(tmp_path):
    recommender = kp.StepsPerExecutionRecommender(tmp_path)
    train([programs.Sleeper(0), recommender], epochs=1)
    assert "Sleeper.on_train_batch_end may steer" in recommender.recommendation.reason
    assert recommender.recommendation.steps_per_execution == 1


def test_eager_training_is_not_tried(tmp_path):
    recommender = kp.StepsPerExecutionRecommender(tmp_path)
    train([recommender], epochs=1, batches=30, run_eagerly=True)
    assert "run_eagerly" in recommender.recommendation.reason


def test_too_short_an_epoch_is_not_tried(tmp_path):
    recommender = kp.StepsPerExecutionRecommender(tmp_path)
    train([recommender], epochs=10, batches=5)
    assert "too short" in recommender.recommendation.reason


def test_too_few_steps_are_said(tmp_path):
    recommender = kp.StepsPerExecutionRecommender(tmp_path)
    train([recommender], epochs=1, batches=12)
    assert "too few steps" in recommender.recommendation.reason


def test_a_model_with_a_train_function_of_its_own_is_not_tried(tmp_path):
    class Own(keras.Sequential):
        def make_train_function(self, force=False):
            return super().make_train_function(force)

    network = Own([keras.layers.Input((8,)), keras.layers.Dense(1)])
    network.compile("sgd", "mse")
    recommender = kp.StepsPerExecutionRecommender(tmp_path)
    network.fit(programs.dataset(), verbose=0, shuffle=False, callbacks=[recommender])
    assert "make_train_function of its own" in recommender.recommendation.reason


def test_with_more_steps_per_execution_it_looks_further_up(tmp_path):
    recommender = kp.StepsPerExecutionRecommender(tmp_path)
    train([recommender], steps_per_execution=2)
    assert recommender.recommendation.evidence["trial_steps"] == 32
    assert recommender.recommendation.steps_per_execution >= 2
