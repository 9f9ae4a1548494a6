"""Scalars of a whole training, such as losses: written and printed by the chief alone."""

from __future__ import annotations

import os
from collections.abc import Mapping

import keras
import tensorflow as tf

from keras_perf.loop.distribution import Distribution


def results_of(metrics: Mapping[str, keras.Metric]) -> dict[str, float]:
    """What they say, of all workers together, who all must call this; then they begin anew."""
    values = {}
    for name, metric in metrics.items():
        values[name] = float(metric.result())
        metric.reset_state()
    return values


class ChiefLog:
    """Writes to the runs `train`, `validation`, … beside `perf`; other workers write nothing.

    Arguments:
        log_dir: the directory that TensorBoard is started on.
        distribution: where the training runs.
    """

    def __init__(self, log_dir: str, distribution: Distribution) -> None:
        self._log_dir, self._is_chief = log_dir, distribution.is_chief
        self._writers: dict[str, tf.summary.SummaryWriter] = {}

    def write(self, run: str, step: int, values: Mapping[str, float]) -> None:
        """Logs the values at an optimizer step, and prints them."""
        if not self._is_chief:
            return
        if run not in self._writers:
            self._writers[run] = tf.summary.create_file_writer(os.path.join(self._log_dir, run))
        with self._writers[run].as_default(step=step):
            for tag, value in values.items():
                tf.summary.scalar(tag, value)
        self._writers[run].flush()
        print(f"step {step} {run}: " + ", ".join(f"{t} {v:.4f}" for t, v in values.items()))
