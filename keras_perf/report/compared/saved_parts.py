"""What a change saved of each part of a step."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd

from keras_perf.advise.step.step_model import INSIDE
from keras_perf.analyse.of_intervals.part_means import Figures
from keras_perf.analyse.of_intervals.resampling import bounds_of, resampled_means
from keras_perf.analyse.summary import Summary
from keras_perf.records.figures import figure
from keras_perf.records.interval import PARTS, part_name
from keras_perf.report.diagnosis import Diagnosis

UNKNOWN = float("nan")

LABELS = {
    "validation": "between epochs: validation",
    "validation_tracing": "between epochs: tracing of validation",
    "validation_ends": "between epochs: ends of validation's iterators",
    "epoch_callbacks": "between epochs: callbacks",
    "epoch_rest": "between epochs: the rest",
}


def label_of(part: str) -> str:
    """A part as a reader is shown it."""
    return LABELS.get(part, part_name(part))


def figure_of(ms: float) -> str:
    """Its milliseconds; one that was not measured lies in compute."""
    # Nothing has no sign.
    return "in compute" if math.isnan(ms) else f"{round(ms, 3) + 0.0:.3f}"


def parts_table(frame: pd.DataFrame) -> tuple[list[str], list[list[str]]]:
    """Header and rows of what a reader is shown of `saved_parts`."""
    rows = [
        [
            label_of(row["part"]),
            *(figure_of(row[name]) for name in ("before_ms", "after_ms", "saved_ms")),
            "" if math.isnan(row["low"]) else f"{row['low']:.3f} to {row['high']:.3f}",
        ]
        for row in frame.to_dict("records")
    ]
    return ["part of a step", "before ms", "after ms", "saved ms", "90% interval"], rows


def of_steps(before: Summary, after: Summary) -> str:
    """A sentence where the batches of two runs differ in size."""
    sizes = (figure(run.examples_per_step) for run in (before, after))
    return f"The parts are those of a step, of {' and '.join(sizes)} examples."


def saved_parts(before: Diagnosis, after: Diagnosis) -> pd.DataFrame:
    """As `Comparison.to_frame` describes it."""
    runs = before, after
    both = [part for part in PARTS if all(part in run.summary.parts for run in runs)]
    draws = [
        _comparable(resampled_means(run.summary.intervals, seed), both)
        for seed, run in enumerate(runs)
    ]
    means = [_comparable({n: np.array([ms]) for n, ms in r.breakdown.items()}, both) for r in runs]
    by_trials = "dispatch" in both and any(_dispatch_by_trials(run.summary) for run in runs)
    rows = []
    for name in (*PARTS, "step"):
        shown = [run.breakdown[name] for run in runs]
        saved, bounds = UNKNOWN, (UNKNOWN, UNKNOWN)
        if name in means[0]:
            saved = float((means[0][name] - means[1][name])[0])
            if not (by_trials and name in INSIDE):
                bounds = bounds_of(draws[0][name] - draws[1][name])
        rows.append((name, *shown, saved, *bounds))
    first, second = before.summary.outside, after.summary.outside
    rows += [
        (part, first[part], second[part], first[part] - second[part], UNKNOWN, UNKNOWN)
        for part in first
        if part in second
    ]
    columns = ["part", "before_ms", "after_ms", "saved_ms", "low", "high"]
    return pd.DataFrame(rows, columns=columns)


def _dispatch_by_trials(summary: Summary) -> bool:
    """It is known from elsewhere: of how far it is off, the intervals tell nothing.

    Only in executions of several steps they tell it themselves.
    """
    return summary.facts.settings.steps_per_execution == 1


def _comparable(means: dict[str, Figures], both: list[str]) -> dict[str, Figures]:
    """The step and the parts that both runs measured, with all others inside compute."""
    known = {part: means[part] for part in both if part != "compute"}
    return {**known, "compute": means["step"] - sum(known.values()), "step": means["step"]}
