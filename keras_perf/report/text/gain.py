"""What a recommendation buys, in words."""

from __future__ import annotations

from keras_perf.advise.recommendation import Recommendation


def gain_of(advice: Recommendation) -> str:
    """Its speed-up with its bounds, of what, and whether that was measured or is predicted."""
    how = ", measured" if advice.tried else ", predicted"
    what = "the whole training" if advice.of == "whole" else "a step"
    if (gain := advice.speedup_after_others) is not None:
        return f"{what} {gain:.2f}× as fast after those above, nothing without them{how}"
    bounds = f"({advice.low:.2f}–{advice.high:.2f})"
    return f"{what} {advice.predicted_speedup:.2f}× {bounds} as fast{how}"
