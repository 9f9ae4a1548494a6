"""Advice on the number of steps that an execution runs, from what trials of it took."""

from __future__ import annotations

from dataclasses import replace

from keras_perf.advise.recommendation import Recommendation, predicted
from keras_perf.advise.rules.followed import runs_more_steps
from keras_perf.advise.rules.in_a_loop import steps_per_call
from keras_perf.advise.rules.rule import rule
from keras_perf.advise.situation import Situation
from keras_perf.advise.step.fetching import fetching_sooner
from keras_perf.advise.step.step_model import StepModel

FETCH_MS = {-1: 0.3, 0: 0.05, 1: 0.0}
"""Fetching a batch of a few KiB; twenty tiny models took 0.1 to 0.5 ms a step in all."""

IN_GRAPH_OFF, SOONER_MS = 0.15, 0.3
"""In long executions a step in the graph took up to so much of its time more or less than the
trials' short ones told, and up to so many milliseconds less."""


@rule("raise-steps-per-execution", followed=runs_more_steps, in_a_loop=steps_per_call)
def raise_steps_per_execution(situation: Situation) -> Recommendation | None:
    """What each execution costs is worth sharing among more steps."""
    model, trial = situation.model, situation.facts.trial
    current = situation.facts.settings.steps_per_execution
    if trial is None or trial.steps_per_execution <= current or trial.applied:
        return None
    recommended = trial.steps_per_execution
    # A callback that would do its work less often is another matter: amortize-callback.
    own_work = sum(situation.summary.owners.get(name, 0.0) for name in trial.called_less_often)
    callbacks_ms = model.rest.get("callbacks", 0.0)
    shared = max(0.0, 1 - own_work / callbacks_ms) if callbacks_ms else 0.0
    spread = max(0.0, trial.high / trial.low - 1) / 2 if trial.low else 0.0

    def change(model: StepModel, optimism: float) -> StepModel:
        # T(N) = c + h / N leaves nothing else of h; at worst a tenth of it belongs to c.
        left = current / recommended * (1 - optimism * spread)
        factor = min(1.0, max(0.0, left) + 0.1 * max(0.0, -optimism))
        callbacks = 1 - shared * (1 - factor)
        compute_ms = model.rest.get("compute", 0.0)
        sooner_ms = min(0.7 * compute_ms, IN_GRAPH_OFF * compute_ms + SOONER_MS)
        computing = 1 - IN_GRAPH_OFF * min(0.0, optimism)
        if optimism > 0 and compute_ms:
            computing = 1 - optimism * sooner_ms / compute_ms
        host = {"dispatch": factor, "other_host": factor, "callbacks": callbacks}
        later = model.with_rest({**host, "compute": computing})
        # A trial takes batches that are there; later each has to be fetched. At worst none of
        # what is saved was work that another thread could not have done meanwhile.
        cpu_ms = model.cpu_ms - (model.cpu_ms - later.cpu_ms) * (1 + optimism) / 2
        later = fetching_sooner(later, trial.in_graph_ms, situation.able_ms, optimism)
        fetch_ms = max(later.rest.get("fetch", 0.0), FETCH_MS[round(optimism)])
        return replace(later, rest={**later.rest, "fetch": fetch_ms}, cpu_ms=cpu_ms)

    return predicted(
        model,
        change,
        title=f"Run {recommended} steps per execution",
        reason=f"Measured during training: {trial.reason}{_on_replicas(situation)}",
        action=_with_more_steps(situation, recommended),
        evidence={**trial.evidence, "present": current, "advised": recommended},
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
    return f"model.compile(..., steps_per_execution={number})"
