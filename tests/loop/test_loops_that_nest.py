"""Calls within calls, calls on several iterators in turn, and data that end elsewhere."""

import pytest
import tensorflow as tf
import watched_loops

import keras_perf as kp
from keras_perf.observation.of_loop.in_turn import InTurn
from keras_perf.records.run.ending import How

DATA = watched_loops.dataset


def test_of_two_calls_that_are_open_at_once_each_has_its_own_number_of_steps(told, tmp_path):
    loop = watched_loops.Loop()
    monitor, many, one = loop.monitor(tmp_path, 180), iter(DATA()), iter(DATA())
    with monitor:
        for _ in range(30):
            with monitor.execution(many, 5) as first, monitor.execution(one, 1) as second:
                assert (first.steps, second.steps) == (5, 1)
                loop.function(many, tf.constant(5)).numpy()
                loop.function(one, tf.constant(1)).numpy()
    assert [e.steps for e in told] == [5] * 30


def test_data_may_end_in_work_beside_the_calls(told, tmp_path):
    loop = watched_loops.Loop()
    monitor, names = loop.monitor(tmp_path, 90), iter(DATA())
    with monitor:
        for _ in range(3):
            rows = iter(range(30))
            while True:
                try:
                    with monitor.host("read"):
                        next(rows)
                except StopIteration:
                    break
                with monitor.execution(names, 1):
                    loop.function(names, tf.constant(1)).numpy()
    assert sum(e.steps for e in told) == 90
    assert kp.diagnose(tmp_path).summary.facts.ending.how is How.DONE


def test_a_monitor_that_is_entered_twice_leaves_nothing_open(tmp_path):
    loop = watched_loops.Loop()
    monitor, names = loop.monitor(tmp_path, 20), iter(DATA())
    with monitor:
        first = monitor.observation
        with monitor:
            assert first.closed
            for _ in range(20):
                with monitor.execution(names, 1):
                    loop.function(names, tf.constant(1)).numpy()
        assert monitor.observation is None


def test_iterators_in_turn_end_the_observation_with_a_line_and_not_the_training(tmp_path, caplog):
    loop = watched_loops.Loop()
    monitor, labelled, others = loop.monitor(tmp_path, 200), iter(DATA()), iter(DATA())
    with monitor:
        for _ in range(100):
            for iterator in (labelled, others):
                with monitor.execution(iterator, 1):
                    loop.function(iterator, tf.constant(1)).numpy()
    assert loop.optimizer.iterations == 200
    [line] = [text for text in caplog.messages if "in turn" in text]
    assert "Put all calls of a step into one `with monitor.execution(...)`" in line
    assert "the rest of this training is not observed" in line


class Reads:
    """An iterator that can be referred to weakly, as tf.data's."""


@pytest.mark.parametrize(
    ("calls", "steps", "raised"),
    [(1, 1, True), (3, 5, True), (21, 1, False), (1, 1000, False)],
)
def test_longer_turns_are_epochs(calls, steps, raised):
    both, turns, failed = (Reads(), Reads()), InTurn(), False
    for turn in range(40):
        try:
            turns.comes(both[turn % 2], steps)
        except ValueError:
            failed = True
        for _ in range(calls - 1):
            turns.goes_on(steps)
    assert failed is raised


@pytest.mark.parametrize("kind", [Reads, lambda: iter([1])])
def test_iterators_that_are_made_anew_are_epochs(kind):
    turns = InTurn()
    for _ in range(100):
        turns.comes(kind(), 1)
