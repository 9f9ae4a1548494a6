"""Trials inside a real fit."""

import math
import sys
from pathlib import Path
from types import SimpleNamespace

import keras
import numpy as np
import programs
import pytest
import tensorflow as tf

import keras_perf as kp
from keras_perf.observation.listener import Plan
from keras_perf.read.event_files import events
from keras_perf.records.execution import Kind
from keras_perf.trials.train_functions.repeated_function import RepeatedFunction


@pytest.fixture(autouse=True)
def tracing_is_cheap(monkeypatch):
    """On a busy machine the first trace of a process may take seconds."""
    monkeypatch.setattr("keras_perf.observers.steps_trial.steps_to_try.SMALL_COST_S", 100.0)


def train(callbacks, *, epochs=2, batches=200, **compile_arguments):
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


@pytest.mark.parametrize(("optimizer", "dropout"), [("sgd", False), ("adam", True)])
def test_trials_change_neither_weights_nor_history(optimizer, dropout, monkeypatch, tmp_path):
    # What is repeated beside busy neighbours has a test of its own.
    monkeypatch.setattr("keras_perf.observers.steps_trial.trials_due.REPEATS", 0)
    recommender = kp.StepsPerExecutionRecommender(tmp_path)
    arguments = {"optimizer": optimizer, "dropout": dropout, "epochs": 4}
    assert_equal_training(train([recommender], **arguments), train([], **arguments))
    evidence = recommender.recommendation.evidence
    first, *confirmed = [n for n in evidence["trials"] if n > 4]
    assert {1, 4, 16} <= set(evidence["trials"])
    assert first == 16
    # Two lengths, five times each with its run-up, then up to three times one beyond.
    assert len(confirmed) <= 1
    assert evidence["extra_traces"] == 1, "one loop for all lengths"
    assert 20 <= evidence["trial_executions"] <= 20 + 6 * len(confirmed)


@pytest.mark.timing
def test_a_tiny_model_is_told_to_run_more_steps_per_execution_and_the_curve_is_logged(tmp_path):
    recommender = kp.StepsPerExecutionRecommender(tmp_path)
    train([recommender])
    record = recommender.recommendation
    assert record.steps_per_execution > 1
    assert record.predicted_speedup > 1.3
    assert 1 <= record.low <= record.predicted_speedup <= record.high
    assert "per_execution_ms" in record.evidence
    scalars = kp.load_scalars(tmp_path).set_index("tag")["value"]
    assert scalars["steps_per_execution/recommended_steps"] == record.steps_per_execution
    assert scalars["steps_per_execution/in_graph_ms"] == pytest.approx(
        record.evidence["in_graph_ms"]
    )
    [path] = (tmp_path / "perf").glob("events*")
    tables = [
        value.tensor.string_val[0].decode()
        for event in events(path)
        for value in event.summary.value
        if value.tag == "perf/steps_per_execution"
    ]
    assert len(tables) == 1
    assert f"| {record.steps_per_execution} ← |" in tables[0]


def test_the_limit_is_kept(tmp_path):
    recommender = kp.StepsPerExecutionRecommender(tmp_path, limit=4)
    train([recommender])
    assert recommender.recommendation.steps_per_execution <= 4


def applied_more(tmp_path, limit, begins):
    """A training that goes on with more steps, and its recommender; neighbours may hide the gain.

    Arguments:
        tmp_path: where it is logged.
        limit: of the steps.
        begins: is called before each attempt, and gives the other callbacks.
    """
    for place in range(3):
        recommender = kp.StepsPerExecutionRecommender(
            tmp_path / str(place), apply=True, limit=limit
        )
        applied = train([*begins(), recommender], epochs=4)
        if recommender.recommendation.steps_per_execution > 1:
            return applied, recommender
    pytest.fail(f"in none of three trainings: {recommender.recommendation.reason}")


@pytest.mark.timing
def test_apply_runs_the_rest_at_the_recommended_number_bit_exactly(told, tmp_path):
    def begins():
        told.clear()
        return []

    applied, recommender = applied_more(tmp_path, 32, begins)
    chosen = recommender.recommendation.steps_per_execution
    assert sum(e.steps for e in told) == 800
    assert sum(e.steps == chosen for e in told[-20:]) > 3
    assert recommender.recommendation.applied
    assert_equal_training(applied, train([], epochs=4))

    told.clear()
    applied[0].fit(programs.dataset(200), verbose=0, shuffle=False, callbacks=[recommender])
    assert sum(e.steps == chosen for e in told) > 3
    assert recommender.recommendation.steps_per_execution == chosen

    # Epochs in which it has no place tell nothing that was found in longer ones.
    applied[0].fit(programs.dataset(20), verbose=0, shuffle=False, callbacks=[recommender])
    assert recommender.recommendation.steps_per_execution == 1


