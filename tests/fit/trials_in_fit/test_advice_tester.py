"""Advice that is tried at the end of a `fit`."""

import copy
import pickle
import time
from types import SimpleNamespace

import keras
import numpy as np
import programs
import psutil
import pytest
import tensorflow as tf

import keras_perf as kp
from keras_perf.analyse.training import newest_training
from keras_perf.records.run.tried.advice_trials import AdviceTrials
from keras_perf.trials import trying
from keras_perf.trials.measuring import side_by_side
from keras_perf.trials.training import budget, running

X = np.arange(1600.0, dtype="float32").reshape(200, 8) / 1600


@pytest.fixture(autouse=True)
def short_slices(monkeypatch):
    for module in (side_by_side, running):
        monkeypatch.setattr(module, "SLICE_S", 0.01)
    monkeypatch.setattr(budget, "PAIR_S", (0.02, 0.05))


def batches():
    data = tf.data.Dataset.from_tensor_slices((X, X[:, :1])).shuffle(200, seed=2)
    return data.map(lambda x, y: (x * 2, y)).batch(8)


def trained(callbacks, data=None):
    keras.utils.set_random_seed(1)
    model = keras.Sequential([keras.Input((8,)), keras.layers.Dropout(0.3), keras.layers.Dense(1)])
    model.compile("adam", "mse", jit_compile=False)
    data = batches() if data is None else data
    first = model.fit(data, epochs=3, shuffle=False, verbose=0, callbacks=callbacks)
    second = model.fit(data, epochs=1, shuffle=False, verbose=0)
    weights = [*model.get_weights(), *(v.numpy() for v in model.optimizer.variables)]
    return first.history, second.history, weights


def only_trying(log_dir, **settings):
    settings = {"budget_s": 3.0, **settings}
    return kp.perf_callbacks(
        log_dir, profiler=False, gpu=False, steps_per_execution=False, try_advice=settings
    )


def test_training_before_and_after_the_trials_is_as_without(tmp_path):
    first, second, weights = trained(only_trying(tmp_path))
    plain_first, plain_second, plain_weights = trained([])
    assert (first, second) == (plain_first, plain_second)
    for one, other in zip(weights, plain_weights, strict=True):
        np.testing.assert_array_equal(one, other)


def test_the_diagnosis_shows_what_was_measured(tmp_path):
    # A slow machine measures nothing but the step in the shortest of them.
    for budget_s in (3.0, 12.0, 48.0):
        trained(only_trying(tmp_path, budget_s=budget_s))
        trials = newest_training(tmp_path, None).summary().facts.advice_trials
        if trials.changes:
            break
    assert trials.step_ms > 0
    assert {each.id for each in trials.changes}
    diagnosis = kp.diagnose(tmp_path)
    assert any(note.startswith("Measured after training") for note in diagnosis.notes)
    measured = {each.id for each in trials.together}
    assert {each.id for each in diagnosis.recommendations if each.tried} >= measured


@pytest.mark.whole
@pytest.mark.timing
def test_what_has_no_room_in_memory_is_kept_in_files(tmp_path, monkeypatch):
    # Of three short slices a single one that others delay decides.
    monkeypatch.setattr(budget, "PAIR_S", (0.3, 0.5))

    # Longer than a step, or there is no gain in keeping what it makes.
    wait_s = max(10.0, 5 * programs.usual_step_ms()) / 1e3

    def waiting(x, y):
        def wait(values):
            time.sleep(wait_s)
            return values

        return tf.ensure_shape(tf.numpy_function(wait, [x], x.dtype), x.shape), y

    logs, files = tmp_path / "logs", tmp_path / "files"
    files.mkdir()
    monkeypatch.setattr(psutil, "virtual_memory", lambda: SimpleNamespace(available=8.0))
    data = tf.data.Dataset.from_tensor_slices((X, X[:, :1])).batch(8).map(waiting)
    trained(only_trying(logs, budget_s=40.0, cache_dir=files), data)
    [folder] = files.iterdir()
    trials = newest_training(logs, None).summary().facts.advice_trials
    [kept] = (each for each in trials.together if each.id == "cache")
    assert f".cache('{folder}" in kept.code
    assert f".cache('{folder}" in str(kp.diagnose(logs))


