"""try_advice: measured on the training itself, which is as it was afterwards."""

import gc
import os
import random
import signal
import time
from dataclasses import replace
from types import SimpleNamespace

import keras
import numpy as np
import psutil
import pytest
import tensorflow as tf

import keras_perf as kp
from keras_perf.analyse.training import newest_training
from keras_perf.records.advice_ids import RAISE_STEPS_PER_EXECUTION
from keras_perf.records.run.tried.advice_trials import AdviceTrials, TriedChange
from keras_perf.trials.arguments import check_replicas
from keras_perf.trials.backends import tensorflow_training
from keras_perf.trials.measuring import side_by_side
from keras_perf.trials.measuring.in_turn import Pair
from keras_perf.trials.measuring.progress import Progress
from keras_perf.trials.rewriting import shuffle_buffers
from keras_perf.trials.rewriting.changes import possible_changes
from keras_perf.trials.rewriting.changes.cache import cache
from keras_perf.trials.rewriting.keeping import Kept
from keras_perf.trials.rewriting.own_copy import require_graph
from keras_perf.trials.train_functions.restored import KeptState
from keras_perf.trials.training import (
    budget,
    changes,
    first_look,
    precision,
    running,
    search,
    trier,
    which_changes,
)
from keras_perf.trials.training.setup import Setup
from keras_perf.trials.training.tried_advice import TriedAdvice
from keras_perf.trials.try_advice import _own
from keras_perf.trials.trying import tried_advice

FEATURES = 8
READY, NOISE = (3.0, 2.9), (1.01, 0.9)


@pytest.fixture
def short_slices(monkeypatch):
    for module in (side_by_side, running):
        monkeypatch.setattr(module, "SLICE_S", 0.01)
    monkeypatch.setattr(budget, "PAIR_S", (0.02, 0.05))


def rows(count=64):
    x = np.arange(count * FEATURES, dtype="float32").reshape(count, FEATURES) / 500
    return tf.data.Dataset.from_tensor_slices((x, x[:, :1]))


WAIT_S = 0.01


def waiting(x, y):
    def wait(values):
        time.sleep(WAIT_S)
        return values

    return tf.ensure_shape(tf.numpy_function(wait, [x], x.dtype), x.shape), y


def dense(**compiled):
    keras.utils.set_random_seed(3)
    model = keras.Sequential(
        [
            keras.Input((FEATURES,)),
            keras.layers.Dense(16, activation="relu"),
            keras.layers.Dropout(0.2),
            keras.layers.Dense(1),
        ]
    )
    settings = {"jit_compile": False, "metrics": ["mae"], **compiled}
    model.compile("adam", "mse", **settings)
    return model


def state(model):
    metrics = [v for each in model.metrics for v in each.variables]
    all_ = (*model.variables, *model.optimizer.variables, *metrics)
    return [keras.ops.convert_to_numpy(variable) for variable in all_]


def assert_equal(found, expected):
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)


def in_this_order(monkeypatch, gains):
    """Pairs are as scripted: the training beside a ready batch, each change alone, all together."""
    left = list(gains)

    def scripted(*_, **__):
        gain, low = left.pop(0)
        return Pair(10.0, 10.0 / gain, gain, low, 2 * gain - low)

    class Nothing:
        def __init__(self, *_):
            pass

        def step_ms(self):
            return 10.0

        def batch_ms(self):
            return 1.0

        def settle(self):
            return 0.0

        feed = SimpleNamespace(take=lambda batches: None)
        making_s, slice_s, compiles = 0.0, 0.0, False
        hooks_s = executed_s = 1.0

    monkeypatch.setattr(trier.Trier, "pair", scripted)
    for module in (search, first_look, trier):
        monkeypatch.setattr(module, "RunningTraining", Nothing)
    monkeypatch.setattr(first_look, "EndlessPipeline", Nothing)
    # Several steps per execution come before XLA, as for short steps.
    monkeypatch.setattr(changes, "EXECUTION_MS", 10.0)
    # Whatever processor this is, and whatever else is in its memory.
    monkeypatch.setattr(precision, "cpu_has_bfloat16", lambda: False)
    monkeypatch.setattr(changes, "why_no_room", lambda *_: "")
    return left


def no_change_of_the_step(monkeypatch):
    monkeypatch.setattr(which_changes, "of_training", lambda *_: [])
    monkeypatch.setattr(search, "at_this_speed", lambda *_: [])


# -- what is left behind -----------------------------------------------------------------


@pytest.mark.usefixtures("short_slices")
def test_model_optimizer_metrics_and_seeds_are_as_they_were():
    model, data = dense(), rows().shuffle(64, seed=1).batch(8)
    model.fit(data, shuffle=False, verbose=0)
    before = state(model)
    random.seed(5), np.random.seed(5)
    expected = random.random(), np.random.random()
    random.seed(5), np.random.seed(5)
    kp.try_advice(model, data, budget_s=2.0)
    assert_equal(state(model), before)
    assert (random.random(), np.random.random()) == expected


@pytest.mark.usefixtures("short_slices")
def test_the_next_training_is_the_one_it_would_have_been():
    def trained(tries):
        model, data = dense(), rows().shuffle(64, seed=1).batch(8).map(lambda x, y: (2 * x, y))
        model.fit(data, shuffle=False, verbose=0)
        if tries:
            kp.try_advice(model, data, budget_s=1.0)
        model.fit(data, shuffle=False, verbose=0)
        return state(model)

    assert_equal(trained(tries=True), trained(tries=False))


