"""A filter before a map whose results it does not look at."""

import pytest
import tensorflow as tf
from one_change import VARIABLE, assert_alike, numbers, of, operations


def pairs():
    return numbers().map(lambda x: (x, x % 5))


def worked_on(x, label):
    return tf.exp(tf.cast(x, tf.float32) / 9), label


def odd(_, label):
    return label % 2 == 1


TABLE = tf.constant([True, False, True, True, False])

MOVED = {
    "a part of a tuple": lambda: pairs().map(worked_on).filter(odd).batch(4),
    "a part of a dictionary": lambda: (
        pairs()
        .map(lambda x, y: {"label": y, "x": x * x, "word": tf.strings.as_string(x)})
        .filter(lambda each: each["label"] > 2)
        .batch(4)
    ),
    "in another place": lambda: (
        pairs()
        .map(lambda x, y: (y, tf.one_hot(x, 3), x))
        .filter(lambda y, _, x: x > y + 3)
        .batch(4)
    ),
    "with what it captured": lambda: (
        pairs().map(worked_on).filter(lambda _, y: tf.gather(TABLE, y)).batch(4)
    ),
    "the part itself": lambda: (
        pairs().map(lambda x, y: (y > 2, x + 1)).map(lambda y, x: (x * 2, y)).filter(lambda x, y: y)
    ),
    "nothing at all": lambda: pairs().map(worked_on).filter(lambda *_: True).batch(4),
    "in parallel": lambda: pairs().map(worked_on, num_parallel_calls=2).filter(odd).batch(4),
    "behind a shuffle": lambda: pairs().shuffle(9, seed=1).map(worked_on).filter(odd).batch(4),
}


@pytest.mark.parametrize("kind", MOVED)
def test_a_filter_of_what_a_map_hands_on_moves_before_it(kind):
    made = MOVED[kind]
    graph, [change], _ = of("filter-before-map", made())
    assert_alike(made, change, graph)
    stages = operations(change.made(graph))
    assert "Map" in stages[stages.index("FilterDataset") + 1]


def test_the_stages_are_named_as_they_are_written():
    _, [change], _ = of("filter-before-map", pairs().map(worked_on).filter(odd).batch(4))
    assert change.where == "filter(odd) before map(worked_on)"


LEFT = {
    "it looks at what the map made": lambda: (
        pairs().map(worked_on).filter(lambda x, _: x > 2).batch(4)
    ),
    "the part was changed": lambda: pairs().map(lambda x, y: (x, y + 1)).filter(odd).batch(4),
    "the map draws": lambda: (
        pairs().map(lambda x, y: (tf.random.uniform([]), y)).filter(odd).batch(4)
    ),
    "the map counts": lambda: (
        pairs().map(lambda x, y: (VARIABLE.assign_add(1), y)).filter(odd).batch(4)
    ),
    "the map is Python": lambda: (
        pairs().map(lambda x, y: (tf.numpy_function(abs, [x], tf.int64), y)).filter(odd).batch(4)
    ),
    "no map": lambda: pairs().batch(2).filter(lambda x, y: tf.reduce_any(y > 1)),
}


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("why", LEFT)
def test_other_filters_stay_where_they_are(why):
    assert of("filter-before-map", LEFT[why]())[1] == []
