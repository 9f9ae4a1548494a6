"""All programs, and of what kind each is."""

from __future__ import annotations

import re

from followed_programs.of_input import OF_INPUT
from followed_programs.of_sources import OF_SOURCES
from followed_programs.of_training import OF_TRAINING
from followed_programs.program import Program
from followed_programs.published import OF_EXAMPLES, PUBLISHED
from followed_programs.seen_cases import OF_SCENARIOS

PROGRAMS = (*OF_INPUT, *OF_SOURCES, *OF_TRAINING, *OF_EXAMPLES, *PUBLISHED)

KINDS = "scenario", "variant", "published", "beside others"


def kind_of(program: Program) -> str:
    """One of the kinds: published, made as a scenario of the tests, or a variant of either."""
    if program.others:
        return "beside others"
    if program in PUBLISHED:
        return "published"
    return "scenario" if program.name in OF_SCENARIOS.values() else "variant"


def named(names: str) -> list[str]:
    """Names that stand one behind the other, with a comma and no space: some hold a comma."""
    return re.split(",(?! )", names)
