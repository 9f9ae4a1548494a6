"""The programs of the follow-up are made of these scenarios' pieces."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))

from followed_programs import INJECTED, PUBLISHED, named


def test_the_hooks_of_every_program_can_be_made_rarer():
    works = [work for program in (*INJECTED, *PUBLISHED) for work in program.works]
    assert len(works) > 5
    for work in works:
        for every in (work.every, 20):
            assert work.make(every) is not None


def test_a_program_can_be_chosen_whose_name_holds_a_comma():
    names = [program.name for program in (*INJECTED, *PUBLISHED)]
    assert any("," in name for name in names)
    assert named(",".join(names)) == names
