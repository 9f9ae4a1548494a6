"""Advice on the train function itself."""

from __future__ import annotations

from keras_perf.advise.gains.compiling import usual_share_of_compute
from keras_perf.advise.gains.eager import compiled, cores_used, share_of_operations
from keras_perf.advise.recommendation import Recommendation, predicted
from keras_perf.advise.rules.followed import (
    has_stable_shapes,
    runs_in_a_graph,
)
from keras_perf.advise.rules.in_a_loop import not_eagerly
from keras_perf.advise.rules.rule import rule
from keras_perf.advise.situation import Situation
from keras_perf.advise.step.step_model import INSIDE, StepModel
from keras_perf.analyse.summary import Summary
from keras_perf.records.figures import in_ms, in_percent
from keras_perf.records.run.outlier import Cause

WORTH_MENDING = 0.02
"""Compiling that takes less than this share of a step may be a stall that was taken for it."""

MUCH_BESIDE = 0.1
"""Compute that goes with compiling is told of where it is more than this share of compiling."""

PADDING = 0.3
"""What examples that are padded to fewer lengths compute more, at worst."""


FEW_LENGTHS = 4
"""Batches of few lengths are expected to have so many, twice as many at worst: XLA compiles for
each. At best nothing compiles, which is training without XLA."""


@rule("stable-shapes", followed=has_stable_shapes)
def stable_shapes(situation: Situation) -> Recommendation | None:
    """The train function is traced again and again."""
    spent = situation.model.rest.get("compile", 0.0)
    if not spent or spent < WORTH_MENDING * situation.model.step_ms:
        return None

    padded = situation.facts.input.shapes_differ
    usual = usual_share_of_compute(situation.summary.intervals)
    inside = sum(situation.model.rest.get(part, 0.0) for part in INSIDE)
    quickest = (situation.model.undisturbed_ms or inside) / inside if inside else usual
    quickest = min(usual, quickest)

    def change(model: StepModel, optimism: float) -> StepModel:
        # What goes is compiling, and what computing takes beyond the usual step; at best that
        # becomes one of the quickest, which do not follow on a compilation.
        end = quickest if optimism > 0 else 1.0
        left = usual + abs(optimism) * (end - usual)
        if padded and optimism < 0:
            left *= 1 - optimism * PADDING
        compiling = _compiling_left(situation, optimism)
        return model.with_rest({"compile": compiling, **dict.fromkeys(INSIDE, left)})

    replaced = situation.facts.settings.function_replacements
    title, why, action = _what_changes(situation)
    if padded and _compiling_left(situation, 0.0):
        why += f" The prediction compiles for {FEW_LENGTHS} lengths, at best, without XLA, none."
    if (1 - usual) * inside > MUCH_BESIDE * spent:
        why += (
            f" Compute takes {in_ms(inside)} on average but {in_ms(usual * inside)} in a usual "
            "step: the prediction takes the rest for unrecognised compilations, too."
        )
    return predicted(
        situation.model,
        change,
        title=title,
        reason=(
            f"Tracing and compiling after warm-up takes {in_ms(spent)} per step on average: {why}"
        ),
        action=action,
        evidence={
            "compile_ms": spent,
            "function_replacements": replaced,
            "jit_compile": bool(situation.facts.settings.jit_compile),
            "shapes_differ": padded,
            "rows_differ": situation.facts.input.rows_differ,
        },
        # No steady step compiles: what it is of is the training, which also begins and pauses.
        of="whole",
    )


def _what_changes(situation: Situation) -> tuple[str, str, str]:
    """Title, reason and code: for a function made anew, a varying axis, a partial batch."""
    known, replaced = situation.facts.input, situation.facts.settings.function_replacements
    if replaced:
        return (
            "Keep the train function that is there",
            f"a callback made the train function anew {replaced} times.",
            "model.make_train_function(force=True)  # only where trainable layers change: for "
            "several of them at once, or between two calls of fit",
        )
    if known.shapes_differ:
        return (
            "Give the train function batches of few lengths",
            "an axis other than the rows differs from batch to batch, and XLA compiles for each "
            "of its lengths. Without XLA nothing is compiled for a length; what a step takes then "
            "was not measured here, and try_advice measures it.",
            "# examples of about one length share a batch, padded to one of few lengths\n"
            "dataset = dataset.bucket_by_sequence_length(\n"
            "    lambda x, y: tf.shape(x)[0], bucket_boundaries=[...], bucket_batch_sizes=[...],\n"
            "    pad_to_bucket_boundary=True, drop_remainder=True)\n"
            "# or all to one: dataset.padded_batch(batch_size, padded_shapes=...)\n"
            "# or without XLA: model.compile(..., jit_compile=False)",
        )
    if not known.rows_differ:
        return (
            "Trace the train function once",
            "every batch has the same shape, so something else differs: Python arguments, or "
            "Python objects that the function uses.",
            "@tf.function(reduce_retracing=True)  # and tensors in place of Python numbers",
        )
    action = "dataset = dataset.batch(batch_size, drop_remainder=True)"
    if known.input_kind == "arrays":
        action = "whole = len(x) // batch_size * batch_size\nmodel.fit(x[:whole], y[:whole], ...)"
    return (
        "Give the train function batches of one shape",
        "the last batch of an epoch has fewer rows than the others.",
        action,
    )


def _compiling_left(situation: Situation, optimism: float) -> float:
    """Share of compiling that stays: at worst a tenth, and once for each length that is left."""
    at_least, summary, model = 0.1 * max(0.0, -optimism), situation.summary, situation.model
    steps = situation.facts.length.steps or summary.steps
    spent_ms = model.rest.get("compile", 0.0) * model.compiling_share
    spent_ms += model.start_up_compiling_ms
    each_ms = _compilation_ms(summary)
    if not situation.facts.input.shapes_differ or not each_ms or not spent_ms or not steps:
        return at_least
    lengths = FEW_LENGTHS * (1 - optimism)
    return min(1.0, max(at_least, lengths * each_ms / steps / spent_ms))


def _compilation_ms(summary: Summary) -> float | None:
    """One of XLA's compilations, as a trace or the longest steps show it; None if neither does."""
    traced = summary.compiling
    if traced is not None and traced.share:
        return traced.compile_ms / traced.share
    totals = [t for t in summary.facts.outliers.event_totals if t.cause == Cause.RECOMPILE.value]
    count = sum(total.count for total in totals)
    return sum(total.total_ms for total in totals) / count if count else None


@rule("disable-run-eagerly", followed=runs_in_a_graph, in_a_loop=not_eagerly)
def disable_run_eagerly(situation: Situation) -> Recommendation | None:
    """Every operation is run from Python."""
    if not situation.facts.settings.run_eagerly:
        return None

    setting = "run_eagerly=True"
    if situation.facts.settings.in_a_loop:
        setting = "tf.config.run_functions_eagerly(True)"
    reason = f"{setting} runs every operation from Python; it is meant for debugging."
    evidence = {"compute_ms": situation.summary.parts.get("compute")}
    operating = share_of_operations(situation)
    if operating is not None:
        evidence["operations_share"] = operating
        reason += f" Operations themselves take {in_percent(operating)} of what it computes."
    else:
        evidence["cores_used"] = cores_used(situation)
        reason += " How much of that is Python was not traced: what it buys is a guess."
    return predicted(
        situation.model,
        compiled(situation),
        title="Compile the train step",
        reason=reason,
        action="model.compile(..., run_eagerly=False)",
        evidence=evidence,
    )
