"""A Python of its own, where a test needs one that has not imported this or that."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

UNIT = Path(__file__).with_name("unit")

# What `import tensorflow` meets where it is not installed.
BLOCKED = """
import sys
sys.modules["tensorflow"] = None
sys.modules["keras"] = None
"""


def run(script: str, *arguments: str) -> str:
    """What a script prints; the unit tests' folder is on its path."""
    path = f"import sys; sys.path.insert(0, {str(UNIT)!r})\n"
    command = [sys.executable, "-W", "error", "-c", path + script, *arguments]
    found = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert found.returncode == 0, found.stderr
    return found.stdout.strip()