@pytest.mark.parametrize(("beside_ready", "free"), [((1.0, 0.99), True), (READY, False)])
def test_ctrl_c_ends_the_trials_and_keeps_what_is_known(monkeypatch, beside_ready, free):
    def more(x, y):
        return x + 1, y

    model, data = dense(), rows().batch(8).map(more).map(more)
    model.fit(data, shuffle=False, verbose=0)
    before, said = state(model), []

    def tries(self, what, left_s):
        said.append(what)
        if what.startswith("enable-xla"):
            raise KeyboardInterrupt

    monkeypatch.setattr(Progress, "tries", tries)
    in_this_order(monkeypatch, [beside_ready, *[(2.0, 1.9)] * 9])
    tried = kp.try_advice(model, data)
    assert tried.trials.stopped == "an interrupt"
    alone = {each.id for each in tried.trials.changes}
    assert ("raise-steps-per-execution" in alone) == free == ("cache" not in alone)
    assert "tune-gc" not in alone
    # XLA is tried on top of a cache, which was put there before.
    assert [each.id for each in tried.changes] == ([] if free else ["cache"])
    assert (tried.dataset is data) == free
    assert_equal(state(model), before)


@pytest.mark.usefixtures("short_slices")
def test_an_interrupt_between_two_assignments_of_a_step_leaves_no_half_of_it():
    class Counts(keras.layers.Layer):
        """Has counted a step when it is interrupted, whose weights are still to be changed."""

        calls = 0

        def build(self, shape):
            self.seen = self.add_weight(shape=(), initializer="zeros", trainable=False)

        def call(self, x):
            self.seen.assign_add(1.0)
            Counts.calls += 1
            if Counts.calls > 20:
                raise KeyboardInterrupt
            return x

    keras.utils.set_random_seed(3)
    layers = [keras.Input((FEATURES,)), Counts(), keras.layers.Dense(1)]
    model, data = keras.Sequential(layers), rows().batch(8)
    model.compile("adam", "mse", run_eagerly=True, metrics=["mae"])
    model.fit(data, shuffle=False, verbose=0)
    before = state(model)
    assert kp.try_advice(model, data).trials.stopped == "an interrupt"
    assert Counts.calls == 21
    assert_equal(state(model), before)


def test_ctrl_c_between_two_variables_that_are_put_back_waits_for_all_of_them(monkeypatch):
    model = dense()
    model.fit(rows().batch(8), shuffle=False, verbose=0)
    before, kept = state(model), KeptState(model)
    model.fit(rows().batch(8), shuffle=False, verbose=0)
    kind = type(model.weights[0].value)
    assign, assigned = kind.assign, []

    def interrupted(self, *arguments, **options):
        assigned.append(self)
        if len(assigned) == 2:
            os.kill(os.getpid(), signal.SIGINT)
        return assign(self, *arguments, **options)

    monkeypatch.setattr(kind, "assign", interrupted)
    with pytest.raises(KeyboardInterrupt):
        kept.put_back()
    assert len(assigned) > 2
    assert_equal(state(model), before)


@pytest.mark.usefixtures("short_slices")
def test_steps_too_long_for_the_budget_are_looked_at_no_longer_than_that_takes_to_see(monkeypatch):
    ran = []
    run_for = running.RunningTraining._run_for

    def takes_long(self, seconds):
        ran.append(self)
        return replace(run_for(self, 0.0), seconds=10.0, calls=1, units=1)

    monkeypatch.setattr(running.RunningTraining, "_run_for", takes_long)
    found = kp.try_advice(dense(), rows().batch(8), budget_s=100.0).trials
    assert found.stopped == "steps so long that two trainings in turn take 120 s of 100 s"
    assert (found.step_ms, found.changes, len(ran)) == (0.0, (), 3)


@pytest.mark.usefixtures("short_slices")
def test_what_xla_refuses_is_told_and_costs_nothing():
    model = keras.Sequential(
        [
            keras.Input((FEATURES,)),
            keras.layers.Lambda(
                lambda x: tf.ensure_shape(tf.numpy_function(lambda v: v, [x], x.dtype), x.shape)
            ),
            keras.layers.Dense(1),
        ]
    )
    model.compile("sgd", "mse", jit_compile=False)
    data = rows().batch(8)
    model.fit(data, shuffle=False, verbose=0)
    before = state(model)
    tried = kp.try_advice(model, data, budget_s=60.0)
    (why,) = (each.why for each in tried.trials.not_tried if each.id == "enable-xla")
    assert "PyFunc" in why
    assert_equal(state(model), before)


# -- what is found -----------------------------------------------------------------------


def usual_step_s(model):
    """What a step takes here and now: a wait that is to outlast it is a multiple of that."""
    batches = rows().batch(8).repeat(10)
    model.fit(batches, shuffle=False, verbose=0)
    begin = time.perf_counter()
    model.fit(batches, shuffle=False, verbose=0)
    return (time.perf_counter() - begin) / 80


@pytest.mark.whole
@pytest.mark.timing
def test_a_map_that_waits_is_found_and_the_dataset_mends_it(monkeypatch):
    wait_s = max(WAIT_S, 5 * usual_step_s(dense()))
    monkeypatch.setattr(f"{__name__}.WAIT_S", wait_s)
    monkeypatch.setattr(running, "SLICE_S", 8 * wait_s)
    model, data = dense(), rows().batch(8).map(waiting)
    tried = kp.try_advice(model, data, budget_s=60.0)
    assert tried.best.id in ("parallel-map", "cache", "private-threadpool")
    assert tried.gain > 1.5
    assert tried.trials.input_costs_ms > 500 * wait_s
    assert_equal([x for x, _ in tried.dataset], [x for x, _ in data])
    frame = tried.to_frame()
    assert set(frame[frame["kept"]]["id"]) == {each.id for each in tried.changes}
    assert "Worth it" in str(tried)


