"""Each operation that a map may have whose batches are made first: bit for bit as one by one.

Of batches of three the last one has one element, which some operations take for no batch at all.
"""

import numpy as np
import pytest
import tensorflow as tf
from one_change import of

from keras_perf.trials.rewriting.functions.exact_operations import EXACT, OF_INTEGERS
from keras_perf.trials.rewriting.pipeline_graph import PipelineGraph

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(7, 2, 4, 4)).astype("float32")
NUMBERS = RANDOM.integers(-9, 9, (7, 2, 4, 4))
S = np.array(["1 a", "22b", "ä3", "", "4.5", "x", "7"])
raw = tf.raw_ops

SHAPES = {
    "identity": lambda x, i, s: raw.IdentityN(input=[tf.stop_gradient(x), tf.identity(i)]),
    "shape said": lambda x, i, s: tf.ensure_shape(x, [2, 4, 4]),
    "reshape": lambda x, i, s: (tf.reshape(x, [-1, 8]), tf.reshape(x, [-1])),
    "reshape by its shape": lambda x, i, s: tf.reshape(x, [tf.shape(x)[1], -1]),
    "expand": lambda x, i, s: [tf.expand_dims(x, axis) for axis in (0, -1, -2)],
    "squeeze": lambda x, i, s: (tf.squeeze(x[:, :1], 1), tf.squeeze(x[..., :1], [-1])),
    "transpose": lambda x, i, s: (tf.transpose(x, [2, 0, 1]), tf.transpose(x)),
    "broadcast": lambda x, i, s: [
        tf.broadcast_to(x, [3, 2, 4, 4]),
        tf.broadcast_to(x[:, :, :1], [2, 4, 4]),
        tf.broadcast_to(x[0, 0, 0], [3, 2]),
    ],
    "tile": lambda x, i, s: tf.tile(x, [1, 2, 1]),
    "filled": lambda x, i, s: (tf.fill([3, 2], x[0, 0, 0]), tf.fill([3], 2.5)),
    "ones": lambda x, i, s: (tf.zeros_like(x), raw.ZerosLike(x=x), raw.OnesLike(x=x)),
    "shape": lambda x, i, s: [raw.Shape(input=x), raw.Size(input=x), raw.Rank(input=x)],
    "shapes": lambda x, i, s: (raw.ShapeN(input=[x, x[0]]), tf.shape(x, out_type=tf.int64)),
    "range": lambda x, i, s: tf.range(tf.shape(x)[1]),
    "nothing": lambda x, i, s: (tf.no_op(), x)[1],
    "in blocks": lambda x, i, s: (
        tf.nn.depth_to_space(x[None], 2),
        tf.nn.space_to_depth(x[None], 2),
    ),
    "matrix": lambda x, i, s: (
        raw.MatrixDiag(diagonal=x),
        raw.MatrixBandPart(input=x, num_lower=1, num_upper=0),
    ),
}

PLACES = {
    "reverse": lambda x, i, s: (tf.reverse(x, [0, -1]), x[:, ::-1]),
    "slice": lambda x, i, s: (tf.slice(x, [1, 0, 2], [1, -1, 2]), x[..., tf.newaxis, 0]),
    "slice from the end": lambda x, i, s: (x[-1, ..., -3:], x[:, 1:-1], x[0, 1]),
    "slice of its own": lambda x, i, s: tf.slice(
        x, tf.stack([tf.abs(i[0, 0, 0]) % 2, 0, 0]), [1, 2, 2]
    ),
    "gather": lambda x, i, s: (tf.gather(x, [1, 0, 1]), tf.gather(x, [3, 1], axis=-1)),
    "gather at its own": lambda x, i, s: [
        tf.gather(x, tf.abs(i[0, 0]) % 2),
        tf.gather(x, tf.abs(i[0, 0]) % 4, axis=1),
        tf.gather(x, tf.abs(i[0, 0, 0]) % 2),
        tf.gather(x, tf.abs(i[:, :, 0]) % 4, axis=1, batch_dims=1),
        tf.gather(x, tf.abs(i) % 4, axis=2, batch_dims=2),
    ],
    "gather of a constant": lambda x, i, s: [
        tf.gather(tf.range(10.0), tf.abs(i) % 10),
        tf.gather(tf.reshape(tf.range(20.0), [4, 5]), tf.abs(i[0]) % 5, axis=1),
    ],
    "gather one by one": lambda x, i, s: [
        tf.gather_nd(x, [[0, 1], [1, 2]]),
        tf.gather_nd(x, tf.abs(i[0, :, :2]) % 2),
        tf.gather_nd(x, tf.abs(i[:, :, :1]) % 4, batch_dims=1),
    ],
    "pack": lambda x, i, s: [tf.stack([x, x * 2], axis) for axis in (0, -1, -2)],
    "pack with a constant": lambda x, i, s: tf.stack([x, tf.ones([2, 4, 4])], 1),
    "unpack": lambda x, i, s: (tf.unstack(x), tf.unstack(x, axis=-1)),
    "concat": lambda x, i, s: (tf.concat([x, x * 2], 0), tf.concat([x, tf.ones([2, 4, 1])], -1)),
    "split": lambda x, i, s: (tf.split(x, 2, -1), tf.split(x, [1, 3], -1), tf.split(x, [1, 1], 0)),
    "one hot": lambda x, i, s: [
        tf.one_hot(i, 5),
        tf.one_hot(i, 5, axis=0, on_value=3.0, off_value=-1.0),
        tf.one_hot(i[0, 0, 0], 5),
    ],
    "pad": lambda x, i, s: tf.pad(x, [[1, 0], [0, 2], [0, 0]]),
    "select": lambda x, i, s: [
        raw.Select(condition=x > 0, x=x, y=-x),
        raw.Select(condition=x[:, 0, 0] > 0, x=x, y=-x),
        raw.Select(condition=x[0, 0, 0] > 0, x=x, y=-x),
        tf.where(x[0, 0] > 0, x, tf.ones([4])),
        tf.where(i[0, 0, 0] > 0, x, x * 2),
    ],
}

