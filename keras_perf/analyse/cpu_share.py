"""What other processes leave of the CPUs."""

from __future__ import annotations

from keras_perf.analyse.summary import Summary
from keras_perf.records.metrics.host_metrics import CORE_WAIT

LEAST_SHARE = 0.2
"""However busy the machine is: sampling tells no more of it."""

NOTICED = 0.2
"""Other processes that use less than this share of the CPUs are not worth a sentence."""


def used_pct(summary: Summary) -> float:
    """CPU use of this process and of those that it has started; 100 is one logical CPU.

    0 where it was not sampled.
    """
    tags = "host/process_cpu_pct", "host/child_processes_cpu_pct"
    return sum(summary.sensors.get(tag, 0.0) for tag in tags)


def crowded(summary: Summary) -> bool:
    """Other processes used enough of the CPUs to be told of."""
    return 1 - share_of_cores(summary) > NOTICED


def share_of_cores(summary: Summary) -> float:
    """What other processes leave of the CPUs (0.2 to 1); times of tf.data are longer by as much.

    1 where nothing was sampled. What it cannot see: of the processes that the training has started,
    those that `host/child_processes_cpu_pct` does not count.
    """
    cores = summary.facts.machine.cores
    own_pct = used_pct(summary) / cores
    others = max(0.0, summary.sensors.get("host/cpu_pct", own_pct) - own_pct) / 100
    return max(LEAST_SHARE, 1 - others)


def wanted_ms(summary: Summary, cpu_ms: float) -> float:
    """What of a step a process would compute on cores that it had alone, or waits for one.

    Where the system does not tell what threads waited for a core, others are taken to leave as
    much of the cores as they left; a process that sleeps leaves it to them, so that this is too
    much.

    Arguments:
        summary: of the run.
        cpu_ms: what the process computes in a step.
    """
    waited_pct = summary.sensors.get(CORE_WAIT)
    if waited_pct is None:
        return cpu_ms / share_of_cores(summary)
    return cpu_ms + waited_pct / 100 * summary.step_ms
