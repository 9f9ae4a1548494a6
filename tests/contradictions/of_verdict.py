"""What is said of the verdict's part, against the split and against the advice."""

from __future__ import annotations

import re
from collections.abc import Iterator

from advice_on import ON

from contradictions.told import FIGURE, ROUNDED, number
from keras_perf.advise.gains.compiling import gain_without_compiling
from keras_perf.advise.gains.of_a_part import WORTHWHILE
from keras_perf.advise.recommendation import Recommendation
from keras_perf.advise.situation import situation_of
from keras_perf.records.figures import in_ms
from keras_perf.records.interval import PARTS, part_name
from keras_perf.report.diagnosis import Diagnosis

A_STEP = re.compile(r"(?:a step|training) would be (?P<gain>[\d.,]+)× as fast")
THE_WHOLE = re.compile(
    r"the whole training(?:, start-up included, would be)? (?P<gain>[\d.,]+)×(?: as fast)?"
)
ALSO = re.compile(r"; a step (?P<gain>[\d.,]+)× if ")
OF_EACH_STEP = re.compile(rf"^(?P<parts>[a-z ]+): (?P<ms>{FIGURE}) of each step; ")
A_STEP_TAKES = re.compile(rf"of each step of (?P<ms>{FIGURE})")
LEAVES = re.compile(r"With (?P<id>[\w-]+) .*? of that remain, hence its (?P<gain>[\d.,]+)×")
ALL_THE_SAME = re.compile(r"For (?P<id>[\w-]+) (?P<gain>[\d.,]+)× is predicted all the same")

BETWEEN_EPOCHS = ("between epochs callbacks take", "outside of the steps the loop's own work")
"""What the verdict is about where that is no part of a step."""

ON_THE_WHOLE = {
    "callback-bound": ("amortize-callback", "call-the-model"),
    "compile-bound": ("stable-shapes",),
}
"""Verdict → advice of the whole training on its part."""

NOT_RECOGNISED = "for unrecognised compilations, too"
"""Told by advice that takes more for compiling than the verdict does."""

TOLD_OF = ("input_wait", "dispatch")
"""Parts that are told of where they are large, though nothing gains by them."""

NAMES = {part_name(part): part for part in PARTS}


def verdict_against_split(found: Diagnosis) -> Iterator[str]:
    """What the verdict says of a part, of the step and of an advice stands there too."""
    parts, step_ms = found.summary.parts, found.breakdown["step"]
    if match := OF_EACH_STEP.search(found.explanation):
        names = [NAMES[name] for name in match["parts"].split(" and ") if name in NAMES]
        spent = in_ms(sum(parts.get(name, 0.0) for name in names))
        if names and spent != match["ms"]:
            yield f"{match[0]!r} beside a table with {spent}"
    if (match := A_STEP_TAKES.search(found.explanation)) and match["ms"] != in_ms(step_ms):
        yield f"{match[0]!r} beside a table with {in_ms(step_ms)}"
    match = A_STEP.search(found.explanation)
    if found.verdict == "compile-bound" and match:
        most = gain_without_compiling(situation_of(found.summary))
        if number(match["gain"]) > ROUNDED * most:
            yield f"{match[0]!r}, yet the training is {most:.2f}× without compiling"
    gains = [(each.id, f"{each.predicted_speedup:.2f}") for each in found.recommendations]
    for form in (LEAVES, ALL_THE_SAME):
        match = form.search(found.explanation)
        if match and (match["id"], match["gain"]) not in gains:
            yield f"{match[0]!r} beside {gains}"
    if found.verdict == "compute-bound" and "no other part's removal" in found.explanation:
        for part in TOLD_OF:
            ms = parts.get(part, 0.0)
            if step_ms > WORTHWHILE * (step_ms - ms) and part_name(part) not in found.explanation:
                yield f"no other part is worth 5%, beside {part_name(part)} of {ms:.3g} ms"


def advice_against_verdict(found: Diagnosis) -> Iterator[str]:
    """What is said of the verdict's part is not denied by the advice."""
    of_step, of_whole = _most(found.explanation)
    for advice in found.recommendations:
        if advice.of == "step":
            most, on_it = of_step, advice.id in ON.get(found.verdict, ())
        else:
            most, on_it = of_whole, _is_on_the_whole(found, advice)
        # What was measured twice differs.
        told = advice.low if advice.tried else advice.predicted_speedup
        if on_it and most is not None and told > ROUNDED * most:
            yield f"at most {most:.2f}×, yet {advice.id} alone buys {told:.2f}×"
    if found.verdict == "compute-bound" and "no other part's removal" in found.explanation:
        for advice in found.recommendations:
            on_a_part = advice.of == "step" and any(advice.id in ids for ids in ON.values())
            told_so = ALL_THE_SAME.search(found.explanation) is not None or advice.tried
            if on_a_part and not told_so and advice.predicted_speedup > WORTHWHILE * ROUNDED:
                yield f"no part is worth 5%, yet {advice.id} buys {advice.predicted_speedup:.2f}×"


def _most(explanation: str) -> tuple[float | None, float | None]:
    """What the verdict's part is worth at most, as it is told: of a step, of the whole training."""
    alone, also = A_STEP.search(explanation), ALSO.search(explanation)
    whole = THE_WHOLE.search(explanation)
    steps = [number(each["gain"]) for each in (alone, also) if each is not None]
    of_whole = number(whole["gain"]) if whole else None
    if of_whole is None and alone is not None:
        of_whole = number(alone["gain"])
    if explanation.startswith(BETWEEN_EPOCHS):
        return None, of_whole
    return max(steps, default=None), of_whole


def _is_on_the_whole(found: Diagnosis, advice: Recommendation) -> bool:
    if advice.id not in ON_THE_WHOLE.get(found.verdict, ()):
        return False
    if found.verdict == "callback-bound":
        return found.explanation.startswith(BETWEEN_EPOCHS)
    return NOT_RECOGNISED not in advice.reason
