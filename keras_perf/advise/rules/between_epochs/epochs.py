"""Advice on validations between epochs. Its speed-ups are of the whole training."""

from __future__ import annotations

from collections.abc import Mapping

from keras_perf.advise.recommendation import Recommendation, predicted
from keras_perf.advise.rules.between_epochs.longer_epochs import PATIENT, fewer_epochs
from keras_perf.advise.rules.followed import validates_less
from keras_perf.advise.rules.in_a_loop import rarer_evaluation
from keras_perf.advise.rules.rule import rule
from keras_perf.advise.situation import Situation
from keras_perf.advise.step.step_model import StepModel
from keras_perf.records.advice_ids import RARER_VALIDATION
from keras_perf.records.figures import in_ms, in_percent
from keras_perf.records.run.inference import VALIDATION
from keras_perf.records.run.times.outside_steps import OutsideSteps

RARER = 5
"""Work between epochs is advised to be done so many times less often."""

WORTH = 0.05
"""A hook that takes less than this share of the training is left alone."""

BY_VALIDATION = ("ModelCheckpoint", "SaveBestEpoch")
"""Ends of the names of callbacks that save by what a validation of the same epoch found."""

ROWS = (
    "# x_val alone where there is no y_val, rows of each of several inputs, weights as a third;\n"
    "# of validation_split a part of the rows at the end, which training still lacks\n"
)


@rule(
    RARER_VALIDATION,
    on="validation",
    loses=True,
    followed=validates_less,
    in_a_loop=rarer_evaluation,
    else_gone=True,
)
def rarer_validation(situation: Situation) -> Recommendation | None:
    """Validation takes a noticeable part of training."""
    model, recorded = situation.model, situation.facts.outside
    spent = model.outside.get("validation", 0.0)
    if spent < WORTH * model.whole_ms or recorded is None:
        return None
    present = recorded.validation_period
    advised = RARER * present
    whole = present == 1 and not _on_a_part(situation)
    rarer = _may_skip(recorded, present) and _epochs(situation) >= advised
    if not rarer and not whole:
        return None

    def change(model: StepModel, optimism: float) -> StepModel:
        # Beginning and ending a validation is a part of what lies between two epochs: no more
        # than the validation itself, and nothing of it goes where each epoch is still validated.
        begun_ms = min(model.outside.get("epoch_rest", 0.0), spent) if rarer else 0.0
        left = _left_of_validations(situation, rarer=rarer, optimism=optimism)
        at_once = not recorded.late_validation_ends and (rarer or _cut(situation))
        ends = left if at_once else 1.0
        return _validated_less(model, begun_ms, left, ends, optimism)

    each = _each_validation(situation)
    title, then, action = _in_fewer_epochs(advised) if rarer else _on_less_data(situation, each)
    return predicted(
        model,
        change,
        title=title,
        reason=(
            f"Validation takes {in_ms(spent)} for every step of {in_ms(model.step_ms)}, "
            f"{in_percent(spent / model.training_ms)} of the training. {then}"
        ),
        action=action,
        evidence={
            "validation_ms": spent,
            "share": spent / model.training_ms,
            "present": present,
            "advised": advised,
            **each,
        },
        of="whole",
    )


def _epochs(situation: Situation) -> int:
    """Once they are longer, where that is advised; 0 where that is not known."""
    return fewer_epochs(situation) or situation.facts.length.epochs_in_all or 0


def _may_skip(recorded: OutsideSteps, present: int) -> bool:
    """Epochs may pass without validation, as they do, or as nobody saves by it.

    Keras's ModelCheckpoint fails without a val_ that its path has, or saves what is not the best;
    so does KerasTuner's SaveBestEpoch. Patience would last as many times as many epochs.
    """
    if recorded.has_callback(PATIENT):
        return False
    return present > 1 or not recorded.has_callback(BY_VALIDATION)


def _left_of_validations(situation: Situation, *, rarer: bool, optimism: float) -> float:
    """With `rarer` in fewer epochs, else in each of them on fewer batches, at least a share."""
    least = 0.0 if rarer else _one_execution(situation)
    left = max(least, 1 / RARER * (1 - 0.2 * optimism))
    if not rarer and optimism < 0:
        # At worst it is what a validation takes whatever its length.
        left += -optimism * (1 - left)
    return left


