"""A change of which no more is believed than what was measured."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from keras_perf.advise.recommendation import Change
from keras_perf.advise.step.step_model import StepModel, between

HALVINGS = 30


def capped(change: Change, low: float, most: float, high: float) -> Change:
    """As much of the change as makes a step `most` times as fast; `low` and `high` at the ends."""

    def no_faster(model: StepModel, optimism: float) -> StepModel:
        cap = between(low, most, high, optimism)
        return _no_shorter(model, change(model, optimism), model.step_ms / max(1.0, cap))

    return no_faster


def within_a_ready_batch(change: Change, most: float) -> Change:
    """As much of a change of the input as it and others may gain together: `most` times as fast."""

    def limited(model: StepModel, optimism: float) -> StepModel:
        left_ms = model.input_left_ms
        if left_ms is None:
            left_ms = model.step_ms * (1 - 1 / most)
        made = _no_shorter(model, change(model, optimism), model.step_ms - left_ms)
        return replace(made, input_left_ms=max(0.0, left_ms - model.step_ms + made.step_ms))

    return limited


def _no_shorter(model: StepModel, changed: StepModel, least_ms: float) -> StepModel:
    """As much of the change as leaves a step so long."""
    if changed.step_ms >= least_ms:
        return changed
    done, too_much = 0.0, 1.0
    for _ in range(HALVINGS):
        share = (done + too_much) / 2
        if _partly(model, changed, share).step_ms >= least_ms:
            done = share
        else:
            too_much = share
    return _partly(model, changed, done)


def _partly(model: StepModel, changed: StepModel, share: float) -> StepModel:
    """So much of the way from the one to the other."""

    def between(before: Mapping[str, float], after: Mapping[str, float]) -> dict[str, float]:
        names = dict.fromkeys([*before, *after])
        return {n: (1 - share) * before.get(n, 0.0) + share * after.get(n, 0.0) for n in names}

    return replace(
        changed,
        prefetched=model.prefetched,
        stages=between(model.stages, changed.stages),
        rest=between(model.rest, changed.rest),
        cpu_ms=(1 - share) * model.cpu_ms + share * changed.cpu_ms,
        awake_ms=(1 - share) * model.awake_ms + share * changed.awake_ms,
    )
