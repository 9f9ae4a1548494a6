"""Which part of the step is the bottleneck."""

from __future__ import annotations

from keras_perf.advise.gains.compiling import hardly_compiles
from keras_perf.advise.gains.of_a_part import (
    WORTHWHILE,
    bound_between_epochs,
    gain_without_hooks,
    gains,
    may_be_python,
    speed_up,
)
from keras_perf.advise.gains.of_two_parts import held_by_two
from keras_perf.advise.situation import Situation
from keras_perf.advise.verdict.because import Because
from keras_perf.advise.verdict.reasons import (
    about_waiting,
    between_epochs,
    no_other_part,
    nothing_else,
    of_a_part,
    of_idling,
    of_making,
    of_the_interpreter,
    of_trials,
)
from keras_perf.advise.verdict.undecided import (
    may_be_dispatch,
    may_be_eager,
    may_be_held_up,
    may_be_no_hook,
    waits_for_others,
    who_slows,
    why_no_wait,
)
from keras_perf.analyse.hardware.gpu_busy import own_share
from keras_perf.analyse.summary import ENOUGH_STEPS, Summary
from keras_perf.observers.capture_windows.varying_compute import DISTURBED
from keras_perf.records.figures import in_ms, in_percent

SHORT_EXECUTION_MS = 5.0
"""Entering and leaving a train function costs up to about a millisecond: in a shorter execution it
may be what matters."""

USUAL_DISPATCH_MS = 0.5
"""Of an execution, where it was not measured: 0.45 to 0.9 ms on a shared server CPU."""


def verdict_of(situation: Situation) -> tuple[str, Because]:
    """The verdict, and the sentences that say why."""
    summary = situation.summary
    if summary.steps < ENOUGH_STEPS:
        return "inconclusive", Because(
            f"only {summary.steps} steps were measured after warm-up, at least {ENOUGH_STEPS} "
            "are needed: train longer."
        )
    found = gains(situation)
    # What may not be compiling hides nothing that is sure.
    guessed = found.pop("compile-bound") if hardly_compiles(situation) else 1.0
    verdict = max(found, key=lambda name: found[name])
    gain, fetching = found[verdict], _gain_of_fetching(summary)
    if bound_between_epochs(situation.model, max(gain, fetching)):
        return "callback-bound", Because(between_epochs(situation))
    if fetching > max(gain, WORTHWHILE):
        return "inconclusive", Because(_no_wait(summary))
    if verdict == "input-bound" and gain >= WORTHWHILE:
        if tried := of_trials(situation, gain):
            return verdict, Because(tried)
        if situation.interpreter_ms:
            return verdict, of_the_interpreter(situation, gain)
        if not situation.input_measured:
            return verdict, of_making(situation, gain)
    if not situation.input_measured and _mostly_idle(situation, gain):
        return "input-bound", of_idling(situation)
    surely_eager = verdict == "eager-bound" and gain >= WORTHWHILE
    if not surely_eager and may_be_python(situation, gain):
        return "inconclusive", Because(may_be_eager(situation))
    if gain < WORTHWHILE <= guessed:
        return "inconclusive", Because(may_be_held_up(situation))
    if gain < WORTHWHILE:
        return _without_a_bottleneck(situation)
    if _dispatch_may_be_more(summary, gain, verdict):
        return "inconclusive", Because(may_be_dispatch(summary))
    return verdict, of_a_part(verdict, gain, situation)


