"""What other processes leave of the CPUs."""

from __future__ import annotations

from keras_perf.analyse.summary import Summary

LEAST_SHARE = 0.2
"""However busy the machine is: sampling tells no more of it."""

NOTICED = 0.2
"""Other processes that use less than this share of the CPUs are not worth a sentence."""


def crowded(summary: Summary) -> bool:
    """Other processes used enough of the CPUs to be told of."""
    return 1 - share_of_cores(summary) > NOTICED


def share_of_cores(summary: Summary) -> float:
    """What other processes leave of the CPUs (0.2 to 1); times of tf.data are longer by as much.

    1 where nothing was sampled. What it cannot see: which of the others belong to the training.
    """
    cores = summary.facts.machine.cores
    own_pct = summary.sensors.get("host/process_cpu_pct", 0.0) / cores
    others = max(0.0, summary.sensors.get("host/cpu_pct", own_pct) - own_pct) / 100
    return max(LEAST_SHARE, 1 - others)
