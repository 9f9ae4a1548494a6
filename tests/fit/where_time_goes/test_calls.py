"""Validations, `evaluate` and `predict`, watched: their split, their causes, and nothing else."""

import gc
import os
import re
import time

import keras
import numpy as np
import programs
import pytest
import tensorflow as tf

import keras_perf as kp
from keras_perf.observation.facts.input.pipeline_model import PipelineModel
from keras_perf.observation.of_calls.tensorflow_call import TensorFlowCall
from keras_perf.read.event_files import NoRunError
from keras_perf.read.fits import fits_of
from keras_perf.records.run.inference import CALL_PARTS

FOUND, NO_MORE = 0.7, 1.5
"""Of the time that was slept for batches so much must be found as input wait, and no more."""


def facts_in(log_dir):
    return fits_of(log_dir)["perf"][-1].facts


def slow(batches, slept):
    """Batches that are waited for, one after the other, for longer than one is computed."""
    input_ms = max(10.0, 6 * programs.paused_step_ms())
    return programs.unbuffered(programs.dataset(batches, input_ms=input_ms, slept=slept))


def about_calls(log_dir):
    """What a diagnosis says of them."""
    found = kp.diagnose(log_dir)
    notes = [note for note in found.notes if "waits for its input" in note or "a call" in note]
    named = ("call-the-model", "faster-validation")
    return notes, [each for each in found.recommendations if each.id in named]


def assert_waited(call, slept):
    assert FOUND * sum(slept) <= 1e3 * call.parts_s["input_wait"] <= NO_MORE * sum(slept)
    assert sum(call.parts_s.values()) == pytest.approx(call.spent_s)
    assert set(call.parts_s) <= set(CALL_PARTS)


class Shows(keras.callbacks.Callback):
    """Predicts at each epoch's end, `rows` at a time."""

    def __init__(self, times, rows):
        super().__init__()
        self.times, self.rows, self.outputs = times, rows, []

    def on_epoch_end(self, epoch, logs=None):
        x, _ = programs.arrays(40)
        for _ in range(self.times):
            self.outputs.append(self.model.predict(x[: self.rows], verbose=0))


def trained(validation, shows, log_dir=None):
    network = programs.model()
    history = network.fit(
        programs.dataset(60),
        validation_data=validation,
        epochs=2,
        verbose=0,
        shuffle=False,
        callbacks=[*([kp.StepGapDetector(log_dir)] if log_dir else []), shows],
    )
    left = [w.numpy() for w in network.weights] + shows.outputs
    return network, [*left, *map(np.array, history.history.values())]


@pytest.mark.timing
@programs.needs_gap_times
def test_slow_validation_and_predict_in_a_loop_are_named_and_training_is_unchanged(tmp_path):
    slept = []
    network, observed = trained(slow(25, slept), Shows(5, 1), tmp_path)
    facts = facts_in(tmp_path)
    validation, predicts = facts.inference["validation"], facts.predicts["Shows.on_epoch_end"]
    assert (validation.calls, validation.executions, validation.steps) == (2, 50, 50)
    assert (validation.examples, validation.input_kind) == (400, "tf.data")
    assert [stage.name for stage in validation.stages][-1] == "Map"
    assert_waited(validation, slept)
    # The first traces the predict function, whose time is known from then on.
    assert (predicts.calls, predicts.timed, predicts.executions) == (10, 9, 9)
    assert predicts.examples == 9
    notes, found = about_calls(tmp_path)
    advice = {each.id: each for each in found}
    assert notes == []
    assert "waits for its own input" in advice["faster-validation"].reason
    # Autotune gives a map no more threads than there are cores.
    threads = "map(sleep, num_parallel_calls=tf.data.AUTOTUNE)"
    several = len(os.sched_getaffinity(0)) > 1
    assert (threads if several else ".cache()") in advice["faster-validation"].action
    assert advice["call-the-model"].evidence["owner"] == "Shows.on_epoch_end"
    spent_s = facts.outside.epoch_callbacks_s["Shows.on_epoch_end"]
    assert FOUND * spent_s <= predicts.spent_s <= spent_s
    scalars = fits_of(tmp_path)["perf"][-1].scalars
    assert list(scalars["step"][scalars["tag"] == "validation/input_wait_ms"]) == [60, 120]
    assert "predict" not in vars(network)
    _, plain = trained(slow(25, []), Shows(5, 1))
    for mine, theirs in zip(observed, plain, strict=True):
        np.testing.assert_array_equal(mine, theirs)


@pytest.mark.timing
@programs.needs_gap_times
def test_nothing_is_said_of_a_quick_validation_and_of_predicting_much_at_once(tmp_path):
    trained(programs.dataset(25), Shows(1, 320), tmp_path)
    assert facts_in(tmp_path).inference["validation"].calls == 2
    assert about_calls(tmp_path) == ([], [])


def functions(network):
    return network.test_function, network.predict_function


