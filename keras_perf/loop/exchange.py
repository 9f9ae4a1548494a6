"""How long the workers' exchange of gradients takes, and who comes to it late."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from keras_perf.loop.distribution import Distribution
from keras_perf.records.run.times.exchange import ExchangeTotals


class Exchange:
    """Times each step's reduction inside the graph, on this worker's own clock.

    Each worker tells the others, within the reduction of the gradients itself, for how long it
    was busy since the last one: who was busy longest is who the others waited for. Only
    durations travel; no two clocks are compared. A step before which any of them did something
    else, as a chief that saves, is counted apart by all: there the others waited for that.

    Arguments:
        distribution: of several workers.
        bytes_per_step: of the gradients on the wire.

    What it cannot see: a GPU's time. The graph's clock runs on the CPU and would measure when
    the GPU's work was handed over, not when it was done; there nothing is measured, and a
    trace shows the collectives. The same where a worker has several devices, or does something
    else before each step.
    """

    def __init__(self, distribution: Distribution, bytes_per_step: int) -> None:
        self._rank, self._workers = distribution.rank, distribution.workers
        self._bytes = bytes_per_step
        one_each = distribution.replicas == self._workers > 1
        self.measures = one_each and not tf.config.list_physical_devices("GPU")
        with tf.device("CPU:0"):
            self._since = tf.Variable(0.0, dtype=tf.float64, trainable=False)
            self._paused = tf.Variable(1.0, dtype=tf.float32, trainable=False)
            self._own = tf.Variable(0.0, dtype=tf.float64, trainable=False)
            self._busy = tf.Variable(tf.zeros([self._workers], tf.float64), trainable=False)
            self._slowest = tf.Variable(0.0, dtype=tf.float64, trainable=False)
            self._steps = tf.Variable(0, dtype=tf.int64, trainable=False)
            self._interrupted = tf.Variable(0, dtype=tf.int64, trainable=False)
            self._interrupted_s = tf.Variable(0.0, dtype=tf.float64, trainable=False)

    def begin(self) -> None:
        """In the graph, before the first step of a call."""
        if self.measures:
            self._paused.assign(tf.cast(self._since <= 0, tf.float32))
            self._since.assign(tf.where(self._since > 0, self._since, tf.timestamp()))

    def hand_over(self, gradients: Sequence[Any]) -> tuple[Any, Any]:
        """In the graph, when the gradients are there: (now, what to sum with them).

        That is for how long each worker was busy, and last how many of them have paused.
        """
        with tf.control_dependencies(gradients):
            now = tf.timestamp()
        busy = tf.cast(now - self._since, tf.float32)
        return now, tf.concat([busy * tf.one_hot(self._rank, self._workers), [self._paused]], 0)

    def received(self, since: Any, told: Any, reduced: Sequence[Any]) -> None:
        """In the graph, when the sums are there: `told`, of what was handed over."""
        with tf.control_dependencies(reduced):
            now = tf.timestamp()
        counts = tf.cast(told[-1] <= 0, tf.float64)
        busy = tf.cast(told[:-1], tf.float64) * counts
        self._own.assign_add((now - since) * counts)
        self._interrupted_s.assign_add((now - since) * (1 - counts))
        self._busy.assign_add(busy)
        self._slowest.assign_add(tf.reduce_max(busy))
        self._steps.assign_add(tf.cast(counts, tf.int64))
        self._interrupted.assign_add(tf.cast(1 - counts, tf.int64))
        self._since.assign(now)
        self._paused.assign(0.0)

    def pause(self) -> None:
        """What follows is no training: the next step's time begins with its call."""
        self._since.assign(0.0)

    def totals(self) -> ExchangeTotals | None:
        """Since the beginning; None where it is not measured."""
        if not self.measures:
            return None
        return ExchangeTotals(
            steps=int(self._steps),
            own_s=float(self._own),
            busy_s=tuple(float(each) for each in self._busy.numpy()),
            slowest_s=float(self._slowest),
            rank=self._rank,
            bytes_per_step=self._bytes,
            interrupted=int(self._interrupted),
            interrupted_s=float(self._interrupted_s),
        )