@pytest.mark.timing
@pytest.mark.usefixtures("short_slices")
def test_a_model_that_runs_eagerly_is_compiled():
    tried = kp.try_advice(dense(run_eagerly=True), rows().batch(8), budget_s=60.0)
    assert "disable-run-eagerly" in {each.id for each in tried.changes}


@pytest.fixture
def eager_functions():
    tf.config.run_functions_eagerly(True)
    yield
    tf.config.run_functions_eagerly(False)


@pytest.mark.usefixtures("short_slices", "eager_functions")
def test_where_all_functions_run_eagerly_the_change_alone_is_traced():
    graphs, eager = [], []

    class Noted(keras.layers.Layer):
        def call(self, x):
            (eager if tf.executing_eagerly() else graphs).append(tf.config.functions_run_eagerly())
            return x

    keras.utils.set_random_seed(3)
    model = keras.Sequential([keras.Input((FEATURES,)), Noted(), keras.layers.Dense(1)])
    model.compile("adam", "mse", jit_compile=False)
    data = rows().batch(8)
    model.fit(data, shuffle=False, verbose=0)
    before = state(model)
    graphs.clear(), eager.clear()
    found = kp.try_advice(model, data, budget_s=60.0).trials
    # As it is, every step runs the layer's Python; with the change it is traced, and seldom.
    assert len(eager) > len(graphs) > 0
    assert set(graphs) == {False}
    assert set(eager) == {True}
    tried = {each.id: each.code for each in found.changes}
    assert tried["disable-run-eagerly"] == "tf.config.run_functions_eagerly(False)"
    assert not {"enable-xla", "raise-steps-per-execution"} & tried.keys()
    assert tf.config.functions_run_eagerly()
    assert_equal(state(model), before)


@pytest.mark.timing
@pytest.mark.usefixtures("short_slices")
def test_each_callback_is_left_out_on_trial():
    model = dense()
    wait_s = max(0.01, 5 * usual_step_s(model))

    class Waits(keras.callbacks.Callback):
        begun = 0

        def on_epoch_begin(self, epoch, logs=None):
            self.begun += 1

        def on_train_batch_end(self, batch, logs=None):
            time.sleep(wait_s)

    callback = Waits()
    tried = kp.try_advice(model, rows().batch(8), callbacks=[callback], budget_s=60.0)
    (left_out,) = (each for each in tried.trials.changes if each.where == "Waits")
    assert left_out.low > 1.5
    assert left_out.alters
    assert left_out.id not in {each.id for each in tried.changes}
    assert callback.begun == 1


class Ends(keras.callbacks.Callback):
    """Keeps the logs of the epoch."""

    logs = None

    def on_epoch_end(self, epoch, logs=None):
        self.logs = logs


@pytest.mark.usefixtures("short_slices")
def test_a_metric_of_several_numbers_is_given_to_hooks_as_it_is():
    model = keras.Sequential([keras.Input((FEATURES,)), keras.layers.Dense(2, "softmax")])
    model.compile("sgd", "mse", metrics=[keras.metrics.F1Score()], jit_compile=False)
    data = rows().map(lambda x, y: (x, tf.one_hot(0, 2))).batch(8)
    callback = Ends()
    tried = kp.try_advice(model, data, callbacks=[callback], budget_s=1.0)
    assert tried.trials.step_ms > 0
    assert np.shape(callback.logs["f1_score"]) == (2,)
    assert isinstance(callback.logs["loss"], float)


def test_before_the_first_trace_the_hooks_of_an_epoch_get_no_logs(monkeypatch):
    def ends_with(error):
        def raises(*_, **__):
            raise error

        monkeypatch.setattr(tensorflow_training, "function_on_trial", raises)
        callback = Ends()
        return callback, kp.try_advice(dense(), rows().batch(8), callbacks=[callback])

    callback, tried = ends_with(KeyboardInterrupt())
    assert tried.trials.stopped == "an interrupt"
    assert callback.logs == {}
    with pytest.raises(RuntimeError, match="of the model"):
        ends_with(RuntimeError("of the model"))


@pytest.mark.whole
@pytest.mark.usefixtures("short_slices")
def test_lengths_that_vary_are_padded_or_not_compiled_whichever_is_faster():
    def ones(length):
        return tf.ones([4, length, 3]), tf.ones([4, 1])

    data = tf.data.Dataset.range(5, 12).map(ones)
    model = keras.Sequential([keras.Input((None, 3)), keras.layers.GlobalAveragePooling1D()])
    model.add(keras.layers.Dense(1))
    model.compile("sgd", "mse", jit_compile=True)
    tried = kp.try_advice(model, data, budget_s=60.0)
    assert {"stable-shapes", "disable-xla"} <= {each.id for each in tried.trials.changes}
    assert not tried.trials.one_shape
    # No gain counts what compiling takes, so it is told beside them.
    assert tried.trials.compilations > 0
    assert tried.trials.compiling_s > 0
    assert f"XLA seems to have compiled in {tried.trials.compilations} executions, " in str(tried)


@pytest.mark.parametrize(
    ("after_ms", "told"),
    [
        (0.9, ". Without XLA a step takes no longer, and nothing is compiled."),
        (1.5, ". A training of fewer than 12,000 steps is faster without XLA."),
    ],
)
def test_until_when_a_training_is_faster_without_xla_is_told(after_ms, told):
    change = TriedChange(
        id="disable-xla", gain=9 / after_ms, low=5.0, high=11.0, before_ms=9.0, after_ms=after_ms
    )
    trials = AdviceTrials(
        step_ms=9.0,
        ready_ms=1.0,
        one_shape=False,
        compilations=20,
        compiling_s=6.0,
        changes=(change,),
    )
    said = str(TriedAdvice(trials, None))
    assert "XLA seems to have compiled in 20 executions, for their lengths: 6.0 s in all" in said
    assert f"which a training has once and no gain counts{told}\n" in said
    assert "XLA" not in str(TriedAdvice(AdviceTrials(step_ms=1.0), None))