def _validated_less(
    model: StepModel, begun_ms: float, left: float, ends: float, optimism: float
) -> StepModel:
    """With these shares of the validations, and of the waits for the ends of their iterators."""
    rest_ms = model.outside.get("epoch_rest", 0.0)
    gone = begun_ms * (1 - left) * (1 + optimism) / 2
    rest = 1 - gone / rest_ms if rest_ms else 1.0
    return model.with_outside({"validation": left, "validation_ends": ends, "epoch_rest": rest})


def _on_a_part(situation: Situation) -> bool:
    """Validation is on a part of its data, told by `validation_steps` or `take` of its batches."""
    found = situation.facts.inference.get(VALIDATION)
    written = found.dataset.chains[0] if found is not None and found.dataset is not None else ()
    kinds = [stage.kind for stage in written]
    batches = [
        place for place, kind in enumerate(kinds) if kind.endswith("batch") and kind != "unbatch"
    ]
    taken = "take" in kinds[batches[-1] if batches else 0 :]
    return bool(situation.facts.settings.validation_steps) or taken


def _in_fewer_epochs(every: int) -> tuple[str, str, str]:
    """Title, what else changes, and code."""
    title = f"Validate less: every {every} epochs, or on a part of the data"
    then = (
        "Callbacks that watch val_ metrics then act as rarely; where they need them in each epoch, "
        "as for a file's name, they fail."
    )
    return title, then, f"model.fit(..., validation_freq={every})"


def _on_less_data(situation: Situation, each: Mapping[str, float]) -> tuple[str, str, str]:
    """The same, where there are too few epochs to let some pass."""
    found = situation.facts.inference.get(VALIDATION)
    steps, rows = (_a_part(each.get(name), name) for name in ("batches", "examples"))
    code = f"model.fit(..., validation_steps={steps})  # of your present batches"
    given = "model.fit(..., validation_data=validation_data)"
    if found is not None and found.dataset is not None:
        # With validation_steps Keras keeps the iterator until the next validation. A cache that is
        # not read to its end stays empty.
        cached = any(stage.kind == "cache" for stage in found.dataset.chains[0])
        taken = f"validation_data.take({steps}){'.cache()' if cached else ''}"
        part = f"validation_data = {taken}  # of your present batches"
        code = f"{part}\n{given}"
    elif found is not None and found.input_kind == "arrays":
        # With validation_steps, and no batch size, Keras makes larger batches of all rows.
        part = f"{ROWS}validation_data = (x_val[:{rows}], y_val[:{rows}])"
        code = f"{part}\n{given}"
    then = (
        "val_ metrics are then those of a part of the data, the first one: shuffle it once before, "
        "with a seed, where it is in an order."
    )
    return "Validate on a part of the data", then, code


def _a_part(number: float | None, name: str) -> int | str:
    return f"max(1, {name} // {RARER})" if number is None else max(1, int(number) // RARER)


def _each_validation(situation: Situation) -> dict[str, float]:
    """Batches and examples of one, as far as they were counted."""
    validated = situation.facts.inference.get(VALIDATION)
    if validated is None or not validated.calls:
        return {}
    batches = {"batches": validated.steps / validated.calls} if validated.steps else {}
    if not validated.examples:
        return batches
    return {**batches, "examples": validated.examples / validated.calls}


def _cut(situation: Situation) -> bool:
    """A part of the data is advised, and no `validation_steps`."""
    found = situation.facts.inference.get(VALIDATION)
    return found is not None and (found.dataset is not None or found.input_kind == "arrays")


def _one_execution(situation: Situation) -> float:
    """The share of a validation that is left however few its steps.

    Executions are cut by the end of the data, and not by `validation_steps`.
    """
    if _cut(situation):
        return 0.0
    batches = _each_validation(situation).get("batches")
    at_once = situation.facts.settings.steps_per_execution
    return min(1.0, at_once / batches) if batches else 0.0
