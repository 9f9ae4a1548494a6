"""A first pass that fills a cache, of which only one of two runs has measured a step."""

from __future__ import annotations

from dataclasses import replace

from keras_perf.analyse.filled_cache import (
    filled_cache,
    fills_it_unmeasured,
    without_first_pass,
)
from keras_perf.records.figures import in_ms
from keras_perf.report.diagnosis import Diagnosis


def steps_alike(first: Diagnosis, second: Diagnosis) -> tuple[Diagnosis, Diagnosis, str]:
    """Both without that pass, and a sentence where it was left out.

    More steps per execution make the warm-up longer: it may then be all of the first epoch.
    """
    runs = [first, second]
    for place, name in enumerate(("before", "after")):
        summary, other = runs[place].summary, runs[1 - place].summary
        filled = filled_cache(summary)
        if filled is None or not fills_it_unmeasured(other):
            continue
        rest = without_first_pass(summary, filled)
        runs[place] = replace(runs[place], summary=rest, breakdown=rest.breakdown)
        told = (
            "Steps of the first pass, which fills the cache(), were measured only in the run "
            f"{name}, where a step took {in_ms(summary.step_ms)} with them; they are left out here."
        )
        return runs[0], runs[1], told
    return first, second, ""
