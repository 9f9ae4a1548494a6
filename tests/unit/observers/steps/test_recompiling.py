"""Compilations by XLA, guessed from how long an execution computes."""

from __future__ import annotations

import pytest

from keras_perf.observers.steps.recompiling import (
    ENOUGH,
    MANY_TIMES,
    QUICKEST_COMPILATION_NS,
    SHARE_OF_FIRST,
    WINDOW,
    RecompileGuess,
)
from keras_perf.records.execution import Execution, Kind

MS = 10**6


def execution(
    first_step: int, inside_ms: float, *, steps: int = 1, kind: Kind = Kind.STEADY
) -> Execution:
    ready = round(inside_ms * MS)
    return Execution(first_step, steps, kind, 0, ready, ready, ready + MS)


def usual(count: int = 20, *, first: int = 0, inside_ms: float = 10.0) -> list[Execution]:
    return [execution(first + place, inside_ms) for place in range(count)]


def waits(executions: list[Execution], wait_ms: float = 0.0) -> dict[int, int]:
    return {e.first_step: round(wait_ms * MS) for e in executions}


def test_an_execution_that_computes_many_times_as_long_as_others_compiled():
    executions = [*usual(), execution(20, 90.0)]
    assert RecompileGuess().excesses(executions, waits(executions)) == {20: 80 * MS}


def test_eight_times_as_long_is_not_enough():
    assert MANY_TIMES == 8
    executions = [*usual(), execution(20, 80.0)]
    assert RecompileGuess().excesses(executions, waits(executions)) == {}


def test_waiting_for_input_is_no_compiling():
    executions = [*usual(), execution(20, 500.0), execution(21, 500.0)]
    known = waits(executions) | {20: 490 * MS, 21: 410 * MS}
    assert RecompileGuess().excesses(executions, known) == {21: 80 * MS}


def test_where_one_wait_is_not_known_it_is_taken_to_be_the_usual_one():
    executions = [*usual(inside_ms=40.0), execution(20, 120.0), execution(21, 60.0)]
    known = waits(executions[:20], 30.0)
    assert RecompileGuess().excesses(executions, known) == {20: 80 * MS}


def test_where_no_wait_is_known_nothing_is_found():
    assert RecompileGuess().excesses([*usual(), execution(20, 900.0)], {}) == {}


def test_what_the_warm_up_shows_of_fast_steps_lets_the_first_ones_be_judged():
    guess, first = RecompileGuess(), [execution(10, 400.0), execution(11, 10.0)]
    assert RecompileGuess().excesses(first, waits(first)) == {}
    for warm in [*usual(6), *usual(4, first=6, inside_ms=400.0)]:
        guess.saw(warm._replace(kind=Kind.WARMUP))
    assert guess.excesses(first, waits(first)) == {10: 390 * MS}


def test_executions_of_any_length_are_judged_by_the_step():
    executions = [*usual(), execution(20, 80.0, steps=8), execution(28, 800.0, steps=8)]
    assert RecompileGuess().excesses(executions, waits(executions)) == {28: 720 * MS}


def test_nothing_is_judged_before_there_is_enough_to_judge_by():
    guess, executions = RecompileGuess(), [*usual(ENOUGH - 2), execution(90, 900.0)]
    assert guess.excesses(executions, waits(executions)) == {}
    later = [execution(91, 900.0)]
    assert guess.excesses(later, waits(later)) == {91: 890 * MS}


def test_what_is_fast_is_remembered_from_one_stretch_to_the_next():
    guess = RecompileGuess()
    assert guess.excesses(usual(), waits(usual())) == {}
    later = [execution(20, 900.0)]
    assert guess.excesses(later, waits(later)) == {20: 890 * MS}


def test_compilations_in_most_of_the_steps_are_still_found():
    slow = [execution(20 + place, 200.0) for place in range(60)]
    executions = [*usual(), *slow]
    found = RecompileGuess().excesses(executions, waits(executions))
    assert set(found) == {e.first_step for e in slow}
    assert set(found.values()) == {190 * MS}


def test_where_nearly_every_step_compiles_it_is_what_is_usual():
    executions = usual(WINDOW, inside_ms=200.0)
    assert RecompileGuess().excesses(executions, waits(executions)) == {}


def test_a_change_that_lasts_is_usual_after_as_many_steps_as_are_remembered():
    guess = RecompileGuess()
    guess.excesses(usual(), waits(usual()))
    lasting = usual(WINDOW, first=20, inside_ms=200.0)
    found = guess.excesses(lasting, waits(lasting))
    assert 0 < len(found) < WINDOW
    assert lasting[-1].first_step not in found


def test_what_is_known_to_be_traced_or_recompiled_is_not_guessed():
    kinds = Kind.TRACED, Kind.RECOMPILED, Kind.WARMUP, Kind.TRIAL, Kind.PROFILED
    others = [execution(20 + place, 900.0, kind=kind) for place, kind in enumerate(kinds)]
    executions = [*usual(), *others]
    assert RecompileGuess().excesses(executions, waits(executions)) == {}