COMPARISONS = {
    "equal": lambda x, i, s: (tf.equal(i, 1), tf.equal(i, i[0]), tf.not_equal(i, i[0, 0])),
    "less": lambda x, i, s: (x < 0, x <= x[0], x > 0.1, x >= x[0, 0, 0]),
    "logic": lambda x, i, s: [
        tf.logical_and(x > 0, i > 0),
        tf.logical_or(x > 0, i > 0),
        tf.logical_not(x > 0),
    ],
    "finite": lambda x, i, s: [
        tf.math.is_nan(x / 0.0),
        tf.math.is_inf(x / 0.0),
        tf.math.is_finite(x),
    ],
    "buckets": lambda x, i, s: raw.Bucketize(input=x, boundaries=[-1.0, 0.0, 1.0]),
    "place of the most": lambda x, i, s: (tf.argmax(x), tf.argmax(x, -1), tf.argmin(x, 1)),
    "all": lambda x, i, s: [
        tf.reduce_all(x > 0, 0),
        tf.reduce_any(x > 0),
        tf.reduce_any(x > 0, [-1], keepdims=True),
    ],
    "most": lambda x, i, s: (
        tf.reduce_max(x, 0),
        tf.reduce_min(x),
        tf.reduce_max(x, [-1, 0], True),
    ),
}

