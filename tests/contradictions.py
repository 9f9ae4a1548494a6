"""What a report says here and denies there."""

from __future__ import annotations

import re
from collections.abc import Iterator

from keras_perf.advise.verdict import WORTHWHILE
from keras_perf.analyse.stage_paces import stage_paces
from keras_perf.report.diagnosis import Diagnosis

MOST_BESIDE = 1.6
"""What a change buys beyond the part that it removes: cores and caches that become free."""

STAGE_TAKES = re.compile(r"[Ss]tages? (?P<stage>\w+ \(\d+\)) takes? (?P<ms>[\d.e+-]+) ms of the ")
WITHOUT = re.compile(
    r"(?:without|compiled), (?:training|a step) would be (?P<gain>[\d.]+)× as fast"
)


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
            most = summary.whole_ms / max(1e-9, summary.whole_ms - around)
            if advice.predicted_speedup > most * (1 + 1e-9):
                yield f"{advice.id}: {advice.predicted_speedup:.2f}× of a part worth {most:.2f}×"
        yield from _prose_against_table(found, advice.reason)
    yield from _advice_against_verdict(found)


def _prose_against_table(found: Diagnosis, prose: str) -> Iterator[str]:
    """Of each stage prose and table have one figure."""
    paces = {pace.name: pace.ms for pace in stage_paces(found.summary.facts)}
    for match in STAGE_TAKES.finditer(prose):
        ms = paces.get(match["stage"])
        if ms is None or abs(float(match["ms"]) - ms) > 0.01 * ms + 0.001:
            yield f"{match[0]!r} beside a table with {ms}"


def _advice_against_verdict(found: Diagnosis) -> Iterator[str]:
    """What is said of the verdict's part is not denied by the advice."""
    summary, step_ms = found.summary, found.breakdown["step"]
    if match := WITHOUT.search(found.explanation):
        trial = summary.facts.trial
        tried = trial is not None and trial.trials and not trial.applied
        if found.verdict == "dispatch-bound" and tried and not found.recommendations:
            yield f"{match[0]!r}, yet nothing is advised after a trial"
        on_input = {"prefetch", "parallel-map", "interleave", "cache", "private-threadpool"}
        most = MOST_BESIDE * float(match["gain"])
        for advice in found.recommendations:
            alone = found.verdict == "input-bound" and advice.id in on_input
            if alone and advice.of == "step" and advice.predicted_speedup > most:
                yield f"{match[0]!r}, yet {advice.id} alone buys {advice.predicted_speedup:.2f}×"
    if found.verdict == "compute-bound" and "no other part is worth" in found.explanation:
        wait = summary.parts.get("input_wait", 0.0)
        if step_ms > WORTHWHILE * (step_ms - wait) and "input wait" not in found.explanation:
            yield f"no other part is worth anything, beside an input wait of {wait:.3g} ms"