def test_what_was_found_is_written_into_the_run(monkeypatch, tmp_path):
    found, _ = scripted_trial(monkeypatch, [NOISE] * 4, log_dir=tmp_path)
    assert newest_training(tmp_path).summary().facts.advice_trials == found.trials
    assert "Tried on this training" in str(kp.diagnose(tmp_path))


def test_what_was_known_at_an_interrupt_is_written_into_the_run(monkeypatch, tmp_path):
    def interrupted(self):
        raise KeyboardInterrupt

    monkeypatch.setattr(search.Search, "_changes", interrupted)
    found, _ = scripted_trial(monkeypatch, [], log_dir=tmp_path)
    assert found.trials.stopped == "an interrupt"
    written = newest_training(tmp_path).summary().facts.advice_trials
    assert (written.step_ms, written.stopped) == (10.0, "an interrupt")


# -- what is put together ----------------------------------------------------------------


LARGER_BATCH = 3.0, 2.9
"""It alters training, so it comes last, and nothing is put on top of it."""


def scripted_trial(monkeypatch, gains, has_time=lambda *_: True, **settings):
    left = in_this_order(monkeypatch, [READY, *gains])
    monkeypatch.setattr(which_changes, "possible_changes", lambda *_, **__: ([], []))
    monkeypatch.setattr(search.Search, "_has_time", has_time)
    # Other tests leave objects that no collector looks at, as somebody does who has tuned it.
    monkeypatch.setattr(gc, "get_freeze_count", lambda: 0)
    found = kp.try_advice(dense(), rows().batch(8), budget_s=1e4, **settings)
    return found, left


def test_the_best_comes_first_and_others_only_if_they_pay_on_top(monkeypatch):
    alone = [(2.0, 1.9), (1.5, 1.4), NOISE]  # several steps, XLA, collector
    on_top = [(2.1, 2.0), (1.0, 0.99), NOISE]
    found, left = scripted_trial(monkeypatch, [*alone, *on_top, LARGER_BATCH])
    assert [each.id for each in found.changes] == ["raise-steps-per-execution"]
    assert found.trials.changes[-1].id == "larger-batch"
    assert found.trials.total.gain == 2.1
    assert not left


@pytest.mark.parametrize("pays", [True, False])
def test_what_there_was_no_time_for_alone_is_tried_on_top(pays, monkeypatch):
    late = "raise-steps-per-execution"

    def has_time(self, change, left_s):
        if change.id == late:
            self._trier.leaves_out(change, "no time")
        return change.id != late

    xla = (2.0, 1.9)
    on_top = [xla, NOISE, *([(1.5, 1.4), READY] if pays else [NOISE])]
    gains = [xla, NOISE, *on_top, LARGER_BATCH]  # XLA, the collector
    found, left = scripted_trial(monkeypatch, gains, has_time)
    assert [each.id for each in found.changes] == ["enable-xla", *[late] * pays]
    why = {each.id: str(each.why) for each in found.trials.not_tried}.get(late, "")
    assert ("on top of what is worth it, it gains nothing" in why) == (not pays)
    assert found.trials.total.gain == (3.0 if pays else 2.0)
    assert set(found.to_frame().query("kept")["id"]) == {each.id for each in found.changes}
    assert not left


def with_input(monkeypatch, gains, *, beside_ready=READY, batch_ms=1.0):
    """A trial of one change of an input that sets the pace, and of all changes of the step."""

    def parallel_map(*_, **__):
        found, _ = possible_changes(require_graph(data))
        return [each for each in found if each.id == "parallel-map"], []

    # As many as the longest execution has steps.
    data = rows().batch(8).map(lambda x, y: (x + 1, y)).repeat(changes.MOST_CALLS)
    left = in_this_order(monkeypatch, [beside_ready, *gains])
    monkeypatch.setattr(first_look.EndlessPipeline, "batch_ms", lambda self: batch_ms)
    monkeypatch.setattr(which_changes, "possible_changes", parallel_map)
    monkeypatch.setattr(trier.Trier, "_against", lambda *_: "")
    monkeypatch.setattr(gc, "get_freeze_count", lambda: 0)
    found = kp.try_advice(dense(), data, budget_s=1e4)
    assert not left
    return found


@pytest.mark.parametrize(
    ("data", "epoch_steps", "number"),
    [
        (rows().batch(8).take(3), None, 3),
        (rows().batch(8).take(1), None, None),
        (rows().batch(8).repeat(), 10, 10),
        # An epoch of whole executions; of 97 steps no number near makes such.
        (rows().batch(8).repeat(), 100, 25),
        (rows().batch(8).repeat(), 97, changes.MOST_CALLS),
        (rows().batch(8).repeat(), None, changes.MOST_CALLS),
    ],
)
def test_an_execution_is_no_longer_than_an_epoch(data, epoch_steps, number):
    setup = Setup(dense(), require_graph(data), False, False, epoch_steps=epoch_steps)
    several = (
        each for each in changes.of_training(setup, 1.0) if each.id == RAISE_STEPS_PER_EXECUTION
    )
    assert next((each.number for each in several), None) == number