@pytest.mark.timing
def test_a_later_fit_whose_steps_are_too_long_for_the_number_is_tried_anew(told, tmp_path):
    (network, _), recommender = applied_more(tmp_path, 32, list)
    recommender.max_execution_s = 1e-9
    told.clear()
    network.fit(programs.dataset(200), verbose=0, shuffle=False, callbacks=[recommender])
    assert {e.steps for e in told} == {1}
    assert recommender.recommendation.steps_per_execution == 1
    assert not recommender.recommendation.applied


class Notes(programs.Diary):
    """The same with the logs."""

    def on_train_batch_end(self, batch, logs=None):
        self.entries.append(("end", batch, dict(logs)))

    def on_epoch_end(self, epoch, logs=None):
        self.entries.append(("epoch", epoch, dict(logs)))


def test_callbacks_are_shown_every_batch_with_the_logs_of_its_own_step(tmp_path):
    shown = []
    recommender = kp.StepsPerExecutionRecommender(tmp_path)
    for callbacks in ([], [recommender]):
        notes = Notes()
        train([notes, *callbacks])
        shown.append(notes.entries)
    assert recommender.recommendation.evidence["trial_executions"] > 3
    assert shown[0] == shown[1]


@pytest.mark.timing
def test_applied_callbacks_are_called_as_with_that_number(tmp_path):
    diaries = []

    def begins():
        diaries.append(programs.Diary())
        return diaries[-1:]

    _, recommender = applied_more(tmp_path, 8, begins)
    chosen, diary = recommender.recommendation.steps_per_execution, diaries[-1]
    begins = [index for what, index in diary.entries if what == "begin"]
    ends = [index for what, index in diary.entries if what == "end"]
    lengths = {end - begin + 1 for begin, end in zip(begins, ends, strict=True)}
    assert lengths == {1, chosen}


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
    assert "leave no room to try" in recommender.recommendation.reason


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
    train([recommender], epochs=4, steps_per_execution=2)
    assert set(recommender.recommendation.evidence["trials"]) >= {2, 4, 16}
    assert recommender.recommendation.steps_per_execution >= 2


@programs.needs_gap_times
def test_what_the_first_trial_has_to_make_ready_is_not_the_dispatch_of_the_step_before(tmp_path):
    """It waited for its batches, and tf.data saw nobody ask for the next one meanwhile."""
    data = programs.dataset(100, input_ms=3, drop_remainder=True).prefetch(2)
    callbacks = [kp.StepGapDetector(tmp_path), kp.StepsPerExecutionRecommender(tmp_path)]
    network = programs.model(steps_per_execution=4)
    network.fit(data, epochs=3, verbose=0, shuffle=False, callbacks=callbacks)
    assert callbacks[1].recommendation.evidence["trial_executions"]
    intervals = kp.diagnose(tmp_path).summary.intervals
    assert (intervals["compute"] > 0).all()


INPUTS = {
    "PyDataset": lambda: {"x": programs.Batches(100)},
    "NumPy": lambda: dict(zip("xy", programs.arrays(100), strict=True), batch_size=8),
    "without end": lambda: {"x": programs.dataset(100).repeat(), "steps_per_epoch": 100},
    "unknown length": lambda: {"x": programs.dataset(100).filter(lambda x, y: True)},
    "no length divides it": lambda: {"x": programs.dataset(101)},
    "validation": lambda: {"x": programs.dataset(100), "validation_data": programs.dataset(7)},
    "class weights": lambda: {"x": programs.labelled(100), "class_weight": {0: 1.0, 1: 3.0}},
}


