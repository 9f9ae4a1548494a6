"""An iterator that ends when it is told to, whatever its pipeline does."""

import faulthandler
import gc
import time

import numpy as np
import pytest
import tensorflow as tf

from keras_perf.trials.measuring.own_iterator import Feed, OwnIterator


def elements(dataset):
    own = OwnIterator(dataset)
    found = list(own.iterator)
    own.close()
    return found


ROWS = tf.data.Dataset.from_tensor_slices(np.arange(12.0).reshape(6, 2))


@pytest.mark.parametrize(
    "dataset",
    [
        ROWS.batch(2),
        ROWS.map(lambda x: {"x": x, "none": None}).batch(2),
        tf.data.Dataset.from_tensor_slices(tf.ragged.constant([[1, 2], [3], []])).batch(2),
        tf.data.Dataset.from_tensor_slices(tf.sparse.eye(4)).batch(2),
        tf.data.Dataset.from_generator(lambda: iter(range(5)), output_signature=tf.TensorSpec(())),
    ],
    ids=["tensors", "none in a dict", "ragged", "sparse", "generator"],
)
def test_it_gives_what_iter_gives(dataset):
    expected = [tf.nest.flatten(each, expand_composites=True) for each in dataset]
    found = [tf.nest.flatten(each, expand_composites=True) for each in elements(dataset)]
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        for tensor, wanted in zip(one, other, strict=True):
            np.testing.assert_array_equal(tensor, wanted)


def test_a_function_traced_for_iter_is_not_traced_again():
    traced = []

    @tf.function
    def take(iterator):
        traced.append(1)
        return iterator.get_next()

    take(iter(ROWS))
    own = OwnIterator(ROWS)
    take(own.iterator)
    assert len(traced) == 1


def test_a_pipeline_that_runs_python_is_ended_while_it_runs():
    def wait(value):
        time.sleep(0.01)
        return value

    waiting = tf.data.Dataset.range(100).map(lambda x: tf.numpy_function(wait, [x], tf.int64))
    faulthandler.dump_traceback_later(120, exit=True)
    for _ in range(20):
        own = OwnIterator(waiting.repeat().prefetch(20))
        next(own.iterator)
        own.close()
        own.close()
    faulthandler.cancel_dump_traceback_later()


def test_forgetting_it_while_a_function_is_traced_leaves_nothing_in_its_graph():
    owns = [OwnIterator(ROWS)]

    @tf.function
    def forgets(x):
        owns.clear()
        gc.collect()
        return x + 1

    graph = forgets.get_concrete_function(tf.TensorSpec(())).graph
    assert "DeleteIterator" not in {node.op for node in graph.as_graph_def().node}


def test_what_lies_ready_is_taken_up_to_the_first_that_does_not():
    def number(value):
        if value == 3:
            time.sleep(0.5)
        return value

    numbers = tf.data.Dataset.range(100)
    made = numbers.map(lambda x: tf.ensure_shape(tf.numpy_function(number, [x], tf.int64), ()))
    feed = Feed(made)
    with feed.held() as iterator:
        feed.take_ready(0.2, 600.0)
        # On a machine that stands still meanwhile it ends earlier.
        assert 0 < next(iterator) <= 4


@pytest.mark.parametrize(("quick_s", "most_s", "taken"), [(0.0, 600.0, 1), (600.0, 0.0, 0)])
def test_no_more_is_taken_than_may_lie_ready(quick_s, most_s, taken):
    feed = Feed(tf.data.Dataset.range(100))
    with feed.held() as iterator:
        feed.take_ready(quick_s, most_s)
        assert next(iterator) == taken


def test_what_always_lies_ready_is_taken_for_a_while():
    feed = Feed(tf.data.Dataset.range(2))
    with feed.held():
        feed.take_ready(600.0, 0.05)
