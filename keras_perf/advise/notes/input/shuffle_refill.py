"""Refilling the buffer of a shuffle, where no advice is on it."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from keras_perf.advise.notes.input.slow_input import input_is_advised
from keras_perf.analyse.refills import refills_of
from keras_perf.analyse.summary import Summary
from keras_perf.records.figures import in_ms, in_percent

NOTICEABLE = 0.05
"""Share of the steps' time."""


def shuffle_notes(summary: Summary, advised: Collection[str]) -> Iterator[str]:
    """A sentence.

    Arguments:
        summary: of a run.
        advised: ids of the recommendations.
    """
    refills = refills_of(summary)
    if refills is None or refills.share < NOTICEABLE or "cheaper-shuffle" in advised:
        return
    remedy = "a smaller buffer fills faster, and mixes less"
    if input_is_advised(advised):
        remedy = "the advice on the input shortens that"
    yield (
        f"{refills.count} epochs began by waiting {in_ms(refills.each_ms)} for a shuffle to fill "
        f"its buffer again, {in_percent(refills.share)} of the time of all steps: {remedy}."
    )
