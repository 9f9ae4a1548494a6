"""Advice on the number of steps that an execution runs, from what trials of it took."""

from __future__ import annotations

import math
from dataclasses import replace

from keras_perf.advise.gains.longer_executions import left_inside
from keras_perf.advise.recommendation import Recommendation, predicted
from keras_perf.advise.rules.followed import runs_more_steps
from keras_perf.advise.rules.in_a_loop import steps_per_call
from keras_perf.advise.rules.rule import rule
from keras_perf.advise.situation import Situation
from keras_perf.advise.step.fetching import fetching_sooner
from keras_perf.advise.step.step_model import StepModel, between
from keras_perf.records.advice_ids import RAISE_STEPS_PER_EXECUTION
from keras_perf.records.figures import counted
from keras_perf.records.text.compiled_with import compiled_with

FETCHED = 3.0, 1.5, 0.0
"""To fetch a batch takes so many times the pipeline's work for it, as tf.data counts that: worst,
expected, best. In twenty trainings of tiny models it took 0.8 to 4 times."""

LEAST_FETCHED_MS = 0.05, 0.02, 0.0
NOT_KNOWN_MS = 0.3, 0.05, 0.0
MOST_FETCHED_MS = 0.3
"""Of a batch of a few KiB; twenty tiny models took 0.1 to 0.5 ms a step in all."""

OTHER_WORK_OFF = 0.5
"""The CPU time of what works beside the train function is more or less by this share than it is
reckoned: tf.data does not count the handing of elements to threads."""


@rule(
    RAISE_STEPS_PER_EXECUTION,
    on="dispatch",
    leaves="it is shared by more steps, not gone",
    tried_title="Run several steps per execution",
    followed=runs_more_steps,
    in_a_loop=steps_per_call,
)
def raise_steps_per_execution(situation: Situation) -> Recommendation | None:
    """What each execution costs is worth sharing among more steps."""
    model, trial, settings = situation.model, situation.facts.trial, situation.facts.settings
    current = settings.steps_per_execution
    if trial is None or trial.steps_per_execution <= current or trial.applied:
        return None
    recommended = trial.steps_per_execution
    # A callback that would do its work less often is another matter: amortize-callback.
    validation = _longer_validation(situation, recommended)
    own_work = sum(situation.hooks_ms.get(name, 0.0) for name in trial.called_less_often)
    callbacks_ms = model.rest.get("callbacks", 0.0)
    shared = max(0.0, 1 - own_work / callbacks_ms) if callbacks_ms else 0.0

    def change(model: StepModel, optimism: float) -> StepModel:
        # T(N) = c + h / N leaves nothing else of h; at worst a tenth of it belongs to c.
        factor = min(1.0, current / recommended + 0.1 * max(0.0, -optimism))
        # A loop's own work may come once in a thousand steps, however many a call runs.
        host = {"other_host": 1.0 if settings.in_a_loop else factor}
        later = model.with_rest({**host, "callbacks": 1 - shared * (1 - factor)})
        left = left_inside(situation, trial, optimism)
        later_ms = left * model.inside_ms
        dispatch_ms = min(later_ms, model.rest.get("dispatch", 0.0) * current / recommended)
        inside = {"compute": later_ms - dispatch_ms, "dispatch": dispatch_ms}
        later = replace(later, rest={**later.rest, **inside})
        # To enter and leave an execution runs Python code, as the input may.
        held_up = model.not_held_up(model.rest_ms - later.rest_ms, optimism)
        later = replace(later, stages=held_up.stages)
        later = fetching_sooner(later, trial.in_graph_ms, situation.able_ms, optimism)
        later = _validated(later, validation, left, optimism)
        # A trial takes batches that are there; later each has to be fetched.
        fetch_ms = max(later.rest.get("fetch", 0.0), _fetch_ms(situation, optimism))
        cpu_ms = model.cpu_ms * _cpu_left(situation, left, optimism)
        return replace(later, rest={**later.rest, "fetch": fetch_ms}, cpu_ms=cpu_ms)

    return predicted(
        model,
        change,
        title=f"Run {recommended} steps per execution",
        reason=f"Measured during training: {trial.reason}{besides(situation, recommended)}",
        action=_with_more_steps(situation, recommended),
        evidence={**trial.evidence, "present": current, "advised": recommended},
    )


def _fetch_ms(situation: Situation, optimism: float) -> float:
    if not situation.able_ms:
        return between(*NOT_KNOWN_MS, optimism)
    fetched_ms = between(*FETCHED, optimism) * situation.able_ms
    return min(MOST_FETCHED_MS, max(between(*LEAST_FETCHED_MS, optimism), fetched_ms))


def _cpu_left(situation: Situation, inside: float, optimism: float) -> float:
    """Share of the CPU time of a step that is left: what works beside the train function stays.

    That is the pipeline, and what the train function cannot have used of all cores.
    """
    model, rest = situation.model, situation.model.rest
    if not model.cpu_ms:
        return 1.0
    pipeline_ms = sum(stage.cost_ms for stage in situation.facts.input.stages)
    used_ms = model.cores * rest.get("compute", 0.0) + rest.get("dispatch", 0.0)
    beside_ms = max(pipeline_ms, model.cpu_ms - used_ms) * (1 - OTHER_WORK_OFF * optimism)
    beside = min(1.0, beside_ms / model.cpu_ms)
    return beside + (1 - beside) * inside


def besides(situation: Situation, number: int) -> str:
    """Sentences, or "", on what else goes with executions of so many steps."""
    return f"{_on_replicas(situation)}{_of_validation(situation, number)}"


def _validated(model: StepModel, longer: float, left: float, optimism: float) -> StepModel:
    """What a validation's own executions cost is less as well, and it may end with its data."""
    times = between(longer, max(1.0, longer * left), 1.0, optimism)
    return model.with_outside({"validation": times})


def _longer_validation(situation: Situation, number: int) -> float:
    """So many times as many batches it gets, which Keras runs in whole executions of as many."""
    settings = situation.facts.settings
    steps = settings.validation_steps
    if not steps or settings.in_a_loop or _has_replicas(situation):
        return 1.0
    return math.ceil(steps / number) * number / steps


def _of_validation(situation: Situation, number: int) -> str:
    """A sentence, where it would be of other data; "" elsewhere."""
    if (longer := _longer_validation(situation, number)) == 1:
        return ""
    steps = situation.facts.settings.validation_steps or 0
    return (
        f" Validation runs whole executions, too: of its {counted(steps, 'step')} it makes "
        f"{round(longer * steps)} where its data last, and its metrics are of those."
    )


def _has_replicas(situation: Situation) -> bool:
    settings = situation.facts.settings
    return settings.replicas > 1 and not settings.in_a_loop


def _on_replicas(situation: Situation) -> str:
    """What was seen of Keras's own way where `fit` trains several replicas; "" elsewhere."""
    if not _has_replicas(situation):
        return ""
    return (
        " With several replicas Keras's own steps_per_execution failed where we tried it "
        "(TensorFlow 2.21, logical CPUs); apply=True, as in the trials, did not."
    )


def _with_more_steps(situation: Situation, number: int) -> str:
    if _has_replicas(situation):
        return f"kp.StepsPerExecutionRecommender(LOGDIR, apply=True, limit={number})"
    return compiled_with(situation.facts.settings.own_compile, steps_per_execution=number)
