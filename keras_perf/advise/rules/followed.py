"""What shows in a later run that a recommendation was followed: its settings and its pipeline."""

from __future__ import annotations

import math
from collections.abc import Iterable

from keras_perf.advise.recommendation import Recommendation
from keras_perf.advise.step.hooks_without_a_core import may_have_waited_ms
from keras_perf.analyse.summary import Summary
from keras_perf.records.run.inference import VALIDATION, Inference
from keras_perf.records.run.input.pipeline import Stage
from keras_perf.records.run.library import library_of
from keras_perf.records.run.run_facts import RunFacts

CLEARLY_LESS = 0.6
"""What takes less than this share of what it took is done more rarely, or in another way; Keras's
TensorBoard leaves 0.45 where it writes once an epoch."""

CLEARLY_MORE = 1.5
"""A batch of so many times the examples is a larger one; twice as many are advised at least."""

RARE_COLLECTIONS = 10_000
"""Objects between two collections; Python's own are 700 to 2000, 100,000 are advised."""

CACHES = ("Cache", "MemoryCache", "FileCache")
"""Stages that keep what came before them."""


def prefetches(facts: RunFacts, _: Recommendation) -> bool | None:
    """A stage makes batches ahead; not known where no stage is."""
    return _has_stage(facts, "Prefetch") if facts.input.stages else None


def is_cached(facts: RunFacts, advice: Recommendation) -> bool | None:
    """A cache runs, or is written: tf.data does not show one that is before a shuffle.

    Where another one was there already, this shows nothing.
    """
    if advice.evidence.get("again"):
        return None
    return _has_stage(facts, *CACHES) or "cache" in facts.input.kinds


def reads_in_parallel(facts: RunFacts, advice: Recommendation) -> bool | None:
    """Several files are; not known of what lies before a filled cache."""
    if _has_stage(facts, "ParallelInterleave", "LegacyParallelInterleave"):
        return True
    return None if not facts.input.stages or is_cached(facts, advice) else False


def _has_stage(facts: RunFacts, *names: str) -> bool:
    return any(stage.name.startswith(names) for stage in facts.input.stages)


def sequential_maps(stages: Iterable[Stage]) -> int:
    """How many maps run, each of which calls its function one at a time."""
    return sum(stage.name.startswith("Map") and stage.parallelism <= 1 for stage in stages)


def maps_in_parallel(facts: RunFacts, advice: Recommendation) -> bool | None:
    """Fewer maps do not, and some do; not known where all of them lie before a filled cache."""
    stages = [stage for stage in facts.input.stages if "Map" in stage.name]
    if not stages and is_cached(facts, advice):
        return None
    fewer = sequential_maps(stages) < advice.evidence.get("sequential_maps", math.inf)
    return fewer and any(s.parallelism > 1 or s.name.startswith("Parallel") for s in stages)


def filters_first(facts: RunFacts, _: Recommendation) -> bool | None:
    """No filter stands behind a map; not known where one does: it may not be able to move."""
    kinds = [[stage.kind for stage in chain] for chain in facts.input.chains]
    behind = any("filter" in chain[chain.index("map") :] for chain in kinds if "map" in chain)
    return True if kinds and not behind else None


def is_not_compiled(facts: RunFacts, _: Recommendation) -> bool:
    """XLA does not compile the train function."""
    return not facts.settings.jit_compile


def maps_batches(facts: RunFacts, _: Recommendation) -> bool | None:
    """Maps stand behind a batch; not known where some do, or of a pipeline nobody could read."""
    before = behind = False
    for chain in facts.input.chains:
        kinds = [stage.kind for stage in chain]
        batches = [number for number, kind in enumerate(kinds) if kind.endswith("batch")]
        first = batches[0] if batches else len(kinds)
        before |= "map" in kinds[:first]
        behind |= "map" in kinds[first:]
    return None if before == behind else behind


def runs_more_steps(facts: RunFacts, advice: Recommendation) -> bool | None:
    """At least the number that was advised, also where that was set during training."""
    advised = advice.evidence.get("advised")
    if facts.trial is not None and facts.trial.applied:
        return True
    return None if advised is None else facts.settings.steps_per_execution >= int(advised)


def no_hook_waits(facts: RunFacts, _: Recommendation) -> bool:
    """Keras reads no step's result in the thread that trains."""
    return not facts.settings.waiting_hooks


def exchanges_less(facts: RunFacts, advice: Recommendation) -> bool:
    """Fewer bytes are exchanged."""
    known = facts.exchange
    return known is not None and known.bytes_per_step < int(advice.evidence["bytes_per_step"])


def has_threads(facts: RunFacts, advice: Recommendation) -> bool | None:
    """The pool has as many threads as were advised; not known of what a trial alone advised."""
    advised = advice.evidence.get("advised")
    return None if advised is None else facts.pool >= int(advised)


def lets_overtake(facts: RunFacts, _: Recommendation) -> bool | None:
    """The dataset's options give up the order of elements."""
    known = facts.input.dataset
    return None if known is None else not known.deterministic


def is_compiled(facts: RunFacts, _: Recommendation) -> bool:
    """XLA compiles the train function."""
    return bool(facts.settings.jit_compile)


