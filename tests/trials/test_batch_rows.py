"""A larger batch is tried in this process only where memory is surely enough."""

import numpy as np
import pytest
import tensorflow as tf
from batch_models import dataset, model

from keras_perf.records.reasons.why_not_tried import WhyNotTried
from keras_perf.trials.rewriting.changes import NotDone
from keras_perf.trials.rewriting.own_copy import require_graph
from keras_perf.trials.training.batches import batch_rows
from keras_perf.trials.training.batches.batch_rows import peak_mib, rows_of, why_no_room
from keras_perf.trials.training.changes import LARGER, of_training
from keras_perf.trials.training.setup import Setup


@pytest.fixture
def memory(monkeypatch):
    """Sets what this process has held at most, and what is free, in MiB."""

    def set_to(peak, free):
        monkeypatch.setattr(batch_rows, "peak_mib", lambda: peak)
        monkeypatch.setattr(batch_rows, "memory_available_mib", lambda: free)

    return set_to


def larger_batch(data):
    setup = Setup(model(), require_graph(data), jit_compile=False, run_eagerly=False)
    [found] = (each for each in of_training(setup, 1.0) if each.id == "larger-batch")
    return found


@pytest.mark.parametrize(
    ("made", "rows"),
    [
        (lambda data: data, 16),
        (lambda data: data.map(lambda x, y: (x, y)), 16),
        (lambda data: data.rebatch(4), None),
        (lambda data: data.unbatch(), None),
        (lambda data: data.unbatch().batch(8), 8),
    ],
)
def test_rows_are_those_of_the_batches_that_are_trained_on(made, rows):
    numbers = tf.data.Dataset.from_tensor_slices(([0.0] * 64, [0.0] * 64)).batch(16)
    assert rows_of(require_graph(made(numbers))) == rows


@pytest.mark.parametrize(("free", "fits"), [(601, True), (600, False), (500, False)])
def test_three_times_the_peak_must_be_less_than_half_of_what_is_free(memory, free, fits):
    memory(100, free)
    assert (why_no_room(64, 4) == "") is fits


def test_on_a_gpu_its_allocator_raises_in_time(memory, monkeypatch):
    memory(100, 10)
    monkeypatch.setattr(tf.config, "list_logical_devices", lambda kind: [kind])
    assert why_no_room(64, 4) == ""


def test_where_memory_might_not_be_enough_the_sweep_is_named(memory):
    memory(1024, 5120)
    found = larger_batch(dataset(8))
    assert isinstance(found, NotDone)
    assert found.why.word == WhyNotTried.NO_ROOM_FOR_BATCH.word
    assert found.why.startswith("a batch of 32 might take 3 GiB more, over half of the 5 GiB ")
    assert "sweep_batch_size" in found.why


def test_where_memory_is_enough_it_is_tried(memory):
    memory(1000, 50_000)
    assert larger_batch(dataset(8)).number == LARGER * 8


@pytest.mark.parametrize(("rows", "fits"), [(16, True), (22, False), (64, False)])
def test_of_few_batches_no_larger_ones_are_made(memory, rows, fits):
    """Of 64 examples."""
    memory(1000, 50_000)
    found = larger_batch(dataset(rows))
    assert isinstance(found, NotDone) is not fits
    assert fits or found.why.word == WhyNotTried.FEW_BATCHES.word


def test_a_dataset_that_does_not_tell_its_batch_size_is_told(memory):
    memory(1000, 50_000)
    found = larger_batch(tf.data.Dataset.from_tensors(next(iter(dataset(8)))).repeat(4))
    assert isinstance(found, NotDone)
    assert found.why.word == WhyNotTried.BATCH_SIZE_UNKNOWN.word


def test_what_was_held_and_let_go_of_is_in_the_peak():
    size_mib = int(peak_mib()) + 64
    held = np.ones(size_mib * 2**20, np.uint8)
    del held
    assert peak_mib() >= size_mib
