"""A number of steps per execution that an earlier `fit` led to, in a later one."""

import copy
import pickle

import programs
import pytest

from keras_perf.callbacks.found_before import FoundBefore
from keras_perf.observers.steps_trial.trial_times import TrialTimes
from keras_perf.records.execution import Execution, Kind

MS = 1_000_000


def times(*took_ms):
    found = TrialTimes()
    ends = [(round(ms * MS),) * 3 for ms in took_ms]
    found.add(Execution(step, 1, Kind.STEADY, 0, *end) for step, end in enumerate(ends))
    return found


def kept(steps=128, execution_ms=1.0):
    model, found = programs.model(), FoundBefore()
    found.keep(model, steps, execution_ms)
    assert found.holds(model, 200)
    return model, found


@pytest.mark.parametrize(("most_s", "too_long"), [(0.1, False), (0.06, True)])
def test_an_execution_s_own_cost_counts_once_in_a_longer_one(most_s, too_long):
    # A step computes for half a millisecond: 128 of them take 65.
    _, found = kept()
    assert found.too_long(times(*[1.5] * 4), 1, most_s) is too_long


def test_a_few_executions_decide_nothing():
    _, found = kept()
    assert found.too_long(times(), 1, 0.1) is None
    assert found.too_long(times(900.0, 1.5), 1, 0.1) is None
    assert found.too_long(times(900.0, 1.5, 1.5, 1.5), 1, 0.1) is False


def test_it_holds_for_its_model_where_an_epoch_has_so_many_steps():
    model, found = kept()
    assert not found.holds(model, 100)
    assert found.holds(model, None)
    assert not found.holds(programs.model(), 200)


@pytest.mark.parametrize(
    "copied", [copy.copy, copy.deepcopy, lambda it: pickle.loads(pickle.dumps(it))]
)
def test_a_copy_knows_of_none(copied):
    model, found = kept()
    assert not copied(found).holds(model, 200)
