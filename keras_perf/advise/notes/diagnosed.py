"""What every note is made of."""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass

from keras_perf.advise.situation import Situation
from keras_perf.analyse.summary import Summary
from keras_perf.records.run.run_facts import RunFacts


@dataclass(frozen=True)
class Diagnosed:
    """A run with measured steps, and what was found of it.

    Attributes:
        situation: the run.
        verdict: its verdict.
        advised: ids of the recommendations, which say with figures what a note would repeat.
    """

    situation: Situation
    verdict: str
    advised: Set[str]

    @property
    def summary(self) -> Summary:
        """The figures of the run."""
        return self.situation.summary

    @property
    def facts(self) -> RunFacts:
        """What is known of the run beside its figures."""
        return self.situation.facts


def listed(items: Sequence[object]) -> str:
    """At least one, as a sentence has them: `a, b and c`."""
    *first, last = map(str, items)
    return f"{', '.join(first)} and {last}" if first else last
