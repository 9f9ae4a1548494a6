"""That it is the first pass that waits for its input, where it fills a cache."""

from __future__ import annotations

from collections.abc import Iterator

from keras_perf.advise.notes.diagnosed import Diagnosed
from keras_perf.analyse.filled_cache import filled_cache
from keras_perf.records.figures import in_ms, in_s

HARDLY = 0.1
"""Of the first pass's wait: later steps wait less."""


def first_pass_notes(run: Diagnosed) -> Iterator[str]:
    """A sentence, as verdict and advice are of the whole training, however short."""
    filled = filled_cache(run.summary) if run.verdict == "input-bound" else None
    if filled is None or filled.waits_later_ms > HARDLY * filled.waited_ms:
        return
    yield (
        "It is the first pass that waits for its input, as it fills the cache(): "
        f"{in_ms(filled.waited_ms)} a step, and {in_ms(filled.waits_later_ms)} later. Its steps "
        f"took {in_s(filled.longer_s)} longer than as many later ones; more epochs have that once."
    )
