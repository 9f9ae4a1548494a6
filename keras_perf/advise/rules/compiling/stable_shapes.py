"""Advice on what makes the train function traced or compiled again."""

from __future__ import annotations

from keras_perf.advise.as_written import in_batches_of
from keras_perf.advise.gains.compiling import hardly_compiles, usual_computing
from keras_perf.advise.recommendation import Recommendation, predicted
from keras_perf.advise.rules.compiling.lengths import in_few_lengths, stable_lengths
from keras_perf.advise.rules.followed import has_stable_shapes
from keras_perf.advise.rules.rule import rule
from keras_perf.advise.situation import Situation
from keras_perf.advise.step.step_model import StepModel
from keras_perf.records.advice_ids import STABLE_SHAPES
from keras_perf.records.figures import in_ms
from keras_perf.records.run.library import JAX, TENSORFLOW, library_of
from keras_perf.records.run.run_facts import RunFacts

WORTH_MENDING = 0.02
"""Compiling that takes less than this share of a step may be a stall that was taken for it."""

WITHOUT_A_PARTIAL_BATCH = {
    "arrays": (
        "whole = len(y) // batch_size * batch_size\n"
        "model.fit(x[:whole], y[:whole], ...)  # so each array of several, and sample_weight;\n"
        "# validation_split would cut this once more: give validation_data in its place"
    ),
    "DataLoader": "loader = torch.utils.data.DataLoader(..., drop_last=True)",
    "PyDataset": "return len(self.x) // self.batch_size  # in __len__: whole batches only",
    "generator": "# let the generator give whole batches only",
}
"""Input → code that leaves the last batch out where it has fewer rows."""

LAST_BATCH = (
    "the last batch of an epoch has fewer rows than the others; for it the function is made once, "
    "however long you train. What is left out is the same in each epoch{unless}: a batch size that "
    "divides their number leaves nothing out."
)

IF_SHUFFLED = " unless the data are shuffled"

ONE_SHAPE = {
    TENSORFLOW: (
        "Trace the train function once",
        "every batch has the same shape, so something else differs: Python arguments, or "
        "Python objects that the function uses.",
        "@tf.function(reduce_retracing=True)  # and tensors in place of Python numbers",
    ),
    JAX: (
        "Compile the train function once",
        "every batch has the same shape, so something else differs: dtypes, or Python numbers "
        "that the step is given.",
        "JAX_LOG_COMPILES=1 python train.py  # in a shell: it names what is compiled, and for what",
    ),
}
EACH_CALL = (
    ONE_SHAPE[TENSORFLOW][0],
    "most calls are traced, which an epoch's last batch with fewer rows does not explain: Python "
    "arguments, as the number of a step, or Python objects that the function uses.",
    ONE_SHAPE[TENSORFLOW][2],
)
"""Title, reason and code where no batch differs from another, or that is not it."""

MUCH_BESIDE = 0.1
"""Compute that goes with compiling is told of where it is more than this share of compiling."""


@rule(
    STABLE_SHAPES,
    on="compiling",
    tried_title="Give the train function batches of few lengths",
    followed=has_stable_shapes,
    else_gone=True,
)
def stable_shapes(situation: Situation) -> Recommendation | None:
    """The train function is traced again and again."""
    spent = situation.model.rest.get("compile", 0.0)
    if not spent or spent < WORTH_MENDING * situation.model.step_ms or hardly_compiles(situation):
        return None

    def change(model: StepModel, optimism: float) -> StepModel:
        # What goes is compiling, and what computing takes beyond the usual step.
        usual = usual_computing(situation, optimism)
        return model.with_inside(usual, compiling=0.1 * max(0.0, -optimism))

    known, replaced = situation.facts.input, situation.facts.settings.function_replacements
    reason = f"Tracing and compiling after warm-up takes {in_ms(spent)} per step on average:"
    evidence = {
        "compile_ms": spent,
        "function_replacements": replaced,
        "jit_compile": bool(situation.facts.settings.jit_compile),
        "shapes_differ": known.shapes_differ,
        "rows_differ": known.rows_differ and not _of_any_length(situation.facts),
    }
    if known.shapes_differ and not replaced:
        return stable_lengths(situation, reason, evidence)
    title, why, action = _what_changes(situation)
    return predicted(
        situation.model,
        change,
        title=title,
        reason=f"{reason} {why}{_taken_for_compiling(situation, spent)}",
        action=action,
        evidence=evidence,
        # No steady step compiles: what it is of is the training, which also begins and pauses.
        of="whole",
    )


def _taken_for_compiling(situation: Situation, spent_ms: float) -> str:
    """A sentence, where much of what computing takes is predicted to go too; else ""."""
    inside = situation.model.inside_ms
    usual = usual_computing(situation, 0.0)
    if (1 - usual) * inside <= MUCH_BESIDE * spent_ms:
        return ""
    return (
        f" Compute takes {in_ms(inside)} on average but {in_ms(usual * inside)} in a usual "
        "step: the prediction takes the rest for unrecognised compilations, too."
    )


def _what_changes(situation: Situation) -> tuple[str, str, str]:
    """Title, reason and code, by what differs: function, its shapes, last batch, something else."""
    known, settings = situation.facts.input, situation.facts.settings
    replaced = settings.function_replacements
    if replaced:
        return (
            "Keep the train function instead of rebuilding it",
            f"a callback rebuilt the train function {replaced} times.",
            "model.make_train_function(force=True)  # only where trainable layers change: for "
            "several of them at once, or between two calls of fit",
        )
    traced = situation.summary.compiling
    if traced is not None and traced.by_xla and settings.jit_compile is False:
        return (
            "Give what XLA compiles batches of few shapes",
            "Keras compiles nothing by XLA here, and a trace shows that XLA compiles in most "
            "steps: a function of your own with jit_compile=True, or clusters by TF_XLA_FLAGS, "
            "for each shape that it is given.",
            "@tf.function(jit_compile=False)  # your function, without XLA\n"
            "# or give it few shapes, as by dataset.padded_batch(batch_size, padded_shapes=...)",
        )
    if _of_any_length(situation.facts):
        return (
            "Trace the train function for any length",
            "batches may differ in an axis other than the rows, and without reduce_retracing a "
            "function is traced for each shape; for each Python number that it is given it is so "
            "in any case.",
            "@tf.function(reduce_retracing=True)  # your train step, given tensors, no numbers\n"
            f"# with jit_compile=True it compiles for each length: give it few of them\n"
            f"{in_few_lengths(situation)}",
        )
    if not known.rows_differ:
        return ONE_SHAPE[library_of(situation.facts)]
    if settings.in_a_loop and _mostly_traced(situation.facts):
        return EACH_CALL
    return (
        "Give the train function batches of one shape",
        LAST_BATCH.format(unless="" if known.input_kind == "arrays" else IF_SHUFFLED),
        WITHOUT_A_PARTIAL_BATCH.get(known.input_kind or "")
        or in_batches_of("batch_size", situation.facts, whole=True),
    )


def _of_any_length(facts: RunFacts) -> bool:
    """Batches of a loop's differ in more than their rows; Keras's function generalises itself."""
    return facts.input.many_shapes and facts.settings.in_a_loop


def _mostly_traced(facts: RunFacts) -> bool:
    calls = facts.length.steps / facts.settings.steps_per_execution
    return 2 * (facts.settings.function_traces or 0) > calls