def has_more_workers(facts: RunFacts, advice: Recommendation) -> bool | None:
    """More workers make batches than before, as processes where these were advised.

    Not known where the input is not, and of a custom loop, which has workers of its own.
    """
    known, evidence = facts.input, advice.evidence
    if known.input_kind is None or facts.settings.in_a_loop:
        return None
    workers, present = known.input_workers or 1, int(evidence.get("present", 1))
    if not evidence.get("in_processes", True):
        return workers > present
    return known.input_processes and workers > int(evidence.get("present_processes", present))


def collects_rarely(facts: RunFacts, _: Recommendation) -> bool | None:
    """Python's collector is off, or waits for far more objects; not known of older logs."""
    threshold = facts.settings.collector_threshold
    return None if threshold is None else not 0 < threshold < RARE_COLLECTIONS


def trains_on_larger_batches(facts: RunFacts, advice: Recommendation) -> bool | None:
    """A batch has clearly more examples; not known where they were not counted."""
    now, before = facts.length.examples_per_step, advice.evidence.get("batch")
    return now >= CLEARLY_MORE * float(before) if now and before else None


def runs_in_a_graph(facts: RunFacts, _: Recommendation) -> bool:
    """Steps are not run from Python."""
    return not facts.settings.run_eagerly


def computes_in_half(facts: RunFacts, _: Recommendation) -> bool:
    """The policy is a mixed one."""
    return (facts.settings.dtype_policy or "").startswith("mixed")


def computes_in_full(facts: RunFacts, _: Recommendation) -> bool:
    """The policy is float32."""
    return facts.settings.dtype_policy == "float32"


def has_kernel_threads(facts: RunFacts, _: Recommendation) -> bool:
    """Threads of the GPU's kernels were asked for."""
    return bool(facts.machine.gpu_thread_mode)


def validates_less(facts: RunFacts, advice: Recommendation) -> bool | None:
    """More rarely, or on less data; not known where no epoch ended, or of batches nothing."""
    outside, validated = facts.outside, facts.inference.get(VALIDATION)
    if outside is None or not outside.epoch_gaps:
        return None
    before, now = advice.evidence.get("batches"), _batches(validated)
    if advice.evidence.get("examples") and validated is not None and validated.examples:
        # Larger batches are fewer, of the same examples.
        before, now = advice.evidence["examples"], validated.examples / max(1, validated.calls)
    if not outside.validations or (before and now and now < CLEARLY_LESS * before):
        return True
    # The next one may have been about to come.
    present = outside.epoch_gaps / (outside.validations + 1)
    if facts.settings.in_a_loop:
        present = facts.length.steps / (outside.validations + 1)
    rarer = present >= int(advice.evidence["present"])
    return True if rarer else None if before is None or now is None else False


def _batches(found: Inference | None) -> float | None:
    return found.steps / found.calls if found is not None and found.calls and found.steps else None


def calls_the_model(facts: RunFacts, advice: Recommendation) -> bool | None:
    """The hook no longer calls `predict`, or for far less time; not known before it is reached."""
    owner, times = advice.evidence["owner"], facts.length.steps
    if ".on_epoch" in owner:
        times = facts.outside.epoch_gaps if facts.outside is not None else 0
        if not times:
            return None
    calls = facts.predicts.get(owner)
    if calls is None:
        return True
    if calls.call_ms is None or calls.inside_ms is None or not times:
        return None
    beside_ms = (calls.call_ms - calls.inside_ms) * calls.calls / times
    return beside_ms < CLEARLY_LESS * float(advice.evidence["each_ms"])


def has_stable_shapes(facts: RunFacts, advice: Recommendation) -> bool | None:
    """Nothing compiles for other shapes, or the function is kept; else the time has to show it."""
    was = advice.evidence
    if "function_replacements" not in was:
        # A trial alone advised it.
        return None
    if was["function_replacements"]:
        replaced = int(was["function_replacements"])
        return facts.settings.function_replacements < CLEARLY_LESS * replaced
    if was["jit_compile"] and facts.settings.jit_compile is False:
        return True
    if was["shapes_differ"]:
        return None if facts.input.shapes_differ else True
    # Where batches have to come first, a shorter training may lack an epoch's last.
    known = library_of(facts).tells_rows_ahead
    return True if known and was["rows_differ"] and not facts.input.rows_differ else None


def works_less(summary: Summary, advice: Recommendation) -> bool | None:
    """The hook takes clearly less of each execution, or epoch; not known of one not reached."""
    owner, outside = advice.evidence.get("owner"), summary.facts.outside
    if owner is None:
        return None
    settings = summary.facts.settings
    # A loop does such work in so many steps, a hook is called once in an execution.
    each = 1 if settings.in_a_loop else settings.steps_per_execution
    now_ms = each * summary.owners.get(owner, 0.0)
    waited_ms = each * may_have_waited_ms(summary).get(owner, 0.0)
    if advice.of == "whole":
        if outside is None or not outside.epoch_gaps:
            return None
        now_ms = 1e3 * outside.epoch_callbacks_s.get(owner, 0.0) / outside.epoch_gaps
    elif not summary.steps:
        return None
    most_ms = CLEARLY_LESS * float(advice.evidence["each_ms"])
    return None if now_ms >= most_ms > now_ms - waited_ms else now_ms < most_ms
