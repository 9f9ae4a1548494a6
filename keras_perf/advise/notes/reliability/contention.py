"""Who else was at work: what to know of figures that others made longer."""

from __future__ import annotations

import math
from collections.abc import Iterator

from keras_perf.advise.notes.diagnosed import Diagnosed
from keras_perf.advise.situation import SPARE_PCT, Situation
from keras_perf.advise.step.interpreter import OF_OTHERS
from keras_perf.analyse.cpu_share import crowded, is_throttled, shared_by_workers, used_by_others
from keras_perf.analyse.summary import Summary
from keras_perf.records.figures import in_ms, in_percent
from keras_perf.records.metrics.host_metrics import THROTTLED
from keras_perf.records.run.library import library_of

CLEARLY_HELD_MS = 1.0
"""A thread that waits for less may have waited for a core."""


def load_of_others(situation: Situation) -> str:
    """What to know of every figure of a run where other processes used the CPUs; "" elsewhere."""
    if not crowded(situation.summary):
        return ""
    summary = situation.summary
    used = in_percent(used_by_others(summary))
    known = "host/child_processes_cpu_pct" in summary.sensors
    others = "Other processes" if known else "Other processes (including this training's children)"
    if shared_by_workers(summary):
        others = "The other workers on this machine"
    return (
        f"{others} used {used} of the CPUs, so CPU work took longer, and predicted gains have "
        "wider bounds."
    )


def contention_notes(run: Diagnosed) -> Iterator[str]:
    """A sentence on a quota that is used up, or on other threads of this process.

    On these where neither a quota nor other processes explain waiting.
    """
    if is_throttled(run.summary):
        yield _of_quota(run.summary)
        return
    if load_of_others(run.situation):
        return
    summary = run.summary
    waits_ms = summary.sensors.get("host/interpreter_wait_ms", 0.0)
    host_ms = summary.parts.get("callbacks", 0.0) + summary.parts.get("other_host", 0.0)
    others_work = host_ms > OF_OTHERS * summary.step_ms or summary.facts.settings.run_eagerly
    python = not summary.facts.input.chains or run.situation.runs_python
    idle = summary.sensors.get("host/cpu_pct", 100.0) < SPARE_PCT
    if waits_ms > CLEARLY_HELD_MS and idle and not others_work and not python:
        yield (
            f"Threads wait {in_ms(waits_ms)} for Python's interpreter: another thread of this "
            "program, neither a callback nor the input pipeline, runs Python code without a "
            "pause. Each call of the train function waits as long."
        )


def _of_quota(summary: Summary) -> str:
    machine = summary.facts.machine
    share, cpus = in_percent(summary.sensors[THROTTLED] / 100), machine.container_cpus
    of_cpus = "" if cpus is None else f" of {cpus:g} CPU{'' if cpus == 1 else 's'}"
    fewer = "fewer threads at work use it up later"
    if cpus is not None and library_of(summary.facts).has_thread_settings:
        threads = max(1, math.floor(cpus))
        fewer = f"tf.config.threading.set_intra_op_parallelism_threads({threads}) uses it up later"
    return (
        f"The container's quota{of_cpus} was used up in {share} of its periods, and threads stood "
        "still until the next one: that may be in any part of a step. A larger quota ends "
        f"it, and {fewer}."
    )
