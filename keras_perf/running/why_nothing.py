"""Why a program left nothing to diagnose; nothing heavy is imported to say so."""

from __future__ import annotations

import sys

from keras_perf.running.fits import ObservedFits


def why_nothing(fits: ObservedFits) -> str:
    """Why there is no diagnosis."""
    if fits.left_alone:
        return "each fit had keras_perf's callbacks already, so none were added"
    if fits.not_observed:
        return f"no fit was observed: {next(iter(fits.not_observed))}"
    if fits.ended:
        return "each fit failed before its first step"
    if "tf_keras" in sys.modules:
        return "no fit of Keras 3 was made; the program uses tf_keras, which is not observed"
    if "keras" not in sys.modules:
        return "the program did not import Keras, so there was no fit to observe"
    return (
        "the program called no Model.fit in this process; for a training loop of its own see "
        "keras_perf.loop.LoopMonitor"
    )
