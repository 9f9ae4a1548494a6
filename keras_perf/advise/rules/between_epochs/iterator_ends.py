"""Advice on a validation whose iterator's end is waited for. Its speed-up is of the training."""

from __future__ import annotations

from keras_perf.advise.recommendation import Recommendation, predicted
from keras_perf.advise.rules.between_epochs.epochs import WORTH
from keras_perf.advise.rules.rule import rule
from keras_perf.advise.situation import Situation
from keras_perf.advise.step.step_model import StepModel
from keras_perf.records.figures import in_percent, in_s
from keras_perf.records.run.inference import VALIDATION, Inference
from keras_perf.records.run.library import on_jax
from keras_perf.records.run.run_facts import RunFacts

SLOWER = 0.1
"""At worst a validation takes so much longer without tuning: up to 0.07 was measured."""

UNTUNED = (
    "options = tf.data.Options()\n"
    "options.autotune.enabled = False\n"
    "validation_data = validation_data{prefetched}.with_options(options)\n"
    "model.fit(..., validation_data=validation_data)"
)


def _untuned(facts: RunFacts, _: Recommendation) -> bool | None:
    found = facts.inference.get(VALIDATION)
    return None if found is None or found.dataset is None else not found.dataset.autotuned


@rule("validation-without-autotune", on="validation", followed=_untuned)
def validation_without_autotune(situation: Situation) -> Recommendation | None:
    """After each validation training waits until tf.data's tuning of its input wakes."""
    model, facts = situation.model, situation.facts
    known, found = facts.outside, facts.inference.get(VALIDATION)
    if known is None or found is None or not facts.length.steps or not known.validations:
        return None
    waited_s = known.validation_iterator_ends_s
    waited_ms = 1e3 * waited_s / facts.length.steps
    code = _code(found, facts)
    if waited_ms < WORTH * model.training_ms or code is None:
        return None

    def change(model: StepModel, optimism: float) -> StepModel:
        rest_ms = max(1e-9, model.outside.get("epoch_rest", 0.0))
        return model.with_outside(
            {
                "epoch_rest": max(0.0, 1 - waited_ms / rest_ms),
                "validation": 1 + SLOWER * max(0.0, -optimism),
            }
        )

    return predicted(
        model,
        change,
        title="Turn off tf.data's autotuning for validation",
        reason=(
            "A validation's iterator ends when the thread that tunes its pipeline wakes, which "
            "sleeps up to as long as the iterator has lived, and a minute at most. After "
            f"validations that took {in_s(known.usual_validation_s)} training waited "
            f"{in_s(waited_s / known.validations)} for it on average, "
            f"{in_percent(waited_ms / model.training_ms)} of the training. Stages with AUTOTUNE "
            "then run as many calls as there are cores, and results stay the same."
        ),
        action=code,
        evidence={"waited_ms": waited_ms, "share": waited_ms / model.training_ms},
        of="whole",
    )


def _code(found: Inference, facts: RunFacts) -> str | None:
    """The same batches, untuned; None for data whose pipeline Keras makes."""
    if found.dataset is not None:
        last = found.dataset.chains[0][-1]
        prefetched = "" if last.kind == "prefetch" else ".prefetch(2)"
        return UNTUNED.format(prefetched=prefetched) if found.dataset.autotuned else None
    if found.input_kind != "arrays" or on_jax(facts):
        return None
    return (
        "# with sample weights as a third; of validation_split the rows at the end, left out of x\n"
        "validation_data = tf.data.Dataset.from_tensor_slices((x_val, y_val))"
        f".batch({found.batch_size or 32})\n{UNTUNED.format(prefetched='.prefetch(2)')}"
    )
