"""Trainings on a PyDataset whose workers are threads or processes: jobs of `Nursery`.

Keras forks the processes, and a Python in which another test has started JAX is not to be forked.
"""

from __future__ import annotations

import time

import keras
import numpy as np
import programs
from keras.src.trainers.data_adapters.py_dataset_adapter import PyDatasetEnqueuer

import keras_perf as kp
from keras_perf.observation.of_fit.calling_fit import asked_of_fit


class SlowBatches(keras.utils.PyDataset):
    """Batches that take some time to get, by waiting."""

    def __init__(self, ms=40.0, **workers):
        super().__init__(**workers)
        self.ms = ms

    def __len__(self):
        return 60

    def __getitem__(self, index):
        time.sleep(self.ms / 1e3)
        return np.full((8, 8), index, "float32"), np.ones((8, 1), "float32")


class ComputedBatches(SlowBatches):
    """Each batch takes 20 ms of CPU time, however fast the machine is."""

    def __len__(self):
        return 120

    def __getitem__(self, index):
        begin = time.thread_time()
        while time.thread_time() < begin + 0.02:
            sum(range(500))
        return np.ones((8, 8), "float32"), np.ones((8, 1), "float32")


class Cycles(keras.callbacks.Callback):
    """When each batch begins, in milliseconds."""

    def on_train_begin(self, logs=None):
        self.begun = []

    def on_train_batch_begin(self, batch, logs=None):
        self.begun.append(1e3 * time.perf_counter())


class Enqueuers(keras.callbacks.Callback):
    """What hands over the batches of the `fit` that calls it."""

    def on_train_begin(self, logs=None):
        self.found = asked_of_fit(None).enqueuer
        self.during = vars(self.found).get("get")


def observed(log_dir, data, model=None, others=()):
    callbacks = kp.perf_callbacks(log_dir, profiler=False, steps_per_execution=False)
    network = model or programs.model()
    network.fit(data, verbose=0, shuffle=False, callbacks=[*callbacks, *others])
    return kp.diagnose(log_dir)


def waited(rank, folder, log_dir, processes):
    """Milliseconds of a cycle, by a clock of the job's own."""
    step_ms, cycles = max(programs.usual_step_ms(), programs.paused_step_ms() / 3), Cycles()
    # Each of two workers takes thirty steps' time for a batch, so that one comes every fifteen.
    data = SlowBatches(30 * step_ms, workers=2, use_multiprocessing=processes)
    observed(log_dir, data, others=[cycles])
    begun = cycles.begun[20:]
    return {"cycle_ms": (begun[-1] - begun[0]) / (len(begun) - 1)}


def trained_as_without(rank, folder, log_dir, processes):
    """Judges that the weights are the same, and that of the clock nothing is left."""
    weights = []
    for callbacks in [], kp.perf_callbacks(log_dir, profiler=False):
        network, enqueuers = programs.model(dropout=True), Enqueuers()
        data = SlowBatches(0.0, workers=2, use_multiprocessing=processes)
        network.fit(data, epochs=2, verbose=0, shuffle=False, callbacks=[*callbacks, enqueuers])
        assert isinstance(enqueuers.found, PyDatasetEnqueuer)
        assert (enqueuers.during is not None) == bool(callbacks)
        assert "get" not in vars(enqueuers.found)
        weights.append(network.get_weights())
    for without, observed_too in zip(*weights, strict=True):
        np.testing.assert_array_equal(without, observed_too)


def computed(rank, folder, log_dir, processes):
    """Trains where the workers compute."""
    programs.model().fit(
        ComputedBatches(workers=2, use_multiprocessing=processes),
        epochs=2,
        verbose=0,
        shuffle=False,
        callbacks=kp.perf_callbacks(log_dir, profiler=False, steps_per_execution=False),
    )
