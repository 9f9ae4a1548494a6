"""How a failure of ours is told: training goes on, so it is a warning."""

from __future__ import annotations

import logging

logger = logging.getLogger("keras_perf")


def warn_of(error: Exception, what: str, consequence: str) -> None:
    """One line: what failed, why, and what is lost."""
    logger.warning(
        "keras_perf: %s failed (%s: %s); %s.",
        what,
        type(error).__name__,
        str(error),
        consequence,
        exc_info=logger.isEnabledFor(logging.DEBUG),
    )
