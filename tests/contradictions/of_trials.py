"""What is said of trials of other numbers of steps per execution, against the split."""

from __future__ import annotations

import re
from collections.abc import Iterator

from contradictions.told import FIGURE, ms_of, prose
from keras_perf.records.figures import in_ms
from keras_perf.report.diagnosis import Diagnosis

TOO_LONG = re.compile(rf"steps took (?P<ms>{FIGURE}) .*more than (?P<limit>{FIGURE}) are too long")
ANY_TOO_LONG = re.compile(r"too long to (?:try|gain)")


def trials_against_split(found: Diagnosis) -> Iterator[str]:
    """Steps that are too long for a trial are so in the split, or both figures are told."""
    split_ms = found.breakdown["step"]
    for text in prose(found):
        match = TOO_LONG.search(text)
        if match is None:
            if ANY_TOO_LONG.search(text):
                yield f"{text!r} does not say how long they were"
            continue
        limit_ms = ms_of(match["limit"])
        if ms_of(match["ms"]) < limit_ms:
            yield f"{match[0]!r} are not"
        if split_ms < limit_ms and in_ms(split_ms) not in text[match.end() :]:
            yield f"{match[0]!r} beside a step of {in_ms(split_ms)}"
