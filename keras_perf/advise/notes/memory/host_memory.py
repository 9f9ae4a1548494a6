"""The machine's memory: what grows without end, and what is moved to swap."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from keras_perf.advise.as_written import at
from keras_perf.advise.notes.diagnosed import Diagnosed
from keras_perf.advise.situation import Situation
from keras_perf.analyse.growth import Growth
from keras_perf.analyse.summary import Summary
from keras_perf.records.figures import figure, in_mib, in_percent
from keras_perf.records.metrics.host_metrics import PROCESS_MEMORY
from keras_perf.records.run.library import library_of
from keras_perf.records.run.run_facts import RunFacts

MOSTLY, HARDLY = 0.7, 0.3
"""Shares of a rise."""

MANY_TRACES = 5
"""A train function has one trace, or two; each further one stays in memory."""

SWAPS_MIB_PER_SEC = 1.0
"""Less is what any system moves now and then."""

LONGEST_H = 24 * 365.0
"""When memory is full is said up to here: the rest is no forecast."""


def host_memory_notes(run: Diagnosed) -> Iterator[str]:
    """A sentence or several each.

    What it cannot see: what is kept, and by whom; the memory of child processes.
    """
    summary = run.summary
    growth = summary.growth.get(PROCESS_MEMORY)
    if growth is not None and not may_fill_a_cache(summary.facts):
        yield (
            f"The memory of this process {how_it_grows(growth)}{_until_full(growth, summary)} "
            f"{_where(growth, summary.facts)} {_usual_causes(growth, run.situation)}"
        )
    moved_in = summary.sensors.get("host/swapped_in_mib_per_sec", 0.0)
    moved_out = summary.sensors.get("host/swapped_out_mib_per_sec", 0.0)
    if moved_in + moved_out >= SWAPS_MIB_PER_SEC:
        yield (
            f"The machine swaps while training runs: {in_mib(moved_in)}/s come back from swap and "
            f"{in_mib(moved_out)}/s go there. Code that touches such memory waits for the disk, "
            "so every time here is too long. Smaller caches and shuffle buffers, a smaller batch, "
            "or fewer programs beside this one need less memory."
        )


def may_fill_a_cache(facts: RunFacts) -> bool:
    """A cache of the pipeline grows until the data has been through it once."""
    kinds, epoch, steps = facts.input.kinds, facts.length.epoch_steps, facts.length.steps
    each_is_a_pass = not facts.length.ends_by_steps and "repeat" not in kinds
    passed_once = epoch is not None and each_is_a_pass and steps >= 2 * epoch
    return "cache" in kinds and not passed_once


def how_it_grows(growth: Growth) -> str:
    """Rate, bounds, and what was seen."""
    return (
        f"grows and does not level out: by {growth.mib_per_hour:,.0f} MiB an hour "
        f"({growth.low:,.0f}–{growth.high:,.0f}), {in_mib(growth.mib_per_step)} a step; "
        f"{growth.rise_mib:,.0f} MiB in the last {_time(growth.seconds / 3600)}."
    )


def time_until_full(room_mib: float, growth: Growth) -> str:
    """`3.2 hours`; "" where that is too far off."""
    hours = room_mib / growth.mib_per_hour
    if hours > LONGEST_H:
        return ""
    return _time(hours)


def _time(hours: float) -> str:
    for unit, in_hours in (("days", 24.0), ("hours", 1.0), ("minutes", 1 / 60)):
        if hours >= 2 * in_hours:
            return f"{figure(float(f'{hours / in_hours:.2g}'))} {unit}"
    return f"{3600 * hours:.0f} seconds"


def _until_full(growth: Growth, summary: Summary) -> str:
    available = summary.facts.machine.memory_available_mib
    if available is None or not (time := time_until_full(available, growth)):
        return ""
    return f" The {available:,.0f} MiB that were left at the end would last for {time}."


def _where(growth: Growth, facts: RunFacts) -> str:
    share = growth.between_epochs
    if share is None:
        return "Whether it rises with the steps or with the epochs is unknown."
    if share >= MOSTLY:
        owners = sorted(facts.outside.epoch_callbacks_s) if facts.outside is not None else []
        named = f" (of the callbacks {_named(owners, facts)} work there)" if owners else ""
        return f"{in_percent(share)} of it comes where an epoch ends{named}."
    if share <= HARDLY:
        hooks = facts.settings.batch_hooks
        named = f" (the batch hooks are {_named(hooks, facts)})" if hooks else ""
        return f"It comes within the epochs, from step to step{named}."
    return f"{in_percent(share)} of it comes where an epoch ends, the rest from step to step."


def _named(hooks: Iterable[str], facts: RunFacts) -> str:
    """Each with the line where it is written, if that is known."""
    return ", ".join(f"{hook}{at(facts.hook_sources.get(hook))}" for hook in hooks)


def _usual_causes(growth: Growth, situation: Situation) -> str:
    traces = situation.facts.settings.function_traces
    if traces is not None and traces >= MANY_TRACES:
        return (
            f"{library_of(situation.facts).name} has traced the train function {traces:,} times "
            "and keeps every graph: shapes that do not change (padded batches, "
            "drop_remainder=True) end that."
        )
    share = growth.between_epochs
    causes = []
    if share is None or share > HARDLY:
        causes += ["a tf.data.Dataset made anew for each epoch", "predict() called in a loop"]
    if share is None or share < MOSTLY:
        causes.append("tensors kept in a list, where float(loss) would do")
    if situation.runs_python:
        causes.append("what the input's Python code keeps")
    seen = "" if traces is None else f" (it is not the train function: traced {traces}×)"
    return f"Usual causes: {'; '.join(causes)}; functions that are traced again and again{seen}."
