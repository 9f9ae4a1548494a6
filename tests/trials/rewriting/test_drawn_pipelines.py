"""Drawn pipelines give the same elements in the same order, however they are changed."""

import os

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st
from one_change import ALL, numbers, rewritten

from keras_perf.trials.rewriting.own_copy import require_graph
from keras_perf.trials.rewriting.same_elements import checksums

DRAWS = int(os.environ.get("KERAS_PERF_DRAWS", "12"))
"""Pipelines to draw; `make test-long` draws more."""


def doubled(x):
    return 2 * x


def text(x):
    return tf.strings.to_number(tf.strings.as_string(x + 1), tf.int64)


def python(x):
    return tf.ensure_shape(tf.numpy_function(lambda v: v + 1, [x], tf.int64), x.shape)


def noisy(x):
    return x + tf.random.uniform(tf.shape(x), 0, 99, tf.int64, seed=5)


def twice(x):
    return tf.data.Dataset.from_tensors(x).map(lambda y: y + 3).repeat(2)


def some(x):
    """So many numbers, none for some elements."""
    return tf.range(tf.reduce_sum(x) % 3)


def ragged(data):
    shape = data.element_spec.shape
    rows = data.map(lambda x: tf.RaggedTensor.from_row_lengths(tf.reshape(x, [-1]), [tf.size(x)]))
    return rows.map(lambda x: 2 * x).map(lambda x: tf.reshape(x.flat_values, shape))


def sparse(data):
    shape = data.element_spec.shape
    rows = data.map(lambda x: tf.sparse.from_dense(tf.reshape(x, [-1])))
    return rows.shuffle(3, seed=8).map(lambda x: tf.reshape(tf.sparse.to_dense(x), shape))


def dictionaries(data):
    return (
        data.map(lambda x: {"b": x, "a": (x * x, x)})
        .filter(lambda each: tf.reduce_sum(each["b"]) % 5 != 1)
        .shuffle(3, seed=6)
        .map(lambda each: each["a"][0] + each["b"])
    )


def chosen(data):
    turns = tf.data.Dataset.range(2).repeat(4)
    return tf.data.Dataset.choose_from_datasets([data, data.map(doubled)], turns)


def sampled(data):
    return tf.data.Dataset.sample_from_datasets([data, data.map(doubled)], [0.3, 0.7], seed=3)


def grouped(data):
    return data.group_by_window(
        lambda x: tf.reduce_sum(x) % 2,
        lambda _, each: each.map(doubled).batch(2, drop_remainder=True),
        window_size=2,
    )


def resampled(data):
    def kind(x):
        return tf.cast(tf.reduce_sum(x) % 2, tf.int32)

    return data.rejection_resample(kind, [0.5, 0.5], [0.5, 0.5], seed=4).map(lambda _, x: x)


def failing(x):
    with tf.control_dependencies([tf.debugging.assert_none_equal(x % 7, tf.constant(6, tf.int64))]):
        return x + 1


READ_TWICE = {
    "zip": lambda data: tf.data.Dataset.zip(data, data.map(doubled)).map(lambda x, y: x + y),
    "one of two, chosen": chosen,
    "one of two, drawn": sampled,
    "one after the other": lambda data: data.concatenate(data.map(doubled)),
}
"""Stages whose two readers share what is drawn before them."""

