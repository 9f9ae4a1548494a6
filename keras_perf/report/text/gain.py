"""What a recommendation buys, in words."""

from __future__ import annotations

from keras_perf.advise.recommendation import Recommendation


def gain_of(advice: Recommendation) -> str:
    """Its speed-up with its bounds, of what, and whether that was measured."""
    how = ", measured" if advice.tried else ""
    what = " of the whole training" if advice.of == "whole" else " of a step"
    if (gain := advice.speedup_after_others) is not None:
        return f"{gain:.2f}×{what} once those above are done, nothing alone{how}"
    return f"{advice.predicted_speedup:.2f}× ({advice.low:.2f}–{advice.high:.2f}){what}{how}"