@pytest.mark.timing
@programs.needs_gap_times
def test_evaluate_and_predict_of_a_user_s_are_split_and_named(tmp_path):
    network, slept = programs.model(), []
    gaps = kp.StepGapDetector(tmp_path)
    x, _ = programs.arrays(40)
    plain = network.evaluate(programs.dataset(30), verbose=0)
    data = slow(30, slept)
    for _ in range(2):
        watched = network.evaluate(data, verbose=0, callbacks=[gaps])
    assert watched == plain
    assert_waited(facts_in(tmp_path).inference["evaluate"], slept)
    for row in range(12):
        one = network.predict(x[row : row + 1], verbose=0, callbacks=[gaps])
        np.testing.assert_array_equal(one, network.predict_on_batch(x[row : row + 1]))
    assert [type(each).__name__ for each in functions(network)] == ["function", "Function"]
    assert len(fits_of(tmp_path)["perf"]) == 1
    calls = facts_in(tmp_path).inference
    assert (calls["predict"].calls, calls["predict"].examples) == (12, 12)
    assert (calls["predict"].batch_size, calls["predict"].input_kind) == (32, "arrays")
    evaluate, predict = about_calls(tmp_path)[0]
    assert evaluate.startswith("`evaluate` waits for its input")
    assert predict.startswith("`predict` was called 12 times, with 1 example a call")


class Evaluates(keras.callbacks.Callback):
    """Evaluates after every 20th batch, and keeps what it has found."""

    def __init__(self, log_dir):
        super().__init__()
        self.callbacks = [kp.StepGapDetector(log_dir)] if log_dir else []
        self.found = []

    def on_train_batch_end(self, batch, logs=None):
        if batch % 20 == 19:
            data = programs.dataset(30)
            self.found.append(self.model.evaluate(data, verbose=0, callbacks=self.callbacks))


def evaluating(log_dir):
    evaluates = Evaluates(log_dir and log_dir / "calls")
    callbacks = [kp.StepGapDetector(log_dir / "fit"), evaluates] if log_dir else [evaluates]
    network = programs.model()
    network.fit(
        programs.dataset(60),
        validation_data=programs.dataset(5),
        epochs=2,
        verbose=0,
        shuffle=False,
        callbacks=callbacks,
    )
    assert "evaluate" not in vars(network)
    return evaluates.found


@programs.needs_gap_times
def test_an_evaluate_of_a_callback_s_is_counted_named_and_can_be_split(tmp_path):
    assert evaluating(tmp_path) == evaluating(None)
    facts, split = facts_in(tmp_path / "fit"), facts_in(tmp_path / "calls").inference["evaluate"]
    # Without the validations, which are no hook's.
    [(hook, calls)] = facts.evaluates.items()
    assert (hook, calls.calls) == ("Evaluates.on_train_batch_end", 6)
    assert (split.calls, split.steps) == (6, 180)
    assert split.spent_s <= calls.spent_s
    [told] = [note for note in kp.diagnose(tmp_path / "fit").notes if "model.evaluate 6" in note]
    line = Evaluates.on_train_batch_end.__code__.co_firstlineno
    assert told.startswith(f"{hook} (")
    assert f"line {line}) called" in told


class Fetches(keras.callbacks.Callback):
    """Takes the time until the predict function of this model is given each batch."""

    def __init__(self, network):
        super().__init__()
        self.took_ms = []
        network.make_predict_function()
        function = network.predict_function

        def timed(data):
            self.took_ms.append(1e3 * (time.perf_counter() - self.begin))
            return function(data)

        network.predict_function = timed

    def on_predict_batch_begin(self, batch, logs=None):
        self.begin = time.perf_counter()


@pytest.mark.timing
def test_nothing_is_said_of_one_predict_of_many_batches(tmp_path):
    network, gaps = programs.model(), kp.StepGapDetector(tmp_path)
    x, y = programs.arrays(40)
    fetches = Fetches(network)
    network.predict(x, batch_size=1, verbose=0, callbacks=[fetches, gaps])
    network.evaluate(x, y, batch_size=1, verbose=0, callbacks=[gaps])
    predict = facts_in(tmp_path).inference["predict"]
    assert predict.steps == 320
    fetched_ms = np.mean(fetches.took_ms)
    assert predict.per_step_ms("input_wait") == pytest.approx(fetched_ms, rel=0.5)
    assert about_calls(tmp_path) == ([], [])


def both_in(log_dir):
    calls = facts_in(log_dir).inference
    return calls["evaluate"], calls["predict"]


