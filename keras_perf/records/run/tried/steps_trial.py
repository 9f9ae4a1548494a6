"""What trials of other numbers of steps per execution have found, and how that is told."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from keras_perf.records.figures import counted, in_ms
from keras_perf.records.reasons.reason import worded
from keras_perf.records.reasons.why_no_steps import WhyNoSteps
from keras_perf.records.shapes import count, each, fact, flag, named, number, text

FACTOR = number(most=1e6)
MILLISECONDS = number(most=1e12)

POINTS = 60
"""Of a curve that is drawn."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepsTrial:
    """What was found; `keras_perf.StepsPerExecution` shows it.

    Attributes:
        steps_per_execution: the number to set; the present one, if no other is better.
        predicted_speedup: of a step, by that number; with `low` and `high`, its 90% interval.
        present: steps per execution that training ran with.
        applied: the number was set during training.
        not_tried: why nothing was tried; empty if something was.
        in_graph_ms: a step inside the graph.
        per_execution_ms: what an execution of `present` steps costs beyond them.
        input_wait_ms: how much of a step in the graph waits for input, where that is most of it.
        lost_in_noise: something was gained, but not more than times differ by chance.
        may_be_chance: nor does what an execution costs, whatever there is to gain by it.
        setting: what the number is called where it is set.
        left_steps: steps of an epoch that are left after its last whole execution.
        whole_executions: Keras runs a whole execution for them.
        called_less_often: the user's hooks that more steps per execution would call less often.
        trials: steps per execution → median milliseconds of such an execution, per step.
        trial_executions: how many were run for the trials.
        extra_traces: loops around the train function that were traced for them.
        trial_s, tracing_s: seconds that the trials and this tracing took.
        host_ms: time on the host after each execution.
    """

    steps_per_execution: int = fact(count(1), 1, key="recommended")
    predicted_speedup: float = fact(FACTOR, 1.0)
    low: float = fact(FACTOR, 1.0)
    high: float = fact(FACTOR, 1.0)
    present: int = fact(count(1), 1)
    applied: bool = fact(flag, default=False)
    not_tried: str = fact(worded(WhyNoSteps), "")
    in_graph_ms: float | None = fact(MILLISECONDS)
    per_execution_ms: float | None = fact(MILLISECONDS)
    input_wait_ms: float | None = fact(MILLISECONDS)
    lost_in_noise: bool = fact(flag, default=False)
    may_be_chance: bool = fact(flag, default=False)
    setting: str = fact(text, "steps_per_execution")
    left_steps: int = fact(count(), 0)
    whole_executions: bool = fact(flag, default=False)
    called_less_often: tuple[str, ...] = fact(each(text), ())
    trials: Mapping[int, float] | None = fact(named(MILLISECONDS, count(1)))
    trial_executions: int | None = fact(count())
    extra_traces: int | None = fact(count())
    trial_s: float | None = fact(number())
    tracing_s: float | None = fact(number())
    host_ms: float | None = fact(MILLISECONDS)

    @property
    def told_from_noise_ms(self) -> float | None:
        """What an execution costs beyond its steps; None where it may be chance."""
        unsure = self.lost_in_noise or self.may_be_chance
        return None if unsure else self.per_execution_ms

    @property
    def measured_ms(self) -> dict[int, float]:
        """Steps per execution → milliseconds per step, as measured; the smallest first."""
        host_ms = self.host_ms or 0.0
        return {n: ms + host_ms / n for n, ms in sorted((self.trials or {}).items())}

    def predicted_ms(self, steps: float) -> float | None:
        """Milliseconds per step with so many steps per execution; None if unknown."""
        if self.in_graph_ms is None or self.per_execution_ms is None:
            return None
        return self.in_graph_ms + self.per_execution_ms / steps

    @property
    def curve(self) -> list[tuple[float, float]]:
        """Steps per execution and predicted milliseconds per step, from the least number tried."""
        if not self.trials:
            return []
        least, most = min(self.trials), max(*self.trials, self.steps_per_execution)
        numbers = [least * (most / least) ** (k / POINTS) for k in range(POINTS + 1)]
        return [(n, ms) for n in numbers if (ms := self.predicted_ms(n)) is not None]

    @property
    def reason(self) -> str:
        """Why this number."""
        if self.not_tried:
            return f"not tried: {self.not_tried}."
        if self.in_graph_ms is None or self.per_execution_ms is None:
            return "what was measured is not known."
        figures = (
            f"a step costs {in_ms(self.in_graph_ms)} inside the graph, "
            f"an execution {in_ms(self.per_execution_ms)} more"
        )
        number = self.steps_per_execution
        if number > self.present:
            shares = f"{self.setting}={number} shares that among {number} steps."
            return f"{figures}: {shares}{self._remainder}{self._callbacks}"
        if self.input_wait_ms is not None:
            return (
                f"no change: input-bound. A{figures[1:]}; {in_ms(self.input_wait_ms)} of the "
                "step are waiting for input, which stays whatever the number."
            )
        if self.lost_in_noise and not self.in_graph_ms:
            return "no change: what an execution costs is too little to be told from noise."
        if self.lost_in_noise or self.may_be_chance:
            return f"no change: {figures}, too little to be told from noise."
        return f"no change: {figures}, too little to matter."

    @property
    def _remainder(self) -> str:
        if not self.left_steps:
            return ""
        if self.whole_executions:
            more = self.steps_per_execution - self.left_steps
            return f" Keras then runs whole executions: each epoch gets {more} steps more."
        left = counted(self.left_steps, "step")
        return f" The last execution of each epoch runs the {left} left."

    @property
    def _callbacks(self) -> str:
        if not self.called_less_often:
            return ""
        hooks = ", ".join(self.called_less_often)
        return f" Called once per {self.steps_per_execution} steps then: {hooks}."

    @property
    def evidence(self) -> dict[str, Any]:
        """The figures behind it; {} where nothing was tried."""
        if self.not_tried:
            return {}
        figures: dict[str, Any] = {
            "in_graph_ms": self.in_graph_ms,
            "per_execution_ms": self.per_execution_ms,
            "steps_per_execution": self.present,
            "input_wait_ms": self.input_wait_ms,
            "trials": self.trials,
            "trial_executions": self.trial_executions,
            "extra_traces": self.extra_traces,
            "trial_s": self.trial_s,
            "tracing_s": self.tracing_s,
            "host_ms": self.host_ms,
        }
        known = {name: value for name, value in figures.items() if value is not None}
        if self.steps_per_execution > self.present:
            known["called_less_often"] = list(self.called_less_often)
        return known


def as_written_before(value: Any) -> Any:
    """What versions before the first format wrote: a sentence, and figures below `evidence`."""
    if not isinstance(value, Mapping) or "reason" not in value:
        return value
    figures = value.get("evidence")
    known = {**value, **(figures if isinstance(figures, Mapping) else {})}
    known["present"] = known.get("steps_per_execution", 1)
    reason = value["reason"]
    if isinstance(reason, str) and reason.startswith("not tried: "):
        known["not_tried"] = reason.removeprefix("not tried: ").rstrip(".")
    return known
