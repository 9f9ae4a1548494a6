"""A PyDataset with workers: tf.data tells nothing, but it is timed when they hand a batch over."""

from __future__ import annotations

import keras
import numpy as np
import programs
import pytest
import tensorflow as tf
from with_workers import Enqueuers, SlowBatches, observed

import keras_perf as kp
from keras_perf.observation.of_fit.calling_fit import asked_of_fit


@pytest.mark.timing
@pytest.mark.parametrize("in_processes", [False, True], ids=["threads", "processes"])
def test_the_wait_for_a_batch_of_workers_is_timed(in_processes, processes, tmp_path):
    job = processes.run(1, "with_workers:waited", log_dir=str(tmp_path), processes=in_processes)
    found = kp.diagnose(tmp_path)
    assert found.verdict == "input-bound"
    assert sum(found.summary.parts.values()) == pytest.approx(found.summary.step_ms)
    # What is left of a cycle that the job timed is the step's own.
    whole_ms = job.result()["cycle_ms"]
    assert 0.5 * whole_ms < found.summary.parts["input_wait"] < whole_ms
    assert not any("could not be measured" in note for note in found.notes if "wait" in note)


@pytest.mark.timing
def test_what_a_step_that_finds_its_batch_waits_is_next_to_nothing(tmp_path):
    """The queue is full before the first step, and workers are quicker than what steps do."""
    slow = programs.Outlasts(3)
    found = observed(tmp_path, SlowBatches(0.0, workers=2), others=[slow])
    assert found.summary.parts["input_wait"] < 0.5 * found.summary.parts["callbacks"]
    assert found.verdict == "callback-bound"


def test_where_an_execution_computes_while_it_fetches_it_is_not_known(tmp_path):
    model = programs.model()
    model.steps_per_execution = 2
    found = observed(tmp_path, SlowBatches(workers=2), model)
    assert "input_wait" not in found.summary.parts
    # Waiting shows in CPU time that nobody used, where no other program used it.
    assert found.verdict in ("input-bound", "inconclusive")
    assert "workers are timed with steps_per_execution=1 only" in found.explanation
    said = " ".join(found.notes)
    assert "Input wait could not be measured and is inside compute." in said
    assert "the time to make a batch and the queue's fill cannot be seen" in said
    assert (
        "the gain from workers, or from a tf.data pipeline in its place, cannot be predicted"
        in said
    )
    assert "in compute" in str(found)


@pytest.mark.parametrize("in_processes", [False, True], ids=["threads", "processes"])
def test_the_same_batches_train_to_the_same_weights_and_nothing_stays(
    in_processes, processes, tmp_path
):
    """Keras's private queue is where it is looked for: else the job fails."""
    processes.run(
        1, "with_workers:trained_as_without", log_dir=str(tmp_path), processes=in_processes
    )


def test_without_workers_there_is_none():
    found = []
    asks = keras.callbacks.LambdaCallback(
        on_train_begin=lambda logs: found.append(asked_of_fit(None).enqueuer)
    )
    programs.model().fit(SlowBatches(0.0), verbose=0, callbacks=[asks])
    assert found == [None]


class FailsInTheMiddle(SlowBatches):
    def __getitem__(self, index):
        if index == 30:
            raise ValueError("no such batch")
        return super().__getitem__(index)


def test_an_error_of_a_worker_reaches_whoever_trains_and_nothing_stays(tmp_path):
    enqueuers = Enqueuers()
    with pytest.raises(tf.errors.InvalidArgumentError, match="no such batch"):
        observed(tmp_path, FailsInTheMiddle(0.0, workers=2), others=[enqueuers])
    assert enqueuers.during is not None
    assert "get" not in vars(enqueuers.found)


class Endless(SlowBatches):
    """One iterator goes on over all epochs."""

    num_batches = None


def test_batches_without_an_end_are_timed_too(tmp_path):
    weights = []
    for callbacks in [], kp.perf_callbacks(tmp_path, profiler=False):
        network, data = programs.model(), Endless(0.0, workers=2)
        network.fit(
            data, steps_per_epoch=30, epochs=2, verbose=0, shuffle=False, callbacks=callbacks
        )
        weights.append(network.get_weights())
    for without, observed_too in zip(*weights, strict=True):
        np.testing.assert_array_equal(without, observed_too)
    assert "input_wait" in kp.diagnose(tmp_path).summary.parts


def test_of_the_workers_of_training_and_those_of_validation_only_the_first_are_timed(tmp_path):
    enqueuers, validation = Enqueuers(), SlowBatches(0.0, workers=2)
    network = programs.model()
    callbacks = [*kp.perf_callbacks(tmp_path, profiler=False), enqueuers]
    network.fit(
        SlowBatches(0.0, workers=2),
        validation_data=validation,
        epochs=2,
        verbose=0,
        shuffle=False,
        callbacks=callbacks,
    )
    assert enqueuers.found.py_dataset is not validation
    found = kp.diagnose(tmp_path).summary
    assert "input_wait" in found.parts
    assert found.steps > 60


@pytest.mark.timing
@pytest.mark.parametrize("workers", ["python_threads", "child_processes"])
def test_what_workers_compute_is_sampled(workers, processes, tmp_path):
    in_processes = workers == "child_processes"
    processes.run(1, "with_workers:computed", log_dir=str(tmp_path), processes=in_processes)
    found = kp.diagnose(tmp_path).summary
    sampled_ms = found.sensors[f"host/{workers}_cpu_pct"] / 100 * found.step_ms
    assert 20 / 2 < sampled_ms < 1.5 * 20
