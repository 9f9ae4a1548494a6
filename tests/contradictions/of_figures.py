"""Parts against their sum, bounds against each other, shares against their form."""

from __future__ import annotations

import re
from collections.abc import Iterator

from contradictions.told import cells, prose
from keras_perf.report.diagnosis import Diagnosis

APART = re.compile(r"\d\s%")


def figures_against_sums(found: Diagnosis) -> Iterator[str]:
    """Parts add up to the step, and bounds lie around what is expected."""
    summary, step_ms = found.summary, found.breakdown["step"]
    if summary.steps and abs(sum(summary.parts.values()) - step_ms) > 1e-6 * max(1.0, step_ms):
        yield "the parts do not add up to the step"
    told = [
        (each.id, each.predicted_speedup, each.low, each.high) for each in found.recommendations
    ]
    told.append(("all together", *found.combined_speedup))
    told.append(("all together, of the whole training", *found.combined_whole_speedup))
    for name, expected, low, high in told:
        if not 1.0 <= low <= expected <= high:
            yield f"{name}: {(low, expected, high)} are no bounds"


def two_forms(found: Diagnosis) -> Iterator[str]:
    """A share reads 43% wherever it stands."""
    for text in [*prose(found), *cells(found)]:
        if APART.search(text):
            yield f"{text!r} has a percent sign apart from its number"