@pytest.mark.parametrize("of_a_library", [False, True])
def test_no_logs_are_read_on_trial_that_no_callback_of_fit_reads(
    tmp_path, monkeypatch, of_a_library
):
    def looks(*_, others_wait, **__):
        seen.append(others_wait)
        raise ValueError("seen")

    seen = []
    monkeypatch.setattr(trying, "tried_advice", looks)
    logger = keras.callbacks.CSVLogger(str(tmp_path / "log.csv"))
    reads = keras.callbacks.TensorBoard(tmp_path / "board", update_freq=1)
    trained([*only_trying(tmp_path), logger, *[reads] * of_a_library])
    assert seen[0] == of_a_library


@pytest.mark.parametrize("error", [ValueError, RuntimeError, MemoryError])
def test_what_trials_raise_stands_in_the_report_as_the_reason(tmp_path, monkeypatch, error):
    def fails(*_, **__):
        raise error("on purpose")

    monkeypatch.setattr(trying, "tried_advice", fails)
    trained(only_trying(tmp_path))
    assert (
        newest_training(tmp_path, None)
        .summary()
        .facts.not_known["advice_trials"]
        .endswith("on purpose")
    )


def test_the_same_fit_again_is_not_tried_again_and_another_one_is(tmp_path, monkeypatch):
    tried = []

    def counted(*arguments, **settings):
        tried.append(arguments)
        return SimpleNamespace(trials=AdviceTrials(step_ms=1.0))

    monkeypatch.setattr(trying, "tried_advice", counted)
    model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(1)])

    def fit(data, **settings):
        callbacks = only_trying(tmp_path, budget_s=0.5, **settings)
        model.fit(data, epochs=3, shuffle=False, verbose=0, callbacks=callbacks)
        return len(tried)

    model.compile("adam", "mse")
    assert [fit(batches()) for _ in range(3)] == [1, 1, 1]
    assert kp.diagnose(tmp_path).summary.facts.tried_before is not None
    assert fit(batches().prefetch(2)) == 2
    assert fit(batches().prefetch(2), any_order=True) == 3
    model.compile("adam", "mse")
    assert fit(batches().prefetch(2), any_order=True) == 4


def test_nothing_is_tried_after_a_fit_that_failed(tmp_path):
    class Fails(keras.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            if batch == 20:
                raise RuntimeError("of the user's")

    with pytest.raises(RuntimeError, match="of the user's"):
        trained([*only_trying(tmp_path), Fails()])
    assert newest_training(tmp_path, None).summary().facts.advice_trials is None


def test_wrong_arguments_are_refused(tmp_path):
    with pytest.raises(ValueError, match="budget_s"):
        kp.AdviceTester(tmp_path, budget_s=0)
    with pytest.raises(TypeError, match="any_order"):
        kp.AdviceTester(tmp_path, any_order=1)
    with pytest.raises(TypeError, match="any_random_numbers"):
        kp.perf_callbacks(tmp_path, try_advice={"any_random_numbers": 1})
    with pytest.raises(ValueError, match="cache_dir must be an existing directory"):
        kp.perf_callbacks(tmp_path, try_advice={"cache_dir": tmp_path / "nowhere"})


def test_a_copy_is_as_it_was_before_any_fit(tmp_path):
    tester = kp.AdviceTester(tmp_path, any_order=True, budget_s=1.0)
    for copied in (copy.deepcopy(tester), pickle.loads(pickle.dumps(tester))):
        assert (copied.allowed.order, copied.budget_s) == (True, 1.0)
        assert copied.observation is None
