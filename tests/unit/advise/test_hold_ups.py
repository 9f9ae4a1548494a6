"""What was held up is told from what compiles, and from hooks that work."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest
from hand_built import situation, summary
from hypothesis import given
from hypothesis import strategies as st

from keras_perf.advise.gains.compiling import COUNTED
from keras_perf.advise.rules.compiling.stable_shapes import stable_shapes
from keras_perf.advise.rules.followed import works_less
from keras_perf.advise.rules.host import amortize_callback
from keras_perf.advise.situation import Situation, situation_of
from keras_perf.advise.verdict.verdict import verdict_of
from keras_perf.observers.steps.recompiling import SHARE_OF_FIRST, RecompileGuess
from keras_perf.observers.steps.split import Splitter
from keras_perf.records.execution import Execution, Kind
from keras_perf.records.metrics.host_metrics import THROTTLED

MS = 10**6
WARM, STEPS = 10, 40
FIRST_MS = 400.0
"""What XLA took for the first batch."""

PLACES = st.integers(WARM, WARM + STEPS - 1)
ANY_LENGTH = st.floats(0.1, 50 * FIRST_MS)


def trained(step_ms: float, longer: Mapping[int, float], *, one_shape: bool) -> Situation:
    """Steps as long as each other but for those that took so many milliseconds more."""
    guess, splitter, now, executions = RecompileGuess(), Splitter(), 0, []
    for step in range(WARM + STEPS):
        more_ms = FIRST_MS if step == 0 else longer.get(step, 0.0)
        ready = now + round((step_ms + more_ms) * MS)
        kind = Kind.WARMUP if step < WARM else Kind.STEADY
        executions.append(Execution(step, 1, kind, now, ready, ready, ready))
        now = ready
    guess.begin(executions[0], {0: 0}, 0)
    waits = {execution.first_step: 0 for execution in executions}
    for execution in guess.judged(executions, waits, one_shape=one_shape)[WARM:]:
        splitter.add(execution)
    splitter.close_stretch(None)
    interval = splitter.take(final=True)
    assert interval is not None
    return situation(
        steps=interval.steps,
        input_wait=0.0,
        compute=interval.compute_ns / interval.steps / MS,
        compile=interval.compile_ns / interval.steps / MS,
        context={
            "jit_compile": True,
            "shapes_differ": not one_shape,
            "guessed_compilations": guess.found,
            "guessed_compile_ms": guess.found_ns / MS,
        },
    )


def says_compiling(found: Situation) -> bool:
    return verdict_of(found)[0] == "compile-bound" or stable_shapes(found) is not None


@given(st.floats(0.2, 20.0), st.dictionaries(PLACES, ANY_LENGTH, max_size=STEPS // 2))
def test_no_hold_up_is_compiling_where_batches_had_one_shape(step_ms, longer):
    assert not says_compiling(trained(step_ms, longer, one_shape=True))


@given(st.floats(0.2, 20.0), st.dictionaries(PLACES, ANY_LENGTH, max_size=COUNTED - 1))
def test_hold_ups_by_chance_decide_nothing_however_long_they_are(step_ms, longer):
    assert not says_compiling(trained(step_ms, longer, one_shape=False))


SHORT = st.floats(0.0, 0.99 * SHARE_OF_FIRST * FIRST_MS)


@given(st.floats(0.2, 20.0), st.dictionaries(PLACES, SHORT, max_size=STEPS // 2))
def test_any_number_of_hold_ups_far_shorter_than_a_compilation_decides_nothing(step_ms, longer):
    assert not says_compiling(trained(step_ms, longer, one_shape=False))


COMPILING = st.floats(0.5 * FIRST_MS, 2 * FIRST_MS)


@given(
    st.floats(0.2, 20.0),
    st.dictionaries(PLACES, COMPILING, min_size=COUNTED, max_size=STEPS // 2),
)
def test_executions_that_compile_for_their_lengths_decide(step_ms, longer):
    found = trained(step_ms, longer, one_shape=False)
    assert verdict_of(found)[0] == "compile-bound"
    assert stable_shapes(found) is not None


def test_one_execution_as_long_as_a_compilation_is_told_and_is_inconclusive():
    found, because = verdict_of(trained(2.0, {30: 400.0}, one_shape=False))
    assert found == "inconclusive"
    assert str(because) == (
        "1 of 40 steps took as long as XLA compiles, 400 ms beyond the usual; something else may "
        "have held it up. Train longer, or capture a trace of such steps (WindowedProfiler; its "
        "on_slow_step=1.5 waits for one that stands out)."
    )


def with_two_guesses(**parts: float) -> Situation:
    """Two stalls of 400 ms in 40 steps, which may have been compilations."""
    guesses = {"guessed_compilations": 2, "guessed_compile_ms": 800.0}
    context = {"jit_compile": True, "shapes_differ": True, **guesses}
    return situation(steps=STEPS, compile=20.0, context=context, **parts)


def test_what_may_have_compiled_hides_no_bottleneck_that_is_sure():
    found, because = verdict_of(with_two_guesses(compute=2.0, input_wait=10.0))
    assert found == "input-bound"
    assert str(because).startswith(
        "input wait: 10 ms of each step; without, training would be 1.45×"
    )
    assert verdict_of(with_two_guesses(compute=2.0, callbacks=10.0))[0] == "callback-bound"


def test_what_is_hardly_worth_removing_leaves_the_guess_inconclusive():
    found, because = verdict_of(with_two_guesses(compute=10.0, input_wait=0.5))
    assert found == "inconclusive"
    assert str(because).startswith("2 of 40 steps took as long as XLA compiles")


HOOK = "Mine.on_train_batch_end"


def with_a_hook(
    others_pct: float = 60.0, throttled_pct: float = 0.0, sure_ms: float = 0.0, **part: float
) -> Situation:
    """Steps that compute for 2 ms, and hooks while others use the CPUs, or a quota is used up.

    A hook of 0.4 ms took nearly all of it in a few short calls; another takes `sure_ms` each time.
    """
    hooks = {
        HOOK: {"times": 400, "working": 40, "held": 0.95, "stopped": 0.98},
        "Sure.on_train_batch_end": {"times": 400, "working": 400},
    }
    sure = {"Sure.on_train_batch_end": sure_ms} if sure_ms else {}
    return situation(
        400,
        **{"compute": 2.0, "input_wait": 0.0, "dispatch": 0.0, "callbacks": 0.4 + sure_ms} | part,
        owners={HOOK: 0.4, **sure},
        process_cpu_pct=100.0,
        sensors={"host/cpu_pct": others_pct + 50.0, THROTTLED: throttled_pct},
        context={"cpu_count": 2, "container_cpus": 2.0, "hooks": hooks},
    )


def test_a_hook_that_may_have_waited_for_a_core_decides_nothing():
    found = with_a_hook()
    verdict, because = verdict_of(found)
    assert verdict == "inconclusive"
    assert str(because) == (
        "callbacks take 0.4 ms of each step, 0.38 ms of them in a few short calls, as of "
        "Mine.on_train_batch_end: other processes used 60% of the CPUs meanwhile, and they may "
        "have waited for a core then. Train again without them."
    )
    assert amortize_callback(found) is None


def test_nor_does_one_that_may_have_waited_for_its_container_s_quota():
    found = with_a_hook(0.0, throttled_pct=40.0)
    verdict, because = verdict_of(found)
    assert verdict == "inconclusive"
    assert str(because).endswith(
        "the container used up its quota of CPU time meanwhile, and they may have waited for a "
        "core then."
    )
    assert amortize_callback(found) is None


@pytest.mark.parametrize("throttled_pct", [0.0, 4.0])
def test_while_cores_are_free_it_decides(throttled_pct):
    found = with_a_hook(10.0, throttled_pct)
    assert verdict_of(found)[0] == "callback-bound"
    advice = amortize_callback(found)
    assert advice is not None
    assert advice.evidence["owner"] == HOOK


def test_what_may_have_waited_for_a_core_hides_no_hook_that_is_sure():
    found = with_a_hook(sure_ms=0.3)
    verdict, because = verdict_of(found)
    assert verdict == "callback-bound"
    assert str(because).startswith(
        "callbacks: 0.7 ms of each step; 0.38 ms of them may be waiting for a core; without the "
        "rest, training would be 1.13×"
    )
    advice = amortize_callback(found)
    assert advice is not None
    assert advice.evidence["owner"] == "Sure.on_train_batch_end"
    assert advice.predicted_speedup < 1.2


def test_what_is_sure_and_what_is_not_may_be_worth_removing_together():
    verdict, because = verdict_of(with_a_hook(compute=9.0, callbacks=0.75, sure_ms=0.35))
    assert verdict == "inconclusive"
    assert str(because).startswith("callbacks take 0.75 ms of each step, 0.38 ms of them in a few")


def test_nor_another_part_that_is_worth_removing():
    assert verdict_of(with_a_hook(input_wait=0.3))[0] == "input-bound"
    assert verdict_of(with_a_hook(dispatch=0.3))[0] == "dispatch-bound"


def test_of_a_quota_that_is_used_up_nobody_says_that_no_thread_computed():
    """Behind workers whose wait is not measured; half of the step no thread used its core."""
    sensors = {"host/cpu_pct": 25.0}
    found, throttled = (
        situation(
            400,
            compute=10.0,
            process_cpu_pct=33.0,
            sensors=sensors | {THROTTLED: pct},
            context={"input_kind": "PyDataset", "cpu_count": 2},
        )
        for pct in (0.0, 100.0)
    )
    assert verdict_of(found)[0] == "input-bound"
    assert verdict_of(throttled)[0] == "inconclusive"


def test_a_worker_that_waits_for_others_is_told_so_too():
    exchange = {"peer_wait": 1.0, "communication": 1.02}
    found = with_a_hook(compute=3.0)
    worker = replace(found.summary, exchange=exchange)
    verdict, because = verdict_of(situation_of(worker))
    assert verdict == "inconclusive"
    assert because.first.startswith("callbacks take 0.4 ms of each step")
    assert "wait" in because.more


@pytest.mark.parametrize(
    ("others_pct", "held", "taken"), [(0.0, 0.9, False), (60.0, 0.9, None), (60.0, 0.0, False)]
)
def test_a_hook_that_may_only_have_waited_is_not_said_to_work_less(others_pct, held, taken):
    before = situation(200, compute=2.0, callbacks=0.5, owners={HOOK: 0.5})
    advice = amortize_callback(before)
    assert advice is not None
    after = summary(
        compute=2.0,
        callbacks=0.5,
        owners={HOOK: 0.5},
        sensors={"host/cpu_pct": others_pct},
        context={"hooks": {HOOK: {"times": 200, "working": 20, "held": held}}},
    )
    assert works_less(after, advice) is taken
