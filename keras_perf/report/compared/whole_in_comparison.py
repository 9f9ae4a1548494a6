"""The whole training, of two runs alike: what is compared is what was predicted."""

from __future__ import annotations

from dataclasses import replace

from keras_perf.analyse.change import examples_ratio
from keras_perf.analyse.start_up_shares import start_up_ms
from keras_perf.analyse.summary import Summary
from keras_perf.analyse.whole_training import training_ms
from keras_perf.records.figures import in_ms
from keras_perf.report.diagnosis import Diagnosis, diagnosis_of

COMPILES = 0.05
"""A step that compiles for more than this share of its time is told of without it, too."""


def of_the_same(first: Diagnosis, second: Diagnosis) -> tuple[Diagnosis, Diagnosis]:
    """Both with their start-up; where one does not know it, both without, predictions too."""
    runs = first, second
    if all(start_up_ms(run.summary) is not None for run in runs):
        return runs
    return _without_start_up(first), _without_start_up(second)


def _without_start_up(run: Diagnosis) -> Diagnosis:
    facts = replace(run.summary.facts, start_up=None)
    found = diagnosis_of(replace(run.summary, facts=facts))
    return replace(
        run,
        recommendations=found.recommendations,
        combined_whole_speedup=found.combined_whole_speedup,
        summary=found.summary,
    )


def both_know_the_whole(before: Summary, after: Summary) -> bool:
    """Both runs measured what lies between epochs."""
    return bool(before.outside and after.outside)


def whole_speedup(before: Summary, after: Summary) -> float:
    """How many times as fast the whole training is, per example where both know their batches.

    What is done once is shared by as many steps in both: by those of `before`, or by those that
    see as many examples.
    """
    examples = examples_ratio(before, after)
    steps = before.facts.length.steps
    return examples * training_ms(before) / training_ms(after, steps / examples)


def what_the_whole_lacks(before: Summary, after: Summary) -> str:
    """A sentence where the start-up is not in it; "" elsewhere."""
    if not both_know_the_whole(before, after) or before.facts.start_up is not None:
        return ""
    return "The whole training stands without its start-up, which one of the logs does not have."


def without_compiling(before: Summary, after: Summary) -> str:
    """A sentence on the step where one of the runs compiled in it; "" elsewhere."""
    runs = before, after
    compiling = [run.parts.get("compile", 0.0) for run in runs]
    if all(ms <= COMPILES * run.step_ms for ms, run in zip(compiling, runs, strict=True)):
        return ""
    told = [in_ms(run.step_ms - ms) for ms, run in zip(compiling, runs, strict=True)]
    return (
        f"Compiling is counted in the step; without it a step takes {told[0]} before and "
        f"{told[1]} after."
    )


def beside(what: str, predicted: tuple[float, float, float], measured: float) -> str:
    """What was predicted of it, and what was measured."""
    expected, low, high = predicted
    return f"{what} {expected:.2f}× ({low:.2f}–{high:.2f}), measured {measured:.2f}×"