ARITHMETIC = {
    "floats": lambda x, i, s: (x + x[0], raw.Add(x=x, y=x), x - 2.0, x * x[0, 0, 0], x / 3.0),
    "of other ranks": lambda x, i, s: (x[0, 0] + x[0], x[0, 0, 0] + tf.constant([1.0, 2.0])),
    "by nothing": lambda x, i, s: (
        tf.math.divide_no_nan(x, x * 0.0),
        tf.math.multiply_no_nan(x, x[0]),
    ),
    "whole": lambda x, i, s: (x // 0.3, x % 0.3, raw.Div(x=x, y=tf.constant(0.3))),
    "integers": lambda x, i, s: [
        each(x=i, y=tf.constant(4, tf.int64))
        for each in (raw.FloorDiv, raw.FloorMod, raw.TruncateDiv, raw.TruncateMod, raw.Mod, raw.Div)
    ],
    "of one": lambda x, i, s: (-x, tf.abs(x), tf.sign(x), tf.square(x)),
    "of two": lambda x, i, s: [
        tf.math.squared_difference(x, x[0]),
        tf.maximum(x, 0.1),
        tf.minimum(x, x[0]),
        raw.ClipByValue(t=x, clip_value_min=-0.5, clip_value_max=0.5),
    ],
    "rounded": lambda x, i, s: [
        each(x)
        for each in (tf.floor, tf.math.ceil, tf.round, tf.math.rint, tf.nn.relu, tf.nn.relu6)
    ],
    "bits": lambda x, i, s: [
        tf.bitwise.bitwise_and(i, 3),
        tf.bitwise.bitwise_or(i, 3),
        tf.bitwise.bitwise_xor(i, i[0]),
        tf.bitwise.invert(i),
        tf.bitwise.left_shift(i, 2),
        tf.bitwise.right_shift(i, 1),
    ],
    "cast": lambda x, i, s: [
        tf.cast(x * 100, kind)
        for kind in ("uint8", "int8", "float16", "bfloat16", "bool", "float64")
    ],
    "in few bits": lambda x, i, s: [
        tf.cast(x, kind) * tf.constant(0.3, kind) / tf.constant(0.7, kind)
        for kind in ("float16", "bfloat16", "float64")
    ],
    "several": lambda x, i, s: x * 1.1 + x[0] * 0.3 - x / 1.7,
    "sums": lambda x, i, s: (tf.reduce_sum(i), tf.reduce_sum(i, 0), tf.reduce_prod(i, -2)),
    "sums so far": lambda x, i, s: [
        tf.cumsum(i),
        tf.cumsum(i, -1, reverse=True),
        tf.cumsum(i, 1, exclusive=True),
        tf.math.cumprod(i, -1),
    ],
}


def word_table():
    words = tf.lookup.KeyValueTensorInitializer(tf.constant(["x", "7"]), tf.constant([5, 6]))
    return tf.lookup.StaticHashTable(words, -1)


TABLE = word_table()

TEXT = {
    "case": lambda x, i, s: (tf.strings.lower(s), tf.strings.upper(s, encoding="utf-8")),
    "numbers": lambda x, i, s: tf.strings.to_number(tf.strings.as_string(i), tf.int32),
    "as text": lambda x, i, s: tf.strings.as_string(x, precision=3),
    "length": lambda x, i, s: (tf.strings.length(s), tf.strings.length(s, unit="UTF8_CHAR")),
    "patterns": lambda x, i, s: [
        tf.strings.regex_replace(s, "[0-9]", "#"),
        tf.strings.regex_replace(s, "[0-9]", "#", replace_global=False),
        tf.strings.regex_full_match(s, "[0-9].*"),
    ],
    "hash": lambda x, i, s: raw.StringToHashBucketFast(input=s, num_buckets=7),
    "in a table": lambda x, i, s: TABLE.lookup(s),
    "bytes": lambda x, i, s: [
        tf.ensure_shape(tf.io.decode_raw(tf.strings.as_string(tf.abs(each) % 9), tf.uint8), shape)
        for each, shape in ((i[0, 0, 0], [1]), (i[0, 0], [4, 1]))
    ],
    "bytes as numbers": lambda x, i, s: tf.reshape(
        tf.cast(tf.io.decode_raw(tf.strings.as_string(i[0, 0] * 0), tf.uint8), tf.float32), [2, 2]
    ),
    "columns": lambda x, i, s: [
        tf.io.decode_csv(tf.strings.as_string(each), [[0]]) for each in (i[0, 0, 0], i[0, 0])
    ],
    "moved": lambda x, i, s: (tf.stack([s, "b"])[:1], tf.pad(tf.reshape(s, [1]), [[0, 2]])),
}

GROUPS = {
    "shapes": SHAPES,
    "places": PLACES,
    "comparisons": COMPARISONS,
    "arithmetic": ARITHMETIC,
    "text": TEXT,
}


def batches(functions):
    def mapped(x, i, s):
        return {name: tuple(tf.nest.flatten(f(x, i, s))) for name, f in functions.items()}

    return tf.data.Dataset.from_tensor_slices((X, NUMBERS, S)).map(mapped).batch(3)


def bits(tensor):
    """Of strings, which NumPy has addresses of, the strings."""
    found = tensor.numpy()
    return found.tolist() if tensor.dtype == tf.string else found.tobytes()


@pytest.mark.parametrize("group", GROUPS)
def test_an_operation_gives_a_batch_what_it_gives_each_element(group):
    data = batches(GROUPS[group])
    graph, [change], _ = of("batch-before-map", data)
    changed = change.made(graph).dataset()
    assert changed.element_spec == data.element_spec
    for first, second in zip(data, changed, strict=True):
        for name in GROUPS[group]:
            pairs = zip(tf.nest.flatten(first[name]), tf.nest.flatten(second[name]), strict=True)
            assert all(bits(one) == bits(two) for one, two in pairs), name


def test_every_operation_that_is_taken_for_exact_is_among_these():
    graphs = [PipelineGraph.of(batches(each)) for each in GROUPS.values()]
    tried = {op for graph in graphs for stage in graph.stages for op in graph.operations(stage)}
    # Parsed records are with the maps of files.
    assert (EXACT | OF_INTEGERS) - tried <= {"ParseExampleV2", "ParseSingleExample"}


WRONG = {
    "Squeeze": lambda x, i, s: tf.squeeze(x),
    "PadV2": lambda x, i, s: tf.pad(x, [[1, 0], [0, 2], [0, 0]], constant_values=7.0),
    "Roll": lambda x, i, s: tf.roll(x, [1], [-1]),
    "Cast": lambda x, i, s: raw.Cast(x=x, DstT=tf.bfloat16, Truncate=True),
    "Sum": lambda x, i, s: tf.reduce_sum(x),
    "DecodeCSV": lambda x, i, s: tf.io.decode_csv(s, [["kept"]], na_value="x"),
    "DecodeRaw": lambda x, i, s: tf.io.decode_raw(s, tf.uint8)[:2],
    "DecodeRaw in its own shape": lambda x, i, s: tf.reshape(
        tf.cast(tf.io.decode_raw(s, tf.uint8), tf.float32), [-1, 1]
    ),
    "DecodeRaw, given too": lambda x, i, s: (
        (raw_bytes := tf.io.decode_raw(s, tf.uint8))[:1] + tf.ensure_shape(raw_bytes, [3])[:1]
    ),
}


@pytest.mark.parametrize("operation", WRONG)
def test_what_is_wrong_for_a_batch_is_refused_by_name(operation):
    _, found, [why] = of("batch-before-map", batches({"one": WRONG[operation]}))
    assert not found
    assert operation.split()[0].rstrip(",") in why