STAGES = READ_TWICE | {
    "map": lambda data: data.map(doubled),
    "map of text": lambda data: data.map(text),
    "map in parallel": lambda data: data.map(doubled, num_parallel_calls=2),
    "map that rounds": lambda data: data.map(lambda x: tf.cast(tf.exp(x % 9 / 9) * 9, tf.int64)),
    "map in Python": lambda data: data.map(python),
    "map at random": lambda data: data.map(noisy),
    "filter": lambda data: data.filter(lambda x: tf.reduce_sum(x) % 4 != 2),
    "shuffle": lambda data: data.shuffle(7, seed=3),
    "shuffle in one order": lambda data: data.shuffle(5, seed=4, reshuffle_each_iteration=False),
    "batch": lambda data: data.batch(2, drop_remainder=True),
    "repeat": lambda data: data.repeat(2),
    "take": lambda data: data.take(17),
    "skip": lambda data: data.skip(3),
    "interleave": lambda data: data.interleave(twice, cycle_length=2),
    "interleave in parallel": lambda data: data.interleave(twice, num_parallel_calls=2),
    "flat_map": lambda data: data.flat_map(tf.data.Dataset.from_tensors),
    "filter of what is handed on": lambda data: (
        data.map(lambda x: (x * x, x))
        .filter(lambda _, x: tf.reduce_sum(x) % 3 > 0)
        .map(lambda x, y: x + y)
    ),
    "windows": lambda data: data.window(3, shift=2, drop_remainder=True).flat_map(
        lambda each: each.batch(3)
    ),
    "ragged": ragged,
    "ragged batches": lambda data: (
        data.map(some).ragged_batch(2, drop_remainder=True).map(lambda x: tf.reduce_sum(x, 1))
    ),
    "padded batches": lambda data: (
        data.map(some).padded_batch(2, drop_remainder=True).map(lambda x: tf.reduce_sum(x, 1))
    ),
    "sparse": sparse,
    "dictionaries": dictionaries,
    "strings": lambda data: (
        data.map(tf.strings.as_string)
        .shuffle(4, seed=2)
        .map(lambda x: tf.strings.to_number(x, tf.int64))
    ),
    "groups": grouped,
    "resampled": resampled,
    "sums so far": lambda data: data.scan(np.int64(0), lambda s, x: (s + tf.reduce_sum(x), x + s)),
    "errors left out": lambda data: data.map(failing).ignore_errors(),
    "until": lambda data: data.take_while(lambda x: tf.reduce_sum(x) < 500),
    "unbatched": lambda data: data.batch(3).map(doubled).unbatch(),
    "prefetch": lambda data: data.prefetch(2),
    "cache": lambda data: data.cache(),
}

RESHUFFLED = {"shuffle", "sparse", "dictionaries", "strings"}
"""Stages with another order in each pass."""

LEAVES = {"take", "until"}
"""Stages that may end before what they take from."""


def must_be_refused(kinds):
    """What two readers would share, or what goes on from pass to pass and is left in the middle."""
    repeats = {"repeat", "one of two, chosen"} & {*kinds}
    drawn = shuffled = goes_on = False
    for kind in kinds:
        shared = drawn or (shuffled and repeats)
        if (kind in READ_TWICE and shared) or (kind in LEAVES and goes_on):
            return True
        drawn = drawn or kind == "map at random"
        goes_on = goes_on or (shuffled and kind == "repeat")
        shuffled = shuffled or kind in RESHUFFLED
    return False


# More often what changes are about.
KINDS = st.sampled_from([*STAGES, "map", "shuffle", "map of text"])


@pytest.mark.whole
@given(st.lists(KINDS, max_size=6), st.sampled_from([None, 3, 4]))
@settings(max_examples=DRAWS)
def test_drawn_pipelines_give_the_same_elements_however_they_are_changed(kinds, batch):
    def made():
        tf.random.set_seed(1)
        data = numbers()
        for kind in kinds:
            data = STAGES[kind](data)
        return data if batch is None else data.batch(batch)

    if must_be_refused(kinds):
        with pytest.raises(ValueError, match="Nothing was changed"):
            require_graph(made())
        return
    require_graph(made())
    as_it_was = made()
    expected = [checksums(as_it_was, *ALL) for _ in range(2)]
    for what, dataset in rewritten(made()):
        for place, each in enumerate(expected):
            assert checksums(dataset, *ALL) == each, (kinds, batch, what, place)
        assert dataset.cardinality() == as_it_was.cardinality()
        assert dataset.element_spec == as_it_was.element_spec