def test_an_execution_that_compiled_is_told_with_its_kind_and_for_how_long():
    executions = [*usual(), execution(20, 90.0), execution(21, 10.0)]
    judged = RecompileGuess().judged(executions, waits(executions))
    assert judged[20] == executions[20]._replace(kind=Kind.RECOMPILED, compile_ns=80 * MS)
    assert judged[:20] + judged[21:] == executions[:20] + executions[21:]


def test_the_warm_up_among_the_executions_is_learned_from():
    warm = [each._replace(kind=Kind.WARMUP) for each in usual(10)]
    executions = [*warm, execution(10, 400.0)]
    judged = RecompileGuess().judged(executions, waits(executions[10:]))
    assert [e.kind for e in judged] == [Kind.WARMUP] * 10 + [Kind.RECOMPILED]


def test_only_waits_of_steady_executions_are_usual_ones():
    trials = [execution(20 + n, 900.0, kind=Kind.TRIAL) for n in range(30)]
    executions = [*usual(inside_ms=40.0), *trials]
    known = waits(executions[:20], 30.0) | waits(trials, 800.0)
    guess = RecompileGuess()
    guess.judged(executions, known)
    later = [execution(50, 120.0)]
    assert guess.judged(later, {})[0].compile_ns == 80 * MS


def test_where_waits_are_never_known_no_time_is_called_compiling():
    executions = [*usual(), execution(20, 900.0)]
    *others, last = RecompileGuess().judged(executions, None)
    assert others == executions[:20]
    assert (last.kind, last.compile_ns) == (Kind.RECOMPILED, 0)


def begun(first_ms: float, *, wait_ms: float | None = 0.0, traced_ms: float = 0.0):
    """A guess that has seen the first execution."""
    guess, first = RecompileGuess(), execution(0, first_ms, kind=Kind.WARMUP)
    known = {} if wait_ms is None else {0: round(wait_ms * MS)}
    assert guess.begins
    guess.begin(first, known, round(traced_ms * MS))
    assert not guess.begins
    return guess


@pytest.mark.parametrize(
    ("times", "found"), [(0.5 * SHARE_OF_FIRST, False), (2 * SHARE_OF_FIRST, True), (1, True)]
)
def test_what_is_far_from_the_first_compilation_is_none(times, found):
    guess = begun(2000.0, wait_ms=900.0, traced_ms=100.0)
    executions = [*usual(), execution(20, 10.0 + 1000.0 * times)]
    assert bool(guess.excesses(executions, waits(executions))) is found


def test_where_the_first_wait_is_not_known_the_first_execution_tells_nothing():
    guess, executions = begun(60_000.0, wait_ms=None), [*usual(), execution(20, 400.0)]
    assert guess.excesses(executions, waits(executions)) == {20: 390 * MS}


def test_a_first_execution_that_found_everything_compiled_tells_nothing():
    guess, executions = begun(5.0, wait_ms=4.0, traced_ms=2.0), [*usual(), execution(20, 400.0)]
    assert guess.excesses(executions, waits(executions)) == {20: 390 * MS}


def test_no_compilation_is_as_quick_as_a_short_stall():
    least_ms = QUICKEST_COMPILATION_NS / MS
    executions = [*usual(inside_ms=0.5), execution(20, 0.9 * least_ms), execution(21, 2 * least_ms)]
    found = RecompileGuess().excesses(executions, waits(executions))
    assert found == {21: round((2 * least_ms - 0.5) * MS)}


def test_of_batches_that_all_had_one_shape_none_compiled():
    executions = [*usual(), execution(20, 900.0)]
    guess = RecompileGuess()
    assert guess.judged(executions, waits(executions), one_shape=True) == executions
    assert (guess.found, guess.found_ns) == (0, 0)


def test_nor_did_the_last_one_of_an_epoch_whose_batch_might_have_been_smaller():
    guess, last = RecompileGuess(), execution(20, 5.0)._replace(kind=Kind.RECOMPILED)
    [judged] = guess.judged([last], waits([last]), one_shape=True)
    assert judged.kind is Kind.STEADY


def test_once_shapes_differ_what_is_fast_is_known_already():
    guess = RecompileGuess()
    guess.judged(usual(), waits(usual()), one_shape=True)
    later = [execution(20, 900.0)]
    assert [e.kind for e in guess.judged(later, waits(later))] == [Kind.RECOMPILED]


def test_what_is_found_is_counted():
    guess = RecompileGuess()
    executions = [*usual(), execution(20, 900.0), execution(21, 90.0)]
    guess.judged(executions, waits(executions))
    assert (guess.found, guess.found_ns) == (2, 970 * MS)
