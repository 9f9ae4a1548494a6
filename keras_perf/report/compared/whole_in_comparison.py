"""The whole training, of two runs alike: what is compared is what was predicted."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from keras_perf.analyse.change import examples_ratio
from keras_perf.analyse.start_up_shares import start_up_ms, start_up_time
from keras_perf.analyse.summary import Summary
from keras_perf.analyse.whole_training import training_ms
from keras_perf.records.figures import in_ms, in_s
from keras_perf.records.run.ending import How
from keras_perf.records.run.run_facts import RunFacts
from keras_perf.report.diagnosis import Diagnosis, diagnosis_of

ABOUT_THE_SAME = 0.02
"""Of the whole training a smaller difference needs no explanation."""

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
    """Both runs measured what lies between epochs.

    Of one that still runs, or was cut off in its first epoch, nobody knows what that would be: it
    is compared with another such one alone.
    """
    if not (before.outside and after.outside):
        return False
    return in_first_epoch(before.facts) == in_first_epoch(after.facts)


def in_first_epoch(facts: RunFacts) -> bool:
    """It was cut off there, or still runs: nothing that lies between epochs came."""
    done = facts.ending is not None and facts.ending.how is How.DONE
    if done or facts.settings.in_a_loop:
        return False
    return facts.outside is None or not facts.outside.epoch_gaps


def whole_speedup(before: Summary, after: Summary) -> float:
    """How many times as fast the whole training is, per example where both know their batches.

    What is done once is shared by as many steps in both: by those of `before`, or by those that
    see as many examples.
    """
    examples = examples_ratio(before, after)
    steps = before.facts.length.steps
    return examples * training_ms(before) / training_ms(after, steps / examples)


def about_the_whole(
    before: Summary, after: Summary, whole: float, bounds: tuple[float, float]
) -> Iterator[str]:
    """Sentences, or "", on what its figure rests on; `bounds` are those of a step's."""
    yield what_the_whole_lacks(before, after)
    yield mostly_start_up(before, after, whole, bounds)
    yield without_compiling(before, after)


def what_the_whole_lacks(before: Summary, after: Summary) -> str:
    """A sentence where the start-up is not in it; "" elsewhere."""
    if not both_know_the_whole(before, after) or before.facts.start_up is not None:
        return ""
    return "The whole training stands without its start-up, which one of the logs does not have."


def mostly_start_up(
    before: Summary, after: Summary, whole: float, bounds: tuple[float, float]
) -> str:
    """A sentence where steps may take the same, and start-up is most of the difference."""
    low, high = bounds
    starts = [start_up_time(run) for run in (before, after)]
    if not low <= 1.0 <= high or abs(whole - 1) < ABOUT_THE_SAME or not all(starts):
        return ""
    first, second = (0.0 if start is None else start.total_s for start in starts)
    took_s = training_ms(before) * before.facts.length.steps / 1e3
    if (first - second) * (whole - 1) <= 0 or abs(first - second) < abs(1 - 1 / whole) * took_s / 2:
        return ""
    return (
        f"Most of the whole training's difference is start-up, {in_s(first)} before and "
        f"{in_s(second)} after: each run has one, which files that are cached, and else what runs, "
        "change as much."
    )


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
