"""Whether traces tell the same as the split of every step."""

from __future__ import annotations

from collections.abc import Iterator

from keras_perf.advise.notes.diagnosed import Diagnosed
from keras_perf.records.run.run_facts import RunFacts
from keras_perf.records.run.trace_agreement import Why

OF_MEASURING = (Why.AGREES, Why.UNEVEN, Why.FEW, Why.AHEAD, Why.PROFILER, Why.OTHER_STEPS)
"""What tells of the profiler and of when it ran: shown to whoever asks for details."""


def trace_notes(run: Diagnosed) -> Iterator[str]:
    """A sentence on each part that differs for what training does."""
    for each in run.facts.trace_agreement:
        if each.why not in OF_MEASURING:
            yield f"The trace and the split differ on {each}."


def trace_details(facts: RunFacts) -> Iterator[str]:
    """A sentence on what agrees, and one on each part that the profiler's own cost makes differ."""
    if agreeing := [each.part for each in facts.trace_agreement if each.agrees]:
        yield f"The trace agrees with the split on {', '.join(agreeing)}."
    for each in facts.trace_agreement:
        if each.why in OF_MEASURING and not each.agrees:
            yield f"The trace and the split differ on {each}."
