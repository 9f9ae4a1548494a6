"""Advice on what lies between epochs. Its speed-ups are of the whole training."""

from __future__ import annotations

from keras_perf.advise.code_names import identifier
from keras_perf.advise.recommendation import Recommendation, predicted
from keras_perf.advise.situation import Situation
from keras_perf.advise.step_model import StepModel

RARER = 5
"""Work between epochs is advised to be done so many times less often."""

KERAS_OWN = ("BackupAndRestore", "ModelCheckpoint", "TensorBoard", "CSVLogger")
"""Callbacks of Keras's that work between epochs; a subclass can let some epochs pass."""


def rarer_validation(situation: Situation) -> Recommendation | None:
    """Validation takes a noticeable part of training."""
    model, context = situation.model, situation.summary.context
    spent = model.outside.get("validation", 0.0)
    if not spent:
        return None
    recorded = context["outside"]
    present = _period(recorded.get("validations", 0), recorded["epoch_gaps"])
    advised = RARER * present

    def change(model: StepModel, optimism: float) -> StepModel:
        left = 1 / RARER * (1 - 0.2 * optimism)
        # Beginning and ending a validation is a part of what lies between two epochs.
        rest = 1 - (1 - left) * (1 + optimism) / 2
        return model.with_outside({"validation": left, "epoch_rest": rest})

    title = f"Validate less: every {advised} epochs, or on a part of the data"
    if int(context.get("epochs") or 0) >= advised:
        action = f"model.fit(..., validation_freq={advised})"
    else:
        title = "Validate on a part of the data"
        action = (
            f"model.fit(..., validation_steps=batches // {RARER})  # of your validation batches"
        )
    return predicted(
        model,
        change,
        id="rarer-validation",
        title=title,
        reason=(
            f"Validation takes {spent:.3g} ms for every step of {model.step_ms:.3g} ms, "
            f"{spent / model.whole_ms:.0%} of the training. Callbacks that watch val_ metrics then "
            "act as rarely."
        ),
        action=action,
        evidence={
            "validation_ms": spent,
            "share": spent / model.whole_ms,
            "present": present,
            "advised": advised,
        },
        of="whole",
    )


def amortize_epoch_callback(situation: Situation) -> Recommendation | None:
    """A callback's epoch hook takes a noticeable part of training."""
    context, model = situation.summary.context, situation.model
    recorded = context.get("outside") or {}
    owners = recorded.get("epoch_callbacks_s") or {}
    total = sum(owners.values())
    if not total or not model.outside:
        return None
    owner = max(owners, key=lambda name: owners[name])
    share = owners[owner] / total
    spent, (name, _, hook) = share * model.outside["epoch_callbacks"], owner.partition(".")
    seen = [t["count"] for t in context.get("event_totals") or () if t["owner"] == owner]
    present = _period(sum(seen), recorded["epoch_gaps"])
    advised = RARER * present
    if advised > int(context.get("epochs") or advised):
        return None

    def change(model: StepModel, optimism: float) -> StepModel:
        left = 1 / RARER * (1 - 0.2 * optimism)
        return model.with_outside({"epoch_callbacks": 1 - share * (1 - left)})

    method = identifier(hook, "on_epoch_end")
    if name in KERAS_OWN:
        action = (
            f"class Rarer{name}(keras.callbacks.{name}):\n"
            f"    def {method}(self, epoch, logs=None):\n"
            f"        if (epoch + 1) % {advised} == 0:\n"
            f"            super().{method}(epoch, logs)"
        )
    else:
        action = (
            f"class {identifier(name, 'YourCallback')}(keras.callbacks.Callback):\n"
            f"    def {method}(self, epoch, logs=None):\n"
            f"        if (epoch + 1) % {advised}:\n"
            "            return\n"
            "        ...  # as before"
        )
    return predicted(
        model,
        change,
        id="amortize-callback",
        title=f"Do the work of {name}.{hook} every {advised} epochs",
        reason=(
            f"{owner} takes {spent:.3g} ms for every step of {model.step_ms:.3g} ms, "
            f"{spent / model.whole_ms:.0%} of the training."
        ),
        action=action,
        evidence={"owner": owner, "callback_ms": spent, "present": present, "advised": advised},
        of="whole",
    )


def _period(times: int, epochs: int) -> int:
    """Every how many epochs something was done; 1 where that is not known."""
    return max(1, round(epochs / times)) if times else 1
