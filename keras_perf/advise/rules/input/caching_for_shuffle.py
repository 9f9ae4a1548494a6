"""Advice on what is prepared for the buffer of a shuffle that holds all data, in every epoch."""

from __future__ import annotations

from dataclasses import replace
from itertools import takewhile

from keras_perf.advise.as_written import WORK, lambdas_in, where
from keras_perf.advise.cache_place import Place, gone_into_a_shuffle
from keras_perf.advise.recommendation import Recommendation, predicted
from keras_perf.advise.rules.input.caching import cache
from keras_perf.advise.rules.input.shuffling import less_refilling
from keras_perf.advise.situation import Situation
from keras_perf.advise.step.step_model import StepModel
from keras_perf.analyse.refills import refills_of
from keras_perf.analyse.stage_paces import stage_paces
from keras_perf.records.figures import counted, in_mib, in_ms, in_percent
from keras_perf.records.run.input.pipeline import WrittenStage
from keras_perf.records.run.run_facts import RunFacts

ALL = 0.99
"""Of an epoch's examples, which the last batch may lack some of."""

EXPECTED = 0.9
"""Of the waits: what is kept has still to be put into the buffer."""


@cache.also
def cache_for_a_shuffle(situation: Situation) -> Recommendation | None:
    """Training waits in each epoch while a map, which has ended afterwards, fills the buffer."""
    facts, refills = situation.facts, refills_of(situation.summary)
    written = gone_into_a_shuffle(facts)
    if refills is None or written is None or not situation.own_dataset:
        return None
    shuffles = [pace for pace in stage_paces(facts) if "Shuffle" in pace.name]
    steps = facts.length.pass_steps
    if len(shuffles) != 1 or not steps or cache(situation) is not None:
        return None
    if facts.length.ends_by_steps:
        # What a pass is, and so what has to fit into memory, an epoch does not tell.
        return None
    if not _goes_into_it_whole(written, facts, shuffles[0].stage.elements_per_batch * steps):
        return None
    size_mib = shuffles[0].stage.bytes_per_batch * steps / 2**20
    if not size_mib or size_mib > (facts.machine.memory_available_mib or 0.0) / 2:
        return None
    less_waiting = less_refilling(refills.per_step_ms, EXPECTED, 1.0)

    def change(model: StepModel, optimism: float) -> StepModel:
        # While training waited, a core was at work, which has no more to do.
        later = less_waiting(model, optimism)
        gone_ms = model.rest.get("get_next", 0.0) - later.rest.get("get_next", 0.0)
        return replace(later, cpu_ms=max(0.0, later.cpu_ms - gone_ms))

    place = Place(written, shuffles[0], (), facts.length.passes, float(steps))
    python = " Its Python code must give the same result each time." if written.python else ""
    return predicted(
        situation.model,
        change,
        title="Keep prepared examples in memory after the first pass",
        reason=(
            f"{counted(refills.count, 'epoch')} began with waiting {in_ms(refills.each_ms)}, "
            f"{in_percent(refills.share)} of the time of all steps, while {written.kind} made "
            "examples for the shuffle's buffer again, which holds all of them. Its result is about "
            f"{in_mib(size_mib)} and fits into memory.{python}{where(written)}"
        ),
        action=(
            f"{lambdas_in(written)}dataset = {place.call}.cache()  "
            "# before shuffle, repeat and all that draws random numbers"
        ),
        evidence={
            "refill_ms": refills.each_ms,
            "epochs": facts.length.passes,
            "size_mib": size_mib,
        },
    )


def _goes_into_it_whole(written: WrittenStage, facts: RunFacts, elements: float) -> bool:
    """The buffer holds all that is made, and nothing else works on it before."""
    (chain,) = facts.input.chains
    before = list(takewhile(lambda stage: stage.kind != "shuffle", chain))
    last = [stage for stage in before if stage.kind in WORK][-1]
    return last is written and (chain[len(before)].buffer or 0) >= ALL * elements