@pytest.mark.filterwarnings("ignore:Your input ran out of data")
@pytest.mark.parametrize("name", INPUTS)
def test_no_input_is_trained_on_otherwise(name, tmp_path):
    results = []
    recommender = kp.StepsPerExecutionRecommender(tmp_path, apply=True)
    for callbacks in ([], [recommender]):
        network = programs.model()
        history = network.fit(
            **INPUTS[name](), epochs=3, verbose=0, shuffle=False, callbacks=callbacks
        )
        results.append((network, history.history))
    assert_equal_training(*results)
    record = recommender.recommendation
    if name == "unknown length":
        # A longer execution might cross the end of an epoch.
        assert "length of an epoch is not known" in record.reason
    else:
        assert record.evidence["trial_executions"] > 3


@pytest.mark.parametrize("compiled", [{"jit_compile": True}, {"steps_per_execution": 3}])
def test_no_way_to_compile_is_trained_otherwise(compiled, tmp_path):
    recommender = kp.StepsPerExecutionRecommender(tmp_path, apply=True)
    assert_equal_training(train([recommender], **compiled), train([], **compiled))
    assert recommender.recommendation.evidence["trial_executions"] > 3


@pytest.mark.fault(1, "loss scaling that skips steps")
def test_loss_scaling_skips_and_counts_the_same_steps(tmp_path):
    keras.config.set_dtype_policy("mixed_float16")
    try:
        results = []
        for callbacks in ([], [kp.StepsPerExecutionRecommender(tmp_path, apply=True)]):
            network = programs.model()
            x, y = programs.arrays(150)
            x[160:168] = np.inf
            history = network.fit(
                x, y, batch_size=8, epochs=2, verbose=0, shuffle=False, callbacks=callbacks
            )
            results.append((network, history.history))
    finally:
        keras.config.set_dtype_policy("float32")
    assert isinstance(results[0][0].optimizer, keras.optimizers.LossScaleOptimizer)
    for mine, theirs in zip(results[1][0].weights, results[0][0].weights, strict=True):
        np.testing.assert_array_equal(mine.numpy(), theirs.numpy())
    for mine, theirs in zip(
        results[1][0].optimizer.variables, results[0][0].optimizer.variables, strict=True
    ):
        np.testing.assert_array_equal(mine.numpy(), theirs.numpy())


def test_a_resumed_training_is_tried_from_where_it_is(tmp_path):
    recommender = kp.StepsPerExecutionRecommender(tmp_path)
    network = programs.model()
    data = programs.dataset(100)
    network.fit(data, verbose=0, shuffle=False)
    network.fit(data, initial_epoch=1, epochs=4, verbose=0, shuffle=False, callbacks=[recommender])
    assert recommender.recommendation.evidence["trial_executions"] > 3
    assert int(network.optimizer.iterations.numpy()) == 400


def test_no_longer_execution_is_tried_than_the_epochs_that_are_left_repay(tmp_path):
    reasons = []
    for log_dir, asked in [("all", {"epochs": 1}), ("last", {"initial_epoch": 99, "epochs": 100})]:
        recommender = kp.StepsPerExecutionRecommender(tmp_path / log_dir)
        network, data = programs.model(), programs.dataset(30)
        network.fit(data, verbose=0, shuffle=False, callbacks=[recommender], **asked)
        reasons.append(recommender.recommendation.reason)
    assert reasons[0] == reasons[1]
    assert "still to go" in reasons[0]


def test_early_stopping_between_trials_stops_at_the_same_step(tmp_path):
    def stop():
        return keras.callbacks.EarlyStopping("loss", min_delta=1e9, patience=1)

    recommender = kp.StepsPerExecutionRecommender(tmp_path)
    stopped = train([stop(), recommender], epochs=4, batches=60)
    assert_equal_training(stopped, train([stop()], epochs=4, batches=60))
    assert int(stopped[0].optimizer.iterations.numpy()) < 240


