"""Trials end in the time that they were given, what they compile included."""

from contextlib import contextmanager

import keras
import pytest
import tensorflow as tf

from keras_perf.trials import tuning
from keras_perf.trials.benchmarks import train_step_benchmark
from keras_perf.trials.measuring.in_turn import Pair
from keras_perf.trials.measuring.side_by_side import slice_s
from keras_perf.trials.rewriting.own_copy import require_graph
from keras_perf.trials.training import first_look, search, trier
from keras_perf.trials.training.budget import WITH_XLA, Budget, Making
from keras_perf.trials.training.setup import Setup

BUDGET_S = 30.0


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


class Machine:
    """Tracing, compiling, executions and batches take time on a clock that nothing else moves."""

    def __init__(self, trace_s, execution_s, gains):
        self.clock = Clock()
        self.trace_s, self.execution_s, self.gains = trace_s, execution_s, gains
        self.made = {}

    def trials(self, monkeypatch, data):
        machine = self

        class Training:
            slice_s = 0.0
            hooks_s = executed_s = 1.0

            def __init__(self, setup, *_):
                self.setup, self.feed, self.compiles = setup, Feed, setup.jit_compile
                self.making_s = machine.makes(setup)

            def settle(self):
                machine.clock.now += 0.3
                return machine.step_ms(self.setup)

            def step_ms(self):
                ms = machine.step_ms(self.setup)
                machine.clock.now += slice_s(ms / 1e3)
                self.slice_s = slice_s(ms / 1e3)
                return ms

        class Pipeline:
            def __init__(self, *_):
                pass

            def batch_ms(self):
                machine.clock.now += 0.3
                return 1.0

        class Feed:
            held = staticmethod(contextmanager(lambda: iter([None])))
            take_ready = staticmethod(lambda *_: None)

        for module in (search, first_look, trier):
            monkeypatch.setattr(module, "RunningTraining", Training)
        monkeypatch.setattr(first_look, "EndlessPipeline", Pipeline)
        model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(1)])
        model.compile("sgd", "mse", jit_compile=False)
        setup = Setup(model, require_graph(data), jit_compile=False, run_eagerly=False)
        budget = Budget(BUDGET_S, self.clock)
        return search.Search(setup, None, budget, clock=self.clock).run()

    def makes(self, setup):
        key = setup.steps, setup.jit_compile
        seconds = self.trace_s * (WITH_XLA if setup.jit_compile else 1.0)
        seconds = self.made.setdefault(key, seconds) if key not in self.made else 0.0
        self.clock.now += seconds
        return seconds

    def step_ms(self, setup):
        ms = 1e3 * self.execution_s
        for name, gain in self.gains.items():
            has_it = setup.calls > 1 if name == "calls" else getattr(setup, name)
            ms /= gain if has_it else 1.0
        return ms


def batches():
    return tf.data.Dataset.from_tensors((tf.zeros(8), tf.zeros(1))).repeat(64).batch(8)


@pytest.mark.parametrize("trace_s", [0.0, 2.0, 14.0])
@pytest.mark.parametrize("execution_s", [0.001, 0.4])
@pytest.mark.parametrize("gains", [{}, {"calls": 3.0, "jit_compile": 2.0, "collector_rests": 1.5}])
def test_trials_end_in_time(monkeypatch, trace_s, execution_s, gains):
    machine = Machine(trace_s, execution_s, gains)
    found = machine.trials(monkeypatch, batches())
    assert machine.clock.now <= BUDGET_S
    assert found.seconds == machine.clock.now
    assert found.changes or found.not_tried
    assert found.changes or not gains or trace_s or execution_s > 0.1


def test_steps_of_which_no_two_slices_fit_in_are_not_compared(monkeypatch):
    machine = Machine(0.0, 3.0, {})
    found = machine.trials(monkeypatch, batches())
    assert found.stopped == "steps so long that two trainings in turn take 36 s of 30 s"
    assert machine.clock.now < BUDGET_S


def test_what_compiles_for_longer_than_there_is_time_is_not_begun(monkeypatch):
    machine = Machine(4.0, 0.001, {"calls": 3.0})
    found = machine.trials(monkeypatch, batches())
    assert not any(compiled for _, compiled in machine.made)
    (why,) = (each.why for each in found.not_tried if each.id == "enable-xla")
    assert why.startswith("it takes about 26.1 s, and ")
    assert why.endswith("allow more than 30 s")
    assert "raise-steps-per-execution" in {each.id for each in found.together}


def test_what_compiles_in_time_is_tried(monkeypatch):
    machine = Machine(0.5, 0.001, {"jit_compile": 2.0})
    found = machine.trials(monkeypatch, batches())
    assert [each.id for each in found.together] == ["enable-xla"]


@pytest.mark.parametrize(("trace_s", "execution_s"), [(0.3, 0.45), (0.1, 0.2)])
def test_what_is_kept_tells_how_long_the_next_measurement_takes(trace_s, execution_s, monkeypatch):
    """And what would alter training takes none of the time for what is put on top of it."""
    machine = Machine(trace_s, execution_s, {"jit_compile": 40.0, "calls": 3.0})
    found = machine.trials(monkeypatch, batches())
    assert machine.clock.now <= BUDGET_S
    ids = [each.id for each in found.together]
    assert ids == ["enable-xla", "raise-steps-per-execution"], found


def test_what_a_function_takes_is_learned_from_those_that_were_made():
    making = Making()
    assert making.takes_s(compiled=True) == making.takes_s(compiled=False) == 0.0
    making.took(2.0, compiled=False)
    making.took(0.0, compiled=False)
    assert making.takes_s(compiled=False) == 2.0
    assert making.takes_s(compiled=True) == 2.0 * WITH_XLA
    making.took(5.0, compiled=True)
    assert making.takes_s(compiled=True) == 5.0


@pytest.mark.parametrize("opening_s", [0.0, 3.0])
@pytest.mark.parametrize("batch_s", [0.01, 0.5, 2.0])
def test_an_input_is_tuned_in_time(monkeypatch, batch_s, opening_s):
    clock = Clock()

    class Pipeline:
        def __init__(self, *_):
            pass

        def batch_ms(self):
            clock.now += opening_s + slice_s(batch_s)
            return 1e3 * batch_s

        def take(self, batches):
            clock.now += batches * batch_s

    def measured(*_, seconds, **__):
        clock.now += max(seconds, 6 * (opening_s + slice_s(batch_s)))
        return Pair(2.0, 1.0, 2.0, 1.9, 2.1)

    monkeypatch.setattr(tuning, "EndlessPipeline", Pipeline)
    monkeypatch.setattr(tuning, "side_by_side", measured)
    data = batches().map(lambda x, y: (x + 1, y)).map(lambda x, y: (x * 2, y))
    budget = Budget(20.0, clock)
    tuned = tuning.Tuning(data, require_graph(data), None, budget, clock=clock).run()
    assert clock.now <= 20.0
    assert tuned.tried or tuned.stopped


@pytest.mark.parametrize(("step_s", "executions"), [(2.0, 2), (0.4, 4), (0.001, 61)])
def test_a_step_is_measured_in_a_share_of_the_time(monkeypatch, step_s, executions):
    """The first execution compiles; one is always measured."""
    clock, done = Clock(), []

    def waited(_):
        done.append(1)
        clock.now += step_s

    monkeypatch.setattr(train_step_benchmark, "read_logs", waited)
    model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse", steps_per_execution=2)
    batch = next(iter(batches()))
    found = train_step_benchmark.step_ms_within(model, batch, 1.5, clock)
    assert found == pytest.approx(1e3 * step_s / 2)
    assert len(done) == executions
