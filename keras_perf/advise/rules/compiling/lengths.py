"""Advice where XLA compiles for each length of a batch: no XLA, or batches of few lengths."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from keras_perf.advise.gains.compiling import COUNTED, compilation_ms, usual_computing
from keras_perf.advise.recommendation import Change, Recommendation, cost_ms, predicted
from keras_perf.advise.situation import Situation
from keras_perf.advise.step.step_model import StepModel, between
from keras_perf.records.advice_ids import DISABLE_XLA, STABLE_SHAPES
from keras_perf.records.figures import figure, in_ms
from keras_perf.records.run.library import library_of
from keras_perf.records.run.times.outlier import Cause
from keras_perf.records.run.tried.advice_trials import TriedChange
from keras_perf.records.text.compiled_with import compiled_with

FEW_LENGTHS = 8, 4, 1
"""Batches of few lengths have so many, for each of which XLA compiles: at worst, as is expected, at
best."""

PADDING = 0.3
"""What examples that are padded to fewer lengths compute more, at worst."""

WITHOUT_XLA = 1.5, 1.2, 1.0
"""So many times as long a step is reckoned to compute without XLA: with it, tried on the programs
of the documentation's table, steps were 1.1 to 1.4 times as fast where it gained anything."""

RECURRENT = 2.7
"""With XLA a GRU's steps were so many times as fast on a CPU."""

BUCKETS = """\
# in place of batch: examples of about one length share one, padded to one of few lengths; of each
# of these drop_remainder leaves out less than a batch in an epoch, and what is padded needs a mask
dataset = dataset.bucket_by_sequence_length(
    lambda x, y: tf.shape(x)[0], bucket_boundaries=[...], bucket_batch_sizes=[...],
    pad_to_bucket_boundary=True, drop_remainder=True)
# all to one: dataset.padded_batch(batch_size, padded_shapes=...)"""

PADDED = """\
# where a batch is made: padded to the next of few lengths, such as 32, 64, 128
length = next(each for each in LENGTHS if each >= batch.shape[1])
batch = np.pad(batch, [(0, 0), (0, length - batch.shape[1])] + [(0, 0)] * (batch.ndim - 2))
# and examples of about one length in a batch"""


@dataclass(frozen=True)
class _Way:
    """One of the things that can be done.

    Attributes:
        title: of the advice.
        told: a sentence on what the prediction rests on.
        code: how to write it.
        change: what it does to the model.
    """

    title: str
    told: str
    code: str
    change: Change

    def gain(self, model: StepModel) -> float:
        """Of the whole training."""
        return cost_ms(model, "whole") / cost_ms(self.change(model, 0.0), "whole")


def stable_lengths(
    situation: Situation, reason: str, evidence: Mapping[str, Any]
) -> Recommendation | None:
    """What gains most stands first; the other way, with what it gains, behind it.

    None where a trial's advice is to train without XLA.

    Arguments:
        situation: of a training whose batches differ in an axis other than the rows.
        reason: what compiling takes.
        evidence: the figures that are known already.
    """
    trials = situation.facts.advice_trials
    if trials is not None and any(each.id == DISABLE_XLA for each in trials.together):
        return None
    model, ways = situation.model, [_few_lengths(situation)]
    settings = situation.facts.settings
    # Of a loop of which nobody has said so, XLA is not there.
    by_xla = settings.jit_compile or (settings.jit_compile is None and not settings.in_a_loop)
    if by_xla and library_of(situation.facts).graphs_without_xla:
        ways.append(_without_xla(situation))
    best, *others = sorted(ways, key=lambda way: -way.gain(model))
    gains = {way.title: f"{max(1.0, way.gain(model)):.2f}×" for way in others}
    return predicted(
        model,
        best.change,
        title=best.title,
        reason=(
            f"{reason} an axis other than the rows differs from batch to batch, and "
            f"{_what_compiles(situation)} for each of its lengths{_each_takes(situation)}."
            + "".join(f" {way.told}" for way in (best, *others) if way.told)
        ),
        action="\n".join(
            [best.code, *(f"# or, predicted {gains[way.title]}:\n{way.code}" for way in others)]
        ),
        evidence=evidence,
        of="whole",
    )


