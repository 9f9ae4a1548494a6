"""Whether traces tell the same as the split of every step."""

from __future__ import annotations

from collections.abc import Iterator

from keras_perf.records.run.run_facts import RunFacts


def trace_notes(facts: RunFacts) -> Iterator[str]:
    """A sentence on what agrees, and one on each part that differs."""
    if agreeing := [each.part for each in facts.trace_agreement if each.agrees]:
        yield f"The trace agrees with the split on {', '.join(agreeing)}."
    for each in facts.trace_agreement:
        if not each.agrees:
            yield f"The trace and the split differ on {each}."
