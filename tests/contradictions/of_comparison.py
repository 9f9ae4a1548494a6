"""What a comparison says, against the two reports that it is made of."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from keras_perf.records.interval import PARTS
from keras_perf.report.compared.advice_in_comparison import AdviceTaken
from keras_perf.report.compared.comparison import Comparison
from keras_perf.report.diagnosis import Diagnosis

CLOSE = 1e-6


def comparison_contradictions(found: Comparison) -> Iterator[str]:
    """A sentence each."""
    rows = found.to_frame().to_dict("records")
    yield from rows_against_sums(rows)
    for run, name in ((found.before, "before_ms"), (found.after, "after_ms")):
        yield from _rows_against_report(rows, name, run)
    for each in found.advice:
        yield from _taken_against_report(each, found.after)
    yield from _predictions(found)


def rows_against_sums(rows: Sequence[Mapping[Any, Any]]) -> Iterator[str]:
    """What was saved is the difference, and lies in its interval."""
    for row in rows:
        before, after, saved = (_number(row[n]) for n in ("before_ms", "after_ms", "saved_ms"))
        # What only one run measured is in the other's compute, and so is what it saved.
        whole = not math.isnan(before + after) and row["part"] != "compute"
        if whole and _differ(saved, before - after):
            yield f"{row['part']}: {saved} saved of {before} and {after}"
        low, high = _number(row["low"]), _number(row["high"])
        if low > saved + CLOSE or high < saved - CLOSE:
            yield f"{row['part']}: {saved} saved, outside of {low} to {high}"
    in_steps = {row["part"]: row for row in rows if row["part"] in (*PARTS, "step")}
    step = in_steps.pop("step", None)
    if step is not None:
        saved = sum(v for row in in_steps.values() if not math.isnan(v := _number(row["saved_ms"])))
        if _differ(saved, _number(step["saved_ms"])):
            yield f"parts save {saved} of a step that saves {step['saved_ms']}"


def _rows_against_report(
    rows: Sequence[Mapping[Any, Any]], name: str, run: Diagnosis
) -> Iterator[str]:
    """Each part takes what its own report says."""
    for row in rows:
        own, told = run.breakdown.get(row["part"]), _number(row[name])
        if own is not None and not math.isnan(own) and _differ(own, told):
            yield f"{row['part']}: {told} compared, {own} in the report"


def _taken_against_report(each: AdviceTaken, after: Diagnosis) -> Iterator[str]:
    """Advice is recommended again where the later report gives it, and only there."""
    given = [advice for advice in after.recommendations if advice.id == each.advice.id]
    told = str(each)
    if told == "still recommended" and not given:
        yield f"{each.advice.id} is still recommended, and is not"
    if told == "taken" and any(advice.action == each.advice.action for advice in given):
        yield f"{each.advice.id} was taken, and is recommended again to the letter"


def _predictions(found: Comparison) -> Iterator[str]:
    """What was to be gained is what the earlier report says."""
    own = {(a.id, a.title): a for a in found.before.recommendations}
    for row in found.advice_frame().to_dict("records"):
        advice = own.get((row["id"], row["title"]))
        if advice is None:
            yield f"{row['id']} is compared, and was not recommended"
            continue
        if _differ(row["predicted"], advice.speedup_after_others or advice.predicted_speedup):
            yield f"{row['id']}: {row['predicted']} compared, {advice.predicted_speedup} predicted"
        if bool(row["tried"]) is not advice.tried:
            yield f"{row['id']}: a figure of a trial is told as a prediction"
    together = {
        "the whole training": (found.whole_measured, found.before.combined_whole_speedup[0]),
        found.timed: (not found.whole_measured, found.before.combined_speedup[0]),
    }
    for what, (told, gain) in together.items():
        shown = f"{what} {gain:.2f}×"
        if told and found.before.recommendations and shown not in found.closing:
            yield f"{shown} was predicted, and {found.closing!r} does not say so"


def _number(value: Any) -> float:
    return math.nan if value is None else float(value)


def _differ(one: float, other: float) -> bool:
    return abs(one - other) > CLOSE * max(1.0, abs(one))
