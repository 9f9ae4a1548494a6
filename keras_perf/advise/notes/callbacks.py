"""What callbacks that take much of a training do: call the model, or work rarely already."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from keras_perf.advise.as_written import at
from keras_perf.advise.notes.diagnosed import Diagnosed
from keras_perf.advise.situation import Situation
from keras_perf.records.advice_ids import CALL_THE_MODEL
from keras_perf.records.figures import figure, in_ms, in_percent
from keras_perf.records.observed_backends import NOT_WATCHED
from keras_perf.records.owners import COLLECTOR
from keras_perf.records.run.inference import EvaluateCalls, PredictCalls
from keras_perf.records.run.library import library_of
from keras_perf.records.run.run_facts import RunFacts

NOTICED = 0.05
"""Of a training: shorter calls are left alone."""

MANY_BATCHES, LARGE_BATCH = 10, 256
"""A call of more batches, each of fewer examples, is told to compute more of them at a time."""


def call_notes(run: Diagnosed) -> Iterator[str]:
    """A sentence on each hook whose `evaluate` or `predict` takes much of the training."""
    facts = run.facts
    found: dict[str, Mapping[str, EvaluateCalls | PredictCalls]] = {"evaluate": facts.evaluates}
    if CALL_THE_MODEL not in run.advised:
        found["predict"] = facts.predicts
    for name, owners in found.items():
        for owner, calls in owners.items():
            yield from _calls(run.situation, owner, name, calls)


def _calls(
    situation: Situation, owner: str, name: str, found: EvaluateCalls | PredictCalls
) -> Iterator[str]:
    facts, model = situation.facts, situation.model
    of_hook_ms, steps = hook_ms(situation, owner), facts.length.steps
    if ".on_epoch" in owner:
        steps = facts.steps_before_gaps
    spent_ms = 1e3 * found.spent_s / steps if steps else 0.0
    if not of_hook_ms or spent_ms < NOTICED * model.training_ms:
        return
    times = f"{found.calls} times" if found.calls > 1 else "once"
    rarer = " Call it more rarely, or on" if found.calls > 1 else " Call it on"
    less = "" if owner in facts.settings.steering_hooks else f"{rarer} fewer examples."
    one_by_one, larger = facts.settings.steps_per_execution == 1, ""
    if isinstance(found, PredictCalls) and one_by_one:
        larger = _in_larger_batches(found)
    yield (
        f"{owner}{at(facts.hook_sources.get(owner))} called model.{name} {times}, for "
        f"{in_ms(1e3 * found.spent_s / found.calls)} on average: "
        f"{in_percent(min(1.0, spent_ms / of_hook_ms))} of what this hook takes.{larger}{less}"
        f"{_split(facts, name)}"
    )


def _split(facts: RunFacts, name: str) -> str:
    """What tells more of such a call, where anything does."""
    if (library_of(facts).backend, name) in NOT_WATCHED:
        return ""
    return (
        f" model.{name}(..., callbacks=[keras_perf.StepGapDetector(DIR)]), with a directory of "
        "its own, splits it into waiting and computing."
    )


def _in_larger_batches(found: PredictCalls) -> str:
    """A sentence, where a call computes many small batches of arrays."""
    counted = found.timed or found.calls
    many = found.of_arrays and found.executions > MANY_BATCHES * counted
    rows = (found.examples or 0.0) / found.executions if many else 0.0
    if not 0 < rows < LARGE_BATCH:
        return ""
    batches = round(found.executions / counted)
    return (
        f" It computes {figure(rows)} examples at a time, {batches:,} times in each call: "
        f"predict(..., batch_size={LARGE_BATCH}) takes fewer, if memory suffices."
    )


def hook_ms(situation: Situation, owner: str) -> float | None:
    """For each step; None of a hook that is neither of batches nor of epochs."""
    facts = situation.facts
    between_s = facts.outside.epoch_callbacks_s if facts.outside is not None else {}
    if owner in between_s and facts.steps_before_gaps:
        return 1e3 * between_s[owner] / facts.steps_before_gaps
    return situation.summary.owners.get(owner)


def callback_notes(situation: Situation) -> Iterator[str]:
    """A sentence, where the one that takes longest is rare already."""
    facts, steps_ms = situation.facts, situation.hooks_ms
    epochs_s = facts.outside.epoch_callbacks_s if facts.outside is not None else {}
    between = situation.model.outside.get("epoch_callbacks", 0.0)
    in_epochs = between > situation.model.rest.get("callbacks", 0.0)
    owner = longest(epochs_s if in_epochs else steps_ms)
    if not owner:
        return
    calls, unit = facts.hooks.get(owner), "epochs" if in_epochs else "calls"
    if calls is None or calls.period < 2:
        return
    working = max(1, round(calls.working))
    yield (
        f"{owner}{at(facts.hook_sources.get(owner))} did nearly all of its work in {working} of "
        f"{calls.times} {unit}: if it were rarer still, a training of this length would hardly "
        "reach it. What remains is less work in it; a longer training has it as rarely."
    )


def longest(owners: Mapping[str, float]) -> str:
    """The hook that took longest, but for the garbage collector; "" where there is none."""
    found = {name: spent for name, spent in owners.items() if name != COLLECTOR}
    return max(found, key=lambda name: found[name], default="")
