"""Steps that compute for far longer than the quickest, among scripted ones."""

from __future__ import annotations

import pytest

from keras_perf.capture.triggers import FIRST_NS, LOOK_EVERY_NS, OnVaryingCompute
from keras_perf.observers.capture_windows.varying_compute import DISTURBED, ENOUGH, VaryingCompute
from keras_perf.records.execution import Execution, Kind

MS = 1_000_000


def executions(times_ms, kind=Kind.STEADY, first=0, **more):
    return [
        Execution(first + step, 1, kind, 0, 0, round(ms * MS), round(ms * MS), **more)
        for step, ms in enumerate(times_ms)
    ]


def waited(found, wait_ms=0.0):
    return {each.first_step: round(wait_ms * MS) for each in found}


QUICK, LONG = 2.0, 2.0 * DISTURBED + 0.1
MOSTLY_LONG = [QUICK, LONG, LONG, LONG] * (ENOUGH // 4)


def test_most_steps_that_compute_for_far_longer_than_the_quickest_are_told():
    varying, found = VaryingCompute(), executions(MOSTLY_LONG)
    assert varying.add(found[:-1], waited(found[:-1])) == 0.0
    assert varying.add(found[-1:], waited(found)) == pytest.approx(LONG / QUICK)


@pytest.mark.parametrize(
    "times_ms",
    [
        [QUICK] * ENOUGH,
        [QUICK, QUICK, LONG] * ENOUGH,
        [QUICK, QUICK * DISTURBED * 0.95] * ENOUGH,
        [QUICK] * (ENOUGH - 1) + [1000 * LONG],
    ],
)
def test_steps_that_vary_less_or_seldom_are_not(times_ms):
    found = executions(times_ms)
    assert VaryingCompute().add(found, waited(found)) == 0.0


def test_a_wait_for_input_is_no_computing_and_where_the_collector_paused_nobody_knows():
    found = executions(MOSTLY_LONG)
    waits = {each.first_step: each.inside_ns - QUICK * MS for each in found}
    assert VaryingCompute().add(found, waits) == 0.0
    paused = [each._replace(collector_ns=MS) for each in found]
    assert VaryingCompute().add(paused, waited(paused)) == 0.0


def test_executions_of_several_steps_are_not_compared_with_those_of_one():
    varying, quick = VaryingCompute(), executions([QUICK] * ENOUGH)
    longer = [each._replace(steps=8) for each in executions([8 * QUICK] * ENOUGH, first=ENOUGH)]
    for found in (quick, longer):
        assert varying.add(found, waited(found)) == 0.0


def test_of_steps_whose_wait_is_unknown_nothing_is_said():
    assert VaryingCompute().add(executions(MOSTLY_LONG), {}) == 0.0


def later():
    """A clock that jumps once it was asked."""
    times = iter([0])
    return lambda: next(times, FIRST_NS)


def stretches(trigger, count, times_ms=MOSTLY_LONG, wait_ms=0.0):
    """Each of steps with these times; the steps of those whose waits were asked for."""
    asked = []

    def waits(found):
        asked.append([each.first_step for each in found])
        return waited(found, wait_ms)

    for stretch in range(count):
        trigger.executions(executions(times_ms, first=stretch * ENOUGH))
        trigger.stretch_ends(waits)
    return asked


def test_one_window_is_asked_for_until_it_is_granted():
    answers, said = [False, True], []

    def request(reason):
        said.append(str(reason))
        return answers.pop(0)

    asked = stretches(OnVaryingCompute(request, later()), 4)
    assert said == ["steps compute for 2.5 times as long as the quickest tenth: for what?"] * 2
    # Nor is the input asked again after that.
    assert len(asked) == 2


def test_while_nothing_varies_waits_are_asked_for_seldom():
    now_ns = [0]
    trigger = OnVaryingCompute(lambda reason: True, lambda: now_ns[0])
    assert stretches(trigger, 100) == []
    now_ns[0] = FIRST_NS
    assert len(stretches(trigger, 100, [QUICK] * ENOUGH)) == 1
    now_ns[0] = FIRST_NS + LOOK_EVERY_NS
    assert len(stretches(trigger, 100, [QUICK] * ENOUGH)) == 1


def test_only_what_follows_the_last_execution_that_was_not_steady_is_looked_at():
    trigger = OnVaryingCompute(lambda reason: True, later())
    trigger.executions(executions([LONG], first=0))
    trigger.executions(executions([LONG], Kind.RECOMPILED, first=1))
    trigger.executions(executions([LONG, LONG], first=2))
    found = []
    trigger.stretch_ends(lambda stretch: found.extend(e.first_step for e in stretch) or {})
    assert found == [2, 3]
