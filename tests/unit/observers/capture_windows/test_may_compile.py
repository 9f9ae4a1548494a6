"""Executions that may all have compiled, among scripted ones."""

from __future__ import annotations

import pytest

from keras_perf.observers.capture_windows.may_compile import (
    ENOUGH,
    MayCompile,
)
from keras_perf.observers.steps.recompiling import QUICKEST_COMPILATION_NS
from keras_perf.records.execution import Execution, Kind

MS = 1_000_000
LONG, SHORT = 4 * QUICKEST_COMPILATION_NS / MS, QUICKEST_COMPILATION_NS / MS / 4


def executions(times_ms, kind=Kind.STEADY):
    return [
        Execution(step, 1, kind, 0, 0, round(ms * MS), round(ms * MS))
        for step, ms in enumerate(times_ms)
    ]


def test_executions_that_mostly_last_as_long_as_a_compilation_may_be_such():
    may = MayCompile()
    assert not may.add(executions([LONG] * (ENOUGH - 1)))
    assert may.add(executions([LONG]))


@pytest.mark.parametrize("times_ms", [[SHORT] * 2 * ENOUGH, [LONG, SHORT, SHORT] * ENOUGH])
def test_mostly_short_executions_cannot_have_compiled(times_ms):
    assert not MayCompile().add(executions(times_ms))


@pytest.mark.parametrize("kind", [Kind.WARMUP, Kind.RECOMPILED, Kind.TRACED, Kind.PROFILED])
def test_only_steady_executions_are_looked_at(kind):
    assert not MayCompile().add(executions([LONG] * 2 * ENOUGH, kind))
