"""How long each stage of the input pipeline takes for a batch, and which one sets the pace."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from keras_perf.records.run.input.pipeline import Stage
from keras_perf.records.run.run_facts import RunFacts


@dataclass(frozen=True)
class StagePace:
    """One stage among the others.

    Attributes:
        name: of the stage, with its place from the source on: `Map (2)`.
        stage: what is recorded of it.
        threads: how many of its calls run at a time.
        ms: its work for a batch, shared among these.
        share: of the sum of all stages' `ms`, 0 to 1; None where that is 0.
        sets_the_pace: no other takes longer. A prefetch never does: it only hands batches on, and
            its time is that of threads which kept it waiting.
    """

    name: str
    stage: Stage
    threads: int
    ms: float
    share: float | None
    sets_the_pace: bool


OWN_STAGES = "Keras's own stages for arrays"


def shown_paces(facts: RunFacts) -> tuple[StagePace, ...]:
    """What a reader is shown: stages that Keras makes of arrays, which nobody sets, are one."""
    paces = stage_paces(facts)
    if facts.input.input_kind != "arrays" or not paces:
        return paces
    last = paces[-1]
    stage = replace(last.stage, name=OWN_STAGES, cost_ms=sum(pace.stage.cost_ms for pace in paces))
    whole = sum(pace.ms for pace in paces)
    return (StagePace(OWN_STAGES, stage, last.threads, whole, None, sets_the_pace=False),)


def stage_paces(facts: RunFacts) -> tuple[StagePace, ...]:
    """From the source to the last stage; () where tf.data told of none.

    What they cannot see: that threads may wait for each other, or for a core.
    """
    return paces_of(facts.input.stages, facts.pool)


def paces_of(recorded: Sequence[Stage], pool: int) -> tuple[StagePace, ...]:
    """The same of any pipeline, whose maps run in a pool of so many threads."""
    threads = [stage.threads(pool) for stage in recorded]
    times = [stage.cost_ms / count for stage, count in zip(recorded, threads, strict=True)]
    whole = sum(times)
    working = [t for t, s in zip(times, recorded, strict=True) if not s.name.startswith("Prefetch")]
    slowest = max(working, default=0.0)
    return tuple(
        StagePace(
            f"{stage.name} ({place})",
            stage,
            count,
            ms,
            ms / whole if whole else None,
            ms == slowest > 0 and not stage.name.startswith("Prefetch"),
        )
        for place, (stage, count, ms) in enumerate(zip(recorded, threads, times, strict=True), 1)
    )
