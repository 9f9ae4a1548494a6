"""What a step would gain if one part of it were gone."""

from __future__ import annotations

from dataclasses import replace

from keras_perf.advise.gains.eager import (
    MOSTLY_PYTHON_CORES,
    compiled,
    cores_used,
    share_of_operations,
)
from keras_perf.advise.gains.longer_executions import left_inside
from keras_perf.advise.gains.meanwhile import done_beside_computing, not_held_up_by_hooks
from keras_perf.advise.situation import Situation
from keras_perf.advise.step.fetching import fetching_sooner
from keras_perf.advise.step.step_model import StepModel
from keras_perf.analyse.summary import Summary
from keras_perf.observers.steps_trial.steps_to_try import LONG_STEP_MS
from keras_perf.records.run.tried.steps_trial import StepsTrial

WORTHWHILE = 1.05
"""If removing a part whole buys less than this, the step is bound by its computation."""

PARTS_OF = {
    "callback-bound": ("callbacks",),
    "dispatch-bound": ("dispatch", "other_host"),
    "compile-bound": ("compile",),
    "communication-bound": ("wire",),
}

_OF_A_LOOP = {"callback-bound": ("callbacks", "other_host"), "dispatch-bound": ("dispatch",)}
"""In a custom loop what lies between two calls is its own work, as that of a hook."""


def parts_named(verdict: str, summary: Summary) -> tuple[str, ...]:
    """The parts of a step that a verdict is about.

    Where a loop's wait for input is not known, its own work may be fetching.
    """
    named = PARTS_OF.get(verdict, ())
    if not summary.facts.settings.in_a_loop:
        return named
    own = _OF_A_LOOP.get(verdict, named)
    known = "input_wait" in summary.parts
    return own if known else tuple(name for name in own if name != "other_host")


CLEARLY_CROWDED = 1.15
"""What computing gains from cores that are free is reckoned, not measured: less is not believed,
and more is asked for where others use the cores too, which looks the same."""


def _gain_without_input(situation: Situation) -> float:
    """Without its wait, and without its work where that clearly takes cores from computing.

    Of arrays the work is hardly more than copying: what tf.data counts beyond that is waiting for
    a core.
    """
    model = situation.model

    def gain(found: StepModel) -> float:
        without = replace(found.with_rest({"get_next": 0.0}), stages={}, cpu_ms=0.0)
        return model.step_ms / max(1e-9, without.step_ms)

    waiting = gain(model)
    of_arrays = situation.facts.input.input_kind == "arrays"
    if not model.cpu_ms or model.alone_ms is None or of_arrays:
        return waiting
    crowded = gain(model.with_less_work(dict.fromkeys(model.stages, 0.0), 0.0))
    believed = CLEARLY_CROWDED / max(1e-9, situation.share_of_cores)
    return crowded if crowded >= believed * waiting else waiting


def _without_callbacks(situation: Situation) -> StepModel:
    names = parts_named("callback-bound", situation.summary)
    gone_ms = sum(situation.model.rest.get(name, 0.0) for name in names)
    alone = not_held_up_by_hooks(situation, situation.model, gone_ms, 0.0)
    parts = dict.fromkeys(names, 0.0)
    return done_beside_computing(situation, alone, gone_ms, 0.0).with_rest(parts)


def gain_without_hooks(situation: Situation) -> float:
    """Speed-up of a step without callbacks, and without what may be their waiting for a core."""
    without = _without_callbacks(situation).with_rest({"hooks_for_a_core": 0.0})
    return situation.model.step_ms / max(1e-9, replace(without, cpu_ms=0.0).step_ms)


def gain_between_epochs(model: StepModel) -> float:
    """Speed-up of the whole training if callbacks took no time between epochs."""
    without = model.with_outside({"epoch_callbacks": 0.0})
    return model.whole_ms / max(1e-9, without.whole_ms)


def bound_between_epochs(model: StepModel, gain: float) -> bool:
    """Callbacks between epochs cost more than any part of a step, which would gain so much."""
    between = gain_between_epochs(model)
    most = model.outside.get("epoch_callbacks", 0.0) >= max(model.outside.values(), default=0.0)
    # The start-up, which a longer training has once too, decides nothing.
    of_steps = speed_up(saved_ms_of(gain, model), model.whole_ms)
    return most and between >= WORTHWHILE and between > of_steps


def speed_up(saved_ms: float, of_ms: float) -> float:
    """Speed-up of what takes so long, if so much of it were gone."""
    return of_ms / max(1e-9, of_ms - saved_ms)


def saved_ms_of(gain: float, model: StepModel) -> float:
    """Of a step, by a speed-up of it."""
    return model.step_ms * (1 - 1 / gain)


