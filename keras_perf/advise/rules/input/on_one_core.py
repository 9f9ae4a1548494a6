"""One core: tf.data has one thread for it, and what waits needs a pool to wait more than once."""

from __future__ import annotations

from keras_perf.advise.situation import Situation
from keras_perf.advise.step.step_model import MOSTLY_WAITING
from keras_perf.analyse.cpu_share import share_when_asked

CALLS = 16
"""So many wait at a time in such a pool."""

PROCESSES = 4
"""The same of processes, each of which takes memory and is started anew in each epoch."""

OF_USE = 0.6
"""Of them as many are expected to shorten the waiting, and two thirds of that more or less."""


def has_to_wait(situation: Situation) -> bool:
    """There is one core, and the process computes for less than half of what it could on it.

    It could while no callback has the step, nor a GPU. Half of it, then, the input waits.
    """
    model = situation.model
    elsewhere_ms = model.rest.get("callbacks", 0.0) + (model.inside_ms if model.on_gpu else 0.0)
    could_ms = share_when_asked(situation.summary) * (model.step_ms - elsewhere_ms)
    return model.cores == 1 and 0 < model.cpu_ms < (1 - MOSTLY_WAITING) * could_ms


def of_use(number: int, optimism: float) -> float:
    """How many of so many calls or processes shorten the waiting."""
    return max(1.0, number * (OF_USE + (1 - OF_USE) * optimism))


def own_pool(threads: int) -> str:
    """Code that gives a pipeline so many threads."""
    return (
        "options = tf.data.Options()\n"
        f"options.threading.private_threadpool_size = {threads}\n"
        "dataset = dataset.with_options(options)"
    )
