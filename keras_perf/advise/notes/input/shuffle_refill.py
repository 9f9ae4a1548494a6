"""Refilling the buffer of a shuffle, where no advice is on it."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from keras_perf.advise.gains.refilling import noticeable_refills, shortening
from keras_perf.analyse.summary import Summary
from keras_perf.records.figures import in_ms, in_percent


def shuffle_notes(summary: Summary, advised: Collection[str]) -> Iterator[str]:
    """A sentence.

    Arguments:
        summary: of a run.
        advised: ids of the recommendations, one of which names it where it makes it shorter.
    """
    refills = noticeable_refills(summary)
    named = {"cheaper-shuffle", *shortening(summary.facts)}
    if refills is None or named & set(advised):
        return
    yield (
        f"{refills.count} epochs began by waiting {in_ms(refills.each_ms)} for a shuffle to fill "
        f"its buffer again, {in_percent(refills.share)} of the time of all steps: a smaller buffer "
        "fills faster, and mixes less."
    )
