"""A gain against the share of what it removes, and against the words beside it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from advice_on import ON

from contradictions.told import FIGURE, ROUNDED, gain, ms_of
from keras_perf.advise.gains.compiling import gain_without_compiling
from keras_perf.advise.recommendation import Recommendation
from keras_perf.advise.situation import situation_of
from keras_perf.advise.step.computing import UNSEEN_INSIDE
from keras_perf.advise.step.step_model import StepModel
from keras_perf.analyse.stage_paces import stage_paces
from keras_perf.records.figures import in_percent
from keras_perf.report.diagnosis import Diagnosis

REMOVES = {
    "rarer-validation": ("validation", "validation_ends", "epoch_rest"),
    "faster-validation": ("validation",),
    "validation-without-autotune": ("validation_ends",),
    "larger-validation-batches": ("validation",),
    "amortize-callback": ("epoch_callbacks",),
    "call-the-model": ("epoch_callbacks",),
    "longer-epochs": ("epoch_rest", "validation", "validation_ends", "epoch_callbacks"),
    "one-iterator": ("epoch_rest",),
}
"""Advice of the whole training, and what it removes at most of what lies between epochs."""

OF_TRAINING = re.compile(
    rf"takes (?P<ms>{FIGURE}) for every step of {FIGURE}, (?P<share>\d+)% of the"
)
SHARE = re.compile(r"takes (?P<share>\d+)% of the training")
GAIN = re.compile(r"(?P<gain>\d+\.\d\d)×")
LESS_OFTEN = re.compile(
    rf"takes (?P<spent>{FIGURE}) of every step of (?P<step>{FIGURE}); .*"
    rf"done .*, it takes (?P<left>{FIGURE})\."
)
COMPUTES_LESS = re.compile(rf"is expected to take (?P<ms>{FIGURE}) less")


def advice_against_shares(found: Diagnosis, advice: Recommendation) -> Iterator[str]:
    """Nothing gains more than what goes."""
    situation = situation_of(found.summary)
    if advice.of == "whole":
        whole_ms = situation.model.training_ms
        if advice.id == "stable-shapes":
            most = gain_without_compiling(situation)
        elif advice.id in REMOVES:
            most = whole_ms / max(1e-9, whole_ms - _removed_ms(found, advice))
            yield from _share_against_part(found, advice, whole_ms)
        else:
            yield f"{advice.id}: nobody knows what of the whole training it removes"
            return
    elif advice.id in ON["input-bound"] and not advice.tried and not situation.interpreter_ms:
        most = _without_input(found, situation.model, advice)
    else:
        return
    if advice.predicted_speedup > most * (1 + 1e-9):
        yield f"{advice.id}: {advice.predicted_speedup:.2f}× of a part worth {most:.2f}×"


def _removed_ms(found: Diagnosis, advice: Recommendation) -> float:
    outside = found.summary.outside
    first, *others = (outside.get(part, 0.0) for part in REMOVES[advice.id])
    # Of one iterator the first batch is waited for once.
    waits = found.summary.parts.get("input_wait", 0.0) if advice.id == "one-iterator" else 0.0
    if advice.id == "longer-epochs":
        return first + sum(others)
    # What begins and ends a validation takes no more than the validation.
    return first + waits + sum(min(first, each) for each in others)


def _share_against_part(found: Diagnosis, advice: Recommendation, whole_ms: float) -> Iterator[str]:
    match = OF_TRAINING.search(advice.reason) or SHARE.search(advice.reason)
    part_ms = found.summary.outside.get(REMOVES[advice.id][0], 0.0)
    if match is None or (advice.evidence.get("owner") and found.summary.facts.settings.in_a_loop):
        return
    told = match["share"] + "%"
    if "ms" in match.groupdict() and ms_of(match["ms"]) > ROUNDED * part_ms:
        yield f"{advice.id}: {match[0]!r} of a part that takes {part_ms:.3g} ms"
    if "owner" not in advice.evidence and told != in_percent(part_ms / whole_ms):
        yield f"{advice.id}: {match[0]!r} of a part that is {in_percent(part_ms / whole_ms)}"


def _without_input(found: Diagnosis, model: StepModel, advice: Recommendation) -> float:
    """Without the wait and without the work, of which no core is free while a thread does it."""
    paces = stage_paces(found.summary.facts)
    if not paces or any(pace.name.startswith((*UNSEEN_INSIDE, "Generator")) for pace in paces):
        return float("inf")
    work_ms = max(sum(pace.stage.cost_ms for pace in paces), model.produce_ms, model.cpu_ms)
    beside = COMPUTES_LESS.search(advice.reason)
    less_ms = ms_of(beside["ms"]) if beside else 0.02 * model.step_ms
    wait_ms = found.summary.parts.get("input_wait", 0.0)
    left_ms = model.step_ms - wait_ms - work_ms - ROUNDED * less_ms
    return model.step_ms / left_ms if left_ms > 0 else float("inf")


def prose_against_gain(advice: Recommendation) -> Iterator[str]:
    """An advice has one gain, and its text explains all of it."""
    told = gain(advice)
    for match in GAIN.finditer(advice.reason):
        if f"{told:.2f}" != match["gain"]:
            yield f"{advice.id}: {match[0]} in the text of a gain of {told:.2f}×"
    found = LESS_OFTEN.search(advice.reason)
    if found is None or advice.of != "step":
        return
    spent, step, left = (ms_of(found[name]) for name in ("spent", "step", "left"))
    beside = COMPUTES_LESS.search(advice.reason)
    less = ms_of(beside["ms"]) if beside else 0.02 * step
    most = step / max(1e-9, step - spent + left - less - (ROUNDED - 1) * step)
    if 0 < most < advice.predicted_speedup:
        yield f"{advice.id}: {found[0]!r} explains {most:.2f}× of {advice.predicted_speedup:.2f}×"
