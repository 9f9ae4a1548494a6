"""What steers a training, or ends it, in ways that are easily overlooked, does so all the same."""

import gc
import logging
import threading
from unittest import mock

import keras
import numpy as np
import programs
import pytest
import tensorflow as tf

import keras_perf as kp
from keras_perf.observation.of_fit import running_fits
from keras_perf.observation.of_fit.fit import FitObservation

pytestmark = [
    pytest.mark.filterwarnings("ignore:Your input ran out of data"),
    pytest.mark.filterwarnings("ignore:Limiting steps_per_epoch"),
]


@pytest.fixture(autouse=True)
def tracing_is_cheap(monkeypatch):
    """On a busy machine the first trace of a process may take seconds: no reason not to try."""
    monkeypatch.setattr("keras_perf.observers.steps_trial.steps_to_try.SMALL_COST_S", 100.0)


def left_of(network, history):
    """Weights, the optimizer's state and the history."""
    variables = [*network.variables, *network.optimizer.variables]
    return [v.numpy() for v in variables], history.history


def train(callbacks, *, network=None, data=None, epochs=5):
    network = network or programs.model()
    data = programs.dataset(64) if data is None else data
    history = network.fit(data, epochs=epochs, verbose=0, shuffle=False, callbacks=callbacks)
    return left_of(network, history)


def both(make, tmp_path, **arguments):
    """What is left without us and with us, and our recommender."""
    plain = train(make(), **{name: each() for name, each in arguments.items()})
    recommender = kp.StepsPerExecutionRecommender(tmp_path)
    ours = [kp.StepGapDetector(tmp_path), recommender]
    observed = train([*ours, *make()], **{name: each() for name, each in arguments.items()})
    np.testing.assert_equal(observed, plain)
    return recommender.recommendation


class At(keras.callbacks.Callback):
    """Does something when an epoch begins."""

    def __init__(self, epoch, what):
        super().__init__()
        self.epoch, self.what = epoch, what

    def on_epoch_begin(self, epoch, logs=None):
        if epoch == self.epoch:
            self.what(self)


def steer(callback):
    def sets_the_rate(batch, logs=None):
        callback.model.optimizer.learning_rate = 0.001 * (1 + batch % 7)

    return sets_the_rate


@pytest.mark.fault(1, "`stop_training` set when an epoch begins")
@pytest.mark.parametrize("epoch", [1, 3])
def test_a_training_that_is_stopped_when_an_epoch_begins_runs_one_step_more(epoch, tmp_path):
    both(lambda: [At(epoch, lambda c: setattr(c.model, "stop_training", True))], tmp_path)


def puts_a_hook_on_itself(callback):
    callback.on_train_batch_end = steer(callback)


class Proxy:
    """Hands everything on to a callback."""

    def __init__(self, callback):
        self._callback = callback

    def __getattr__(self, name):
        return getattr(self._callback, name)


class Steers(keras.callbacks.Callback):
    def on_train_batch_begin(self, batch, logs=None):
        steer(self)(batch)


class OfOurs(kp.StepGapDetector):
    def on_train_batch_begin(self, batch, logs=None):
        steer(self)(batch)


def history_with_a_hook():
    callback = keras.callbacks.History()
    callback.on_train_batch_begin = steer(callback)
    return callback


class EveryTenth(keras.callbacks.CallbackList):
    """Calls its callbacks in a way of its own."""

    def on_train_batch_begin(self, batch, logs=None):
        if batch % 10 == 0:
            super().on_train_batch_begin(batch, logs)


@pytest.mark.fault(1, "a batch hook put on an instance, on a proxy, on a subclass of ours")
@pytest.mark.parametrize(
    "make",
    [
        lambda path: At(0, puts_a_hook_on_itself),
        lambda path: At(2, puts_a_hook_on_itself),
        lambda path: Proxy(Steers()),
        lambda path: OfOurs(path / "own"),
        lambda path: history_with_a_hook(),
        lambda path: EveryTenth([Steers()]),
    ],
)
def test_every_hook_is_called_wherever_it_was_put(make, tmp_path):
    record = both(lambda: [make(tmp_path)], tmp_path)
    assert "may steer training" in record.reason or "trials" in record.evidence


