"""A PyDataset with workers: tf.data tells nothing, and the diagnosis says so."""

from __future__ import annotations

import time

import keras
import numpy as np
import programs
import pytest

import keras_perf as kp


class SlowBatches(keras.utils.PyDataset):
    """Batches that take 40 ms to get, by waiting."""

    def __len__(self):
        return 60

    def __getitem__(self, index):
        time.sleep(0.04)
        return np.ones((8, 8), "float32"), np.ones((8, 1), "float32")


def test_what_is_not_seen_is_said(tmp_path):
    programs.model().fit(
        SlowBatches(workers=2),
        verbose=0,
        shuffle=False,
        callbacks=kp.perf_callbacks(tmp_path, profiler=False, steps_per_execution=False),
    )
    found = kp.diagnose(tmp_path)
    assert "input_wait" not in found.summary.parts
    # Waiting shows in CPU time that nobody used, where no other program used it.
    assert found.verdict in ("input-bound", "inconclusive")
    assert "with PyDataset workers, Keras turns off what measures it" in found.explanation
    said = " ".join(found.notes)
    assert "Input wait could not be measured and is inside compute." in said
    assert "the time to make a batch and the queue's fill cannot be seen" in said
    assert (
        "the gain from workers, or from a tf.data pipeline in its place, cannot be predicted"
        in said
    )
    assert "in compute" in str(found)


class ComputedBatches(SlowBatches):
    """Each batch takes 20 ms of CPU time, however fast the machine is."""

    def __len__(self):
        return 120

    def __getitem__(self, index):
        begin = time.thread_time()
        while time.thread_time() < begin + 0.02:
            sum(range(500))
        return np.ones((8, 8), "float32"), np.ones((8, 1), "float32")


@pytest.mark.timing
@pytest.mark.parametrize("workers", ["python_threads", "child_processes"])
def test_what_workers_compute_is_sampled(tmp_path, workers):
    programs.model().fit(
        ComputedBatches(workers=2, use_multiprocessing=workers == "child_processes"),
        epochs=2,
        verbose=0,
        shuffle=False,
        callbacks=kp.perf_callbacks(tmp_path, profiler=False, steps_per_execution=False),
    )
    found = kp.diagnose(tmp_path).summary
    sampled_ms = found.sensors[f"host/{workers}_cpu_pct"] / 100 * found.step_ms
    assert 20 / 2 < sampled_ms < 1.5 * 20
