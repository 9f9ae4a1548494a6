"""Evaluations and predictions: the validations of a `fit`, calls of `evaluate` and `predict`.

Calls of `fit` that are over before a step is measured are told likewise.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from keras_perf.records.run.input.pipeline import Stage, WrittenPipeline
from keras_perf.records.run.tried.steps_trial import StepsTrial
from keras_perf.records.shapes import count, each, fact, flag, named, needed, number, record, text

SECONDS = number(most=1e9)

VALIDATION, EVALUATE, PREDICT, FIT = "validation", "evaluate", "predict", "fit"
"""Who calls: `fit`, or a user."""

CALL_PARTS = (
    "starting",
    "input_wait",
    "compute",
    "dispatch",
    "callbacks",
    "other_host",
    "compile",
)
"""The parts that add up to a call; `starting` ends with its first execution's begin."""


@dataclass(frozen=True, slots=True)
class Inference:
    """Sums over calls of one kind; seconds from the begin hook to the end hook.

    A part of `parts_s` that was not measured is absent and lies in `compute`. `first_s` is what
    the first call took, which traces. `steps` are batches, 0 where nobody has counted those of an
    execution that the data did not last for. `traces` are those after the first. `batch_size` is
    known of arrays only, `stages` of evaluations only.
    """

    calls: int = needed(count())
    executions: int = needed(count())
    steps: int = needed(count())
    spent_s: float = needed(SECONDS)
    parts_s: Mapping[str, float] = needed(named(SECONDS))
    first_s: float = fact(SECONDS, 0.0)
    traces: int = fact(count(), 0)
    examples: float | None = fact(number())
    steps_per_execution: int = fact(count(1, 1e9), 1)
    batch_size: int | None = fact(count(1))
    input_kind: str | None = fact(text)
    dataset: WrittenPipeline | None = fact(record(WrittenPipeline))
    stages: tuple[Stage, ...] = fact(each(record(Stage)), ())

    @property
    def executing_s(self) -> float:
        """From the first execution on."""
        return self.spent_s - self.parts_s.get("starting", 0.0)

    def after(self, earlier: Inference | None) -> Inference:
        """Both together; what is no sum is that of this one, where it knows it."""
        if earlier is None:
            return self
        names = [p for p in CALL_PARTS if p in self.parts_s or p in earlier.parts_s]
        known = self.examples is not None and earlier.examples is not None
        counted = all(each.steps or not each.executions for each in (self, earlier))
        return replace(
            self,
            calls=self.calls + earlier.calls,
            executions=self.executions + earlier.executions,
            steps=self.steps + earlier.steps if counted else 0,
            spent_s=self.spent_s + earlier.spent_s,
            parts_s={p: self.parts_s.get(p, 0.0) + earlier.parts_s.get(p, 0.0) for p in names},
            first_s=earlier.first_s,
            traces=self.traces + earlier.traces,
            examples=(self.examples or 0.0) + (earlier.examples or 0.0) if known else None,
            dataset=self.dataset or earlier.dataset,
            stages=self.stages if len(self.stages) >= len(earlier.stages) else earlier.stages,
        )

    def share(self, part: str) -> float:
        """Of all the time; 0 where it was not measured."""
        return self.parts_s.get(part, 0.0) / self.spent_s if self.spent_s else 0.0

    def per_step_ms(self, part: str) -> float | None:
        """Milliseconds per batch; None where it was not measured."""
        if part not in self.parts_s or not self.steps:
            return None
        return 1e3 * self.parts_s[part] / self.steps

    def execution_cost_ms(self, trial: StepsTrial | None) -> float | None:
        """What entering and leaving the function costs a batch; None where it was not measured.

        Arguments:
            trial: of the training's executions, which cost the same. Where a batch takes no
                longer than that, it is something else that was measured.
        """
        cost_ms = self.per_step_ms("dispatch")
        tried_ms = trial.told_from_noise_ms if trial is not None else None
        if cost_ms is None and tried_ms is not None:
            cost_ms = tried_ms / self.steps_per_execution
            return cost_ms if cost_ms < self.step_ms else None
        return None if cost_ms is None else min(cost_ms, self.step_ms)

    @property
    def step_ms(self) -> float:
        """Milliseconds per batch, of all the time; 0 where these are not known."""
        return 1e3 * self.spent_s / self.steps if self.steps else 0.0

    @property
    def examples_per_sec(self) -> float | None:
        """None where the number of examples is not known."""
        return self.examples / self.spent_s if self.examples and self.spent_s else None


@dataclass(frozen=True, slots=True)
class PredictCalls:
    """Calls of `model.predict` from one callback's hook in a `fit`; seconds.

    Of the `timed` ones, which took `timed_s`, it is known that the predict function took
    `inside_s` of them; not of the first ones, which trace it. On TensorFlow `executions` and
    `examples` are of these calls; on JAX, where none is timed so, of all, by their arguments.
    `of_arrays`: each was given such, or tensors, and no dataset.
    """

    calls: int = needed(count())
    spent_s: float = needed(SECONDS)
    executions: int = needed(count())
    timed: int = fact(count(), 0)
    timed_s: float = fact(SECONDS, 0.0)
    inside_s: float = fact(SECONDS, 0.0)
    examples: float | None = fact(number())
    of_arrays: bool = fact(flag, default=True)

    def after(self, earlier: PredictCalls | None) -> PredictCalls:
        """Both together."""
        if earlier is None:
            return self
        known = self.examples is not None and earlier.examples is not None
        return PredictCalls(
            calls=self.calls + earlier.calls,
            spent_s=self.spent_s + earlier.spent_s,
            executions=self.executions + earlier.executions,
            timed=self.timed + earlier.timed,
            timed_s=self.timed_s + earlier.timed_s,
            inside_s=self.inside_s + earlier.inside_s,
            examples=(self.examples or 0.0) + (earlier.examples or 0.0) if known else None,
            of_arrays=self.of_arrays and earlier.of_arrays,
        )

    @property
    def call_ms(self) -> float | None:
        """Of a usual call; None where none was timed."""
        return 1e3 * self.timed_s / self.timed if self.timed else None

    @property
    def inside_ms(self) -> float | None:
        """Of it, in the predict function."""
        return 1e3 * self.inside_s / self.timed if self.timed else None


@dataclass(frozen=True, slots=True)
class EvaluateCalls:
    """Calls of `model.evaluate` from one callback's hook in a `fit`; seconds."""

    calls: int = needed(count())
    spent_s: float = needed(SECONDS)

    def after(self, earlier: EvaluateCalls | None) -> EvaluateCalls:
        """Both together."""
        if earlier is None:
            return self
        return EvaluateCalls(self.calls + earlier.calls, self.spent_s + earlier.spent_s)
