"""Trainings as data, which advice is followed in: scenarios, their variants, published examples."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[2] / "tests" / "scenarios"))

from followed_programs.all_programs import KINDS, PROGRAMS, kind_of, named
from followed_programs.program import Program
from followed_programs.published import PUBLISHED

__all__ = ["KINDS", "PROGRAMS", "PUBLISHED", "Program", "kind_of", "named"]
