"""Trainings as data, which advice is followed in: scenarios, their variants, published examples."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[2] / "tests" / "scenarios"))
