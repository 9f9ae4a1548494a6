"""Advice on a callback that calls `model.predict` on little data."""

from __future__ import annotations

from keras_perf.advise.as_written import at
from keras_perf.advise.recommendation import Recommendation, predicted
from keras_perf.advise.rules.between_epochs.epochs import WORTH
from keras_perf.advise.rules.followed import calls_the_model
from keras_perf.advise.rules.rule import rule
from keras_perf.advise.situation import Situation
from keras_perf.advise.step.step_model import StepModel
from keras_perf.records.advice_ids import CALL_THE_MODEL
from keras_perf.records.figures import figure, in_ms
from keras_perf.records.run.inference import PredictCalls

ENOUGH_CALLS = 5
"""Fewer timed calls say too little."""

MOSTLY = 0.5
"""Share of a call that lies outside of the predict function."""


@rule(
    CALL_THE_MODEL,
    on="callbacks",
    leaves="the model's own work, and other callbacks, stay",
    followed=calls_the_model,
    else_gone=True,
)
def call_the_model(situation: Situation) -> Recommendation | None:
    """`predict` in a hook makes an input pipeline for every call, for a batch or two."""
    found = situation.facts.predicts
    for owner in sorted(found, key=lambda name: -_beside_s(found[name])):
        if (advice := _called_directly(situation, owner, found[owner])) is not None:
            return advice
    return None


def _beside_s(calls: PredictCalls) -> float:
    """Seconds of all calls outside of the predict function."""
    if not calls.timed:
        return 0.0
    return max(0.0, calls.timed_s - calls.inside_s) / calls.timed * calls.calls


def _called_directly(
    situation: Situation, owner: str, calls: PredictCalls
) -> Recommendation | None:
    model, facts = situation.model, situation.facts
    beside_s, in_a_batch = _beside_s(calls), ".on_epoch" not in owner
    steps = facts.length.steps if in_a_batch else facts.steps_before_gaps
    gaps = facts.outside.epoch_gaps if facts.outside is not None else 1
    if not steps or not _costs_more_than_the_model(calls):
        return None
    beside_ms = 1e3 * beside_s / steps
    each_ms = beside_ms if in_a_batch else 1e3 * beside_s / max(1, gaps)
    held = model.rest if in_a_batch else model.outside
    part = "callbacks" if in_a_batch else "epoch_callbacks"
    if beside_ms < WORTH * model.whole_ms or not held.get(part):
        return None
    share = min(1.0, beside_ms / held[part])

    def change(model: StepModel, optimism: float) -> StepModel:
        # Making tensors of the inputs is left, and calling the model op by op, where it is so.
        left = {part: 1 - share * (0.9 + 0.1 * optimism)}
        return model.with_rest(left) if in_a_batch else model.with_outside(left)

    return predicted(
        model,
        change,
        title=f"Call the model itself in {owner}, not predict",
        reason=(
            f"{owner}{at(facts.hook_sources.get(owner))} called model.predict "
            f"{calls.calls} times{_rows(calls)}. A call takes {in_ms(calls.call_ms)}, of which the "
            f"model's own work is {in_ms(calls.inside_ms)}: the rest makes and ends an "
            "input pipeline."
        ),
        action=(
            "outputs = self.model(x, training=False)  # a tensor; or, traced as predict is:\n"
            "outputs = self.model.predict_on_batch(x)"
        ),
        evidence={"owner": owner, "calls": calls.calls, "call_ms": calls.call_ms}
        | {"inside_ms": calls.inside_ms, "each_ms": each_ms},
        of="step" if in_a_batch else "whole",
    )


def _costs_more_than_the_model(calls: PredictCalls) -> bool:
    """Calls on few arrays, of which the model's own work is the smaller part.

    Of a dataset the rest is the making of its batches, too, which stays.
    """
    tiny = calls.executions <= 2 * calls.timed
    mostly = calls.timed_s - calls.inside_s > MOSTLY * calls.timed_s
    return calls.of_arrays and calls.timed >= ENOUGH_CALLS and tiny and mostly


def _rows(calls: PredictCalls) -> str:
    if not calls.examples:
        return ""
    each = calls.examples / calls.timed
    return f", with {figure(each)} example{'' if each == 1 else 's'} a call"