def _without_a_bottleneck(situation: Situation) -> tuple[str, Because]:
    """No part that was measured is worth removing."""
    summary, rest = situation.summary, situation.model.rest
    by_two = held_by_two(situation)
    if not by_two and rest.get("hooks_for_a_core") and gain_without_hooks(situation) >= WORTHWHILE:
        return "inconclusive", Because(may_be_no_hook(situation), about_waiting(situation))
    if waiting := about_waiting(situation):
        whose = "this worker's step" if situation.facts.settings.workers > 1 else "a step"
        of_its_own = no_other_part(whose) + "."
        return "compute-bound", Because(of_its_own, waiting)
    if not situation.input_measured:
        return "inconclusive", Because(_no_wait(summary))
    if by_two:
        return "inconclusive", Because(by_two)
    quickest_ms, inside_ms = situation.model.undisturbed_ms, situation.model.inside_ms
    if quickest_ms is not None and inside_ms > DISTURBED * quickest_ms:
        return "inconclusive", Because(
            f"steps spend {in_ms(inside_ms)} in the train function, and the "
            f"quickest tenth of them no more than {in_ms(quickest_ms)}: {who_slows(situation)}"
        )
    if speed_up(rest.get("for_a_core", 0.0), summary.step_ms) >= WORTHWHILE:
        return "inconclusive", Because(waits_for_others(situation))
    if "dispatch" in summary.parts or summary.facts.settings.run_eagerly:
        return "compute-bound", Because(
            f"{nothing_else(situation)}: what remains is the model's own computation."
        )
    busy = own_share(summary)
    if busy is not None and WORTHWHILE * busy > 1:
        return "compute-bound", Because(
            f"{nothing_else(situation)}: the GPU runs kernels for {in_percent(busy)} of the time."
        )
    call_ms = summary.facts.settings.call_ms
    if _mostly_calls(summary, call_ms):
        return "inconclusive", Because(may_be_dispatch(summary))
    dispatch = "which was not measured" if call_ms is None else f"at most {in_ms(call_ms)} of it"
    return "compute-bound", Because(
        f"{nothing_else(situation)}: what remains is the model's own computation and dispatch, "
        f"{dispatch}."
    )


def _gain_of_fetching(summary: Summary) -> float:
    """At most, of a loop that may fetch between two calls: nothing tells how long it waits."""
    if not summary.facts.settings.in_a_loop or "input_wait" in summary.parts:
        return 1.0
    without_ms = summary.step_ms - summary.parts.get("other_host", 0.0)
    return summary.step_ms / max(1e-9, without_ms)


def _no_wait(summary: Summary) -> str:
    return f"the input wait could not be measured: {why_no_wait(summary)}."


def _mostly_idle(situation: Situation, other_gain: float) -> bool:
    """Waiting, for what can only be input, costs more than anything that was measured."""
    step_ms, idle_ms = situation.summary.step_ms, situation.idle_ms
    from_workers = situation.facts.input.input_kind == "PyDataset"
    return from_workers and idle_ms > step_ms / 2 and step_ms > other_gain * (step_ms - idle_ms)


def _mostly_calls(summary: Summary, call_ms: float | None) -> bool:
    """Entering and leaving the train function may be what a step's time goes into.

    So may be the fetching of ready batches, where that is known apart.
    """
    if call_ms is not None:
        return call_ms + summary.parts.get("input_wait", 0.0) > summary.step_ms / 2
    return summary.step_ms * summary.facts.settings.steps_per_execution < SHORT_EXECUTION_MS


def _dispatch_may_be_more(summary: Summary, gain: float, verdict: str) -> bool:
    """It was not measured, and as much as there may be of it would be worth more than this."""
    settings = summary.facts.settings
    if "dispatch" in summary.parts or settings.run_eagerly:
        return False
    most_ms = settings.call_ms
    if verdict == "dispatch-bound":
        # By the host's other work alone.
        return most_ms is not None and _mostly_calls(summary, most_ms)
    if verdict != "input-bound":
        return False
    if most_ms is None:
        unknown = _mostly_calls(summary, most_ms)
        most_ms = USUAL_DISPATCH_MS / settings.steps_per_execution if unknown else 0.0
    # What a GPU computes, no call costs.
    computed_ms = (own_share(summary) or 0.0) * summary.step_ms
    most_ms = min(most_ms, max(0.0, summary.parts.get("compute", 0.0) - computed_ms))
    return gain * (summary.step_ms - most_ms) < summary.step_ms