class SteersItself(keras.callbacks.CallbackList):
    def on_train_batch_begin(self, batch, logs=None):
        self.model.optimizer.learning_rate = 0.001 * (1 + batch % 7)
        super().on_train_batch_begin(batch, logs)


def test_a_list_of_callbacks_of_somebody_s_own_kind_may_do_anything_between_steps(tmp_path):
    results, recommender = [], kp.StepsPerExecutionRecommender(tmp_path)
    for ours in ([], [recommender]):
        network = programs.model()
        callbacks = SteersItself(ours, add_history=True, model=network)
        results.append(train(callbacks, network=network))
    np.testing.assert_equal(results[1], results[0])
    assert "loop or a list of callbacks of your own" in recommender.recommendation.reason


def clipped_by_hand(callbacks):
    """A loop of somebody's own that works on the weights between two steps."""
    network = programs.model()
    network.make_train_function()
    hooks = keras.callbacks.CallbackList(callbacks, model=network, epochs=4, steps=64)
    hooks.on_train_begin()
    for epoch in range(4):
        hooks.on_epoch_begin(epoch)
        iterator = iter(programs.dataset(64))
        for step in range(64):
            hooks.on_train_batch_begin(step)
            logs = network.train_function(iterator)
            assert logs["loss"].numpy() > 0
            hooks.on_train_batch_end(step, logs)
            for weight in network.trainable_variables:
                weight.assign(tf.clip_by_value(weight.value, -0.1, 0.1))
        hooks.on_epoch_end(epoch)
    hooks.on_train_end()
    return [weight.numpy() for weight in network.weights]


def test_in_a_loop_of_the_user_s_own_no_steps_run_ahead(tmp_path):
    recommender = kp.StepsPerExecutionRecommender(tmp_path)
    observed = clipped_by_hand([kp.StepGapDetector(tmp_path), recommender])
    np.testing.assert_equal(observed, clipped_by_hand([]))
    assert "loop or a list of callbacks of your own" in recommender.recommendation.reason


def test_a_stand_in_for_a_callback_is_called_as_often(tmp_path):
    calls = []
    for ours in ([], [kp.StepGapDetector(tmp_path)]):
        stand_in = mock.MagicMock(spec=keras.callbacks.Callback)
        train([*ours, stand_in], epochs=1)
        calls.append(stand_in.on_train_batch_end.call_count)
    assert calls == [64, 64]


@pytest.mark.fault(1, "a callback added to the list while training runs")
def test_a_callback_that_is_added_while_training_runs_is_called(tmp_path):
    results = []
    for ours in ([], [kp.StepGapDetector(tmp_path), kp.StepsPerExecutionRecommender(tmp_path)]):
        network, added = programs.model(), Steers()
        callbacks = keras.callbacks.CallbackList([], model=network, add_history=True)

        def adds(callback, callbacks=callbacks, added=added, network=network):
            added.set_model(network)
            callbacks.callbacks.append(added)

        for each in (At(0, adds), *ours):
            callbacks.callbacks.append(each)
            each.set_model(network)
            each.set_params({"epochs": 3, "steps": 64, "verbose": 0})
        callbacks.set_params({"epochs": 3, "steps": 64, "verbose": 0})
        results.append(train(callbacks, network=network, epochs=3))
        assert callbacks.callbacks[-1] is added
    np.testing.assert_equal(results[1], results[0])


