"""Advice on a callback, where leaving that one out was tried."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from keras_perf.advise.gains.capped import capped
from keras_perf.advise.recommendation import Recommendation
from keras_perf.records.advice_ids import AMORTIZE_CALLBACK
from keras_perf.records.figures import in_ms
from keras_perf.records.run.times.hook_calls import HookCalls
from keras_perf.records.run.tried.advice_trials import AdviceTrials

CLEARLY = 1.02
"""A callback that costs less is left alone."""


def done_less_often(
    advice: Recommendation, trials: AdviceTrials, hooks: Mapping[str, HookCalls]
) -> Iterator[Recommendation]:
    """What a rule advises of a callback, which gains at most what leaving it out gained on trial.

    What else was left out on trial is no advice: what those callbacks do would be missing. Of a
    hook that works in few of its calls the advice stays as it is: slices of a trial may have none
    of them, or more than their share.

    Arguments:
        advice: of a rule.
        trials: of the same training.
        hooks: how often each works.
    """
    if advice.of != "step":
        # On what lies between epochs, where trials call no hook.
        yield advice
        return
    hook = str(advice.evidence.get("owner", ""))
    if hook in hooks and hooks[hook].every > 1:
        yield advice
        return
    owner = hook.partition(".")[0]
    out = [each for each in trials.changes if (each.id, each.where) == (AMORTIZE_CALLBACK, owner)]
    if len(out) != 1:
        # Of two of one class nobody knows which of them the rule means.
        yield advice
        return
    [tried] = out
    if tried.gain < CLEARLY:
        return
    told = (
        f"Tried on this training: a step took {in_ms(tried.before_ms)} with {owner} and "
        f"{in_ms(tried.after_ms)} without."
    )
    expected = min(advice.predicted_speedup, tried.gain)
    yield replace(
        advice,
        reason=f"{advice.reason} {told}",
        evidence={**advice.evidence, "tried_step_ms": [tried.before_ms, tried.after_ms]},
        predicted_speedup=expected,
        low=min(advice.low, max(1.0, tried.low), expected),
        high=max(expected, min(advice.high, tried.high)),
        change=capped(advice.change, tried.low, tried.gain, tried.high),
    )
