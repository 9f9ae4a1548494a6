"""A part that is worth something, on which nothing is advised, and nobody says why."""

from __future__ import annotations

import re
from collections.abc import Iterator

from advice_on import ON

from keras_perf.report.diagnosis import Diagnosis

ADVICE = {
    **ON,
    "callback-bound": (*ON["callback-bound"], "tune-gc"),
    "compile-bound": ("stable-shapes", "disable-xla"),
    "eager-bound": ("disable-run-eagerly",),
    "communication-bound": ("reduce-in-half-precision", "larger-batch", "balance-workers"),
}
"""Verdict → advice on its part."""

WHY = re.compile(
    "Nothing is advised on |No change to the pipeline is predicted to gain|(?:no change|not tried)"
    ": |cannot be predicted|input wait itself could not be measured|What helps: "
    "|Tried on this training too, and not advised now: |Not tried: |No more can be had"
    "|larger batches are fetched less often|What either gains was not measured"
    "|What remains is less work in it"
)
"""Sentences that say why."""


def verdict_without_advice(found: Diagnosis) -> Iterator[str]:
    """Whatever a training is bound by, there is advice on it, or a reason why there is none."""
    ids = ADVICE.get(found.verdict)
    if ids is None or any(each.id in ids or each.tried for each in found.recommendations):
        return
    if not any(WHY.search(text) for text in (found.explanation, *found.notes)):
        yield f"{found.verdict}, yet nothing is advised on it, and nothing says why"
