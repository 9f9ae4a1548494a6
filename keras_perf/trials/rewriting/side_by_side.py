"""How long batches of two pipelines take, measured in turn."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import tensorflow as tf

SLICE_S = 0.15
"""Seconds of one pipeline before it is the other's turn; as long it runs before, not counted, for
what it has prepared meanwhile is gone by then."""

FEW_CALLS = 16
"""Batches are taken in so many calls a slice, or fewer: a call from Python costs 0.1 ms."""

LEAST_SLICES = 3
DRAWS = 400
BOUNDS = (10, 90)
"""Percentiles of the interval of a ratio: 80 % of the draws lie inside."""

Clock = Callable[[], float]


class EndlessPipeline:
    """Batches of a dataset, over and over.

    Arguments:
        dataset: to take them from.
        clock: seconds.
    """

    def __init__(self, dataset: tf.data.Dataset, clock: Clock = time.perf_counter) -> None:
        self._iterator = iter(dataset.repeat())
        self._clock, self._at_once = clock, 1
        # Traced here: TensorFlow would warn of retracing once there were several pipelines.
        take = tf.function(lambda iterator, count: _taken(iterator, count))
        self._take = take.get_concrete_function(self._iterator, tf.TensorSpec([], tf.int32))

    def take(self, batches: int) -> float:
        """Seconds for so many batches."""
        begin = self._clock()
        self._take(self._iterator, tf.constant(batches))
        return self._clock() - begin

    def batch_ms(self, step_s: float = 0.0) -> float:
        """A batch, as fast as they can be made: those that lie in buffers are taken before.

        Arguments:
            step_s: seconds in which nothing is taken, as while a step trains; they are in the
                figure.
        """
        self._take_for(SLICE_S, step_s)
        batches, seconds = self._take_for(SLICE_S, step_s)
        return 1e3 * seconds / batches

    def _take_for(self, seconds: float, step_s: float) -> tuple[int, float]:
        """So many batches, in so many seconds; at least one."""
        batches, spent = 0, 0.0
        while spent < seconds:
            if step_s:
                self._at_once = 1
                begin = self._clock()
                time.sleep(step_s)
                spent += self._clock() - begin
            taken_s = self.take(self._at_once)
            batches += self._at_once
            spent += taken_s
            if taken_s < seconds / FEW_CALLS:
                self._at_once *= 2
            elif taken_s > seconds and self._at_once > 1:
                self._at_once //= 2
        return batches, spent


def _taken(iterator: tf.data.Iterator, count: tf.Tensor) -> None:
    for _ in tf.range(count):
        iterator.get_next()


@dataclass(frozen=True)
class Pair:
    """What two pipelines took.

    Attributes:
        before_ms, after_ms: a batch, the median of the slices.
        gain: how many times as fast the second one is, with `low` and `high`, an 80 % interval.
    """

    before_ms: float
    after_ms: float
    gain: float
    low: float
    high: float


def side_by_side(
    before: EndlessPipeline, after: EndlessPipeline, *, seconds: float, step_s: float = 0.0
) -> Pair:
    """Takes batches of one and of the other in turn, so that a drifting machine drifts for both.

    Arguments:
        before: the pipeline as it is.
        after: the changed one.
        seconds: for both together, more where a batch takes long.
        step_s: as in `EndlessPipeline.batch_ms`.
    """
    times: tuple[list[float], list[float]] = ([], [])
    begin = time.perf_counter()
    while len(times[0]) < LEAST_SLICES or time.perf_counter() - begin < seconds:
        for pipeline, taken in zip((before, after), times, strict=True):
            taken.append(pipeline.batch_ms(step_s))
    return _pair(np.asarray(times[0]), np.asarray(times[1]))


def _pair(before: np.ndarray, after: np.ndarray) -> Pair:
    random = np.random.default_rng(0)
    drawn = random.integers(0, len(before), (DRAWS, len(before)))
    ratios = np.median(before[drawn], axis=1) / np.median(after[drawn], axis=1)
    low, high = np.percentile(ratios, BOUNDS)
    first, second = float(np.median(before)), float(np.median(after))
    return Pair(first, second, first / second, float(low), float(high))
