"""Several programs trained by `fit` in turn."""

from __future__ import annotations

import gc
import itertools
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import Any

import keras
from followed_programs.program import Program

from keras_perf.trials.measuring.own_iterator import OwnIterator

ROUNDS = 9
SPAN_S = 0.4
"""Seconds of a timed `fit`, about."""

LEAST_EXECUTIONS, MOST_EXECUTIONS = 20, 2000


class Span(keras.callbacks.Callback):
    """Milliseconds a step, without the first tenth of a `fit`."""

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        """Another `fit`."""
        self.steps, self.begin, self.done = self.params["steps"] or sys.maxsize, 0.0, 0

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        """Begins after the first tenth, ends with the last step."""
        # Keras before 3.8 tells an execution's first batch, and newer ones its last.
        at_once = self.model.steps_per_execution
        done = -(-(batch + 1) // at_once) * at_once
        if not self.done and done >= self.steps / 10:
            self.begin, self.done = time.perf_counter(), done
        elif done >= self.steps:
            self.step_ms = 1e3 * (time.perf_counter() - self.begin) / (done - self.done)


@contextmanager
def collector(rests: bool) -> Iterator[None]:
    """As the advice `tune-gc` has it."""
    usual = gc.get_threshold()
    if rests:
        gc.collect()
        gc.freeze()
        gc.set_threshold(100_000, 50, 100)
    try:
        yield
    finally:
        gc.set_threshold(*usual)
        gc.unfreeze()


class Trained:
    """A program that is trained again and again."""

    def __init__(self, program: Program, dataset: Any) -> None:
        self.program, self.model = program, program.made()
        self.dataset = dataset.repeat()
        own = OwnIterator(self.dataset)
        for _ in itertools.islice(own.iterator, 1 + max(0, int(dataset.cardinality()))):
            pass
        own.close()
        self.works = [work.make(work.every) for work in program.works]

    @cached_property
    def steps(self) -> int:
        """So many take about as long as one `fit` is to be timed."""
        at_once = self.model.steps_per_execution
        self.step_ms(4 * at_once)
        usual_ms = self.step_ms(LEAST_EXECUTIONS * at_once)
        executions = 1e3 * SPAN_S / usual_ms / at_once
        return at_once * int(min(MOST_EXECUTIONS, max(LEAST_EXECUTIONS, executions)))

    def step_ms(self, steps: int) -> float:
        """In one `fit`."""
        span = Span()
        with collector(self.program.tuned_gc):
            self.model.fit(
                self.dataset,
                steps_per_epoch=steps,
                verbose=0,
                shuffle=False,
                callbacks=[*self.works, span],
            )
        return span.step_ms


def in_fit(*programs: Trained, rounds: int | None = None) -> list[list[float]]:
    """Milliseconds of a step in each round, a list a program.

    Arguments:
        programs: trained in turn, so that a drifting machine drifts for all.
        rounds: as many as the benchmark has, unless it is said.
    """
    times: list[list[float]] = [[] for _ in programs]
    for _ in range(ROUNDS if rounds is None else rounds):
        for each, taken in zip(programs, times, strict=True):
            taken.append(each.step_ms(each.steps))
    return times