def test_changes_of_a_step_are_tried_on_top_of_a_quick_input(monkeypatch):
    """Alone they would have seemed to gain nothing, and the time would have been gone."""
    on_top = [(4.0, 3.9), NOISE, NOISE]  # several steps, XLA, the collector
    found = with_input(monkeypatch, [(2.0, 1.9), (2.0, 1.9), *on_top, (8.0, 7.8), LARGER_BATCH])
    assert [each.id for each in found.trials.changes] == ["parallel-map", "larger-batch"]
    assert [each.id for each in found.changes] == ["parallel-map", "raise-steps-per-execution"]
    assert found.changes[1].after == ("parallel-map",)
    # As many as a step of 5 ms asks for, and not one of 10.
    assert found.changes[1].number == changes.MOST_CALLS > 1e3 * changes.LONGEST_S / 10
    why = {each.id: str(each.why) for each in found.trials.not_tried}
    for id in ("enable-xla", "tune-gc"):
        assert "tried only on top of what is worth it, it gains nothing" in why[id]
    assert found.gain == 8.0


def test_where_the_input_gains_nothing_the_second_time_the_step_is_tried_alone(monkeypatch):
    alone = [(4.0, 3.9), NOISE, NOISE]
    again = [(4.0, 3.9), NOISE, NOISE]
    found = with_input(monkeypatch, [(2.0, 1.9), NOISE, *alone, *again, NOISE])
    assert [each.id for each in found.changes] == ["raise-steps-per-execution"]
    assert {each.id for each in found.trials.changes} >= {"enable-xla", "tune-gc", "larger-batch"}
    assert found.gain == 4.0


@pytest.mark.parametrize("gains", [True, False])
def test_where_input_and_step_hide_each_other_both_are_changed_at_once(monkeypatch, gains):
    """A batch takes as long as a step: alone neither a quicker input nor a quicker step gains."""
    alone = [NOISE] * 4  # the map, several steps, XLA, the collector
    on_top = [NOISE, (1.8, 1.7) if gains else NOISE, NOISE, NOISE]
    # If nothing gains on top of the quicker input, it goes, too.
    total = [(1.7, 1.6)] if gains else []
    pairs = [*alone, *on_top, *total, LARGER_BATCH]
    found = with_input(monkeypatch, pairs, beside_ready=(1.1, 1.05), batch_ms=9.0)
    together = ["parallel-map", "raise-steps-per-execution"] if gains else []
    assert [each.id for each in found.changes] == together
    assert found.gain == (1.7 if gains else 1.0)
    if gains:
        shown = [(each.id, each.gain) for each in found.trials.measured]
        assert ("raise-steps-per-execution", 1.8) in shown
        assert found.best is None
        assert "(The first gains next to nothing alone, and the others without it.)" in str(found)
    ids = [each.id for each in found.trials.not_tried]
    assert not {"enable-xla", "tune-gc"} & {*ids}


def test_ctrl_c_leaves_no_change_that_gains_only_with_others(monkeypatch):
    said = []

    def tries(self, what, left_s):
        said.append(what)
        if what == "all together":
            raise KeyboardInterrupt

    monkeypatch.setattr(Progress, "tries", tries)
    pairs = [*[NOISE] * 4, NOISE, (1.8, 1.7), NOISE, NOISE]
    found = with_input(monkeypatch, pairs, beside_ready=(1.1, 1.05), batch_ms=9.0)
    assert found.trials.stopped == "an interrupt"
    assert (found.changes, found.gain, found.best) == ((), 1.0, None)


def test_how_many_steps_is_left_to_who_tries_it_already(monkeypatch):
    """Also where both are changed at once."""

    def parallel_map(*_, **__):
        found, _ = possible_changes(require_graph(data))
        return [each for each in found if each.id == "parallel-map"], []

    data = rows().batch(8).map(lambda x, y: (x + 1, y))
    in_this_order(monkeypatch, [(1.1, 1.05), *[NOISE] * 9])
    monkeypatch.setattr(first_look.EndlessPipeline, "batch_ms", lambda self: 9.0)
    monkeypatch.setattr(which_changes, "possible_changes", parallel_map)
    monkeypatch.setattr(trier.Trier, "_against", lambda *_: "")
    several = "raise-steps-per-execution"
    found = tried_advice(dense(), data, without=(several,), budget_s=1e4).trials
    named = {each.id for each in (*found.changes, *found.together, *found.not_tried)}
    assert several not in named


def test_what_a_cache_holds_is_told_where_it_is_put_together_too(monkeypatch):
    def of_input_alone(*_, **__):
        [change] = (each for each in cache(require_graph(data)))
        return [change], []

    data = rows().batch(8).map(lambda x, y: (x + 1, y))
    monkeypatch.setattr(which_changes, "possible_changes", of_input_alone)
    no_change_of_the_step(monkeypatch)
    monkeypatch.setattr(search.Search, "_has_time", lambda *_: True)
    in_this_order(monkeypatch, [READY, (2.0, 1.9), (2.0, 1.9)])
    monkeypatch.setattr(trier.Trier, "_kept_anew", lambda *_: Kept(size_mib=2.0))
    found = kp.try_advice(dense(), data, budget_s=1e4)
    [alone], [together] = found.trials.changes, found.changes
    assert alone.costs == together.costs
    assert together.costs.endswith("was not timed; it holds 2 MiB")
    assert f"# costs {together.costs}" in str(found)


@pytest.mark.parametrize(
    ("half_free", "at", "too_large"),
    [(1_000_000, "map(widened)", []), (10_000, "map(plus_one)", ["map(widened)"])],
)
def test_an_earlier_cache_is_tried_only_if_the_later_one_has_no_room(
    half_free, at, too_large, monkeypatch
):
    """What the one keeps is 2 kB, and what the other one keeps 100 times as much."""

    def plus_one(x, y):
        return x + 1, y

    def widened(x, y):
        return x, tf.tile(y, [1, 800])

    data = rows().batch(8).map(plus_one).map(widened)
    caches = [*cache(require_graph(data))]
    memory = SimpleNamespace(available=2 * half_free)
    monkeypatch.setattr(psutil, "virtual_memory", lambda: memory)
    monkeypatch.setattr(which_changes, "possible_changes", lambda *_, **__: (caches, []))
    no_change_of_the_step(monkeypatch)
    monkeypatch.setattr(search.Search, "_has_time", lambda *_: True)
    in_this_order(monkeypatch, [READY, NOISE])
    found = kp.try_advice(dense(), data, budget_s=1e4)
    assert [each.where for each in found.trials.changes] == [at]
    assert [each.where for each in found.trials.not_tried] == too_large


