"""Calls watched by a scripted clock: each part to the nanosecond."""

import time

import keras
import numpy as np
import programs
import pytest

from keras_perf.observation.of_calls import calls_in_hooks, tensorflow_calls_in_hooks
from keras_perf.observation.of_calls.asked_of_call import AskedOfCall
from keras_perf.observation.of_calls.tensorflow_call import TensorFlowCall
from keras_perf.observation.of_calls.tensorflow_calls_in_hooks import TensorFlowCallsInHooks

MS = 1_000_000


class Clock:
    now = 100 * MS

    def __call__(self):
        return self.now

    def passes(self, ms):
        self.now += ms * MS


class Model:
    """Predicts `function_ms` for each batch, and makes an input pipeline for 40 ms before."""

    steps_per_execution = 1

    def __init__(self, clock, function_ms=3):
        self.clock, self.function_ms = clock, function_ms
        self.predict_function = None
        self.make()

    def make(self):
        def function(data):
            self.clock.passes(self.function_ms)
            return data

        self.predict_function = function

    def predict(self, x, batches=1):
        if self.predict_function is None:
            self.make()
        self.clock.passes(40)
        for _ in range(batches):
            self.predict_function([(x,)])
        return x

    def evaluate(self, x):
        self.clock.passes(40 + self.function_ms)
        return x


@pytest.fixture
def clock():
    return Clock()


def test_a_prediction_waits_between_its_hooks_and_its_function(clock):
    model = Model(clock)
    theirs, x = model.predict_function, np.zeros((5, 2))
    call = TensorFlowCall(model, True, AskedOfCall(steps=2), clock)
    clock.passes(10)
    for _ in range(2):
        call.arm()
        clock.passes(7)
        model.predict_function([(x,)])
        assert model.predict_function is theirs
        clock.passes(1)
        call.ready(clock(), 0)
        begin = clock()
        clock.passes(2)
        call.host("on_predict_batch_end", begin, clock())
    call.executions_end()
    clock.passes(4)
    found = call.end()
    assert found.parts_s == {
        "starting": 0.010,
        "input_wait": 0.014,
        "compute": 0.008,
        "callbacks": 0.004,
        "other_host": 0.004,
        "compile": 0.0,
    }
    assert (found.calls, found.executions, found.steps, found.examples) == (1, 2, 2, 10)


def test_a_function_that_is_armed_and_not_called_is_given_back(clock):
    model = Model(clock)
    theirs = model.predict_function
    call = TensorFlowCall(model, True, AskedOfCall(), clock)
    call.arm()
    assert model.predict_function is not theirs
    call.release()
    assert model.predict_function is theirs


def test_what_fails_in_watching_costs_a_line_and_no_prediction(clock, said, monkeypatch):
    model = Model(clock)
    call = TensorFlowCall(model, True, AskedOfCall(), clock)
    call.arm()
    monkeypatch.setattr(call, "_timeline", None)
    assert model.predict_function([(1,)]) == [(1,)]
    assert call.end() is None
    [line] = said()
    assert "this call is not in the report" in line


@pytest.fixture
def called(monkeypatch):
    monkeypatch.setattr(calls_in_hooks, "calling_hook", lambda: "Shows.on_epoch_end")


@pytest.mark.usefixtures("called")
def test_predictions_of_a_hook_are_added_up_but_for_the_first_that_traces(clock):
    model, x = Model(clock), np.zeros((5, 2))
    model.predict_function = None
    watch = TensorFlowCallsInHooks(model, clock, lambda error: None)
    for _ in range(3):
        model.predict(x, batches=2)
    [(owner, found)] = watch.predicts().items()
    assert owner == "Shows.on_epoch_end"
    assert (found.calls, found.timed, found.executions, found.examples) == (3, 2, 4, 20)
    assert found.spent_s == pytest.approx(0.138)
    assert (found.call_ms, found.inside_ms) == (pytest.approx(46), pytest.approx(6))
    watch.restore()
    assert "predict" not in vars(model)
    assert model.predict_function.__qualname__.startswith("Model.make")


