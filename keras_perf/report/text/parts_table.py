"""Where the time of a step goes, as rows."""

from __future__ import annotations

import math
from collections.abc import Mapping

from keras_perf.records.figures import UNKNOWN, in_percent
from keras_perf.records.interval import PARTS, part_name

PARTS_TITLE = "Where the time of a step goes"


def parts_table(breakdown: Mapping[str, float]) -> tuple[list[str], list[list[str]]]:
    """Header and rows; what was not measured lies in compute.

    Arguments:
        breakdown: milliseconds per step by part, with `step`; NaN for what was not measured.
    """
    step = breakdown["step"]
    if math.isnan(step):
        return ["part of a step", "ms"], [["step", UNKNOWN]]
    rows = []
    for part in PARTS:
        ms = breakdown[part]
        share = in_percent(ms / step) if step else in_percent(0.0)
        figures = ["in compute", ""] if math.isnan(ms) else [f"{ms:.3f}", share]
        rows.append([part_name(part), *figures])
    rows.append(["step", f"{step:.3f}", "100%"])
    return ["part of a step", "ms", "share"], rows
