"""Batches made before a map: bit for bit the same, or refused."""

import numpy as np
import pytest
import tensorflow as tf
from one_change import ALL, VARIABLE, assert_alike, numbers, of, operations

from keras_perf.trials.rewriting.same_elements import checksums


def images(count=10):
    x = np.arange(count * 48).reshape(count, 4, 4, 3).astype("uint8")
    return tf.data.Dataset.from_tensor_slices((x, np.arange(count)))


def scaled(x, y):
    return tf.cast(x[:, ::-1], tf.float32) / 255 - 0.5, tf.one_hot(y, 12)


def columns(line):
    price, number, word = tf.io.decode_csv(line, [0.0, 0, ""])
    return {"price": price, "number": tf.reduce_sum([number, 3]), "word": word}


def lines():
    return tf.data.Dataset.from_tensor_slices([f"{i}.5,{i},w{i % 3}" for i in range(10)])


def examples():
    def written(i):
        feature = {
            "x": tf.train.Feature(float_list=tf.train.FloatList(value=[i, i / 3])),
            "y": tf.train.Feature(int64_list=tf.train.Int64List(value=[i])),
            "raw": tf.train.Feature(bytes_list=tf.train.BytesList(value=[bytes([i, 2, 3])])),
        }
        return tf.train.Example(features=tf.train.Features(feature=feature)).SerializeToString()

    return tf.data.Dataset.from_tensor_slices([written(i) for i in range(10)])


def parsed(example):
    features = {
        "x": tf.io.FixedLenFeature([2], tf.float32),
        "y": tf.io.FixedLenFeature([], tf.int64),
        "raw": tf.io.FixedLenFeature([], tf.string),
    }
    found = tf.io.parse_single_example(example, features)
    return tf.reshape(tf.io.decode_raw(found["raw"], tf.uint8), [3]), found["x"] * 2, found["y"]


def looked_up():
    table = tf.lookup.StaticHashTable(
        tf.lookup.KeyValueTensorInitializer(tf.constant(["w0", "w1"]), tf.constant([5, 6])), -1
    )
    return lambda each: table.lookup(tf.strings.lower(tf.strings.upper(each["word"])))


BATCHED = {
    "images": lambda: images().map(scaled).batch(4),
    "in parallel": lambda: images().map(scaled, num_parallel_calls=2).batch(4).prefetch(2),
    "a remainder dropped": lambda: images().map(scaled).batch(4, drop_remainder=True),
    "in a parallel batch": lambda: images().map(scaled).batch(4, num_parallel_calls=2),
    "lines": lambda: lines().map(columns).batch(3),
    "examples": lambda: examples().map(parsed).batch(4),
    "several maps": lambda: images().map(scaled).map(lambda x, y: {"x": x * 3, "y": y}).batch(4),
    "a constant besides": lambda: numbers().map(lambda x: (x, tf.constant([1, 2]))).batch(5),
    "what stood around": lambda: (
        numbers().filter(lambda x: x % 3 > 0).map(lambda x: x * x).batch(4).shuffle(3, seed=2)
    ),
}


@pytest.mark.parametrize("kind", BATCHED)
def test_batched_before_a_map_elements_are_the_same_bit_for_bit(kind):
    made = BATCHED[kind]
    graph, [change], reasons = of("batch-before-map", made())
    assert not reasons
    assert_alike(made, change, graph)
    stages = operations(change.made(graph))
    assert stages.index(next(each for each in stages if "Batch" in each)) < min(
        place for place, each in enumerate(stages) if "Map" in each
    )


def test_words_in_a_table_are_looked_up_a_batch_at_once():
    lookup = looked_up()

    def made():
        return lines().map(columns).map(lookup).batch(4)

    graph, [change], _ = of("batch-before-map", made())
    assert_alike(made, change, graph)
    assert change.code.endswith(".map(f of a batch)")


def test_the_code_to_paste_gives_the_same():
    _, [change], _ = of("batch-before-map", images().map(scaled).batch(4))
    found = eval(
        f"data.{change.code}".replace("(…)", "(4)"),
        {"tf": tf, "data": images(), "scaled": scaled},
    )
    assert checksums(found, *ALL) == checksums(images().map(scaled).batch(4), *ALL)


NOT_BATCHED = {
    "Exp": lambda: numbers().map(lambda x: tf.exp(tf.cast(x, tf.float32))).batch(4),
    "Mean": lambda: images().map(lambda x, _: tf.reduce_mean(tf.cast(x, tf.float32))).batch(4),
    "PyFunc": lambda: numbers().map(lambda x: tf.numpy_function(abs, [x], tf.int64)).batch(4),
    "RandomUniform": lambda: numbers().map(lambda x: tf.random.uniform([])).batch(4),
    "ReadVariableOp": lambda: numbers().map(lambda x: x + VARIABLE).batch(4),
    "one shape": lambda: numbers().map(tf.range).map(lambda x: tf.reduce_sum(x)).batch(4),
    "whole batch": lambda: numbers().map(lambda x: x + 1).batch(4).ignore_errors(),
}


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("reason", NOT_BATCHED)
def test_what_might_differ_in_a_batch_is_not_batched_and_the_reason_said(reason):
    _, found, [why] = of("batch-before-map", NOT_BATCHED[reason]())
    assert not found
    assert reason in why


def test_of_several_maps_those_are_batched_that_can_be():
    def made():
        return numbers().map(lambda x: tf.exp(x / 9)).map(lambda x: x + 1).batch(4)

    graph, [change], _ = of("batch-before-map", made())
    assert_alike(made, change, graph)
    assert operations(change.made(graph))[1:] == ["MapDataset", "BatchDataset", "MapDataset"]
