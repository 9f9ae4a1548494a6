"""Advice on the pool of threads that calls of an input's functions run in."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from keras_perf.advise.as_written import where, written_as
from keras_perf.advise.recommendation import Recommendation, predicted
from keras_perf.advise.rules.followed import has_threads
from keras_perf.advise.rules.input.on_one_core import has_to_wait, own_pool
from keras_perf.advise.rules.rule import rule
from keras_perf.advise.situation import Situation
from keras_perf.advise.step.step_model import MOSTLY_WAITING, StepModel
from keras_perf.records.advice_ids import PRIVATE_THREADPOOL
from keras_perf.records.figures import in_ms, in_percent
from keras_perf.records.run.input.pipeline import runs_in_pool

MOST_THREADS = 64
"""More are not advised: what waits for storage then waits for its bandwidth."""


@rule(
    PRIVATE_THREADPOOL,
    on="input",
    leaves="the waiting stays, more of it at a time",
    tried_title="Give the input a pool of threads of its own",
    followed=has_threads,
)
def private_threadpool(situation: Situation) -> Recommendation | None:
    """A map waits, and no more of its calls run at a time than there are cores."""
    model, at_work = situation.model, _in_the_pool(situation)
    waits = model.waiting_share
    if waits <= MOSTLY_WAITING or not situation.own_dataset or not at_work or not model.rest_ms:
        return None
    stage = max(at_work, key=lambda name: at_work[name])
    one_by_one_ms = _one_by_one_ms(situation)
    enough = 1.5 * at_work[stage] / model.rest_ms
    advised = next((n for n in (16, 32) if n >= enough), MOST_THREADS)
    if advised <= model.pool:
        return None

    def change(model: StepModel, optimism: float) -> StepModel:
        wider = _with_pool(model, at_work, advised, one_by_one_ms, optimism)
        return wider.awake(model.step_ms - wider.step_ms, optimism, waited=True)

    calls = model.threads.get(stage, 1)
    return predicted(
        model,
        change,
        title=f"Let {advised} calls of a map wait at a time",
        reason=(
            f"Stage {stage} takes {in_ms(at_work[stage])} a batch over all threads, of which it "
            f"computes for {in_percent(1 - waits)} at most and otherwise waits; "
            f"{calls} of its calls run at a time, and the pool that runs "
            f"them has {model.pool} threads.{where(written_as(stage, situation.facts))}"
        ),
        action=(
            f"{_more_calls(calls, model.pool)}{own_pool(advised)}  # anywhere in the pipeline, "
            "whose map needs num_parallel_calls=tf.data.AUTOTUNE"
        ),
        evidence={
            "stage": stage,
            "stage_ms": at_work[stage],
            "waiting_share": waits,
            "present": model.pool,
            "advised": advised,
        },
    )


def _with_pool(
    model: StepModel, at_work: Iterable[str], threads: int, one_by_one_ms: float, optimism: float
) -> StepModel:
    """A map that is not parallel yet still makes one call at a time."""
    usable = threads * (0.85 + 0.15 * optimism)
    wider = replace(model, pool=threads)
    for name in at_work:
        if model.threads.get(name, 1) > 1:
            most = model.stages[name] / max(1e-9, one_by_one_ms * (1 - 0.5 * optimism))
            wider = wider.with_threads(name, max(1.0, min(most, usable / model.threads[name])))
    return wider


def _in_the_pool(situation: Situation) -> dict[str, float]:
    """Milliseconds a batch, over all threads, of each stage whose calls the pool runs.

    On one core a map that is not parallel yet is given a pool by parallel-map.
    """
    stages = zip(situation.model.stages, situation.facts.input.stages, strict=False)
    found = {name: stage.cost_ms for name, stage in stages if runs_in_pool(name)}
    if not has_to_wait(situation):
        return found
    return {name: ms for name, ms in found.items() if not name.startswith("Map")}


def _one_by_one_ms(situation: Situation) -> float:
    """Of Python code in the calls, what computes is done by one thread at a time."""
    model = situation.model
    computes_ms = model.cpu_ms - model.rest.get("compute", 0.0)
    return max(0.0, computes_ms) if situation.runs_python else 0.0


def _more_calls(calls: int, pool: int) -> str:
    """A line of the action, where the map makes fewer calls than there are threads."""
    if not 1 < calls < pool:
        return ""
    return (
        f"# first of all: num_parallel_calls=tf.data.AUTOTUNE in the map, which has {calls} "
        f"for {pool} threads\n"
    )
