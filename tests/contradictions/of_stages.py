"""What is said of the input pipeline's stages, against their table."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from contradictions.told import FIGURE, ms_of, prose
from keras_perf.analyse.stage_paces import StagePace, paces_of, stage_paces
from keras_perf.records.figures import in_ms
from keras_perf.records.run.inference import VALIDATION
from keras_perf.report.diagnosis import Diagnosis

NAMED = r"(?P<stage>[A-Z]\w* \(\d+\))"
MS = rf"(?P<ms>{FIGURE})"
ALL = rf"(?P<all>{FIGURE})"

ITS_TIME = [
    re.compile(rf"[Ss]tages? {NAMED} takes? {MS} of the {ALL} that a batch needs"),
    re.compile(rf"pace: {NAMED} takes {MS} of the {ALL} that a batch needs"),
    re.compile(rf"of its {ALL} per batch, on the threads that it has, {NAMED} takes {MS}"),
]
COUNTED = re.compile(rf"those of {NAMED}, of whose work tf\.data counts {MS}")
ITS_WORK = re.compile(rf"Stage {NAMED} takes {MS} a batch over all threads")
UP_TO_IT = re.compile(rf"Stages up to {NAMED} take {MS} a batch")
ITS_CALLS = re.compile(
    rf"Stage {NAMED} is called (?P<calls>\d+) times per batch, (?P<us>[\d.,]+) µs"
)
OF_ALL = [
    re.compile(rf"could deliver a batch every {ALL}"),
    re.compile(rf"The pipeline's work, {ALL} a batch"),
    re.compile(rf"All stages take {ALL} a batch"),
]
READING = re.compile(rf"Reading takes {MS} of the {ALL} that a batch needs")
OF_VALIDATION = re.compile(rf"the stage {NAMED} takes {MS} a batch")
ANY_OTHER = re.compile(rf"{NAMED}[^.;]*? {MS}")

MIXES = ("Shuffle", "Repeat")
"""Stages that a cache leaves as they are."""


def stages_against_table(found: Diagnosis) -> Iterator[str]:
    """Of each stage prose and table have one figure, and prose has no form that is not known."""
    facts = found.summary.facts
    table = _Table(stage_paces(facts))
    validated = facts.inference.get(VALIDATION)
    of_validation = _Table(paces_of(validated.stages, facts.pool) if validated else ())
    for text in prose(found):
        left = text
        for match, wanted in _claims(text, table, of_validation):
            left = left.replace(match[0], "")
            for name, figure in wanted.items():
                if figure != match[name]:
                    yield f"{match[0]!r} beside a table with {figure}"
        for unknown in ANY_OTHER.finditer(left):
            yield f"{unknown[0]!r} is said in a form that nobody checks"


class _Table:
    """The figures of one pipeline."""

    def __init__(self, paces: Sequence[StagePace]) -> None:
        self._paces = paces
        self.times = {pace.name: in_ms(pace.ms) for pace in paces}
        self.works = {pace.name: in_ms(pace.stage.cost_ms) for pace in paces}
        self.all = in_ms(sum(pace.ms for pace in paces))

    def up_to(self, name: str) -> str:
        """All of them until this one, without those that only mix."""
        names = [pace.name for pace in self._paces]
        until = self._paces[: names.index(name) + 1] if name in names else ()
        return in_ms(sum(pace.ms for pace in until if not any(m in pace.name for m in MIXES)))


Claim = tuple[re.Match[str], dict[str, str]]
"""What is said, and what each figure of it has to be."""


def _claims(text: str, table: _Table, of_validation: _Table) -> Iterator[Claim]:
    for form in ITS_TIME:
        for match in form.finditer(text):
            yield match, {"ms": table.times.get(match["stage"], "no such stage"), "all": table.all}
    for match in COUNTED.finditer(text):
        yield match, {"ms": table.times.get(match["stage"], "no such stage")}
    for match in ITS_WORK.finditer(text):
        yield match, {"ms": table.works.get(match["stage"], "no such stage")}
    for match in UP_TO_IT.finditer(text):
        yield match, {"ms": table.up_to(match["stage"])}
    for match in ITS_CALLS.finditer(text):
        shown = table.works.get(match["stage"], "0 ms")
        each_us = 1e3 * ms_of(shown) / float(match["calls"])
        if abs(each_us - float(match["us"].replace(",", ""))) > 0.02 * each_us + 0.5 / 1e3:
            yield match, {"us": f"{each_us:.3g}"}
    for form in OF_ALL:
        for match in form.finditer(text):
            yield match, {"all": table.all}
    for match in READING.finditer(text):
        is_one = match["ms"] in table.times.values()
        yield match, {"ms": match["ms"] if is_one else "no such stage", "all": table.all}
    for match in OF_VALIDATION.finditer(text):
        yield match, {"ms": of_validation.times.get(match["stage"], "no such stage")}
