"""What start-up took until steps were steady, and how much of it was what."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pandas as pd

from keras_perf.analyse.filled_cache import SLOW, filled_cache
from keras_perf.analyse.of_intervals.epoch_begins import as_measured
from keras_perf.analyse.stage_paces import stage_paces
from keras_perf.analyse.summary import Summary
from keras_perf.records.run.run_facts import RunFacts
from keras_perf.records.run.times.outlier import Cause
from keras_perf.records.run.times.outside_steps import OutsideSteps
from keras_perf.records.run.times.start_up import StartUp

IN_THE_MEANS = "later_"
"""Parts that lie after the warm-up begin with this."""

COMPILE_FOR_SHAPES = ("first_computing", "warmup_compiling", "rest_of_warmup")
"""Where shapes vary and XLA compiles, these parts are its compiling."""

ENOUGH_INTERVALS = 6
"""Of fewer the later half does not tell what is usual."""


@dataclass(frozen=True)
class StartUpTime:
    """The time beyond what the same steps take once they are steady.

    Attributes:
        parts: name → seconds, in their order.
        steps: done by then.
        training_s: of the whole training, as far as it was observed.
        fill_s: of the first batch, what filled the shuffle buffer, by what that takes in later
            epochs, or by its stages' paces; None where that is not known.
    """

    parts: Mapping[str, float]
    steps: int
    training_s: float
    fill_s: float | None = None

    @property
    def total_s(self) -> float:
        """All of it."""
        return sum(self.parts.values())

    def seconds(self, *parts: str) -> float:
        """Of these parts together."""
        return sum(self.parts.get(part, 0.0) for part in parts)


def start_up_time(summary: Summary) -> StartUpTime | None:
    """None where the first execution was not observed."""
    known, outside = summary.facts.start_up, summary.facts.outside
    if known is None or outside is None:
        return None
    intervals = summary.intervals
    usual = _usual(intervals)
    step_s = usual["step"] / 1e3
    parts = {"before_first_step": known.before_first_step_s, **_first_execution(known, step_s)}
    parts |= _rest_of_warmup(known, outside, usual)
    filled = filled_cache(summary)
    slow = _slow_begin(intervals, usual["step"]) if filled is None else filled.first
    later = _excess_s(slow, usual)
    if filled is not None:
        later["later_cache"] = later.pop("later_input")
    parts |= later
    steps = outside.warmup_steps + int(slow["steps"].sum())
    measured_s = float((as_measured(intervals)["step"] * intervals["steps"]).sum()) / 1e3
    other_s = outside.warmup_s + outside.profiled_s + outside.trial_s + outside.validation_s
    other_s += outside.epoch_rest_s + sum(outside.epoch_callbacks_s.values())
    return StartUpTime(
        parts,
        steps,
        known.before_first_step_s + other_s + measured_s,
        _fill_s(summary.facts, known.first_batch_s),
    )


def start_up_ms(summary: Summary) -> float | None:
    """Start-up for each step of the `fit`, but for what lies in the steps' means; None if unknown.

    It is there once, however long the training: of a longer one it is less.
    """
    spent, steps = start_up_time(summary), summary.facts.length.steps
    if spent is None or not steps:
        return None
    once_s = sum(s for name, s in spent.parts.items() if not name.startswith(IN_THE_MEANS))
    return 1e3 * once_s / steps


def compiling_ms(summary: Summary) -> float:
    """Of `start_up_ms`, what compiles for shapes that vary; 0 where that is not known."""
    spent, steps = start_up_time(summary), summary.facts.length.steps
    if spent is None or not steps or not summary.facts.input.shapes_differ:
        return 0.0
    return 1e3 * spent.seconds(*COMPILE_FOR_SHAPES) / steps


def _first_execution(known: StartUp, step_s: float) -> dict[str, float]:
    usual_s = known.first_steps * step_s
    traced = {} if known.tracing_s is None else {"tracing": known.tracing_s}
    if known.first_batch_s is None or known.computing_s is None:
        beyond_s = known.first_execution_s - sum(traced.values()) - usual_s
        return {**traced, "first_execution": max(0.0, beyond_s)}
    computing_s = max(0.0, known.computing_s - usual_s)
    return {**traced, "first_batch": known.first_batch_s, "first_computing": computing_s}


def _rest_of_warmup(
    known: StartUp, outside: OutsideSteps, usual: Mapping[str, float]
) -> dict[str, float]:
    steps = max(0, outside.warmup_steps - known.first_steps)
    beyond_s = outside.warmup_s - known.first_execution_s - steps * usual["step"] / 1e3
    beyond_s = max(0.0, beyond_s)
    waited_s = (known.warmup_wait_s or 0.0) - steps * usual.get("input_wait", 0.0) / 1e3
    waited_s = min(beyond_s, max(0.0, waited_s))
    compiled_s = min(beyond_s - waited_s, known.warmup_compiling_s)
    return {
        "warmup_input": waited_s,
        "warmup_compiling": compiled_s,
        "rest_of_warmup": beyond_s - waited_s - compiled_s,
    }


def _usual(intervals: pd.DataFrame) -> dict[str, float]:
    """Part → milliseconds, the median of the later half of the steps; 0 where nothing was measured.

    Half of the steps, not of the intervals: an interval is so much time, and slow steps fill more.
    """
    done = intervals["steps"].cumsum()
    later = intervals[2 * done > done.max()]
    return {str(n): float(later[n].median()) if later[n].notna().any() else 0.0 for n in later}


def _slow_begin(intervals: pd.DataFrame, usual_ms: float) -> pd.DataFrame:
    """The first intervals, as long as each is slow."""
    if len(intervals) < ENOUGH_INTERVALS:
        return intervals.iloc[:0]
    slow = (intervals["step"] > SLOW * usual_ms).cumprod().astype(bool)
    return intervals[slow]


def _excess_s(slow: pd.DataFrame, usual: Mapping[str, float]) -> dict[str, float]:
    """By what made these steps slow; {} where none was."""
    if not len(slow):
        return {}

    def excess(name: str) -> float:
        if name not in slow:
            return 0.0
        beyond_ms = (slow[name].fillna(usual[name]) - usual[name]) * slow["steps"]
        return max(0.0, float(beyond_ms.sum()) / 1e3)

    whole_s = excess("step")
    input_s = min(whole_s, excess("input_wait"))
    compile_s = min(whole_s - input_s, excess("compile"))
    return {
        "later_input": input_s,
        "later_compiling": compile_s,
        "later_rest": whole_s - input_s - compile_s,
    }


def _fill_s(facts: RunFacts, first_batch_s: float | None) -> float | None:
    """Not where a cache before the shuffle was filled with it, which later is only read."""
    shuffles = [(c, n) for c in facts.input.chains for n, s in enumerate(c) if s.kind == "shuffle"]
    if first_batch_s is None or len(shuffles) != 1:
        return None
    chain, place = shuffles[0]
    if any(stage.kind == "cache" for stage in chain[:place]):
        return None
    refills, refilling_ms = facts.outliers.of(Cause.SHUFFLE)
    if refills and not facts.input.shuffles_within_a_batch:
        return min(refilling_ms / refills / 1e3, first_batch_s)
    paces = stage_paces(facts)
    running = next((n for n, pace in enumerate(paces) if "Shuffle" in pace.name), None)
    buffer = chain[place].buffer
    if running is None or buffer is None:
        return None
    batches = buffer / max(1e-9, paces[running].stage.elements_per_batch)
    return min(first_batch_s, batches * sum(pace.ms for pace in paces[:running]) / 1e3)