def gain_beside(situation: Situation, verdict: str) -> tuple[float, str]:
    """What a step gains without its part and what goes with it, as advice reckons; what that is.

    Computing speeds up once its cores no longer pause, and the pipeline no longer takes any; what
    every execution costs is shared by callbacks that are called once for each.
    """
    model = situation.model
    callbacks_ms, what = model.rest.get("callbacks", 0.0), "that also speeds up computing"
    if verdict == "callback-bound":
        every = situation.steps_between_hooks
        without = _without_callbacks(situation).awake(callbacks_ms, 0.0, every=every)
    elif verdict == "input-bound" and not situation.interpreter_ms:
        all_stages = dict.fromkeys(model.stages, 0.0)
        idle = model.with_rest({"get_next": 0.0}).with_less_work(all_stages, 0.0)
        without = idle.awake(model.input_wait_ms, 0.0, waited=True)
    elif verdict == "dispatch-bound" and not _no_cost_of_executions(situation):
        parts = ("callbacks", *parts_of(verdict, situation))
        without = model.with_rest(dict.fromkeys(parts, 0.0))
        trial = situation.facts.trial
        if trial is not None:
            without = _as_on_trial(without, trial, situation)
            without = fetching_sooner(without, trial.in_graph_ms, situation.able_ms, 0.0)
        what = "callbacks too are called less often, and batches fetched within an execution"
    else:
        return 1.0, ""
    return model.step_ms / max(1e-9, replace(without, cpu_ms=0.0).step_ms), what


def _as_on_trial(without: StepModel, trial: StepsTrial, situation: Situation) -> StepModel:
    """Computing takes no longer than in the executions that were tried."""
    computing_ms = without.rest.get("compute", 0.0)
    if not computing_ms or trial.steps_per_execution <= trial.present:
        return without
    tried_ms = left_inside(situation, trial, 0.0) * situation.model.inside_ms
    return without.with_rest({"compute": min(1.0, tried_ms / computing_ms)})


def gain_on_a_ready_batch(situation: Situation) -> float | None:
    """What was measured, where it was: the step as it is beside one that finds its batch ready."""
    trials = situation.facts.advice_trials
    if trials is None or trials.ready_ms is None or not trials.one_shape:
        return None
    saved = min(1 - 1e-9, trials.input_costs_ms / max(1e-9, trials.step_ms))
    return 1 / (1 - saved)


MOST_OF_AN_EXECUTION_MS = 2.0
"""To enter and leave a train function took 0.45 to 0.9 ms on shared server CPUs, and up to 1.2 ms
where others used them."""


def _no_cost_of_executions(situation: Situation) -> bool:
    """More steps per execution saved nothing, or steps are too long for it to be tried.

    Of several long steps in an execution the last one's computing is easily taken for dispatch:
    where no trial compared, more than an execution can cost is.
    """
    trial = situation.facts.trial
    if trial is not None and trial.steps_per_execution > trial.present:
        return False
    tried = trial is not None and bool(trial.trials)
    computed = takes_more_than_an_execution(situation)
    return tried or computed or situation.model.step_ms > LONG_STEP_MS


def takes_more_than_an_execution(situation: Situation) -> bool:
    """Of several steps at once, what is taken for dispatch is more than an execution can cost."""
    at_once = situation.facts.settings.steps_per_execution
    execution_ms = at_once * situation.model.rest.get("dispatch", 0.0)
    return at_once > 1 and execution_ms > MOST_OF_AN_EXECUTION_MS


def parts_of(verdict: str, situation: Situation) -> tuple[str, ...]:
    """What is taken for removable in this situation."""
    names = parts_named(verdict, situation.summary)
    if verdict == "dispatch-bound" and _no_cost_of_executions(situation):
        return tuple(name for name in names if name != "dispatch")
    return names


def gains(situation: Situation) -> dict[str, float]:
    """Verdict → speed-up if its part were gone."""
    model = situation.model

    def gain(without: StepModel) -> float:
        return model.step_ms / max(1e-9, without.step_ms)

    found = {"input-bound": gain_on_a_ready_batch(situation) or _gain_without_input(situation)}
    for verdict in PARTS_OF:
        parts = dict.fromkeys(parts_of(verdict, situation), 0.0)
        without = model.with_rest(parts)
        if verdict == "callback-bound":
            without = _without_callbacks(situation)
        found[verdict] = gain(replace(without, cpu_ms=0.0))
    if situation.facts.settings.run_eagerly:
        # A guess counts at its worst.
        found["eager-bound"] = _gain_compiled(situation, -1.0 if guesses_python(situation) else 0.0)
    return found


def guesses_python(situation: Situation) -> bool:
    """Steps run eagerly, and nothing tells how much of computing is Python."""
    known = share_of_operations(situation) is not None
    mostly_python = cores_used(situation) < MOSTLY_PYTHON_CORES
    return situation.facts.settings.run_eagerly and not (known or mostly_python)


def may_be_python(situation: Situation, gain: float) -> bool:
    """As far as that can be guessed, compiled steps would gain more than this."""
    return guesses_python(situation) and _gain_compiled(situation, 0.0) > max(gain, WORTHWHILE)


def _gain_compiled(situation: Situation, optimism: float) -> float:
    without = replace(compiled(situation)(situation.model, optimism), cpu_ms=0.0)
    return situation.model.step_ms / max(1e-9, without.step_ms)