def with_files(monkeypatch, folder, gains):
    """A trial without room in memory, whose pairs are as scripted; the files are real."""
    left, called = [READY, *gains], []

    def scripted(*_, **__):
        gain, low = left.pop(0)
        return Pair(10.0, 10.0 / gain, gain, low, 2 * gain - low)

    def noted(values):
        called.append(1)
        return values + 1

    def counted(x, y):
        return tf.ensure_shape(tf.numpy_function(noted, [x], x.dtype), x.shape), y

    monkeypatch.setattr(trier.Trier, "pair", scripted)
    no_change_of_the_step(monkeypatch)
    monkeypatch.setattr(psutil, "virtual_memory", lambda: SimpleNamespace(available=8.0))
    model, data = dense(), rows().batch(8).map(counted)
    found = kp.try_advice(model, data, budget_s=1e4, cache_dir=folder)
    before = len(called)
    kept = model.fit(found.dataset, epochs=2, shuffle=False, verbose=0).history
    calls = len(called) - before
    assert kept == dense().fit(data, epochs=2, shuffle=False, verbose=0).history
    assert not left
    return found, calls


# In the order in which they are tried: the files, the map in parallel, the pool, the prefetch.
FILES_ALONE = [(1.5, 1.4), NOISE, NOISE, NOISE]
FILES_ON_TOP = [(1.5, 1.4), (2.0, 1.9), NOISE, NOISE]


@pytest.mark.usefixtures("short_slices")
def test_where_the_training_raises_no_files_stay(monkeypatch, tmp_path):
    with pytest.raises(IndexError):
        with_files(monkeypatch, tmp_path, [(2.0, 1.9), (1.5, 1.4), NOISE, NOISE])
    assert not list(tmp_path.iterdir())


@pytest.mark.usefixtures("short_slices")
@pytest.mark.parametrize(
    "gains",
    [
        [*FILES_ALONE, (1.5, 1.4)],
        [*FILES_ON_TOP, (2.0, 1.9), (1.5, 1.4), (3.0, 2.9)],
        [(2.0, 1.9), (1.5, 1.4), NOISE, NOISE, (2.0, 1.9), (1.5, 1.4), (3.0, 2.9)],
    ],
)
def test_a_cache_in_files_that_pays_is_read_by_the_dataset_returned(monkeypatch, tmp_path, gains):
    found, calls = with_files(monkeypatch, tmp_path, gains)
    [folder] = tmp_path.iterdir()
    assert "cache" in {each.id for each in found.changes}
    assert "cache" not in {each.id for each in found.trials.not_tried}
    assert f".cache('{folder}" in str(found)
    assert f"files in {folder}, which stay there" in str(found)
    assert calls == 0


@pytest.mark.usefixtures("short_slices")
@pytest.mark.parametrize("gains", [[NOISE] * 4, [*FILES_ON_TOP, (2.0, 1.9), NOISE, NOISE, NOISE]])
def test_files_of_a_cache_that_does_not_pay_are_taken_away(monkeypatch, tmp_path, gains):
    found, calls = with_files(monkeypatch, tmp_path, gains)
    assert "cache" in {each.id for each in found.trials.changes}
    assert "cache" not in {each.id for each in found.changes}
    assert not list(tmp_path.iterdir())
    assert calls > 0


def test_all_together_is_measured_beside_the_training_as_it_was(monkeypatch):
    alone = [(2.0, 1.9), (1.5, 1.4), NOISE]
    on_top = [(2.1, 2.0), (1.3, 1.2), NOISE, (2.6, 2.5)]
    found, left = scripted_trial(monkeypatch, [*alone, *on_top, LARGER_BATCH])
    assert [each.id for each in found.changes] == ["raise-steps-per-execution", "enable-xla"]
    assert found.changes[1].after == ("raise-steps-per-execution",)
    assert found.gain == 2.6
    assert not left


def test_what_does_not_pay_the_second_time_is_not_advised(monkeypatch):
    found, _ = scripted_trial(monkeypatch, [(1.3, 1.1), NOISE, NOISE, NOISE, NOISE, NOISE, NOISE])
    assert found.changes == ()
    assert found.best is None
    kept = "No change is worth it: the training stays as it is; measured again, raise-steps-per"
    assert kept in str(found)


def test_the_best_alone_is_kept_where_no_time_is_left(monkeypatch):
    monkeypatch.setattr(budget.Budget, "left_s", 0.0)
    found, left = scripted_trial(monkeypatch, [(2.0, 1.9), NOISE, NOISE, NOISE])
    assert [each.id for each in found.changes] == ["raise-steps-per-execution"]
    assert found.gain == 2.0
    assert not left


def test_where_nothing_pays_alone_nothing_is_tried_together(monkeypatch):
    found, left = scripted_trial(monkeypatch, [NOISE] * 4)
    assert found.changes == ()
    assert found.gain == 1.0
    assert not left


