"""What a report says here and denies there.

Each function yields a sentence for each contradiction; none for a report whose figures agree.
"""

from __future__ import annotations

from collections.abc import Iterator

from contradictions.of_advice import advice_against_shares, prose_against_gain
from contradictions.of_figures import figures_against_sums, two_forms
from contradictions.of_stages import stages_against_table
from contradictions.of_trials import trials_against_split
from contradictions.of_verdict import advice_against_verdict, verdict_against_split
from contradictions.without_advice import verdict_without_advice
from keras_perf.report.diagnosis import Diagnosis


def contradictions(found: Diagnosis) -> Iterator[str]:
    """Of a diagnosis."""
    yield from figures_against_sums(found)
    yield from two_forms(found)
    if not found.summary.steps:
        return
    yield from stages_against_table(found)
    yield from trials_against_split(found)
    for advice in found.recommendations:
        yield from advice_against_shares(found, advice)
        yield from prose_against_gain(advice)
    yield from verdict_against_split(found)
    yield from advice_against_verdict(found)
    yield from verdict_without_advice(found)
