import pytest

from keras_perf.observers.steps_trial.trial_times import TrialTimes
from keras_perf.records.execution import Execution, Kind

MS = 1_000_000


def executed(steps, inside_ms, kind=Kind.STEADY, host_ms=1):
    end = (inside_ms + host_ms) * MS
    return Execution(0, steps, kind, 0, inside_ms * MS, inside_ms * MS, end)


def test_run_ups_are_no_samples():
    times = TrialTimes()
    times.add([executed(1, 5)] * 3)
    times.add([executed(8, ms, Kind.TRIAL) for ms in (900, 40, 80, 42)])
    assert times.samples(1) == {1: [5, 5, 5], 8: [40, 42]}
    assert times.executions == 4
    assert times.trial_ns == 1062 * MS


def test_a_length_measured_once_is_left_out():
    times = TrialTimes()
    times.add([executed(1, 5), executed(8, 90, Kind.TRIAL), executed(8, 40, Kind.TRIAL)])
    assert times.samples(1) == {1: [5]}
    assert times.lengths == (8,)


def test_the_first_execution_tells_what_tracing_costs():
    times = TrialTimes()
    times.add([executed(1, 700, Kind.WARMUP), executed(1, 5)])
    assert times.first_ns == 700 * MS
    assert times.ordinary_ms == 5


def test_the_host_comes_on_top_of_each_execution():
    times = TrialTimes()
    times.add([executed(1, 3)] * 4)
    times.add([executed(10, 12, Kind.TRIAL)] * 8)
    curve = times.curve(1)
    assert (round(curve.in_graph_ms, 6), round(curve.per_execution_ms, 6)) == (1.0, 3.0)


def test_the_lower_quartile_is_an_ordinary_execution():
    times = TrialTimes()
    times.add(executed(1, ms) for ms in (5, 80, 6, 90))
    assert times.ordinary_ms == 6
    assert not times.settled
    times.add([executed(1, 5)] * 36)
    assert times.settled


@pytest.mark.parametrize(("late_ms", "cheaper"), [(40, True), (400, False)])
def test_lengths_next_to_the_longest_count_as_well(late_ms, cheaper):
    times = TrialTimes()
    times.add([executed(1, 3)] * 40)
    times.add([executed(32, 40, Kind.TRIAL)] * 6)
    times.add([executed(32, late_ms, Kind.TRIAL)] * 4)
    times.add(executed(37, ms, Kind.TRIAL) for ms in (44, 44, 44, 44, 400, 400))
    assert times.newest_longer == (37, 400)
    assert times.surely_cheaper(1) is cheaper


def drifting(paces_ms, steps_of_longer):
    """Trials of 16 steps between ordinary executions while the machine has each of the paces."""
    times = TrialTimes()
    for ms in paces_ms:
        times.add([executed(1, ms, host_ms=0)] * 4)
        times.add([executed(16, steps_of_longer * ms, Kind.TRIAL, host_ms=0)] * 2)
        times.add([executed(1, ms, host_ms=0)] * 4)
    return times


def test_what_takes_the_machine_for_a_while_makes_no_execution_cheaper():
    assert not drifting([3, 3], 16).surely_cheaper(1)
    assert not drifting([6, 6, 6, 6, 3, 3, 3], 16).surely_cheaper(1)


def test_what_takes_the_machine_for_a_while_hides_nothing():
    assert drifting([3, 6, 3, 6], 8).surely_cheaper(1)


def test_a_run_up_that_raised_makes_no_other_one_count():
    times = TrialTimes()
    # Of each pair the first runs up; that of the second has raised, and left nothing.
    for pair in ((900, 40), (41,), (80, 42), (81, 43)):
        times.add([executed(1, 5)] * 4)
        times.add([executed(8, ms, Kind.TRIAL) for ms in pair])
    assert times.samples(1)[8] == [40, 42, 43]
    assert times.measured
    raised = TrialTimes()
    for ms in (900, 40, 41):
        raised.add([executed(1, 5), executed(8, ms, Kind.TRIAL)])
    assert not raised.measured
