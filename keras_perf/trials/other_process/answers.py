"""Where a child writes its answers, apart from what the user's code prints."""

from __future__ import annotations

import os
import sys
from typing import TextIO


def answers_apart() -> TextIO:
    """Standard output, for answers alone: what is printed from now on is lost."""
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w", buffering=1)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
    return answers
