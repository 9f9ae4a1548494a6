"""How a failure of ours is told: training goes on, so it is a warning."""

from __future__ import annotations

import contextlib
import logging

from keras_perf.observers.asking import reason_of

logger = logging.getLogger("keras_perf")


def warn_of(error: Exception, what: str, consequence: str) -> None:
    """One line: what failed, why, and what is lost. Raises nothing, whoever listens to it."""
    with contextlib.suppress(Exception):
        logger.warning(
            "keras_perf: %s failed (%s); %s.",
            what,
            reason_of(error),
            consequence,
            exc_info=logger.isEnabledFor(logging.DEBUG),
        )
