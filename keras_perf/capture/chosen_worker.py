"""Whether this process is among the workers that are to capture."""

from __future__ import annotations

import logging
import os

from keras_perf.cluster.worker_number import Workers, absent_workers, is_chosen

logger = logging.getLogger("keras_perf")


def captures_here(workers: Workers) -> bool:
    """Whether it is, by TF_CONFIG; says so where that, or the choice, makes no sense."""
    config = os.environ.get("TF_CONFIG")
    try:
        chosen = is_chosen(workers, config)
        if absent := absent_workers(workers, config):
            logger.warning(
                "keras_perf: WindowedProfiler captures nothing of worker %s: there is no such "
                "worker. The chief is 0, the others follow in TF_CONFIG's order.",
                ", ".join(map(str, absent)),
            )
    except ValueError as error:
        logger.warning("keras_perf: %s This process captures as if it were alone.", str(error))
        return True
    return chosen