@pytest.mark.fault(1, "a train function that is Python around a `tf.function`")
def test_a_train_function_that_does_more_than_a_tf_function_is_not_repeated(tmp_path):
    results = []
    for watched in (False, True):
        network, calls = programs.model(), []
        network.make_train_function()
        step = network.train_function

        def counts(iterator, step=step, calls=calls, network=network):
            calls.append(None)
            network.optimizer.learning_rate = 0.001 * (1 + len(calls) % 7)
            return step(iterator)

        network.train_function = counts
        recommender = kp.StepsPerExecutionRecommender(tmp_path)
        results.append(train([recommender] if watched else [], network=network))
        assert len(calls) == 5 * 64
    np.testing.assert_equal(results[1], results[0])
    assert "cannot be repeated" in recommender.recommendation.reason


@pytest.mark.skipif(
    not hasattr(keras.config, "set_max_steps_per_epoch"), reason="this Keras has no such cap"
)
@pytest.mark.fault(1, "`keras.config.set_max_steps_per_epoch`")
def test_a_cap_on_the_steps_of_an_epoch_holds(tmp_path):
    keras.config.set_max_steps_per_epoch(40)
    try:
        both(list, tmp_path, epochs=lambda: 8)
    finally:
        keras.config.set_max_steps_per_epoch(None)


@pytest.mark.fault(1, "a model compiled anew while training runs")
def test_a_model_that_is_compiled_within_training_fails_as_it_does_without_us(tmp_path):
    for ours in ([], [kp.StepGapDetector(tmp_path)]):
        compiles = At(2, lambda c: c.model.compile("sgd", "mae"))
        with pytest.raises(TypeError, match="NoneType"):
            train([*ours, compiles])
    gc.collect()
    for thread in threading.enumerate():
        if thread.name == "keras_perf-closing":
            thread.join(20)


@pytest.mark.fault(1, "functions that run eagerly from some epoch on")
def test_functions_that_run_eagerly_from_some_epoch_on_are_not_repeated(tmp_path):
    def eagerly(callback):
        tf.config.run_functions_eagerly(True)
        callback.model.layers[0].trainable = False

    try:
        both(lambda: [At(1, eagerly)], tmp_path, epochs=lambda: 2)
    finally:
        tf.config.run_functions_eagerly(False)


class AsksPython(keras.Sequential):
    """Its train step stops training, in Python."""

    def train_step(self, data):
        def look(step):
            self.stop_training = int(step) == 150
            return step

        tf.numpy_function(look, [self.optimizer.iterations], tf.int64)
        return super().train_step(data)


@pytest.mark.fault(1, "Python in the train step that stops training")
def test_python_in_the_train_step_is_not_run_ahead(tmp_path):
    def network():
        keras.utils.set_random_seed(1)
        made = AsksPython([keras.layers.Input((8,)), keras.layers.Dense(1)])
        made.compile("sgd", "mse", jit_compile=False)
        return made

    record = both(list, tmp_path, network=network)
    assert "runs Python code" in record.reason


class Alert(logging.Handler):
    def emit(self, record):
        raise RuntimeError("alert!")


@pytest.mark.fault(2, "a handler of warnings that raises")
def test_a_handler_that_raises_does_not_end_training(tmp_path, monkeypatch):
    def fails(self, *arguments):
        raise OSError("no")

    monkeypatch.setattr(kp.StepGapDetector, "stretch_ends", fails)
    handler = Alert()
    logging.getLogger("keras_perf").addHandler(handler)
    try:
        network = programs.model()
        train([kp.StepGapDetector(tmp_path)], network=network, epochs=2)
    finally:
        logging.getLogger("keras_perf").removeHandler(handler)
    assert int(network.optimizer.iterations.numpy()) == 128


