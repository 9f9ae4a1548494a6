"""Refilling the buffer of a shuffle, where no advice is on it, or on what fills it."""

from __future__ import annotations

from collections.abc import Iterator

from keras_perf.advise.as_written import function_of, where
from keras_perf.advise.cache_place import gone_into_a_shuffle
from keras_perf.advise.gains.refilling import noticeable_refills, shortening
from keras_perf.advise.notes.diagnosed import Diagnosed
from keras_perf.records.advice_ids import CACHE, CHEAPER_SHUFFLE
from keras_perf.records.figures import counted, in_ms, in_percent
from keras_perf.records.run.run_facts import RunFacts


def shuffle_notes(run: Diagnosed) -> Iterator[str]:
    """A sentence."""
    refills = noticeable_refills(run.summary)
    if refills is None:
        return
    if CACHE not in run.advised:
        yield from _about_what_fills_it(run.facts)
    if {CHEAPER_SHUFFLE, *shortening(run.facts)} & run.advised:
        return
    yield (
        f"{counted(refills.count, 'epoch')} began by waiting {in_ms(refills.each_ms)} for a "
        f"shuffle to fill its buffer again, {in_percent(refills.share)} of the time of all steps: "
        "a smaller buffer fills faster, and mixes less."
    )


def _about_what_fills_it(facts: RunFacts) -> Iterator[str]:
    last = gone_into_a_shuffle(facts)
    if last is not None:
        written = f"{last.kind}({function_of(last, 'your_function')})"
        yield (
            f"What {written} takes is not among the stages: once the shuffle's buffer holds all "
            f"data it has ended, and its time is in that wait. dataset.{written}.cache() in front "
            f"of the shuffle keeps what it makes, if the memory is there for it.{where(last)}"
        )
