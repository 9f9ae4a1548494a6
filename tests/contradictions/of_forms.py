"""The page and the JSON of a report, against its text."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from xml.etree.ElementTree import Element

from contradictions.told import cells
from keras_perf.report.run_report import RunReport
from keras_perf.report.text.gain import gain_of

CLOSE = 1e-9


def page_contradictions(report: RunReport, cards: Sequence[Element]) -> Iterator[str]:
    """A sentence for each figure of the text that the page does not have."""
    shown = {text.strip() for card in cards for text in card.itertext()}
    whole = " ".join(shown).lower()
    diagnosis = report.diagnosis
    if diagnosis.explanation.lower() not in whole:
        yield f"the page does not say {diagnosis.explanation!r}"
    for advice in diagnosis.recommendations:
        for text in (gain_of(advice), advice.reason):
            if text.lower() not in whole:
                yield f"the page does not say {text!r} of {advice.id}"
    if not report.summary.steps:
        return
    for part, ms in (*report.parts.items(), ("step", report.step_ms)):
        if ms is not None and f"{ms:.3f}" not in shown:
            yield f"the page has no {ms:.3f} for {part}"
    told = {c.partition(" ←")[0].strip() for c in cells(diagnosis)} - {""}
    missing = [c for c in told if c not in shown and not _is_share(c)]
    if missing:
        yield f"the page has no {missing[:5]}"


def _is_share(cell: str) -> bool:
    """Bars and widths show it."""
    return cell.endswith("%")


def json_contradictions(report: RunReport, told: Mapping[str, Any]) -> Iterator[str]:
    """A sentence for each figure that is another one than in the report."""
    diagnosis = report.diagnosis
    for name in ("verdict", "explanation", "notes", "alerts"):
        if told[name] != getattr(diagnosis, name):
            yield f"{name} is {told[name]!r}, and {getattr(diagnosis, name)!r} in the report"
    for part, ms in told["breakdown"].items():
        own = diagnosis.breakdown[part]
        if (ms is None) is not math.isnan(own) or (ms is not None and abs(ms - own) > CLOSE * own):
            yield f"{part} is {ms}, and {own} in the report"
    gains = [
        (each["id"], each["predicted_speedup"], each["tried"]) for each in told["recommendations"]
    ]
    own_gains = [(e.id, e.predicted_speedup, e.tried) for e in diagnosis.recommendations]
    if gains != own_gains:
        yield f"gains are {gains}, and {own_gains} in the report"
    for name in ("combined_speedup", "combined_whole_speedup"):
        if tuple(told[name].values()) != getattr(diagnosis, name):
            yield f"{name} is {told[name]}, and {getattr(diagnosis, name)} in the report"