@pytest.mark.fault(1, "an interrupt between our wrapper and its call, in a notebook")
def test_a_fit_after_an_interrupted_one_is_not_answered_for_it(tmp_path, monkeypatch):
    recommender = kp.StepsPerExecutionRecommender(tmp_path)
    network, kept = programs.model(), []
    arm = FitObservation.arm

    def interrupted(self):
        arm(self)
        if self.answers.left:
            raise KeyboardInterrupt

    monkeypatch.setattr(FitObservation, "arm", interrupted)
    try:
        train([recommender], network=network)
    except KeyboardInterrupt as error:
        kept.append(error)
    assert kept
    steps = int(network.optimizer.iterations.numpy())
    train([], network=network, data=programs.dataset(10), epochs=1)
    assert int(network.optimizer.iterations.numpy()) == steps + 10
    assert type(network.train_function).__name__ == "function"


@pytest.mark.fault(2, "a model whose `train_function` is a property")
def test_a_model_whose_train_function_is_a_property_is_not_observed_and_that_is_said(
    tmp_path, said
):
    class Odd(keras.Sequential):
        @property
        def train_function(self):
            return self._kept

        @train_function.setter
        def train_function(self, value):
            self._kept = value

    network = Odd([keras.layers.Input((8,)), keras.layers.Dense(1)])
    network.compile("sgd", "mse")
    recommender = kp.StepsPerExecutionRecommender(tmp_path)
    train([kp.StepGapDetector(tmp_path), recommender], network=network, epochs=1)
    words = "train_function must be an attribute of the model"
    assert [words in line for line in said()].count(True) == 1
    assert words in recommender.recommendation.reason


def test_a_prediction_with_the_same_list_reaches_its_callbacks(tmp_path):
    class Counts(keras.callbacks.Callback):
        seen = 0

        def on_predict_batch_end(self, batch, logs=None):
            self.seen += 1

        def on_epoch_end(self, epoch, logs=None):
            self.model.predict(np.zeros((8, 8)), verbose=0, callbacks=self.others)

    counted = []
    for ours in ([], [kp.StepGapDetector(tmp_path)]):
        network, counts = programs.model(), Counts()
        counts.others = keras.callbacks.CallbackList(
            [counts, *ours], model=network, add_history=True
        )
        train(counts.others, network=network, epochs=1)
        counted.append(counts.seen)
    assert counted == [1, 1]


def test_without_a_callback_list_every_epoch_is_observed_and_nothing_stays(
    tmp_path, monkeypatch, said
):
    monkeypatch.setattr("keras_perf.observation.of_fit.running_fits.calling_list", lambda: None)
    network = programs.model()
    observed = train([kp.StepGapDetector(tmp_path)], network=network, epochs=3)
    np.testing.assert_equal(observed, train([], epochs=3))
    assert "not called by a keras CallbackList" in said()[0]
    assert kp.diagnose(tmp_path).summary.steps > 2 * 64
    assert type(network.train_function).__name__ == "function"


class CallsInEverySecondEpoch(keras.callbacks.CallbackList):
    """Somebody who keeps the list hands its callbacks back to it while training runs."""

    def __init__(self, *arguments, **named):
        super().__init__(*arguments, **named)
        self.own = self.callbacks

    def on_epoch_begin(self, epoch, logs=None):
        self.callbacks = self.callbacks[:0] if epoch % 2 else self.own
        super().on_epoch_begin(epoch, logs)

    def on_train_end(self, logs=None):
        self.callbacks = self.own
        super().on_train_end(logs)


def test_callbacks_that_are_put_back_into_their_list_are_called_once(tmp_path):
    network, begun = programs.model(), []
    counts = keras.callbacks.LambdaCallback(on_epoch_begin=lambda epoch, logs: begun.append(epoch))
    ours = [counts, kp.StepGapDetector(tmp_path)]
    callbacks = CallsInEverySecondEpoch(ours, model=network, add_history=True)
    data = programs.dataset(12)
    for _ in range(2):
        network.fit(data, epochs=4, verbose=0, shuffle=False, callbacks=callbacks)
    # As at the end of the program: nobody has told that the training is over.
    running_fits._running[network].close()
    assert begun == [0, 2] * 2
    assert len(callbacks.own) == 3
