"""Advice on a validation of many small batches. Its speed-up is of the whole training."""

from __future__ import annotations

from keras_perf.advise.recommendation import Recommendation, predicted
from keras_perf.advise.rules.between_epochs.epochs import WORTH
from keras_perf.advise.rules.followed import CLEARLY_MORE
from keras_perf.advise.rules.rule import rule
from keras_perf.advise.situation import Situation
from keras_perf.advise.step.step_model import StepModel
from keras_perf.records.advice_ids import LARGER_VALIDATION_BATCHES
from keras_perf.records.figures import in_ms, in_percent
from keras_perf.records.run.inference import VALIDATION, Inference
from keras_perf.records.run.run_facts import RunFacts

LARGER = 4
"""Batches are advised to be so many times as large: no gradients take up memory."""

MUCH = 0.3
"""Share of a batch's time: what executions cost, where larger batches are worth it."""

ENOUGH_BATCHES = 10 * LARGER
"""Of fewer a validation has hardly any left."""


def _followed(facts: RunFacts, advice: Recommendation) -> bool | None:
    """Batches are larger; not known where nobody validated."""
    found = facts.inference.get(VALIDATION)
    rows = _rows(found) if found is not None else None
    return None if rows is None else rows >= CLEARLY_MORE * advice.evidence["present"]


STAYS = (
    "Without gradients larger batches fit into memory; its results stay the same, but for "
    "rounding, where the loss of an example does not depend on others of its batch."
)


def _rows(found: Inference) -> float | None:
    if found.batch_size is not None:
        return found.batch_size
    return found.examples / found.steps if found.examples and found.steps else None


@rule(LARGER_VALIDATION_BATCHES, on="validation", followed=_followed)
def larger_validation_batches(situation: Situation) -> Recommendation | None:
    """Most of a validation's time goes into entering and leaving its function."""
    model, facts = situation.model, situation.facts
    found, spent = facts.inference.get(VALIDATION), model.outside.get("validation", 0.0)
    if found is None or spent < WORTH * model.whole_ms:
        return None
    cost_ms, rows = found.execution_cost_ms(facts.trial), _rows(found)
    if cost_ms is None or rows is None or found.steps < ENOUGH_BATCHES * found.calls:
        return None
    steps, at_once = facts.settings.validation_steps, facts.settings.steps_per_execution
    if steps and (steps % LARGER or at_once > 1):
        # No number of larger batches has the same examples.
        return None
    share = cost_ms / found.step_ms if found.step_ms else 0.0
    if share < MUCH:
        return None

    def change(model: StepModel, optimism: float) -> StepModel:
        # At worst half of it is what more examples cost too.
        gone = share * (1 - 1 / LARGER) * (1 + 0.5 * min(0.0, optimism))
        return model.with_outside({"validation": 1 - gone})

    present, advised = round(rows), round(LARGER * rows)
    return predicted(
        model,
        change,
        title=f"Validate in batches of {advised} examples",
        reason=(
            f"Validation takes {in_percent(spent / model.training_ms)} of the training, in "
            f"batches of {present} examples that take {in_ms(found.step_ms)} each, of which "
            f"{in_ms(cost_ms)} are the measured cost of an execution. {STAYS}"
        ),
        action=_action(found, advised, steps),
        evidence={
            "validation_ms": spent,
            "execution_ms": cost_ms,
            "present": present,
            "advised": advised,
        },
        of="whole",
    )


def _action(found: Inference, advised: int, steps: int | None) -> str:
    """Code; with `validation_steps` as many fewer, for the same examples."""
    fewer = f", validation_steps={steps // LARGER}" if steps else ""
    if found.batch_size is not None:
        return f"model.fit(..., validation_batch_size={advised}{fewer})"
    if found.input_kind not in (None, "tf.data"):
        return (
            f"# where {found.input_kind} makes the validation's batches: {advised} examples each"
            f"{fewer}"
        )
    fit = f"\nmodel.fit(..., validation_data=validation_data{fewer})" if fewer else ""
    written = found.dataset.stages if found.dataset is not None else ()
    method = "padded_batch" if any(each.kind == "padded_batch" for each in written) else "batch"
    return (
        f"validation_data = validation_data.{method}({advised})  # where it is batched now: "
        f"unbatch() and {method}() behind it take time for each example{fit}"
    )
