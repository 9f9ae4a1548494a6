"""What a dataset holds in memory is known before it is copied."""

import numpy as np
import pytest
import tensorflow as tf

from keras_perf.trials.rewriting import own_copy, pipeline_graph
from keras_perf.trials.rewriting.held_arrays import held_mib

HELD_MIB = 20
ARRAY = np.zeros((HELD_MIB, 2**18), np.float32)


def rows():
    return tf.data.Dataset.from_tensor_slices(ARRAY)


def captured():
    array = tf.constant(ARRAY)
    return tf.data.Dataset.range(HELD_MIB).map(lambda i: array[i])


@pytest.fixture
def unwritten(monkeypatch):
    """Fails where a dataset is written as a graph."""

    def is_written(dataset):
        raise AssertionError("copied")

    monkeypatch.setattr(pipeline_graph, "written_graph", is_written)


@pytest.mark.parametrize(
    ("dataset", "expected"),
    [
        (rows(), HELD_MIB),
        (tf.data.Dataset.from_tensors((ARRAY, ARRAY[:1])), HELD_MIB + 1),
        (rows().shuffle(4).map(lambda x: x + 1).batch(2).prefetch(1), HELD_MIB),
        (tf.data.Dataset.zip((twice := rows(), twice.map(lambda x: -x))).repeat(), HELD_MIB),
        (captured().batch(2), HELD_MIB),
        (tf.data.Dataset.range(4).interleave(lambda _: tf.data.Dataset.range(4)), 0),
    ],
    ids=["slices", "one element", "behind stages", "read twice", "captured", "none"],
)
def test_the_arrays_of_a_dataset_are_counted_once(dataset, expected):
    """TensorFlow's attributes are no public ones: this fails when they change."""
    assert held_mib(dataset) == pytest.approx(expected, abs=1e-3)


def test_what_cannot_be_looked_into_is_not_known():
    assert held_mib(object()) == 0.0


def test_what_is_too_large_for_a_graph_is_not_copied_into_one(monkeypatch, unwritten):
    monkeypatch.setattr(pipeline_graph, "MOST_MIB", HELD_MIB - 1)
    with pytest.raises(ValueError, match="it holds 20 MiB in memory, and a graph at most"):
        own_copy.require_graph(rows())
    dataset = rows()
    assert own_copy.own_copy(dataset) is dataset


def test_what_is_read_many_times_is_looked_at_once():
    doubled = rows()
    for _ in range(60):
        doubled = doubled.concatenate(doubled)
    assert held_mib(doubled) == pytest.approx(HELD_MIB, abs=1e-3)


def test_nor_is_what_there_is_no_memory_for(monkeypatch, unwritten):
    monkeypatch.setattr(own_copy, "memory_available_mib", lambda: 4 * HELD_MIB)
    with pytest.raises(ValueError, match="hold 20 MiB in memory: trials make up to 12 copies"):
        own_copy.require_graph(rows())
    monkeypatch.setattr(own_copy, "memory_available_mib", lambda: 4 * HELD_MIB - 1)
    with pytest.raises(ValueError, match="hold 20 MiB in memory, of which 4 copies are made: 79 "):
        own_copy.own_copy(rows())