def _what_compiles(situation: Situation) -> str:
    if situation.facts.settings.jit_compile is False:
        return "the train function is traced"
    return "XLA compiles"


def _each_takes(situation: Situation) -> str:
    each_ms = compilation_ms(situation.summary)
    return f", {in_ms(each_ms)} each" if each_ms else ""


def _without_xla(situation: Situation) -> _Way:
    tried = _tried(situation, DISABLE_XLA)
    compilations, _ = situation.facts.outliers.of(Cause.RECOMPILE)
    traced = situation.summary.compiling
    counted = (traced is not None and traced.by_xla) or compilations >= COUNTED

    def change(model: StepModel, optimism: float) -> StepModel:
        left = 0.0 if counted else 0.1 * max(0.0, -optimism)
        if tried is not None:
            return _as_tried(model, tried, left, optimism)
        computing = usual_computing(situation, optimism) * between(*WITHOUT_XLA, optimism)
        return model.with_inside(computing, compiling=left)

    measured = "" if situation.facts.settings.in_a_loop else ": try_advice measures it"
    told = (
        f"Without XLA nothing is compiled for a length; a step is expected to compute "
        f"{figure(WITHOUT_XLA[1])} times as long then, at worst {figure(WITHOUT_XLA[0])} times, "
        f"and with recurrent layers {figure(RECURRENT)} times{measured}."
    )
    if tried is not None:
        told = (
            "Without XLA nothing is compiled for a length: tried on this training, a step took "
            f"{in_ms(tried.after_ms)}."
        )
    settings = situation.facts.settings
    code = "@tf.function(jit_compile=False, reduce_retracing=True)"
    if not settings.in_a_loop:
        code = compiled_with(settings.own_compile, jit_compile=False)
    title = "Train without XLA, which compiles for each length"
    return _Way(title, told, code, change)


def _few_lengths(situation: Situation) -> _Way:
    tried = _tried(situation, STABLE_SHAPES)

    def change(model: StepModel, optimism: float) -> StepModel:
        left = _compiling_left(situation, optimism)
        if tried is not None:
            return _as_tried(model, tried, left, optimism)
        computing = usual_computing(situation, optimism) * (1 + PADDING * max(0.0, -optimism))
        return model.with_inside(computing, compiling=left)

    told = ""
    if _compiling_left(situation, 0.0):
        most, few, _ = FEW_LENGTHS
        told = f"With few lengths, {few} are predicted to compile, {most} at worst."
    if tried is not None:
        told = (
            f"Padded to few lengths a step took {in_ms(tried.after_ms)} on trial, without "
            f"compiling. {told}"
        ).rstrip()
    return _Way(
        "Give the train function batches of few lengths",
        told,
        in_few_lengths(situation),
        change,
    )


def in_few_lengths(situation: Situation) -> str:
    """Code that makes batches of few lengths."""
    return BUCKETS if situation.own_dataset else PADDED


def _tried(situation: Situation, id: str) -> TriedChange | None:
    trials = situation.facts.advice_trials
    changes = () if trials is None else trials.changes
    return next((each for each in changes if each.id == id), None)


def _as_tried(model: StepModel, tried: TriedChange, left: float, optimism: float) -> StepModel:
    """A step takes what it took on trial, in which all lengths were compiled already."""
    gain = between(tried.low, tried.gain, tried.high, optimism)
    step_ms = tried.after_ms * tried.gain / gain
    without = model.with_rest({"compile": 0.0})
    computing_ms = max(0.0, model.inside_ms + step_ms - without.step_ms)
    computing = computing_ms / model.inside_ms if model.inside_ms else 1.0
    return model.with_inside(computing, compiling=left)


def _compiling_left(situation: Situation, optimism: float) -> float:
    """Share of compiling that stays: once for each length that is left, at worst a tenth."""
    at_least, model = 0.1 * max(0.0, -optimism), situation.model
    each_ms = compilation_ms(situation.summary)
    steps = situation.facts.length.steps or situation.summary.steps
    spent_ms = model.rest.get("compile", 0.0) * model.compiling_share
    spent_ms += model.start_up_compiling_ms
    if not each_ms or not spent_ms or not steps:
        return at_least
    left_ms = between(*FEW_LENGTHS, optimism) * each_ms / steps
    return min(1.0, max(at_least, left_ms / spent_ms))