@pytest.mark.parametrize(("batch_ms", "first"), [(5.0, "parallel-map"), (1.0, "tune-gc")])
def test_where_lengths_differ_the_slower_of_input_and_step_is_tried_first(
    monkeypatch, batch_ms, first
):
    def ones(length):
        return tf.ones([4, length, FEATURES]), tf.ones([4, length, 1])

    said = []
    monkeypatch.setattr(Progress, "tries", lambda self, what, left_s: said.append(what))
    monkeypatch.setattr(gc, "get_freeze_count", lambda: 0)
    in_this_order(monkeypatch, [READY, *[NOISE] * 20])
    # A step takes 10 ms, and its ready batch, of one length, does not stand for all of them.
    monkeypatch.setattr(first_look.EndlessPipeline, "batch_ms", lambda self: batch_ms)
    model = keras.Sequential([keras.Input((None, FEATURES)), keras.layers.Dense(1)])
    model.compile("sgd", "mse", jit_compile=False)
    kp.try_advice(model, tf.data.Dataset.range(5, 12).map(ones), budget_s=1e4)
    changes = [what.split(" (")[0] for what in said if " (" in what]
    of_input, of_step = changes.index("parallel-map"), changes.index("tune-gc")
    assert (of_input < of_step) == (first == "parallel-map")


@pytest.mark.parametrize(
    ("outside_ms", "first"), [(15.0, "amortize-callback"), (5.0, "enable-xla")]
)
def test_what_callbacks_cost_comes_first_where_most_of_a_step_is_outside(
    monkeypatch, outside_ms, first
):
    said, model = [], dense()
    monkeypatch.setattr(Progress, "tries", lambda self, what, left_s: said.append(what))
    monkeypatch.setattr(gc, "get_freeze_count", lambda: 0)
    monkeypatch.setattr(which_changes, "possible_changes", lambda *_, **__: ([], []))
    in_this_order(monkeypatch, [(1.0, 0.9), *[(1.4, 1.35)] * 9])
    callback = keras.callbacks.LambdaCallback(on_train_batch_end=lambda *_: None)
    callback.set_model(model)
    found = tried_advice(
        model,
        rows().batch(8),
        callbacks=(callback,),
        mid_epoch=True,
        outside_ms=outside_ms,
        without=("raise-steps-per-execution", "larger-batch"),
        budget_s=1e4,
    ).trials
    changes = [what.split(" (")[0] for what in said if " (" in what]
    assert changes[0] == first
    [out] = (each for each in found.changes if each.id == "amortize-callback")
    # What was outside of other trials is in this one's steps, and counts once.
    assert out.before_ms == found.step_ms == 10.0 + outside_ms
    assert out.before_ms - out.after_ms == pytest.approx(10.0 - 10.0 / 1.4)
    assert found.together == () or out.id not in {each.id for each in found.together}


@pytest.mark.parametrize(
    ("step_ms", "first"), [(1.0, "raise-steps-per-execution"), (20.0, "enable-xla")]
)
def test_of_long_steps_several_in_one_execution_gain_little_and_xla_is_tried_first(step_ms, first):
    setup = Setup(dense(), require_graph(rows().batch(8)), jit_compile=False, run_eagerly=False)
    assert changes.of_training(setup, step_ms)[0].id == first


@pytest.mark.parametrize("hooks_s", [0.03, 0.01])
def test_callbacks_whose_hooks_take_next_to_nothing_are_not_left_out_on_trial(monkeypatch, hooks_s):
    """Of a second of executions."""
    in_this_order(monkeypatch, [READY, *[NOISE] * 9])
    monkeypatch.setattr(search.RunningTraining, "hooks_s", hooks_s)
    callback = keras.callbacks.LambdaCallback(on_train_batch_end=lambda *_: None)
    found = kp.try_advice(dense(), rows().batch(8), callbacks=[callback], budget_s=1e4).trials
    left = [str(each.why) for each in found.not_tried if each.id == "amortize-callback"]
    if hooks_s > 0.02:
        assert "amortize-callback" in {each.id for each in found.changes}
    else:
        assert left == ["the hooks of all callbacks take less than 2% of a step"]


def test_first_of_all_the_input_alone_and_the_step_alone_are_measured(monkeypatch):
    said = []
    monkeypatch.setattr(Progress, "tries", lambda self, what, left_s: said.append(what))
    in_this_order(monkeypatch, [(4.0, 3.9), *[NOISE] * 9])
    monkeypatch.setattr(first_look.EndlessPipeline, "batch_ms", lambda self: 8.0)
    found = kp.try_advice(dense(), rows().batch(8).map(lambda x, y: (x + 1, y)), budget_s=1e4)
    pair = ["the input alone", "the training as it is", "steps on a ready batch"]
    assert said[:3] == pair
    assert len(said) > 3
    assert (found.trials.step_ms, found.trials.ready_ms, found.trials.batch_ms) == (10.0, 2.5, 8.0)
    assert found.trials.input_costs_ms == 7.5
    assert str(found).splitlines()[0] == (
        "As it is: a step 10 ms, on a ready batch 2.5 ms, a batch of the input alone 8 ms."
    )


def test_a_ready_batch_comes_no_later_than_one_that_was_surely_mended(monkeypatch):
    """The two were measured at different moments, on a machine that others use too."""
    in_this_order(monkeypatch, [(1.1, 1.05), (2.0, 1.6), *[NOISE] * 9])
    no_change_of_the_step(monkeypatch)
    found = kp.try_advice(dense(), rows().batch(8).map(lambda x, y: (x + 1, y)), budget_s=1e4)
    sure = found.trials.changes[0].low
    assert 1.5 < sure < 2.0
    assert found.trials.ready_ms == pytest.approx(found.trials.step_ms / sure)


def test_a_collector_that_rests_already_is_named(monkeypatch):
    in_this_order(monkeypatch, [READY, *[NOISE] * 9])
    monkeypatch.setattr(gc, "get_freeze_count", lambda: 1)
    found = kp.try_advice(dense(), rows().batch(8), budget_s=1e4)
    [why] = (each.why for each in found.trials.not_tried if each.id == "tune-gc")
    assert "frozen already" in why


