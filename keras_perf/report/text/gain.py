"""What a recommendation buys, in words."""

from __future__ import annotations

from keras_perf.advise.recommendation import Recommendation


def gain_of(advice: Recommendation) -> str:
    """Its speed-up with its bounds, of what, and whether that was measured."""
    how = ", measured" if advice.tried else ""
    if advice.speedup_after_others is not None:
        return f"{advice.speedup_after_others:.2f}× once those above are done, nothing alone{how}"
    what = " of the whole training" if advice.of == "whole" else ""
    return f"{advice.predicted_speedup:.2f}× ({advice.low:.2f}–{advice.high:.2f}){what}{how}"
