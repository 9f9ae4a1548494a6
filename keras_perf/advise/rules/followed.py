"""What shows in a later run that a recommendation was followed: its settings and its pipeline."""

from __future__ import annotations

from collections.abc import Callable

from keras_perf.advise.recommendation import Recommendation
from keras_perf.records.run.run_facts import RunFacts

CACHES = ("Cache", "MemoryCache", "FileCache")
"""Stages that keep what came before them."""


def has_stage(*names: str) -> Callable[[RunFacts, Recommendation], bool]:
    """A stage of one of these names runs."""

    def has(facts: RunFacts, _: Recommendation) -> bool:
        return any(stage.name.startswith(names) for stage in facts.input.stages)

    return has


def maps_in_parallel(facts: RunFacts, advice: Recommendation) -> bool | None:
    """Some map does; not known where all of them lie before a filled cache."""
    stages = [stage for stage in facts.input.stages if "Map" in stage.name]
    if not stages and has_stage(*CACHES)(facts, advice):
        return None
    return any(s.parallelism > 1 or s.name.startswith("Parallel") for s in stages)


def runs_more_steps(facts: RunFacts, advice: Recommendation) -> bool:
    """At least the number that was advised, also where that was set during training."""
    applied = facts.trial is not None and facts.trial.applied
    return applied or facts.settings.steps_per_execution >= int(advice.evidence["advised"])


def exchanges_less(facts: RunFacts, advice: Recommendation) -> bool:
    """Fewer bytes are exchanged."""
    known = facts.exchange
    return known is not None and known.bytes_per_step < int(advice.evidence["bytes_per_step"])


def has_threads(facts: RunFacts, advice: Recommendation) -> bool:
    """The pool has as many threads as were advised."""
    return facts.pool >= int(advice.evidence["advised"])


def lets_overtake(facts: RunFacts, _: Recommendation) -> bool | None:
    """The dataset's options give up the order of elements."""
    known = facts.input.dataset
    return None if known is None else not known.deterministic


def is_compiled(facts: RunFacts, _: Recommendation) -> bool:
    """XLA compiles the train function."""
    return bool(facts.settings.jit_compile)


def runs_in_a_graph(facts: RunFacts, _: Recommendation) -> bool:
    """Steps are not run from Python."""
    return not facts.settings.run_eagerly


def computes_in_half(facts: RunFacts, _: Recommendation) -> bool:
    """The policy is a mixed one."""
    return (facts.settings.dtype_policy or "").startswith("mixed")


def has_kernel_threads(facts: RunFacts, _: Recommendation) -> bool:
    """Threads of the GPU's kernels were asked for."""
    return bool(facts.machine.gpu_thread_mode)
