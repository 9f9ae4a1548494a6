"""A run's verdict in one sentence, for whoever sees nothing else of it."""

from __future__ import annotations

from keras_perf.advise.gains.of_a_part import parts_named
from keras_perf.records.figures import in_ms, in_percent
from keras_perf.records.interval import part_name
from keras_perf.report.diagnosis import Diagnosis

_PARTS = {"input-bound": ("input_wait",), "compute-bound": ("compute",)}

_MEANS = {
    "input-bound": "training waits for its data",
    "callback-bound": "callbacks hold training up",
    "dispatch-bound": "starting each step takes time that can be saved",
    "compile-bound": "training stops to compile again and again",
    "eager-bound": "Python runs the operations one by one",
    "communication-bound": "exchanging gradients holds the workers up",
    "compute-bound": "the model's own computation is the limit",
}
"""What a verdict is, for those who read the word for the first time."""

_OF_A_LOOP = "the loop's own work between two calls holds training up"
"""What `callback-bound` is there."""

MOST_OF_IT = 0.5
"""The wait is told where it is this share at least of what a ready batch saves."""


def in_short(diagnosis: Diagnosis) -> str:
    """The share of the part that the verdict is about; the explanation where it tells of more."""
    parts = diagnosis.summary.parts
    simple = diagnosis.because.subject == _what(diagnosis)
    largest = diagnosis.verdict == "compute-bound" and parts.get("compute") == max(parts.values())
    if simple or largest:
        return _share(diagnosis) or diagnosis.explanation
    return diagnosis.explanation


def in_a_sentence(diagnosis: Diagnosis) -> str:
    """What the verdict means, and the figure behind it; of an inconclusive one all that is missing.

    What it leaves out the explanation has; the meaning says already what takes the time.
    """
    means = _MEANS.get(diagnosis.verdict)
    if diagnosis.verdict == "callback-bound" and diagnosis.summary.facts.settings.in_a_loop:
        means = _OF_A_LOOP
    if means is None:
        return _begun(diagnosis.explanation)
    why = in_short(diagnosis)
    if why == diagnosis.explanation:
        why = _waited(diagnosis) or diagnosis.because.first
    return f"{_begun(means)}: {why.rstrip('.')}."


def _what(diagnosis: Diagnosis) -> str:
    return " and ".join(map(part_name, _parts(diagnosis)))


def _parts(diagnosis: Diagnosis) -> tuple[str, ...]:
    named = parts_named(diagnosis.verdict, diagnosis.summary)
    return _PARTS.get(diagnosis.verdict, named)


def _share(diagnosis: Diagnosis) -> str:
    """What the verdict's parts take of a step; "" where they were not measured."""
    summary, names = diagnosis.summary, _parts(diagnosis)
    spent = sum(summary.parts.get(name, 0.0) for name in names)
    what = _what(diagnosis)
    takes = "take" if len(names) > 1 or what.endswith("s") else "takes"
    share = f"{what} {takes} {in_percent(spent / summary.step_ms)}" if spent else ""
    return share and f"{share} of a step of {in_ms(summary.step_ms)}"


def _waited(diagnosis: Diagnosis) -> str:
    """The wait's share, where it explains what a batch that is ready was seen to save."""
    summary, trials = diagnosis.summary, diagnosis.summary.facts.advice_trials
    if diagnosis.verdict != "input-bound" or trials is None or not trials.ready_ms:
        return ""
    saved = 1 - trials.ready_ms / trials.step_ms
    waits = summary.parts.get("input_wait", 0.0) / summary.step_ms
    return _share(diagnosis) if waits >= MOST_OF_IT * saved else ""


def _begun(sentence: str) -> str:
    return sentence[:1].upper() + sentence[1:]