@pytest.mark.fault(1, "a callback that stops training in the middle of an epoch")
def test_stopping_at_a_batch_is_not_tried_around_and_stops_there(tmp_path):
    class StopsAt(keras.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            self.model.stop_training = batch >= 45

    recommender = kp.StepsPerExecutionRecommender(tmp_path, apply=True)
    stopped = train([StopsAt(), recommender], batches=60)
    assert_equal_training(stopped, train([StopsAt()], batches=60))
    assert int(stopped[0].optimizer.iterations.numpy()) == 46
    assert "StopsAt.on_train_batch_end may steer" in recommender.recommendation.reason


def failing_where(is_bad):
    """Batches, the first for which `is_bad` is no record."""

    def failing(x, y):
        def check(values):
            if is_bad():
                raise ValueError("bad record")
            return values

        return tf.ensure_shape(tf.numpy_function(check, [x], tf.float32), (None, 8)), y

    options = tf.data.Options()
    options.experimental_optimization.inject_prefetch = False
    return programs.dataset(200).map(failing).with_options(options)


def fails_to_train(is_bad, callbacks, jit_compile):
    network = programs.model(jit_compile=jit_compile)
    with pytest.raises((tf.errors.InvalidArgumentError, tf.errors.UnknownError), match="bad"):
        network.fit(failing_where(is_bad), epochs=3, verbose=0, shuffle=False, callbacks=callbacks)
    return network


@pytest.mark.fault(1, "data that fail inside a trial")
@pytest.mark.parametrize("jit_compile", [False, True])
def test_data_that_fail_inside_a_trial_leave_what_a_plain_run_leaves(
    jit_compile, monkeypatch, tmp_path
):
    seen, in_trial, called = [], [], []
    original = RepeatedFunction.run

    def note(self, iterator, calls):
        in_trial.append(len(seen))
        called.append(calls)
        return original(self, iterator, calls)

    def third_of_a_trial():
        seen.append(None)
        return bool(in_trial) and len(seen) == in_trial[0] + 3

    def same():
        again.append(None)
        return len(again) == len(seen)

    monkeypatch.setattr(RepeatedFunction, "run", note)
    again = []
    observed = fails_to_train(
        third_of_a_trial, [kp.StepsPerExecutionRecommender(tmp_path)], jit_compile
    )
    # Of the trial's batches the third is bad.
    assert len(in_trial) == 1
    assert called[0] >= 3
    plain = fails_to_train(same, [], jit_compile)
    assert int(observed.optimizer.iterations.numpy()) == int(plain.optimizer.iterations.numpy())
    for mine, theirs in zip(observed.variables, plain.variables, strict=True):
        np.testing.assert_array_equal(mine.numpy(), theirs.numpy())


@pytest.mark.timing
def test_callbacks_that_would_be_called_less_often_are_named(tmp_path):
    every_batch = keras.callbacks.TensorBoard(tmp_path / "batches", update_freq="batch")
    checkpoint = keras.callbacks.ModelCheckpoint(tmp_path / "m.keras")
    recommender = kp.StepsPerExecutionRecommender(tmp_path)
    train([every_batch, checkpoint, programs.Diary(), recommender])
    record = recommender.recommendation
    assert record.evidence["called_less_often"] == [
        "Diary.on_train_batch_begin",
        "Diary.on_train_batch_end",
        "TensorBoard.on_train_batch_begin",
        "TensorBoard.on_train_batch_end",
    ]
    assert "TensorBoard.on_train_batch_end" in record.reason


def test_compiling_that_would_not_pay_is_not_done(tmp_path, monkeypatch):
    recommender = kp.StepsPerExecutionRecommender(tmp_path)
    original = recommender.executions

    def slow_start(executions):
        original(executions)
        recommender._times.first_ns = 200 * 10**9

    monkeypatch.setattr(recommender, "executions", slow_start)
    train([recommender], epochs=1)
    assert "would not pay" in recommender.recommendation.reason


@pytest.mark.whole
def test_mirrored_replicas_are_trained_the_same(processes, tmp_path):
    script = Path(__file__).parents[1] / "mirrored_trials.py"
    code, told = processes.script(script, tmp_path)
    assert code == 0, told[-2000:]
    assert "equal" in told


@pytest.mark.fault(1, "data that end before the `steps_per_epoch` of `fit`")
@pytest.mark.filterwarnings("ignore:Your input ran out of data")
def test_data_that_may_end_before_the_steps_of_an_epoch_are_not_tried(tmp_path):
    results = []
    recommender = kp.StepsPerExecutionRecommender(tmp_path, apply=True)
    for callbacks in ([], [recommender]):
        network = programs.model()
        history = network.fit(
            programs.dataset(45),
            steps_per_epoch=30,
            epochs=6,
            verbose=0,
            shuffle=False,
            callbacks=callbacks,
        )
        results.append((network, history.history))
    assert_equal_training(*results)
    assert "the data may end within a longer execution" in recommender.recommendation.reason


class RateByBatch(keras.callbacks.Callback):
    def on_train_batch_begin(self, batch, logs=None):
        self.model.optimizer.learning_rate = 0.001 * (1 + batch % 7)


@pytest.mark.fault(1, "a callback that sets the learning rate at each batch")
def test_a_later_fit_that_must_not_be_steered_is_not(tmp_path):
    results = []
    for callbacks in ([], [kp.StepsPerExecutionRecommender(tmp_path, apply=True)]):
        network, _ = train(callbacks)
        history = network.fit(
            programs.dataset(100), verbose=0, shuffle=False, callbacks=[RateByBatch(), *callbacks]
        )
        results.append((network, history.history))
    assert_equal_training(*results)


def test_a_subclass_of_a_callback_that_only_looks_may_steer(tmp_path):
    class Steers(keras.callbacks.CSVLogger):
        def on_train_batch_begin(self, batch, logs=None):
            self.model.optimizer.learning_rate = 0.1

    recommender = kp.StepsPerExecutionRecommender(tmp_path)
    train([Steers(tmp_path / "log.csv"), recommender], epochs=1)
    assert "Steers.on_train_batch_begin may steer" in recommender.recommendation.reason


def own(train_step):
    class Own(keras.Sequential):
        pass

    Own.train_step = train_step
    network = Own([keras.layers.Input((8,)), keras.layers.Dense(1)])
    network.compile("sgd", "mse", jit_compile=False)
    return network


def normal_noise(x):
    return tf.random.normal(tf.shape(x))


def sampled_candidates(x):
    labels = tf.zeros((8, 1), tf.int64)
    drawn = tf.random.log_uniform_candidate_sampler(labels, 1, 4, True, 100)
    return tf.cast(drawn.sampled_candidates[0], x.dtype)


@pytest.mark.fault(1, "a train step with random numbers of TensorFlow's own generator")
@pytest.mark.parametrize("draw", [normal_noise, sampled_candidates])
def test_a_train_step_that_draws_tf_random_numbers_is_not_tried(draw, tmp_path):
    def noisy(self, data):
        x, y = data
        return keras.Model.train_step(self, (x + draw(x), y))

    recommender = kp.StepsPerExecutionRecommender(tmp_path)
    own(noisy).fit(programs.dataset(200), verbose=0, shuffle=False, callbacks=[recommender])
    assert "draws tf.random numbers" in recommender.recommendation.reason


@pytest.mark.fault(1, "a train step that writes summaries")
def test_a_train_step_that_writes_summaries_is_not_tried(tmp_path):
    writer = tf.summary.create_file_writer(str(tmp_path / "own"))

    def writes(self, data):
        with writer.as_default():
            tf.summary.scalar("rows", tf.shape(data[0])[0], step=self.optimizer.iterations)
        return keras.Model.train_step(self, data)

    recommender = kp.StepsPerExecutionRecommender(tmp_path)
    own(writes).fit(programs.dataset(200), verbose=0, shuffle=False, callbacks=[recommender])
    assert "writes summaries" in recommender.recommendation.reason


@pytest.mark.fault(1, "a train step whose logs are no numbers")
def test_a_train_step_with_logs_that_are_no_numbers_is_not_tried(tmp_path):
    def by_row(self, data):
        return {**keras.Model.train_step(self, data), "rows": data[1][:, 0]}

    recommender = kp.StepsPerExecutionRecommender(tmp_path)
    own(by_row).fit(programs.dataset(200), verbose=0, shuffle=False, callbacks=[recommender])
    assert "no single numbers" in recommender.recommendation.reason


@pytest.mark.fault(1, "a train step that must be traced only once")
def test_no_code_of_the_users_is_traced_again(tmp_path):
    traces = []

    def once(self, data):
        traces.append(data)
        if len(traces) > 1:
            raise RuntimeError("once only")
        return keras.Model.train_step(self, data)

    recommender = kp.StepsPerExecutionRecommender(tmp_path)
    own(once).fit(programs.dataset(200), verbose=0, shuffle=False, callbacks=[recommender])
    assert recommender.recommendation.evidence["trial_executions"] > 3


@pytest.mark.fault(1, "a callback that saves the model, or captures a trace, between batches")
@pytest.mark.parametrize(
    "callback",
    [
        lambda path: keras.callbacks.ModelCheckpoint(path / "{epoch}-{batch}.keras", save_freq=16),
        lambda path: keras.callbacks.BackupAndRestore(path / "backup", save_freq=16),
        lambda path: keras.callbacks.TensorBoard(path / "tb", profile_batch=(150, 160)),
    ],
)
def test_a_callback_that_writes_the_model_or_a_trace_between_batches_is_not_tried_around(
    callback, tmp_path
):
    recommender = kp.StepsPerExecutionRecommender(tmp_path)
    train([callback(tmp_path), recommender], epochs=1)
    reason = recommender.recommendation.reason
    assert "between batches" in reason or "captures a trace" in reason
    if not isinstance(callback(tmp_path), keras.callbacks.ModelCheckpoint):
        return
    assert len(list(tmp_path.glob("*.keras"))) == 200 // 16


@pytest.mark.parametrize("update_freq", [5, "epoch"])
def test_a_callback_that_times_batches_is_not_tried_around_if_it_writes_them(tmp_path, update_freq):
    recommender = kp.StepsPerExecutionRecommender(tmp_path)
    board = keras.callbacks.TensorBoard(
        tmp_path / "tb", write_graph=False, write_steps_per_second=True, update_freq=update_freq
    )
    train([board, recommender], epochs=1)
    tried = recommender.recommendation.evidence.get("trial_executions", 0) > 0
    assert tried is (update_freq == "epoch")
    if not tried:
        assert "times each batch" in recommender.recommendation.reason


def test_no_trial_is_longer_than_an_execution_may_be(tmp_path):
    recommender = kp.StepsPerExecutionRecommender(tmp_path, max_execution_s=0.008)
    train([recommender])
    trials_ms = recommender.recommendation.evidence["trials"]
    assert max(trials_ms) < 32
    # Some were made, but where two steps alone take longer.
    assert max(trials_ms) > 1 or 2 * trials_ms[1] > 8


@programs.needs_gap_times
@pytest.mark.timing
def test_an_input_bound_training_is_told_that_the_number_cannot_help(tmp_path, monkeypatch):
    """Beside a busy neighbour a step may compute for as long as a wait of a few milliseconds."""
    monkeypatch.setattr("keras_perf.observers.steps_trial.steps_to_try.LONG_STEP_MS", math.inf)
    recommender = kp.StepsPerExecutionRecommender(tmp_path)
    data = programs.dataset(200, input_ms=6 * programs.paused_step_ms()).prefetch(2)
    programs.model().fit(data, epochs=2, verbose=0, shuffle=False, callbacks=[recommender])
    record = recommender.recommendation
    assert record.steps_per_execution == 1
    assert record.reason.startswith("no change: input-bound."), record


def test_trials_take_no_more_than_half_of_a_short_training(tmp_path):
    recommender = kp.StepsPerExecutionRecommender(tmp_path)
    train([recommender], epochs=1, batches=120)
    trials = recommender.recommendation.evidence
    longer = [n for n in trials["trials"] if n > 1]
    assert trials["trial_executions"] * max(longer) <= 60


@pytest.mark.parametrize("epochs", [1, 12])
def test_applied_is_recorded_only_where_longer_executions_were_run(epochs, told, tmp_path):
    recommender = kp.StepsPerExecutionRecommender(tmp_path, apply=True)
    train([recommender, kp.StepGapDetector(tmp_path)], epochs=epochs, batches=150)
    trial = kp.diagnose(tmp_path).summary.facts.to_json()["steps_per_execution_trial"]
    longer = [e for e in told if e.kind is not Kind.TRIAL and e.steps > 1]
    assert trial["applied"] is bool(longer)
    # Trials take half of the steps at most; a busy machine may show no gain.
    assert longer or epochs == 1 or trial["recommended"] == 1


@pytest.mark.parametrize(("free", "steps"), [(48, 32), (100, 64), (sys.maxsize, 64)])
def test_before_a_window_whole_executions_are_put_together(free, steps, tmp_path):
    recommender = kp.StepsPerExecutionRecommender(tmp_path, apply=True)
    plan = Plan(None, 32, Kind.STEADY)
    recommender._found_before = SimpleNamespace(steps=64)
    trials = SimpleNamespace(
        at_most=lambda steps: steps,
        longer=lambda plan, steps, kind: plan._replace(steps=steps),
        refuses=lambda: None,
    )
    audience = SimpleNamespace(free_steps=lambda: free)
    recommender.observation = SimpleNamespace(audience=audience, trials=trials)
    assert recommender._applied(plan).steps == steps
