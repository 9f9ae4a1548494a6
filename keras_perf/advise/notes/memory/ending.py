"""How a training ended, where it did not end well."""

from __future__ import annotations

import math
import socket
from collections.abc import Callable, Iterator
from datetime import datetime, timezone

import pandas as pd
import psutil

from keras_perf.advise.notes.memory.out_of_memory import out_of_memory
from keras_perf.analyse.training import Training
from keras_perf.read.fits import Fit
from keras_perf.records.metrics.host_metrics import PROCESS_MEMORY
from keras_perf.records.run.ending import Ending, How, Lack

NEARLY_FULL = 0.9
"""Share of the machine's memory in use from which its kernel may kill for more."""

REMEDIES = {
    Lack.DISK: (
        "a disk is full",
        "Free space on it (df -h), or write there less: what cache(filename), checkpoints and log "
        "directories take can lie on another disk.",
    ),
    Lack.QUOTA: (
        "this user may write no more to that disk (its quota is used up)",
        "Delete what is no longer needed, or write cache(filename), checkpoints and log "
        "directories elsewhere.",
    ),
    Lack.FILES: (
        "too many files are open",
        "Raise the limit before training (ulimit -n 65536), or open fewer at once: a smaller "
        "cycle_length of interleave, fewer workers, files that your code closes.",
    ),
}
"""What is said of what was used up, and what helps."""

STARTED_AFTER_S = 5.0
"""A process that began so much later than the fit has only got its number."""


def runs_here(fit: Fit) -> bool | None:
    """Whether the process that wrote it still runs; None where this machine cannot know."""
    who = fit.identity
    if not who.process or who.host != socket.gethostname():
        return None
    try:
        began = psutil.Process(who.process).create_time()
    except psutil.NoSuchProcess:
        return False
    except psutil.Error:
        # Another user's, of which this system tells nothing.
        return None
    return not who.started or began < who.started + STARTED_AFTER_S


def ending_notes(
    training: Training, runs: Callable[[Fit], bool | None] = runs_here
) -> Iterator[str]:
    """A sentence or some: what ended it, or that nothing tells.

    Arguments:
        training: to be told of.
        runs: whether a fit's process still runs, if that is known.

    What it cannot see: who killed a process.
    """
    fit, ending = training.fit, training.fit.facts.ending
    if ending is None:
        told_nothing = not fit.steps and not fit.tried and not fit.facts.versions
        if told_nothing and runs(fit) is False:
            # The facts are written with the first interval, and at the end in any case.
            yield _killed(fit)
    elif ending.how is How.RUNNING:
        running = runs(fit)
        if running is None:
            yield (
                f"No end of this training is recorded{_last_logged(fit.scalars)}: it still runs "
                f"on {fit.identity.host or 'another machine'}, or was killed there."
            )
        elif not running:
            yield _killed(fit)
    elif ending.how is How.RAISED and ending.out_of_memory:
        yield from out_of_memory(ending, fit)
    elif ending.how is How.RAISED and ending.lack is not None:
        yield _lacked(fit, ending, ending.lack)
    elif ending.how is How.RAISED:
        error = ending.error or (
            "an exception outside of steps and callbacks, such as in validation; nothing more is "
            "known about it"
        )
        said = f": {ending.message}" if ending.message else ""
        yield f"Training was ended{_at(fit)} by {error}{said}".rstrip(".") + "."


def _lacked(fit: Fit, ending: Ending, lack: Lack) -> str:
    why, remedy = REMEDIES[lack]
    return (
        f"Training was ended{_at(fit)} because {why} ({ending.error}: {ending.message}). {remedy}"
    )


def _at(fit: Fit) -> str:
    last = fit.facts.length.last_step
    return "" if last is None else f" after step {last:,}"


def _last_logged(scalars: pd.DataFrame) -> str:
    if not len(scalars):
        return ""
    last = datetime.fromtimestamp(float(scalars["wall_time"].max()), tz=timezone.utc)
    return f" (last logged {last:%Y-%m-%d %H:%M:%S} UTC)"


def _killed(fit: Fit) -> str:
    machine, memory = fit.facts.machine, ""
    for whose, total, tag in (
        ("container", machine.container_memory_mib, PROCESS_MEMORY),
        ("machine", machine.memory_total_mib, "host/memory_used_mib"),
    ):
        used = _last(fit.scalars, tag)
        if not memory and total and used / total >= NEARLY_FULL:
            memory = (
                f" When last sampled, {used:,.0f} of the {whose}'s {total:,.0f} MiB were in use: a "
                "kernel that runs out of memory kills the largest process "
                "(dmesg | grep -i 'killed process')."
            )
    return (
        f"The process that trained, {fit.identity.process} on this machine, is gone, and no end of "
        f"this training is recorded{_last_logged(fit.scalars)}: it was killed, or crashed.{memory}"
    )


def _last(scalars: pd.DataFrame, tag: str) -> float:
    values = scalars["value"][scalars["tag"] == tag]
    return float(values.iloc[-1]) if len(values) else math.nan
