"""Why nothing is advised on what a training is bound by, where that is not its input."""

from __future__ import annotations

from collections.abc import Iterator

from keras_perf.advise.gains.compiling import gain_without_compiling
from keras_perf.advise.gains.of_a_part import bound_between_epochs, gains
from keras_perf.advise.notes.callbacks import call_notes, callback_notes, hook_ms, longest
from keras_perf.advise.notes.diagnosed import Diagnosed
from keras_perf.advise.rules.all_rules import known_of
from keras_perf.advise.rules.best_first import WORTH_SAYING
from keras_perf.advise.situation import Situation
from keras_perf.advise.told_of_trial import told_by
from keras_perf.records.advice_ids import DISABLE_XLA, MODEL_AT_EPOCH_END, TUNE_GC
from keras_perf.records.figures import in_percent
from keras_perf.records.reasons.why_no_steps import WhyNoSteps

PARTS = {
    "callback-bound": "callbacks",
    "dispatch-bound": "dispatch",
    "compile-bound": "compiling",
}
"""Verdict → the part that its advice is on."""

ALSO = {
    "callback-bound": {TUNE_GC, MODEL_AT_EPOCH_END},
    "compile-bound": {DISABLE_XLA},
}
"""Verdict → advice on what may lie in its part, as pauses of the collector lie in callbacks, and
advice that only a trial gives."""


def nothing_advised_notes(run: Diagnosed) -> Iterator[str]:
    """A sentence, where nothing is advised on the verdict's part."""
    situation, verdict = run.situation, run.verdict
    if verdict not in PARTS or not ALSO.get(verdict, set()).isdisjoint(run.advised):
        return
    if any(known_of(id).on == PARTS[verdict] for id in run.advised):
        return
    if verdict == "callback-bound":
        of_a_hook = [] if _unnamed(situation) else [*callback_notes(situation)]
        # What is said of a hook's evaluation is advice too, of which no gain is predicted.
        known = " with a predicted gain" if any(call_notes(run)) else ""
        what = "the loop's own work" if situation.facts.settings.in_a_loop else "callbacks"
        why = f"Nothing is advised on {what}{known}: {_of_callbacks(situation)}"
        yield from of_a_hook or [why]
    elif verdict == "compile-bound":
        yield f"Nothing is advised on compiling: {_of_compiling(situation)}"
    elif why := _of_executions(situation):
        yield f"Nothing is advised on what each execution costs: {why}"


def _unnamed(situation: Situation) -> bool:
    """A loop's own work that nothing names takes longer than all that is named."""
    parts = situation.summary.parts
    named = parts.get("callbacks", 0.0) + situation.model.outside.get("epoch_callbacks", 0.0)
    return situation.facts.settings.in_a_loop and parts.get("other_host", 0.0) > named


def _of_callbacks(situation: Situation) -> str:
    if situation.facts.settings.in_a_loop:
        return (
            "no work that `monitor.host` or `monitor.outside` names takes 5% of the training and "
            "could be done much less often in one of this length."
        )
    if bound_between_epochs(situation.model, max(gains(situation).values())):
        if depended_on := _depended_on(situation):
            return depended_on
        return (
            "no hook between epochs takes 5% of the training and could be left out in most of "
            "its epochs."
        )
    return "no hook takes 5% of a step and works more often than once an epoch."


def _depended_on(situation: Situation) -> str:
    """Why the longest hook between epochs is left as it is, where others go by what it does."""
    between_s = situation.facts.outside.epoch_callbacks_s if situation.facts.outside else {}
    owner = longest(between_s)
    what = situation.facts.settings.steering_hooks.get(owner)
    if what is None:
        return ""
    of_training = in_percent((hook_ms(situation, owner) or 0.0) / situation.model.training_ms)
    return (
        f"{owner} takes {of_training} of the training, but sets {what}, by which other callbacks "
        "or later steps go. What remains is less work in it."
    )


def _of_compiling(situation: Situation) -> str:
    if gain_without_compiling(situation) >= WORTH_SAYING:
        return "the remedies are predicted to make the whole training less than 2% faster."
    return "without it, the whole training would be less than 2% faster."


def _of_executions(situation: Situation) -> str:
    """Nothing where the note on the trial says it."""
    settings, trial = situation.facts.settings, situation.facts.trial
    if trial is not None and told_by(trial, WhyNoSteps.COMPILED_ON_JAX):
        return ""
    if settings.compiles_executions:
        return f"{WhyNoSteps.COMPILED_ON_JAX.of()}."
    if not settings.tries_steps:
        return "this backend of Keras cannot share it among several steps."
    if trial is None:
        tries = "StepsPerExecutionRecommender (perf_callbacks has it)"
        if settings.in_a_loop:
            tries = "LoopMonitor(steps_per_execution=True)"
        return f"no other number of steps was tried. {tries} tries some."
    if trial.applied:
        return f"{trial.setting}={trial.steps_per_execution} was set during this training."
    unsure = trial.lost_in_noise or trial.may_be_chance or trial.input_wait_ms is not None
    if trial.not_tried or unsure or trial.steps_per_execution != trial.present:
        return ""
    return "by its trials, no other number of steps per execution makes a step 5% faster."
