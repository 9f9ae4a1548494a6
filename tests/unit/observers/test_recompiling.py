"""Compilations by XLA, guessed from how long an execution computes."""

from __future__ import annotations

from keras_perf.observers.steps.recompiling import (
    ENOUGH,
    MANY_TIMES,
    WINDOW,
    RecompileGuess,
    gaps_around,
    was_waiting,
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


def test_the_gaps_around_an_execution_end_with_the_fetch_after_it():
    gaps = [1, 2, 3, 4, 5, 6, 7, 8]
    assert gaps_around(1, 1, gaps) == [7, 8]
    assert gaps_around(1, 3, gaps) == [5, 6]
    assert gaps_around(4, 2, gaps) == [3, 4, 5, 6, 7]


def test_gaps_that_are_forgotten_or_still_to_come_are_none():
    gaps = [1, 2, 3]
    assert gaps_around(1, 2, gaps) == [1, 2]
    assert [len(gaps_around(*place, gaps)) for place in ((1, 3), (1, 0), (2, 9))] == [0, 0, 0]


def test_a_long_execution_without_a_long_gap_waited_for_input():
    assert was_waiting(200 * MS, [900, 1_000])
    assert not was_waiting(200 * MS, [900, 199_000])
    assert not was_waiting(200 * MS, [])