@pytest.mark.parametrize("steps", [1, 4])
def test_batches_are_counted_whatever_the_steps_per_execution(steps, tmp_path):
    network, gaps = programs.model(steps_per_execution=steps), kp.StepGapDetector(tmp_path)
    x, y = programs.arrays(10)
    network.evaluate(x, y, batch_size=8, verbose=0, callbacks=[gaps])
    network.predict(x, batch_size=8, verbose=0, callbacks=[gaps])
    for call in both_in(tmp_path):
        executions = -(-10 // steps)
        assert (call.executions, call.steps, call.examples) == (executions, 10, 80)
        assert call.steps_per_execution == steps


def of_unknown_length(batches):
    return programs.dataset(batches).filter(lambda x, y: True)


@pytest.mark.filterwarnings("ignore:Your input ran out of data:UserWarning")
@pytest.mark.parametrize(
    ("data", "steps", "batches"),
    [
        # No execution is cut for the sake of `steps`.
        (programs.dataset(20), 5, 8),
        (programs.dataset(6), 5, 6),
        (of_unknown_length(20), 5, 8),
        (of_unknown_length(6), 5, 6),
        (of_unknown_length(9), None, 9),
    ],
)
@programs.needs_gap_times
def test_executions_are_cut_where_the_data_end_and_nowhere_else(data, steps, batches, tmp_path):
    network, gaps = programs.model(steps_per_execution=4), kp.StepGapDetector(tmp_path)
    network.evaluate(data, steps=steps, verbose=0, callbacks=[gaps])
    network.predict(data, steps=steps, verbose=0, callbacks=[gaps])
    for call in both_in(tmp_path):
        assert (call.steps, call.examples) == (batches, 8 * batches)


def uncounted(self):
    return None


@pytest.mark.filterwarnings("ignore:Your input ran out of data:UserWarning")
def test_batches_that_nobody_counts_are_not_known(monkeypatch, tmp_path):
    monkeypatch.setattr(PipelineModel, "batches", uncounted)
    network, gaps = programs.model(steps_per_execution=4), kp.StepGapDetector(tmp_path)
    found = []
    for data, steps in [(programs.dataset(6), 5), (of_unknown_length(9), None)]:
        network.evaluate(data, steps=steps, verbose=0, callbacks=[gaps])
        found.append(facts_in(tmp_path).inference["evaluate"])
    assert [(call.executions, call.steps) for call in found] == [(2, 6), (5, 0)]
    told = str(kp.diagnose(tmp_path))
    assert re.search(r"evaluate +2 +– +– ", told), told


@pytest.mark.filterwarnings("ignore:Your input ran out of data:UserWarning")
def test_data_of_unknown_length_are_counted_when_they_end(tmp_path):
    network, gaps = programs.model(), kp.StepGapDetector(tmp_path)
    data = programs.dataset(10).filter(lambda x, y: True)
    for _ in range(2):
        network.evaluate(data, verbose=0, callbacks=[gaps])
        network.predict(data, verbose=0, callbacks=[gaps])
    for call in both_in(tmp_path):
        assert (call.calls, call.steps, call.examples) == (2, 20, 160)


@pytest.mark.parametrize("kind", ["evaluate", "predict"])
def test_a_call_that_raises_leaves_nothing_of_ours(kind, tmp_path):
    network, gaps = programs.model(), kp.StepGapDetector(tmp_path)
    run = getattr(network, kind)
    run(programs.dataset(4), verbose=0)
    before = functions(network)

    def fails(place):
        raise ValueError("no more")

    data = programs.dataset(4)
    broken = tf.data.Dataset.range(4).map(lambda i: tf.numpy_function(fails, [i], tf.int64))
    broken = tf.data.Dataset.zip(data, broken).map(lambda batch, i: batch)
    callbacks = keras.callbacks.CallbackList([gaps], model=network)
    theirs = callbacks.callbacks
    with pytest.raises(Exception, match="no more"):
        run(broken, verbose=0, callbacks=callbacks)
    run(data, verbose=0, callbacks=callbacks)
    assert functions(network) == before
    assert callbacks.callbacks is theirs
    assert facts_in(tmp_path).inference[kind].calls == 1


@pytest.mark.parametrize("kind", ["evaluate", "predict"])
def test_a_list_that_outlives_its_calls_holds_none_of_them(tmp_path, kind):
    network = programs.model()
    callbacks = keras.callbacks.CallbackList([kp.StepGapDetector(tmp_path)], model=network)
    for _ in range(3):
        getattr(network, kind)(programs.dataset(2), verbose=0, callbacks=callbacks)
    gc.collect()
    assert not [each for each in gc.get_objects() if type(each) is TensorFlowCall]


def test_the_other_callbacks_leave_a_call_alone(tmp_path):
    network = programs.model()
    network.evaluate(
        programs.dataset(4), verbose=0, callbacks=kp.perf_callbacks(tmp_path, gaps=False)
    )
    with pytest.raises(NoRunError):
        kp.diagnose(tmp_path)


def test_what_cannot_be_written_costs_a_line(tmp_path, said, monkeypatch):
    def full(*_):
        raise OSError("disk full")

    network, gaps = programs.model(), kp.StepGapDetector(tmp_path)
    monkeypatch.setattr("keras_perf.write.reopened_run.ReopenedRun.write", full)
    for _ in range(2):
        network.predict(programs.dataset(4), verbose=0, callbacks=[gaps])
    [line] = said()
    assert "disk full" in line
