"""The programs of the follow-up are made of these scenarios' pieces, and stand for all of them."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

import bottlenecks
import pytest

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))

from followed_programs import KINDS, PROGRAMS, PUBLISHED, kind_of, named
from followed_programs.seen_cases import OF_SCENARIOS, SEEN

NAMES = {program.name for program in PROGRAMS}


def test_no_two_programs_have_one_name():
    assert len(NAMES) == len(PROGRAMS)


def test_each_scenario_has_a_program_of_its_own():
    assert set(OF_SCENARIOS) == {scenario.name for scenario in bottlenecks.SCENARIOS}
    assert len(set(OF_SCENARIOS.values())) == len(OF_SCENARIOS)
    assert set(OF_SCENARIOS.values()) <= NAMES


@pytest.mark.parametrize("case", SEEN)
def test_each_case_that_was_seen_has_a_program(case):
    assert SEEN[case]
    assert set(SEEN[case]) <= NAMES


@pytest.mark.parametrize("scenario", bottlenecks.SCENARIOS, ids=lambda scenario: scenario.name)
def test_a_scenario_and_its_program_have_a_right_verdict_in_common(scenario):
    [program] = [each for each in PROGRAMS if each.name == OF_SCENARIOS[scenario.name]]
    assert set(program.verdicts) & set(scenario.verdicts)


def test_there_are_programs_of_each_kind_and_at_least_thirteen_published_ones():
    counts = Counter(map(kind_of, PROGRAMS))
    assert set(counts) == set(KINDS)
    examples = {program.name.partition(" ")[0] for program in PUBLISHED}
    assert len(examples) >= 13


def test_what_is_right_of_a_published_program_is_measured():
    assert not any(program.verdicts for program in PUBLISHED)


def test_the_hooks_of_every_program_can_be_made_rarer():
    works = [work for program in PROGRAMS for work in program.works]
    assert len(works) > 5
    for work in works:
        for every in (work.every, 20):
            for make in filter(None, (work.make, work.directly)):
                assert type(make(every)).__name__ == work.owner


def test_a_program_can_be_chosen_whose_name_holds_a_comma():
    names = [program.name for program in PROGRAMS]
    assert any("," in name for name in names)
    assert named(",".join(names)) == names
