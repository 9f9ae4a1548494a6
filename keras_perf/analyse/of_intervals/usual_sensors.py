"""What sensors tell of a usual interval."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

ENOUGH = 3
"""Of fewer intervals none is the usual one."""


def usual_sensors(by_tag: Mapping[str, pd.DataFrame]) -> dict[str, float]:
    """Medians of what was sampled of GPUs, by tag, without the warm-up's point, the first one.

    A trial that compiles, or a capture that is written, lies in one interval and makes its sensors
    tell of something else; the mean of all would have it in.
    """
    later = {tag: points.iloc[1:] for tag, points in by_tag.items() if tag.startswith("gpu/")}
    return {
        tag: float(points["value"].median())
        for tag, points in later.items()
        if len(points) >= ENOUGH
    }
