"""Drawn pipelines give the same elements in the same order, however they are changed."""

import os

import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st
from one_change import ALL, numbers, rewritten

from keras_perf.trials.rewriting.pipeline_graph import CannotRewriteError, PipelineGraph
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


STAGES = {
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
    "zip": lambda data: tf.data.Dataset.zip(data, data.map(doubled)).map(lambda x, y: x + y),
    "interleave": lambda data: data.interleave(twice, cycle_length=2),
    "interleave in parallel": lambda data: data.interleave(twice, num_parallel_calls=2),
    "flat_map": lambda data: data.flat_map(tf.data.Dataset.from_tensors),
    "filter of what is handed on": lambda data: (
        data.map(lambda x: (x * x, x))
        .filter(lambda _, x: tf.reduce_sum(x) % 3 > 0)
        .map(lambda x, y: x + y)
    ),
    "prefetch": lambda data: data.prefetch(2),
    "cache": lambda data: data.cache(),
}

# More often what changes are about.
KINDS = st.sampled_from([*STAGES, "map", "shuffle", "map of text"])


@given(st.lists(KINDS, max_size=6), st.sampled_from([None, 3, 4]))
@settings(max_examples=DRAWS)
def test_drawn_pipelines_give_the_same_elements_however_they_are_changed(kinds, batch):
    def made():
        tf.random.set_seed(1)
        data = numbers()
        for kind in kinds:
            data = STAGES[kind](data)
        return data if batch is None else data.batch(batch)

    try:
        PipelineGraph.of(made())
    except CannotRewriteError:
        # What two readers would share.
        assert "zip" in kinds
        return
    as_it_was = made()
    expected = [checksums(as_it_was, *ALL) for _ in range(2)]
    for what, dataset in rewritten(made()):
        for place, each in enumerate(expected):
            assert checksums(dataset, *ALL) == each, (kinds, batch, what, place)
        assert dataset.cardinality() == as_it_was.cardinality()
        assert dataset.element_spec == as_it_was.element_spec
