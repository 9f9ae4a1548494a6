"""What a report says here and denies there."""

from __future__ import annotations

import re
from collections.abc import Iterator

from keras_perf.advise.gains.of_a_part import WORTHWHILE
from keras_perf.advise.gains.what_is_left import ON
from keras_perf.advise.recommendation import Recommendation
from keras_perf.advise.situation import situation_of
from keras_perf.analyse.stage_paces import stage_paces
from keras_perf.report.diagnosis import Diagnosis
from keras_perf.report.text.measured_tables import measured_tables

ROUNDED = 1.015
"""Figures of two or three digits, and what is too little to be told, differ by so much."""

STAGE_TAKES = re.compile(r"[Ss]tages? (?P<stage>\w+ \(\d+\)) takes? (?P<ms>[\d.e+-]+) ms of the ")
WITHOUT = re.compile(
    r"of each step; (?:without|compiled), (?:training|a step) would be (?P<gain>[\d.]+)× as fast"
)
ALSO = re.compile(r"; a step (?P<gain>[\d.]+)× if ")
GAIN = re.compile(r"(?P<gain>\d+\.\d\d)×")
MS = r"(?P<{}>[\d.,]+) ms"
LESS_OFTEN = re.compile(
    f"takes {MS.format('spent')} of every step of {MS.format('step')}; .*"
    f" it leaves {MS.format('left')}\\."
)
COMPUTES_LESS = re.compile(f"is expected to take {MS.format('ms')} less")
APART = re.compile(r"\d\s%")


def contradictions(found: Diagnosis) -> Iterator[str]:
    """A sentence each; none for a report whose figures agree."""
    summary, step_ms = found.summary, found.breakdown["step"]
    if abs(sum(summary.parts.values()) - step_ms) > 1e-6 * max(1.0, step_ms):
        yield "the parts do not add up to the step"
    for advice in found.recommendations:
        bounds = advice.low, advice.predicted_speedup, advice.high
        if not 1.0 <= bounds[0] <= bounds[1] <= bounds[2]:
            yield f"{advice.id}: {bounds} are no bounds"
        outside = summary.outside
        if advice.id == "rarer-validation":
            around = outside["validation"] + min(outside["epoch_rest"], outside["validation"])
            whole_ms = situation_of(summary).model.training_ms
            most = whole_ms / max(1e-9, whole_ms - around)
            if advice.predicted_speedup > most * (1 + 1e-9):
                yield f"{advice.id}: {advice.predicted_speedup:.2f}× of a part worth {most:.2f}×"
        yield from _prose_against_table(found, advice.reason)
        yield from _prose_against_gain(advice)
    yield from _advice_against_verdict(found)
    yield from _two_forms(found)


def _prose_against_table(found: Diagnosis, prose: str) -> Iterator[str]:
    """Of each stage prose and table have one figure."""
    paces = {pace.name: pace.ms for pace in stage_paces(found.summary.facts)}
    for match in STAGE_TAKES.finditer(prose):
        ms = paces.get(match["stage"])
        if ms is None or abs(float(match["ms"]) - ms) > 0.01 * ms + 0.001:
            yield f"{match[0]!r} beside a table with {ms}"


def _prose_against_gain(advice: Recommendation) -> Iterator[str]:
    """An advice has one gain, and its text explains all of it."""
    told = advice.speedup_after_others or advice.predicted_speedup
    for match in GAIN.finditer(advice.reason):
        if f"{told:.2f}" != match["gain"]:
            yield f"{advice.id}: {match[0]} in the text of a gain of {told:.2f}×"
    found = LESS_OFTEN.search(advice.reason)
    if found is None or advice.of != "step":
        return
    spent, step, left = (_number(found[name]) for name in ("spent", "step", "left"))
    beside = COMPUTES_LESS.search(advice.reason)
    less = _number(beside["ms"]) if beside else 0.02 * step
    most = step / max(1e-9, step - spent + left - less - (ROUNDED - 1) * step)
    if 0 < most < advice.predicted_speedup:
        yield f"{advice.id}: {found[0]!r} explains {most:.2f}× of {advice.predicted_speedup:.2f}×"


def _number(told: str) -> float:
    return float(told.replace(",", ""))


def _two_forms(found: Diagnosis) -> Iterator[str]:
    """A share reads 43% wherever it stands."""
    of_advice = [text for each in found.recommendations for text in (each.title, each.reason)]
    in_tables = [
        cell for _, _, rows in measured_tables(found.summary) for row in rows for cell in row
    ]
    told = [found.explanation, *of_advice, *found.notes, *found.alerts, *found.details]
    for text in [*told, *found.ending, *in_tables]:
        if APART.search(text):
            yield f"{text!r} has a percent sign apart from its number"


def _advice_against_verdict(found: Diagnosis) -> Iterator[str]:
    """What is said of the verdict's part is not denied by the advice."""
    summary, step_ms = found.summary, found.breakdown["step"]
    if match := WITHOUT.search(found.explanation):
        trial = summary.facts.trial
        tried = trial is not None and trial.trials and not trial.applied
        if found.verdict == "dispatch-bound" and tried and not found.recommendations:
            yield f"{match[0]!r}, yet nothing is advised after a trial"
        also = ALSO.search(found.explanation)
        most = max(float(each["gain"]) for each in (match, also) if each is not None)
        for advice in found.recommendations:
            # What was measured twice differs.
            gain = advice.low if advice.tried else advice.predicted_speedup
            on_it = advice.id in ON.get(found.verdict, ()) and advice.of == "step"
            if on_it and gain > ROUNDED * most:
                yield f"at most {most:.2f}×, yet {advice.id} alone buys {gain:.2f}×"
    if found.verdict == "compute-bound" and "no other part is worth" in found.explanation:
        wait = summary.parts.get("input_wait", 0.0)
        if step_ms > WORTHWHILE * (step_ms - wait) and "input wait" not in found.explanation:
            yield f"no other part is worth anything, beside an input wait of {wait:.3g} ms"
        for advice in found.recommendations:
            on_a_part = advice.of == "step" and any(advice.id in ids for ids in ON.values())
            told = "is predicted all the same" in found.explanation or advice.tried
            if on_a_part and not told and advice.predicted_speedup > WORTHWHILE * ROUNDED:
                yield f"no part is worth 5%, yet {advice.id} buys {advice.predicted_speedup:.2f}×"
