"""After trials that Ctrl-C or a failing change has cut, a program goes on as if nothing had been.

Weights, optimizer, metrics, all random generators, iterators and orders of examples: bit for bit.
"""

import gc
import os
import random
import signal

import keras
import numpy as np
import pytest
import tensorflow as tf
from programs import set_random_seed

import keras_perf as kp
from keras_perf.trials import find_learning_rate as ramp
from keras_perf.trials.measuring import side_by_side
from keras_perf.trials.train_functions.restored import KeptState
from keras_perf.trials.training import budget, changes, running, which_changes

ROWS, FEATURES = 96, 4

FIRST_CHANGE = 3
"""The first training that runs is the one as it is, the second finds its batch ready."""


class Program:
    """A training that draws wherever one can, in the middle of its data."""

    def __init__(self):
        set_random_seed(11)
        tf.random.set_global_generator(tf.random.Generator.from_seed(5))
        layers = [keras.layers.Dense(8), keras.layers.BatchNormalization()]
        layers += [keras.layers.Dropout(0.4), keras.layers.GaussianNoise(0.1)]
        self.model = keras.Sequential([keras.Input((FEATURES,)), *layers, keras.layers.Dense(1)])
        self.model.compile("adam", "mse", metrics=["mae"], jit_compile=False)
        x = np.arange(ROWS * FEATURES, dtype="float32").reshape(ROWS, FEATURES) / 400
        rows = tf.data.Dataset.from_tensor_slices((x, x[:, :1]))
        # Without seeds: orders and noise come from the program's own.
        self.data = rows.shuffle(ROWS).map(noisy).shuffle(16).batch(8)
        self.model.fit(self.data, verbose=0, shuffle=False)
        self.iterator = iter(self.data)
        self.seen = [next(self.iterator) for _ in range(3)]

    def state(self):
        """What training changes, as it is now."""
        metrics = [v for each in self.model.metrics for v in each.variables]
        all_ = (*self.model.variables, *self.model.optimizer.variables, *metrics)
        return [np.asarray(keras.ops.convert_to_numpy(each)) for each in all_]

    def goes_on(self):
        """What it would do next: all of it, as arrays."""
        found = [array for element in self.iterator for array in element]
        found += [random.random(), np.random.random(), keras.random.uniform((3,))]
        found += [tf.random.uniform((3,)), tf.random.get_global_generator().uniform((3,))]
        self.model.fit(self.data, epochs=2, verbose=0, shuffle=False)
        found += [*self.state(), *(array for element in self.data for array in element)]
        found += [self.model.optimizer.iterations, self.model.stop_training]
        return [np.asarray(each) for each in found]


def noisy(x, y):
    return x + tf.random.uniform(tf.shape(x)), y


def assert_equal(found, expected):
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.fixture
def short_slices(monkeypatch):
    for module in (side_by_side, running):
        monkeypatch.setattr(module, "SLICE_S", 0.01)
    monkeypatch.setattr(budget, "PAIR_S", (0.02, 0.05))


def in_the_middle_of_a_slice(monkeypatch, is_the_one, does):
    """Steps of a slice have run when something happens, in each of which this is true.

    It is told how many slices there were, and which training, counted from 1, this one is of.
    """
    run_for, slices, trainings = running.RunningTraining._run_for, [], []

    def disturbed(self, seconds):
        if self not in trainings:
            trainings.append(self)
        slices.append(trainings.index(self) + 1)
        found = run_for(self, seconds)
        if is_the_one(len(slices), slices[-1]):
            does()
        return found

    monkeypatch.setattr(running.RunningTraining, "_run_for", disturbed)
    return slices


def slice_number(number):
    """Whichever change it is of."""
    return lambda slices, _: slices == number


def of_training(number):
    """In each of its slices."""
    return lambda _, training: training == number


def press():
    """Ctrl-C, as a terminal sends it."""
    os.kill(os.getpid(), signal.SIGINT)


def fail():
    raise RuntimeError("of a change")


@pytest.fixture(scope="module")
def undisturbed():
    return Program().goes_on()


def test_a_program_does_the_same_when_it_is_run_again(undisturbed):
    assert_equal(Program().goes_on(), undisturbed)


@pytest.mark.fault(1, "Ctrl-C while advice is tried")
@pytest.mark.usefixtures("short_slices")
@pytest.mark.parametrize("number", [1, 12, 40])
def test_after_ctrl_c_in_the_middle_of_a_trial(monkeypatch, undisturbed, number):
    program = Program()
    before = program.state()
    slices = in_the_middle_of_a_slice(monkeypatch, slice_number(number), press)
    tried = kp.try_advice(program.model, program.data, budget_s=60.0)
    assert tried.trials.stopped == "an interrupt"
    assert len(slices) == number
    assert_equal(program.state(), before)
    assert_equal(program.goes_on(), undisturbed)


@pytest.mark.whole
@pytest.mark.fault(1, "a change that fails while it is tried")
@pytest.mark.usefixtures("short_slices")
def test_after_a_change_that_fails_in_the_middle_of_its_steps(monkeypatch, undisturbed):
    program = Program()
    before = program.state()
    in_the_middle_of_a_slice(monkeypatch, of_training(FIRST_CHANGE), fail)
    tried = kp.try_advice(program.model, program.data, budget_s=60.0)
    assert "RuntimeError: of a change" in {each.why for each in tried.trials.not_tried}
    assert_equal(program.state(), before)
    assert_equal(program.goes_on(), undisturbed)