def test_the_price_of_a_large_shuffle_buffer_is_named(monkeypatch):
    in_this_order(monkeypatch, [READY, *[NOISE] * 9])
    monkeypatch.setattr(shuffle_buffers, "LARGE", FEATURES)
    found = kp.try_advice(dense(), rows().shuffle(32).batch(8), budget_s=1e4)
    [buffer] = (each for each in found.trials.not_tried if each.id == "smaller-shuffle")
    assert buffer.where == "shuffle(32)"
    assert "its 32 elements take" in buffer.why


def test_a_cache_without_room_is_told_with_what_tries_a_file(monkeypatch):
    in_this_order(monkeypatch, [READY, *[NOISE] * 9])
    monkeypatch.setattr(search.RunningTraining, "feed", SimpleNamespace(take=lambda batches: None))
    monkeypatch.setattr(psutil, "virtual_memory", lambda: SimpleNamespace(available=8.0))
    data = rows().batch(8).map(lambda x, y: (x + 1, y))
    found = kp.try_advice(dense(), data, budget_s=1e4)
    [why] = (each.why for each in found.trials.not_tried if each.id == "cache")
    assert "cache_dir=DIRECTORY tries files there" in why


def test_input_that_costs_nothing_is_left_alone(monkeypatch):
    in_this_order(monkeypatch, [(1.0, 0.99), *[NOISE] * 9])
    data = rows().batch(8).map(lambda x, y: (x + 1, y))
    found = kp.try_advice(dense(), data, budget_s=1e4)
    assert "parallel-map" not in {each.id for each in found.trials.changes}
    (why,) = (each.why for each in found.trials.not_tried if each.id == "parallel-map")
    assert "input costs nothing" in why
    assert found.dataset is data


def test_an_input_far_quicker_than_a_step_is_left_alone_whatever_a_ready_batch_seems_to_gain(
    monkeypatch,
):
    """Steps that differ among themselves, as those of a callback's garbage, show any gain."""
    in_this_order(monkeypatch, [READY, *[NOISE] * 9])
    monkeypatch.setattr(first_look.EndlessPipeline, "batch_ms", lambda self: 0.09)
    data = rows().batch(8).map(lambda x, y: (x + 1, y))
    found = kp.try_advice(dense(), data, budget_s=1e4)
    assert "parallel-map" not in {each.id for each in found.trials.changes}
    (why,) = (each.why for each in found.trials.not_tried if each.id == "parallel-map")
    assert str(why) == "the input alone makes a batch in less than 1% of a step"


@pytest.mark.timing
def test_a_cache_of_the_dataset_is_filled_on_trial_and_not_the_caller_s(monkeypatch):
    for module in (side_by_side, running):
        monkeypatch.setattr(module, "SLICE_S", 0.01)
    monkeypatch.setattr(budget, "PAIR_S", (0.02, 0.05))
    called = []
    # The wait outlasts a batch from a cache on any machine.
    begin = time.perf_counter()
    batches = sum(1 for _ in rows().batch(8).cache().repeat(20))
    wait_s = max(0.005, 5 * (time.perf_counter() - begin) / batches)

    def noted(values):
        called.append(1)
        time.sleep(wait_s)
        return values

    def slow(x, y):
        return tf.ensure_shape(tf.numpy_function(noted, [x], x.dtype), x.shape), y

    no_change_of_the_step(monkeypatch)
    data = rows().batch(8).map(slow).cache()
    tried = kp.try_advice(dense(), data, budget_s=40.0)
    assert tried.trials.batch_ms < 1e3 * wait_s
    before = len(called)
    list(data)
    assert len(called) == before + 8


# -- wrong use ---------------------------------------------------------------------------


def test_wrong_arguments_are_refused_in_a_line():
    data = rows().batch(8)
    with pytest.raises(ValueError, match="model must be compiled"):
        kp.try_advice(keras.Sequential([keras.Input((FEATURES,)), keras.layers.Dense(1)]), data)
    with pytest.raises(TypeError, match=r"tf\.data\.Dataset"):
        kp.try_advice(dense(), [1, 2])
    with pytest.raises(ValueError, match="budget_s"):
        kp.try_advice(dense(), data, budget_s=0)
    with pytest.raises(TypeError, match="log_dir must be"):
        kp.try_advice(dense(), data, log_dir=3)
    with pytest.raises(ValueError, match="cache_dir must be an existing directory, got 'nowhere'"):
        kp.try_advice(dense(), data, cache_dir="nowhere")
    workers = SimpleNamespace(num_replicas_in_sync=2)
    with pytest.raises(ValueError, match="train in this process alone"):
        check_replicas(SimpleNamespace(distribute_strategy=workers), None)
    strength = tf.Variable(1.0)
    with pytest.raises(ValueError, match="must not use a variable in a map"):
        kp.try_advice(dense(), data.map(lambda x, y: (x * strength, y)))
    with pytest.raises(ValueError, match="must not keep a cache in a file"):
        kp.try_advice(dense(), data.cache("/nowhere/kept"))


@pytest.mark.parametrize("callbacks", [None, [3], keras.callbacks.Callback()])
def test_what_is_no_list_of_callbacks_is_refused(callbacks):
    with pytest.raises(TypeError, match=r"callbacks must be a list of keras\.callbacks"):
        kp.try_advice(dense(), rows().batch(8), callbacks=callbacks)


def test_callbacks_of_ours_are_left_out(tmp_path):
    other = keras.callbacks.History()
    assert _own([kp.StepGapDetector(tmp_path), other]) == (other,)
