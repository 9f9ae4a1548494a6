"""That only the first pass waits for its input, where it fills a cache."""

from __future__ import annotations

from collections.abc import Iterator

from keras_perf.advise.gains.of_a_part import WORTHWHILE
from keras_perf.advise.notes.diagnosed import Diagnosed
from keras_perf.analyse.filled_cache import filled_cache
from keras_perf.records.figures import in_s

HARDLY = 1 - 1 / WORTHWHILE
"""Of a step: a shorter wait is not worth removing."""


def first_pass_notes(run: Diagnosed) -> Iterator[str]:
    """A sentence, as verdict and advice are of the whole training, however short."""
    filled = filled_cache(run.summary) if run.verdict == "input-bound" else None
    if filled is None or filled.waits_later > HARDLY:
        return
    yield (
        "Only the first pass waits for its input, as it fills the cache(): its steps took "
        f"{in_s(filled.longer_s)} longer than as many later ones. More epochs wait no more than "
        "that, in all."
    )
