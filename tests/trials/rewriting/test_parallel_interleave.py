"""Datasets of an interleave read at once, in the same order."""

import pytest
import tensorflow as tf
from one_change import assert_alike, numbers, of, operations

from keras_perf.trials.rewriting.changes import pools


def inner(x):
    return tf.data.Dataset.range(x % 5).map(lambda y: 100 * x + y)


@pytest.mark.parametrize("arguments", [{}, {"cycle_length": 3}, {"cycle_length": 9}])
@pytest.mark.parametrize("block_length", [1, 2, 7])
def test_an_interleave_in_parallel_keeps_its_order(arguments, block_length):
    def made():
        return numbers().interleave(inner, block_length=block_length, **arguments).batch(4)

    graph, [change], _ = of("interleave", made())
    assert_alike(made, change, graph)
    assert "ParallelInterleaveDatasetV4" in operations(change.made(graph))
    pool = f"  # with {pools.code()}" if pools.for_one_core(graph) else ""
    assert change.code == f"interleave(inner, num_parallel_calls=tf.data.AUTOTUNE){pool}"


def test_an_interleave_of_shuffled_datasets_is_left_as_it_is():
    data = numbers().interleave(lambda x: inner(x).shuffle(3)).batch(4)
    _, found, [why] = of("interleave", data)
    assert not found
    assert "shuffles" in why
