"""How long batches of two pipelines take, measured in turn."""

from __future__ import annotations

import time
from collections.abc import Callable

import tensorflow as tf

from keras_perf.trials.measuring.in_turn import Pair, in_turn
from keras_perf.trials.measuring.own_iterator import Feed
from keras_perf.trials.measuring.slices import Stretch, unit_ms

SLICE_S = 0.15
"""Seconds of one pipeline before it is the other's turn; as long it runs before, not counted."""

FEW_CALLS = 16
"""Batches are taken in so many calls a slice, or fewer: a call from Python costs 0.1 ms."""

Clock = Callable[[], float]


def slice_s(batch_s: float) -> float:
    """Seconds of a slice of such batches, with what runs before it."""
    return 2 * max(SLICE_S, batch_s)


class EndlessPipeline:
    """Batches of a dataset, over and over.

    Arguments:
        dataset: to take them from.
        clock: seconds.
    """

    def __init__(self, dataset: tf.data.Dataset, clock: Clock = time.perf_counter) -> None:
        self._feed = Feed(dataset)
        self._clock, self._at_once = clock, 1

    def take(self, batches: int) -> float:
        """Seconds for so many batches."""
        begin = self._clock()
        self._feed.take(batches)
        return self._clock() - begin

    def batch_ms(self, step_s: float = 0.0) -> float:
        """A batch, as fast as they can be made.

        Arguments:
            step_s: seconds in which nothing is taken, as while a step trains; they are in the
                figure.
        """
        self._at_once = 1
        with self._feed.held():
            return unit_ms(lambda seconds: self._take_for(seconds, step_s), SLICE_S)

    def _take_for(self, seconds: float, step_s: float) -> Stretch:
        """As many batches as come in so many seconds; at least one."""
        batches, spent, calls, longest_s = 0, 0.0, 0, 0.0
        while spent < seconds:
            if step_s:
                self._at_once = 1
                begin = self._clock()
                time.sleep(step_s)
                spent += self._clock() - begin
            taken_s = self.take(self._at_once)
            batches += self._at_once
            spent, calls, longest_s = spent + taken_s, calls + 1, max(longest_s, taken_s)
            if taken_s < seconds / FEW_CALLS:
                self._at_once *= 2
            elif taken_s > seconds and self._at_once > 1:
                self._at_once //= 2
        return Stretch(batches, spent, calls, longest_s)


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
    return in_turn(lambda: before.batch_ms(step_s), lambda: after.batch_ms(step_s), seconds=seconds)
