"""For how long a step computes, where what is seen of it is too much or too little."""

from __future__ import annotations

from collections.abc import Mapping

from keras_perf.advise.step.interpreter import cpu_beside_ms
from keras_perf.advise.step.step_model import INSIDE, OUTSIDE
from keras_perf.analyse.cpu_share import is_throttled, share_of_cores
from keras_perf.analyse.summary import Summary
from keras_perf.records.metrics.host_metrics import CORE_WAIT

UNSEEN_INSIDE = ("FlatMap", "Interleave", "ParallelInterleave", "LegacyParallelInterleave")
"""Stages that run other pipelines, whose work tf.data forgets when they end."""

ELSEWHERE = (*UNSEEN_INSIDE, "DataService")
"""Stages of whose work tf.data does not know all."""

STEPS_TELL = 0.7
"""CPU time is sampled over the whole training: of steps that are less of it, it tells nothing."""


def has_several_steps(summary: Summary) -> bool:
    """An execution asks for the next step's batch while one computes."""
    settings = summary.facts.settings
    return settings.steps_per_execution > 1 and not settings.run_eagerly


def _inside_ms(parts: Mapping[str, float]) -> float:
    """What a step takes in the train function."""
    return sum(parts.get(part, 0.0) for part in INSIDE)


def add_what_is_computed_meanwhile(
    parts: dict[str, float], wait_ms: float, summary: Summary
) -> float:
    """Adds what a step computes while its execution already waits for the next step's batch.

    Returns:
        For how long it computes at least; 0 where that is not known.
    """
    least_ms = _least_computing_ms(summary)
    meanwhile_ms = min(wait_ms, max(0.0, least_ms - _inside_ms(parts)))
    parts["compute"] = parts.get("compute", 0.0) + meanwhile_ms
    return least_ms


def _least_computing_ms(summary: Summary) -> float:
    """For how long, at least, a step of several computes on a CPU; 0 where that is not known.

    CPU time that is neither the pipeline's nor the loop's is computing's, on all cores.
    """
    used_pct = summary.sensors.get("host/process_cpu_pct")
    facts = summary.facts
    between = summary.step_ms < STEPS_TELL * (summary.step_ms + sum(summary.outside.values()))
    unknown = facts.on_gpus or between or not has_several_steps(summary)
    if used_pct is None or unknown or any(s.name.startswith(ELSEWHERE) for s in facts.input.stages):
        return 0.0
    others = sum(summary.parts.get(part, 0.0) for part in OUTSIDE)
    others += sum(stage.cost_ms for stage in facts.input.stages)
    return max(0.0, used_pct / 100 * summary.step_ms - others) / facts.machine.cores


def take_waiting_out(parts: dict[str, float], held_ms: float, summary: Summary) -> float:
    """Takes out of the train function's parts what it waits for the interpreter, and returns it.

    What is left is what the quickest steps took, and where the CPU trains no more than the CPU
    time that was not the pipeline's; at least a tenth. Of two figures, one below that is no news
    of computing: CPU times of which one is nearly all of the other leave nothing certain.
    """
    inside = _inside_ms(parts)
    if not inside:
        return 0.0
    least = 0.1 * inside
    found = undisturbed_ms(summary), cpu_beside_ms(summary, held_ms)
    known = [ms for ms in found if ms is not None]
    computing = max(least, min([inside, *([ms for ms in known if ms > least] or known)]))
    for part in INSIDE:
        if part in parts:
            parts[part] *= computing / inside
    return inside - computing


def undisturbed_ms(summary: Summary) -> float | None:
    """Of computing alone: what the exchange of gradients takes lies in the measured one too."""
    measured = summary.facts.undisturbed_ms
    if measured is None:
        return None
    return max(0.0, measured - summary.exchange.get("communication", 0.0))


def on_its_core_ms(summary: Summary) -> float | None:
    """What a step's computing takes of a process that has one core, without its other threads.

    Its threads that could run share the core evenly: of the time in the train function computing
    ran for the share that all of them ran of what they ran and waited. Beside other processes that
    takes longer by the share that these leave of the core. None where there are several cores, or
    a quota is used up, or nobody tells how long threads waited. (Steps of 16 ms,
    whose `PyDataset` took 12.7 ms for a batch on the same core, took 6.8 ms on a batch that was
    ready; of their 14.9 ms of computing 7.2 are taken for such. Where another process used half of
    the core, 118 of 254 ms of computing are, and steps on ready batches took 97 to 114.)
    """
    ran_pct, waited_pct = (summary.sensors.get(tag) for tag in ("host/process_cpu_pct", CORE_WAIT))
    alone = summary.facts.machine.cores == 1 and not is_throttled(summary)
    if not alone or not ran_pct or waited_pct is None:
        return None
    inside_ms = _inside_ms(summary.parts)
    ran_ms = inside_ms * ran_pct / (ran_pct + waited_pct)
    return min(inside_ms, ran_ms / share_of_cores(summary))
