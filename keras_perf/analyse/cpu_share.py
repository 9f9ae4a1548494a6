"""What other processes leave of the CPUs."""

from __future__ import annotations

from keras_perf.analyse.summary import Summary
from keras_perf.records.metrics.host_metrics import CORE_WAIT, THROTTLED

LEAST_SHARE = 0.2
"""However busy the machine is: sampling tells no more of it."""

NOTICED = 0.2
"""Other processes that use less than this share of the CPUs are not worth a sentence."""


OFTEN_PCT = 5.0
"""Of the periods of a quota of CPU time: what stands still less often is no sentence worth."""


def is_throttled(summary: Summary) -> bool:
    """The container used up its quota of CPU time so often that it may be in any figure."""
    return summary.sensors.get(THROTTLED, 0.0) > OFTEN_PCT


def held_back(summary: Summary) -> bool:
    """Threads that could have run may have waited: for a core of others', or for the quota."""
    return is_throttled(summary) or crowded(summary)


def used_pct(summary: Summary) -> float:
    """CPU use of this process and of those that it has started; 100 is one logical CPU.

    0 where it was not sampled.
    """
    tags = "host/process_cpu_pct", "host/child_processes_cpu_pct"
    return sum(summary.sensors.get(tag, 0.0) for tag in tags)


def used_by_others(summary: Summary) -> float:
    """Share of the CPUs (0 to 0.8) that other processes used; 0 where nothing was sampled.

    What it cannot see: of the processes that the training has started, those that
    `host/child_processes_cpu_pct` does not count.
    """
    machine = summary.facts.machine
    there = machine.cpu_count or 1
    own_pct = used_pct(summary) / there
    others = max(0.0, summary.sensors.get("host/cpu_pct", own_pct) - own_pct) / 100
    # Of a container's own only what is not left of all of the machine's.
    taken = max(0.0, 1 - (1 - others) * there / machine.cores)
    return min(1 - LEAST_SHARE, taken)


def used_by_strangers(summary: Summary) -> float:
    """Of `used_by_others`, what the training's other workers on this machine did not use."""
    of_workers = sum(worker.beside_cpu_pct for worker in summary.workers) / 100
    return max(0.0, used_by_others(summary) - of_workers / summary.facts.machine.cores)


def shared_by_workers(summary: Summary) -> bool:
    """Most of what others used of the CPUs was used by the training's other workers."""
    return used_by_strangers(summary) < used_by_others(summary) / 2


def crowded(summary: Summary) -> bool:
    """Other processes used enough of the CPUs to be told of."""
    return used_by_others(summary) > NOTICED


def share_of_cores(summary: Summary) -> float:
    """What other processes leave of the CPUs (0.2 to 1); times of tf.data are longer by as much."""
    return max(LEAST_SHARE, 1 - used_by_others(summary))


def share_when_asked(summary: Summary) -> float:
    """What this process gets of the CPUs while its threads ask for them (0.2 to 1).

    At least what others leave. Where Linux has told how long threads waited for a core
    (`host/process_core_wait_pct`), also the time that they ran, divided by that and the waiting:
    beside busy processes one that sleeps leaves them its core, and gets it back when it wakes.

    What it cannot see: that threads waited for a core that others of the same process had; what it
    would get if it asked for more.
    """
    left, waited_pct = share_of_cores(summary), summary.sensors.get(CORE_WAIT)
    ran_pct = summary.sensors.get("host/process_cpu_pct", 0.0)
    if waited_pct is None or not ran_pct:
        return left
    return max(left, ran_pct / (ran_pct + waited_pct))
