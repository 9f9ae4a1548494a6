"""Why a fact of a run is not known."""

from __future__ import annotations

from keras_perf.records.reasons.reason import Words


class WhyNotKnown(Words):
    """Beside what exceptions say themselves."""

    CANNOT_BE = "it cannot be {value}"
