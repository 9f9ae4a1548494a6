"""A map moved before a shuffle, so that a cache can keep what it makes."""

import numpy as np
import pytest
import tensorflow as tf
from one_change import ALL, assert_alike, numbers, of, operations, rewritten

from keras_perf.trials.rewriting.changes import NoLongerPossibleError, possible_changes
from keras_perf.trials.rewriting.pipeline_graph import PipelineGraph
from keras_perf.trials.rewriting.same_elements import checksums


def squared(x):
    return x * x


SHUFFLED = {
    "a shuffle": lambda: numbers().shuffle(7, seed=3).map(squared).batch(4),
    "one order for all": lambda: (
        numbers().shuffle(7, seed=3, reshuffle_each_iteration=False).map(squared).batch(4)
    ),
    "repeats": lambda: numbers().shuffle(7, seed=3).repeat(2).map(squared).batch(4),
    "repeats first": lambda: numbers().repeat(2).shuffle(7, seed=3).map(squared).batch(4),
    "several maps": lambda: (
        numbers().shuffle(7, seed=3).map(squared).map(lambda x: (x, x + 1)).batch(4)
    ),
    "a map before": lambda: numbers().map(lambda x: x + 1).shuffle(7, seed=3).map(squared),
    "a random map behind": lambda: (
        numbers()
        .shuffle(7, seed=3)
        .map(squared)
        .map(lambda x: x + tf.random.uniform([], 0, 1, tf.int64))
    ),
}


@pytest.mark.parametrize("kind", SHUFFLED)
def test_a_map_behind_a_shuffle_is_kept_before_it_and_each_pass_is_the_same(kind):
    made = SHUFFLED[kind]
    graph, changes, _ = of("cache", made())
    change = changes[0]
    assert_alike(made, change, graph, passes=3)
    stages = operations(change.made(graph))
    assert stages[stages.index("CacheDataset") - 1] == "MapDataset"
    assert stages.index("CacheDataset") < stages.index("ShuffleDataset")
    assert "shuffle holds 7 mapped elements" in change.costs


def test_python_behind_a_repeat_sees_no_other_order_and_is_kept_before_it():
    def made():
        return numbers().repeat(2).map(lambda x: tf.numpy_function(np.square, [x], tf.int64))

    graph, [change], _ = of("cache", made())
    assert_alike(made, change, graph)
    stages = operations(change.made(graph))
    assert stages.index("CacheDataset") < stages.index("RepeatDataset")
    assert "must give the same result each time" in change.costs


NOT_MOVED = {
    "random numbers": lambda: numbers().shuffle(7).map(lambda x: tf.random.uniform([])),
    "Python": lambda: numbers().shuffle(7).map(lambda x: tf.numpy_function(abs, [x], tf.int64)),
}


@pytest.mark.parametrize("reason", NOT_MOVED)
def test_a_map_that_sees_the_order_stays_behind_the_shuffle(reason):
    _, found, [why] = of("cache", NOT_MOVED[reason]())
    assert not found
    assert reason in why


def test_nothing_is_kept_of_an_order_that_is_another_in_each_pass():
    shuffled_before = numbers().shuffle(4).batch(2).shuffle(4).map(squared)
    assert of("cache", shuffled_before)[1] == []
    shuffled_inside = numbers().interleave(lambda x: tf.data.Dataset.range(x).shuffle(3))
    assert of("cache", shuffled_inside.map(squared))[1] == []


def test_a_map_that_was_given_batches_is_no_longer_moved():
    data = numbers().shuffle(7).map(squared).batch(4)
    graph = PipelineGraph.of(data)
    found = {each.id: each for each in possible_changes(graph)[0]}
    with pytest.raises(NoLongerPossibleError):
        found["cache"].made(found["batch-before-map"].made(graph))
    with pytest.raises(NoLongerPossibleError):
        found["batch-before-map"].made(found["cache"].made(graph))


def test_a_map_that_another_change_parted_from_the_shuffle_is_no_longer_moved():
    """In front of the first filter, which moved as well, it would get another map's elements."""

    def made():
        pairs = numbers().map(lambda x: (x, x * x)).filter(lambda x, _: x % 2 > 0)
        return pairs.shuffle(4, seed=1).map(lambda x, y: (x, y + 1)).filter(lambda x, _: x % 3 > 0)

    expected = checksums(made(), *ALL)
    found = {what: checksums(dataset, *ALL) for what, dataset in rewritten(made())}
    assert {"filter-before-map", "cache"} <= {what.partition(",")[0] for what in found}
    assert all(each == expected for each in found.values())


def test_repeats_inside_an_interleave_keep_nothing_from_being_kept():
    data = numbers().interleave(lambda x: tf.data.Dataset.range(x).repeat(2)).batch(4)
    graph, [change], _ = of("cache", data)
    assert_alike(lambda: data, change, graph)