RESTING = 100_000, 50, 100
"""Thresholds of Python's collector while `tune-gc` is tried."""


@pytest.fixture
def collector():
    """How somebody has set it, and how many objects it passes over: asked each time."""
    usual = gc.get_threshold()
    gc.unfreeze()
    gc.set_threshold(701, 11, 9)
    yield lambda: (gc.isenabled(), gc.get_threshold(), gc.get_freeze_count())
    gc.set_threshold(*usual)


@pytest.mark.whole
@pytest.mark.usefixtures("short_slices")
@pytest.mark.parametrize(("does", "stopped"), [(press, "an interrupt"), (bool, "")])
def test_the_collector_is_as_it_was_after_it_rested(monkeypatch, collector, does, stopped):
    monkeypatch.setattr(which_changes, "possible_changes", lambda *_, **__: ([], []))
    monkeypatch.setattr(which_changes, "of_training", lambda setup, _: [*changes._collector(setup)])
    program, before, rested = Program(), collector(), []

    def rests(*_):
        rested.append(gc.get_threshold() == RESTING and gc.get_freeze_count() > 0)
        return rested[-1]

    in_the_middle_of_a_slice(monkeypatch, rests, does)
    tried = kp.try_advice(program.model, program.data, budget_s=60.0)
    assert any(rested)
    assert tried.trials.stopped == stopped
    assert collector() == before


@pytest.mark.usefixtures("short_slices")
def test_after_a_training_that_fails_as_it_is(monkeypatch, undisturbed):
    program = Program()
    in_the_middle_of_a_slice(monkeypatch, of_training(1), fail)
    with pytest.raises(RuntimeError, match="of a change"):
        kp.try_advice(program.model, program.data, budget_s=10.0)
    assert_equal(program.goes_on(), undisturbed)


@pytest.mark.usefixtures("short_slices")
def test_after_ctrl_c_while_an_input_is_tuned(monkeypatch, undisturbed):
    program = Program()
    slices = []

    def pressed(*_, **__):
        slices.append(1)
        press()

    monkeypatch.setattr("keras_perf.trials.tuning.side_by_side", pressed)
    tuned = kp.tune_input(program.data, any_order=True, budget_s=20.0)
    assert slices == [1]
    assert tuned.stopped == "Stopped by an interrupt."
    assert tuned.dataset is program.data
    assert_equal(program.goes_on(), undisturbed)


def test_after_ctrl_c_while_learning_rates_are_tried(monkeypatch, undisturbed):
    program = Program()

    def pressed(smoothed):
        press()

    monkeypatch.setattr(ramp, "first_diverged", pressed)
    found = kp.find_learning_rate(program.model, program.data)
    assert found.stopped == "an interrupt"
    assert_equal(program.goes_on(), undisturbed)


@pytest.mark.parametrize("nth", [1, 2, 7])
def test_ctrl_c_between_two_assignments_of_what_is_put_back(monkeypatch, undisturbed, nth):
    """It is answered once all is as it was, not half of it."""
    program = Program()
    before = program.state()
    kept = KeptState(program.model)
    program.model.train_on_batch(*program.seen[0])
    random.random(), np.random.random()
    kind = type(program.model.weights[0].value)
    assign, assigned = kind.assign, []

    def interrupted(self, *arguments, **options):
        assigned.append(self)
        if len(assigned) == nth:
            press()
        return assign(self, *arguments, **options)

    with monkeypatch.context() as patched:
        patched.setattr(kind, "assign", interrupted)
        with pytest.raises(KeyboardInterrupt):
            kept.put_back()
    assert len(assigned) > nth
    assert_equal(program.state(), before)
    assert_equal(program.goes_on(), undisturbed)


@pytest.mark.parametrize("nth", [1, 4])
def test_what_cannot_be_put_back_keeps_nothing_else_from_it(monkeypatch, nth):
    program = Program()
    before, kept = program.state(), KeptState(program.model)
    program.model.train_on_batch(*program.seen[0])
    random.random(), np.random.random()
    kind = type(program.model.weights[0].value)
    assign, assigned = kind.assign, []

    def fails(self, *arguments, **options):
        assigned.append(self)
        if len(assigned) == nth:
            raise MemoryError("on purpose")
        return assign(self, *arguments, **options)

    with monkeypatch.context() as patched:
        patched.setattr(kind, "assign", fails)
        with pytest.raises(MemoryError, match="on purpose"):
            kept.put_back()
    kept.put_back()
    assert len(assigned) > nth
    assert_equal(program.state(), before)


class HeadInItsStep(keras.Model):
    """A layer is made in the first train step only, which runs eagerly."""

    def __init__(self):
        super().__init__()
        self.base, self.head = keras.layers.Dense(2), keras.layers.Dense(1)

    def call(self, x):
        return self.base(x)


@pytest.mark.filterwarnings("ignore:`build.*it has unbuilt state:UserWarning")
def test_weights_that_an_eager_step_makes_on_trial_are_not_emptied():
    """Of zeros alone no gradient would move them any more."""
    model = HeadInItsStep()
    model.compile("sgd", "mse", run_eagerly=True)
    model(np.ones((2, 3), "float32"))
    kept = KeptState(model)
    model.head(np.ones((2, 2), "float32"))
    kept.put_back()
    assert np.any(model.head.kernel.numpy())