@pytest.mark.usefixtures("called")
@pytest.mark.parametrize(
    ("arguments", "named", "batches", "examples"),
    [
        ((), {}, 3, 80),
        ((8,), {}, 10, 80),
        ((None,), {"verbose": 0}, 3, 80),
        ((), {"batch_size": 8, "steps": 2}, 2, 16),
        ((8, 0, 3), {}, 3, 24),
    ],
)
def test_where_no_function_tells_batches_are_those_that_were_asked_for(
    arguments, named, batches, examples
):
    model, x = programs.model(), np.zeros((80, 8))
    watch = calls_in_hooks.CallsInHooks(model, time.perf_counter_ns, lambda error: None)
    model.predict(x, *arguments, **named)
    [found] = watch.predicts().values()
    assert (found.calls, found.executions, found.examples) == (1, batches, examples)
    assert (found.timed, found.of_arrays) == (0, True)
    model.predict(programs.dataset(), verbose=0)
    with pytest.raises(TypeError, match="unexpected"):
        model.predict(x, unexpected=True)
    [found] = watch.predicts().values()
    assert (found.calls, found.executions, found.of_arrays) == (3, batches, False)
    watch.restore()


@pytest.mark.usefixtures("called")
def test_what_a_predict_of_one_s_own_means_by_its_arguments_is_not_known(said):
    class Own(keras.Model):
        def predict(self, x, temperature):
            return x

    model = Own()
    watch = calls_in_hooks.CallsInHooks(model, time.perf_counter_ns, lambda error: None)
    for x in ("text", None, {}, np.zeros((80, 8))):
        model.predict(x, 0.7)
    [found] = watch.predicts().values()
    assert (found.calls, found.executions) == (4, 0)
    watch.restore()
    assert not said()


@pytest.mark.usefixtures("called")
@pytest.mark.parametrize("known", [True, False])
def test_a_gpu_is_waited_for_where_it_can_be(known, clock, monkeypatch):
    def waits():
        clock.passes(20)
        if not known:
            raise AttributeError("no such name")

    tf = tensorflow_calls_in_hooks.tf
    monkeypatch.setattr(tf.config, "list_logical_devices", lambda kind: [kind])
    monkeypatch.setattr(tf.test.experimental, "sync_devices", waits)
    model = Model(clock)
    watch = TensorFlowCallsInHooks(model, clock, lambda error: None)
    model.predict(np.zeros((5, 2)))
    [found] = watch.predicts().values()
    assert found.inside_ms == (pytest.approx(23) if known else None)


@pytest.mark.usefixtures("called")
def test_a_prediction_that_raises_is_counted_and_raises(clock):
    model = Model(clock)
    watch = TensorFlowCallsInHooks(model, clock, lambda error: None)
    theirs = model.predict_function
    with pytest.raises(TypeError):
        model.predict(np.zeros((5, 2)), batches="many")
    assert model.predict_function is theirs
    assert [found.calls for found in watch.predicts().values()] == [1]


def test_a_prediction_that_no_hook_makes_is_nobody_s(clock):
    model = Model(clock)
    watch = TensorFlowCallsInHooks(model, clock, lambda error: None)
    model.predict(np.zeros((5, 2)))
    assert watch.predicts() == {}


@pytest.mark.usefixtures("called")
def test_evaluations_of_a_hook_are_added_up(clock):
    model = Model(clock)
    watch = TensorFlowCallsInHooks(model, clock, lambda error: None)
    for _ in range(3):
        model.evaluate(np.zeros((5, 2)))
    [(owner, found)] = watch.evaluates().items()
    assert (owner, found.calls) == ("Shows.on_epoch_end", 3)
    assert found.spent_s == pytest.approx(0.129)
    watch.restore()
    assert "evaluate" not in vars(model)


def test_a_predict_of_one_s_own_on_the_instance_is_left_alone(clock):
    model = Model(clock)
    model.predict = own = lambda x: x
    watch = TensorFlowCallsInHooks(model, clock, lambda error: None)
    assert model.predict is own
    watch.restore()
    assert model.predict is own
