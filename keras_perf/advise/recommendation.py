"""One piece of advice."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from keras_perf.advise.step.step_model import StepModel, between
from keras_perf.records.figures import in_ms

TOLD = 0.02
"""What computing saves beside the part that goes is told where it is this share of a step."""

Change = Callable[[StepModel, float], StepModel]
"""What the advice does to the model, from pessimism −1 over what is expected, 0, to +1."""


def as_it_is(model: StepModel, _: float) -> StepModel:
    """Changes nothing."""
    return model


@dataclass(frozen=True)
class Recommendation:
    """What to change, why, and what it will buy.

    Attributes:
        id: one of the fixed names, such as `parallel-map`.
        title: a line.
        reason: what was measured and what follows.
        action: code to paste.
        predicted_speedup: of what `of` names, from this change alone; at least 1.
        low, high: bounds of it, from the model's pessimistic and optimistic ends.
        evidence: the figures it rests on; of a number to set also what is `present` and what is
            `advised`.
        speedup_after_others: where it buys nothing alone, what it does once those before it
            are done.
        of: what gets faster: the `step`, or the `whole` training that was observed, with what lies
            between epochs and its start-up.
        tried: the speed-up was measured on the training itself, and its bounds are those of the
            measurement.
        alone: measured by itself, it is part of no total: it alters training, or needs another
            process.
    """

    id: str
    title: str
    reason: str
    action: str
    predicted_speedup: float
    low: float
    high: float
    evidence: Mapping[str, Any] = field(default_factory=dict)
    speedup_after_others: float | None = None
    of: Literal["step", "whole"] = "step"
    tried: bool = False
    alone: bool = False
    change: Change = field(default=as_it_is, repr=False, compare=False)

    def __getstate__(self) -> dict[str, Any]:
        """All but what the advice does to the model, which is code and not pickled."""
        return vars(self) | {"change": as_it_is}


def cost_ms(model: StepModel, of: Literal["step", "whole"], optimism: float = 0.0) -> float:
    """What a recommendation makes smaller; never 0.

    The rest between epochs that few of them had may not come again, at best: Keras's first reading
    of metrics, a long collection of garbage. It was 0.65 s of one training, and less than half of
    that once the same process trained again. What a change has made less of goes no second time.
    """
    if of == "step":
        return max(1e-9, model.step_ms)
    once_ms = min(model.once_between_ms, model.outside.get("epoch_rest", 0.0))
    return max(1e-9, model.training_ms - max(0.0, optimism) * once_ms)


def predicted(
    model: StepModel,
    change: Change,
    *,
    title: str,
    reason: str,
    action: str,
    evidence: Mapping[str, Any],
    of: Literal["step", "whole"] = "step",
) -> Recommendation:
    """A recommendation with its speed-up as the model predicts it; its rule gives it its id."""
    low, expected, high = sorted(
        max(1.0, cost_ms(model, of) / cost_ms(change(model, o), of, o)) for o in (-1.0, 0.0, 1.0)
    )
    told = f"{reason}{_about_pauses(model, change(model, 0.0))}"
    return Recommendation(
        "", title, told, action, expected, low, high, evidence, of=of, change=change
    )


def _about_pauses(before: StepModel, after: StepModel) -> str:
    """A sentence on what a figure holds beside the part that goes; "" where that is little."""
    saved_ms = after.awake_ms - before.awake_ms
    if saved_ms < TOLD * after.step_ms:
        return ""
    return (
        f" Computing, which then no longer follows a long pause, is expected to take "
        f"{in_ms(saved_ms)} less."
    )


def on_compute(least: float, expected: float, most: float) -> Change:
    """What is left of compute: pessimistic, expected, optimistic."""

    def change(model: StepModel, optimism: float) -> StepModel:
        return model.with_rest({"compute": between(least, expected, most, optimism)})

    return change


def gaining_with(advice: Recommendation, others: str) -> Recommendation:
    """It says that it is worth it for what it is made together with."""
    told = f"{advice.reason} Alone it gains next to nothing, together with {others} much."
    return replace(advice, reason=told)
