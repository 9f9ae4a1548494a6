"""How many batches an iterator has delivered, and their bytes."""

import pytest
import tensorflow as tf
from programs import needs_gap_times

from keras_perf.observation.facts.input.pipeline_model import PipelineModel

FLOAT_BYTES = 4


def rows_of(length, batches=6):
    """Batches of eight rows, whose length the iterator does not tell."""
    return tf.data.Dataset.range(batches).map(lambda place: tf.ones((8, length(place))))


def delivered(dataset, batches):
    iterator = iter(dataset)
    for _ in range(batches):
        next(iterator)
    return PipelineModel(iterator).delivered()


@needs_gap_times
@pytest.mark.parametrize("prefetched", [0, 3])
def test_what_was_fetched_is_counted_and_nothing_that_waits_in_a_buffer(prefetched):
    data = rows_of(lambda place: 5).prefetch(prefetched) if prefetched else rows_of(lambda _: 5)
    assert delivered(data, 4) == (4, 4 * 8 * 5 * FLOAT_BYTES)


@needs_gap_times
def test_longer_batches_have_more_bytes():
    assert delivered(rows_of(lambda place: 5 + place), 3) == (3, 8 * (5 + 6 + 7) * FLOAT_BYTES)


@pytest.mark.parametrize(
    "dataset",
    [
        # Eight rows of two, or four of four.
        tf.data.Dataset.range(6).map(lambda p: tf.ones((8 + p, 16 - p))),
        # One part longer by what the other one is shorter.
        tf.data.Dataset.range(6).map(lambda p: (tf.ones((8, 5 + p)), tf.ones((8, 5 + 5 - p)))),
        tf.data.Dataset.range(6).map(lambda p: tf.RaggedTensor.from_row_lengths([1.0], [1])),
        tf.data.Dataset.range(6).map(lambda p: tf.sparse.from_dense([[1.0]])),
    ],
)
def test_where_bytes_do_not_tell_the_shape_nothing_is_counted(dataset):
    assert delivered(dataset, 2) is None


def test_without_a_model_of_tf_data_nothing_is_counted():
    options = tf.data.Options()
    options.autotune.enabled = False
    assert delivered(rows_of(lambda place: 5).with_options(options), 2) is None
