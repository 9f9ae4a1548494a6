"""Advice on what lies between epochs. Its speed-ups are of the whole training."""

from __future__ import annotations

from keras_perf.advise.recommendation import Recommendation, predicted
from keras_perf.advise.step_model import Situation, StepModel

RARER = 5
"""Work between epochs is advised to be done so many times less often."""


def rarer_validation(situation: Situation) -> Recommendation | None:
    """Validation takes a noticeable part of training."""
    model, context = situation.model, situation.summary.context
    spent = model.outside.get("validation", 0.0)
    if not spent:
        return None
    epochs = int(context.get("epochs") or 0)

    def change(model: StepModel, optimism: float) -> StepModel:
        return model.with_outside({"validation": 1 / RARER * (1 - 0.2 * optimism)})

    if epochs >= RARER:
        action = f"model.fit(..., validation_freq={RARER})"
    else:
        action = f"model.fit(..., validation_data=validation.shard({RARER}, 0))  # a part of it"
    return predicted(
        model,
        change,
        id="rarer-validation",
        title=f"Validate less: every {RARER} epochs, or on a part of the data",
        reason=(
            f"Validation takes {spent:.3g} ms for every step of {model.step_ms:.3g} ms, "
            f"{spent / model.whole_ms:.0%} of the training."
        ),
        action=action,
        evidence={"validation_ms": spent, "share": spent / model.whole_ms},
        of="whole",
    )


def amortize_epoch_callback(situation: Situation) -> Recommendation | None:
    """A callback's epoch hook takes a noticeable part of training."""
    summary, model = situation.summary, situation.model
    recorded = (summary.context.get("outside") or {}).get("epoch_callbacks_s") or {}
    total = sum(recorded.values())
    if not total or not model.outside:
        return None
    owner = max(recorded, key=lambda name: recorded[name])
    share = recorded[owner] / total
    spent, (name, _, hook) = share * model.outside["epoch_callbacks"], owner.partition(".")

    def change(model: StepModel, optimism: float) -> StepModel:
        left = 1 / RARER * (1 - 0.2 * optimism)
        return model.with_outside({"epoch_callbacks": 1 - share * (1 - left)})

    return predicted(
        model,
        change,
        id="amortize-callback",
        title=f"Do the work of {name}.{hook} every {RARER} epochs",
        reason=(
            f"{owner} takes {spent:.3g} ms for every step of {model.step_ms:.3g} ms, "
            f"{spent / model.whole_ms:.0%} of the training."
        ),
        action=(
            f"class {name}(keras.callbacks.Callback):\n"
            f"    def {hook}(self, epoch, logs=None):\n"
            f"        if epoch % {RARER}:\n"
            "            return\n"
            "        ...  # as before"
        ),
        evidence={"owner": owner, "callback_ms": spent, "every_epochs": RARER},
        of="whole",
    )
