"""Why advice gains less than a verdict's part would if it were gone."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from keras_perf.advise.gains.of_a_part import WORTHWHILE, bound_between_epochs, gains
from keras_perf.advise.recommendation import Recommendation
from keras_perf.advise.situation import Situation
from keras_perf.records.figures import in_ms

MUCH_LESS = 0.8
"""An advice that gains less than this share of the verdict's figure is told with its reason."""

WHY = {
    "prefetch": "it only hides the shorter of input and computing behind the longer",
    "parallel-map": "the map's work stays, shared by threads",
    "parallel-input": "the work stays, shared by the CPUs",
    "interleave": "the work stays, shared by the CPUs",
    "batch-before-map": "the work itself stays",
    "private-threadpool": "the waiting stays, more of it at a time",
    "nondeterministic-order": "the work itself stays",
    "cache": "the first pass and what comes behind the cache stay",
    "cheaper-shuffle": "only the buffer's filling goes",
    "amortize-callback": "other callbacks, and what it does less often, stay",
    "call-the-model": "the model's own work, and other callbacks, stay",
    "raise-steps-per-execution": "it is shared by more steps, not gone",
}
"""Advice on a part, and what of the part it leaves."""

ON = {
    "input-bound": (
        "prefetch",
        "parallel-map",
        "parallel-input",
        "interleave",
        "batch-before-map",
        "private-threadpool",
        "nondeterministic-order",
        "cache",
        "cheaper-shuffle",
    ),
    "callback-bound": ("amortize-callback", "call-the-model"),
    "dispatch-bound": ("raise-steps-per-execution",),
}
"""Verdict → advice on its part."""


def what_is_left(situation: Situation, verdict: str, advice: Sequence[Recommendation]) -> str:
    """A sentence where the verdict's figure and its best advice differ much; "" elsewhere."""
    if verdict == "compute-bound":
        return _beside_computing(advice)
    best = _best(advice, ON.get(verdict, ()))
    if best is None:
        return ""
    bound = gains(situation)[verdict]
    if best.predicted_speedup >= MUCH_LESS * bound or bound_between_epochs(situation.model, bound):
        return ""
    step_ms = situation.model.step_ms
    left_ms = step_ms / best.predicted_speedup - step_ms / bound
    return (
        f"Of it {best.id} leaves {in_ms(left_ms)}, hence its {best.predicted_speedup:.2f}×: "
        f"{WHY[best.id]}."
    )


def _beside_computing(advice: Sequence[Recommendation]) -> str:
    """Where no part is worth anything by itself, and its removal is predicted to be."""
    best = _best(advice, [id for ids in ON.values() for id in ids])
    if best is None or best.tried or best.predicted_speedup < WORTHWHILE:
        return ""
    return (
        f"For {best.id} {best.predicted_speedup:.2f}× is predicted all the same: computing may "
        "speed up when it no longer shares the cores, or pauses, which only trying it shows."
    )


def _best(advice: Sequence[Recommendation], ids: Collection[str]) -> Recommendation | None:
    """Of those that gain in each step, and alone."""
    found = [
        each
        for each in advice
        if each.id in ids and each.of == "step" and not each.speedup_after_others
    ]
    return max(found, key=lambda each: each.predicted_speedup, default=None)
