"""Advice on a validation whose iterator's end is waited for. Its speed-up is of the training."""

from __future__ import annotations

from keras_perf.advise.recommendation import Recommendation, predicted
from keras_perf.advise.rules.between_epochs.epochs import WORTH
from keras_perf.advise.rules.between_epochs.validation_batches import (
    LARGER,
    larger_validation_batches,
)
from keras_perf.advise.rules.rule import rule
from keras_perf.advise.situation import Situation
from keras_perf.advise.step.step_model import StepModel
from keras_perf.records.advice_ids import VALIDATION_WITHOUT_AUTOTUNE
from keras_perf.records.figures import in_percent, in_s
from keras_perf.records.run.inference import VALIDATION, Inference
from keras_perf.records.run.library import library_of
from keras_perf.records.run.run_facts import RunFacts
from keras_perf.records.run.times.outside_steps import OutsideSteps

SLOWER = 0.1
"""At worst a validation takes so much longer without tuning: up to 0.07 was measured."""

CALLS = 16
"""Of an untuned stage with AUTOTUNE no more calls run at a time."""

UNTUNED = (
    "options = tf.data.Options()\n"
    "options.autotune.enabled = False\n"
    "validation_data = validation_data{prefetched}.with_options(options)\n"
    "model.fit(..., validation_data=validation_data{fewer})"
)


def _untuned(facts: RunFacts, _: Recommendation) -> bool | None:
    found = facts.inference.get(VALIDATION)
    return None if found is None or found.dataset is None else not found.dataset.autotuned


@rule(VALIDATION_WITHOUT_AUTOTUNE, on="validation", followed=_untuned)
def validation_without_autotune(situation: Situation) -> Recommendation | None:
    """Training waits for the end of validations' iterators, until tf.data's tuning wakes."""
    model, facts = situation.model, situation.facts
    known, found = facts.outside, facts.inference.get(VALIDATION)
    waited_ms = model.outside.get("validation_ends", 0.0)
    if known is None or found is None or waited_ms < WORTH * model.training_ms:
        return None
    times = 1 if larger_validation_batches(situation) is None else LARGER
    code, at_worst = _code(found, facts, times), _slower(found, model.pool)
    if code is None:
        return None

    def change(model: StepModel, optimism: float) -> StepModel:
        slower = 1 + at_worst * max(0.0, -optimism)
        return model.with_outside({"validation_ends": 0.0, "validation": slower})

    return predicted(
        model,
        change,
        title="Turn off tf.data's autotuning for validation",
        reason=(
            "A validation's iterator ends when the thread that tunes its pipeline wakes, which "
            "sleeps up to as long as the iterator has lived, and a minute at most"
            f"{_lives_on(known)}. Validations take {in_s(known.usual_validation_s)}, and training "
            f"waits {in_s(known.usual_validation_end_s)} for such an end on average, "
            f"{in_percent(waited_ms / model.training_ms)} of the training. A stage with AUTOTUNE "
            f"then runs as many calls as there are cores, {CALLS} at most. Results stay the same."
        ),
        action=code,
        evidence={"waited_ms": waited_ms, "share": waited_ms / model.training_ms},
        of="whole",
    )


def _lives_on(known: OutsideSteps) -> str:
    """Why the iterator has lived for longer than its validation, where it has."""
    if not known.late_validation_ends:
        return ""
    return (
        "; with validation_steps, and where Keras does not know the number of batches, it lives "
        "until the next validation"
    )


def _slower(found: Inference, pool: int) -> float:
    """At worst, as a share of a validation: what waits for more calls then waits longer."""
    waits = found.parts_s.get("input_wait", 0.0) / max(1e-9, found.spent_s)
    return SLOWER + waits * max(0.0, pool / CALLS - 1)


def _code(found: Inference, facts: RunFacts, times: int) -> str | None:
    """The same batches, untuned; None for data whose pipeline Keras makes.

    Arguments:
        found: of the validation.
        facts: of the run.
        times: so many times as large a batch of arrays is advised to be: once they are a dataset,
            `validation_batch_size` has no effect.
    """
    if found.dataset is not None:
        kinds = [stage.kind for stage in found.dataset.chains[0] if stage.kind != "options"]
        prefetched = "" if kinds[-1:] == ["prefetch"] else ".prefetch(2)"
        return UNTUNED.format(prefetched=prefetched, fewer="") if found.dataset.autotuned else None
    if found.input_kind != "arrays" or not library_of(facts).batches_by_tf_data:
        return None
    steps, fewer = facts.settings.validation_steps, ""
    if steps and times > 1:
        fewer = f", validation_steps={steps // times}"
    return (
        "# x_val alone where there is no y_val, several inputs as a tuple, weights as a third; of\n"
        "# validation_split the rows at the end, which x and y of fit then lack\n"
        "validation_data = tf.data.Dataset.from_tensor_slices((x_val, y_val))"
        f".batch({times * (found.batch_size or 32)})\n"
        f"{UNTUNED.format(prefetched='.prefetch(2)', fewer=fewer)}"
    )
