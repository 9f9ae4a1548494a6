"""Refilling the buffer of a shuffle, where no advice is on it."""

from __future__ import annotations

from collections.abc import Iterator

from keras_perf.advise.gains.refilling import noticeable_refills, shortening
from keras_perf.advise.notes.diagnosed import Diagnosed
from keras_perf.records.figures import in_ms, in_percent


def shuffle_notes(run: Diagnosed) -> Iterator[str]:
    """A sentence."""
    refills = noticeable_refills(run.summary)
    named = {"cheaper-shuffle", *shortening(run.facts)}
    if refills is None or named & run.advised:
        return
    yield (
        f"{refills.count} epochs began by waiting {in_ms(refills.each_ms)} for a shuffle to fill "
        f"its buffer again, {in_percent(refills.share)} of the time of all steps: a smaller buffer "
        "fills faster, and mixes less."
    )
