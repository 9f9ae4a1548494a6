"""What a reader is told, and figures in it."""

from __future__ import annotations

from keras_perf.advise.recommendation import Recommendation
from keras_perf.report.diagnosis import Diagnosis
from keras_perf.report.text.measured_tables import measured_tables

ROUNDED = 1.015
"""Figures of two or three digits, and what is too little to be told, differ by so much."""

FIGURE = r"<?[\d.,]+ m?s"
"""A time as `in_ms` shows it."""


def prose(found: Diagnosis) -> list[str]:
    """All of it but the tables."""
    of_advice = [text for each in found.recommendations for text in (each.title, each.reason)]
    beside = [*found.notes, *found.alerts, *found.details, *found.ending]
    return [found.explanation, *of_advice, *beside]


def cells(found: Diagnosis) -> list[str]:
    """What stands in the tables of what was measured."""
    return [cell for _, _, rows in measured_tables(found.summary) for row in rows for cell in row]


def number(shown: str) -> float:
    """A figure as it is shown."""
    return float(shown.replace(",", ""))


def ms_of(shown: str) -> float:
    """A time as `in_ms` shows it, in milliseconds."""
    value, unit = shown.removeprefix("<").split()
    return number(value) * (1e3 if unit == "s" else 1.0)


def gain(advice: Recommendation) -> float:
    """The one that is told."""
    return advice.speedup_after_others or advice.predicted_speedup
