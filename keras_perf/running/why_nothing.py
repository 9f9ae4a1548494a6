"""Why a program left nothing to diagnose; nothing heavy is imported to say so."""

from __future__ import annotations

import sys

from keras_perf.running.observed import Observed


def why_nothing(observed: Observed) -> str:
    """Why there is no diagnosis."""
    fits, calls = observed.fits, observed.calls
    if fits.left_alone:
        return "each fit had keras_perf's callbacks already, so none were added"
    if fits.not_observed:
        return f"no fit was observed: {next(iter(fits.not_observed))}"
    if fits.ended:
        return "each fit failed before its first step"
    if calls.not_observed:
        return f"no evaluate or predict was observed: {next(iter(calls.not_observed))}"
    if calls.log_dirs:
        return "each evaluate and predict failed before its end"
    if "tf_keras" in sys.modules:
        return "no fit of Keras 3 was made; the program uses tf_keras, which is not observed"
    if "keras" not in sys.modules:
        return "the program did not import Keras, so there was no fit to observe"
    return (
        "the program called no Model.fit, evaluate or predict in this process; for a training loop "
        "of its own see keras_perf.loop.LoopMonitor"
    )
