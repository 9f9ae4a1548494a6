"""Compiling that only a trace tells from computing."""

from __future__ import annotations

import pytest
from hand_built import facts_of, frame, point, summary

from keras_perf.advise.rules.best_first import recommendations
from keras_perf.advise.situation import situation_of
from keras_perf.advise.verdict.verdict import verdict_of
from keras_perf.analyse.summary import Summary, summarize
from keras_perf.report.diagnosis import diagnosis_of

XLA = {"jit_compile": True, "shapes_differ": True, "rows_differ": False}


def traced(step, *, compiled, compiling, executing=30.0, python=1.0, wait=0.5):
    """The scalars of one trace; without compilations they lack two."""
    values = {"execution_ms": executing + compiling, "python_ms": python, "input_wait_ms": wait}
    if compiled:
        values |= {"compiled_ratio": compiled, "compile_ms": compiling}
    return step, {f"trace/{name}": value for name, value in values.items()}


def run(*traces, **changes) -> Summary:
    """Sixty steps that compile, and sixty of the same lengths that do not."""
    slow = {"input_wait": 1.0, "compute": 150.0, "other_host": 1.0} | changes
    quick = {"input_wait": 1.0, "compute": 20.0, "other_host": 1.0}
    points = [point(60, 60, sum(slow.values()), **slow), point(120, 60, 22.0, **quick)]
    return summarize(frame(*points, *traces), facts_of(XLA))


MOSTLY = traced(40, compiled=0.9, compiling=110.0)


def test_what_steps_compute_for_beyond_the_traces_computing_is_compiling():
    found = run(MOSTLY)
    assert found.compiling is not None
    assert (found.compiling.share, found.compiling.compile_ms) == (0.9, 110.0)
    # 31 ms are not compiling: 119 of the first 60 steps' 150 ms are, and nothing of the others'.
    assert found.parts["compile"] == pytest.approx(119.0 / 2)
    assert found.parts["compute"] == pytest.approx((150.0 + 20.0 - 119.0) / 2)
    assert sum(found.parts.values()) == pytest.approx(found.step_ms)


def test_the_verdict_is_compile_bound_and_the_size_is_that_of_the_trace():
    found = situation_of(run(MOSTLY))
    verdict, why = verdict_of(found)
    assert verdict == "compile-bound"
    assert str(why).startswith("compile: 59.5 ms of each step; without, training would be 3.16×")
    advice, *_ = recommendations(found)
    assert advice.id == "stable-shapes"
    assert "jit_compile=False" in advice.action
    assert "try_advice measures it" in advice.reason
    assert 1.2 < advice.low < 2.5 < advice.predicted_speedup < 4.2 < advice.high < 7.0


def test_without_a_trace_the_verdict_stays_open_and_the_note_says_what_would_tell():
    found = run()
    assert "compile" not in found.parts
    assert verdict_of(situation_of(found))[0] != "compile-bound"
    assert any("a trace would tell" in note for note in diagnosis_of(found).notes)


def test_steps_that_vary_without_compiling_are_not_called_compiling():
    found = run(traced(40, compiled=0.0, compiling=0.0))
    assert found.compiling is None
    assert verdict_of(situation_of(found))[0] != "compile-bound"
    assert any("no steps that nearly all compile" in note for note in diagnosis_of(found).notes)


def test_a_single_compilation_in_the_window_does_not_make_the_rest_compiling():
    assert run(traced(40, compiled=0.05, compiling=5.0)).compiling is None


def test_of_several_traces_the_one_that_saw_most_compilations_tells():
    later = traced(100, compiled=0.6, compiling=80.0, executing=20.0)
    quiet = traced(110, compiled=0.0, compiling=0.0, executing=20.0)
    assert run(MOSTLY, later, quiet).parts == run(MOSTLY).parts


@pytest.mark.parametrize("compiled", [0.0, 0.6])
def test_long_steps_of_another_trace_are_computing_and_not_compiling(compiled):
    longer = traced(100, compiled=compiled, compiling=80.0 * bool(compiled), executing=149.0)
    assert run(MOSTLY, longer).parts["compile"] == 0.0


def test_what_the_split_has_found_itself_is_added_to():
    found = run(MOSTLY, compute=100.0, compile=50.0)
    assert found.parts["compile"] == pytest.approx((50.0 + 69.0) / 2)


def test_where_the_wait_is_not_apart_it_is_no_compiling():
    points = [point(60, 60, 150.0, compute=150.0), MOSTLY]
    found = summarize(frame(*points), facts_of(XLA))
    assert found.parts["compute"] == pytest.approx(31.5)


def retraced(step, share, tracing, executing=4.0):
    """The scalars of a trace whose steps trace a function."""
    values = {"execution_ms": executing, "python_ms": 1.0 + tracing, "input_wait_ms": 0.5}
    values |= {"retraced_ratio": share, "retracing_ms": tracing}
    return step, {f"trace/{name}": value for name, value in values.items()}


def test_what_every_step_is_traced_for_is_compiling_too():
    points = [point(60, 60, 76.0, compute=26.0, compile=50.0), retraced(40, 1.0, 70.0)]
    context = {"driver": "loop", "jit_compile": False, "many_shapes": True}
    found = summarize(frame(*points), facts_of(context))
    assert found.compiling is not None
    assert not found.compiling.by_xla
    # A step executes and waits for 4.5 ms, and Python calls it in one.
    assert found.parts["compute"] == pytest.approx(5.5)
    assert found.parts["compile"] == pytest.approx(76.0 - 5.5)
    verdict, _ = verdict_of(situation_of(found))
    assert verdict == "compile-bound"
    advice, *_ = recommendations(situation_of(found))
    assert "reduce_retracing=True" in advice.action
    notes = diagnosis_of(found).notes
    assert any("traces a function again and again" in note for note in notes)
    assert not any("XLA compiles" in note for note in notes)


def test_where_few_steps_are_traced_the_split_tells_them_from_the_others():
    points = [point(60, 60, 76.0, compute=26.0, compile=50.0), retraced(40, 0.1, 7.0)]
    found = summarize(frame(*points), facts_of({}))
    assert found.compiling is None


def test_the_note_says_what_is_counted_as_compiling():
    notes = diagnosis_of(run(MOSTLY)).notes
    assert any(
        "in 90% of the traced steps, whose remaining time was 31 ms at most" in note
        for note in notes
    )
    plain = diagnosis_of(summary(compute=10.0)).notes
    assert not any("compil" in note for note in plain)
